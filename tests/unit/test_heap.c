/* SPDX-License-Identifier: BSD-2-Clause */
/* What the kernel was told about memory, as /proc/self/smaps has it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <cmocka.h>

#include "user/util/heap.h"

#define LARGE_BYTES (2UL << 20)

/* Whether large pages were asked for where the address lies. */
static bool is_advised(const void *address)
{
	FILE *maps = fopen("/proc/self/smaps", "re");
	bool is_there = false, is_found = false;
	unsigned long from, to;
	char line[4096];

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			is_there = (uintptr_t)address >= from && (uintptr_t)address < to;
		if (is_there && !strncmp(line, "VmFlags:", 8))
			is_found = strstr(line, " hg") != NULL;
	}
	fclose(maps);
	return is_found;
}

static void only_whole_large_pages_are_advised(void **state)
{
	size_t size = 6 * LARGE_BYTES;
	char *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *large = (char *)(((uintptr_t)block + LARGE_BYTES) / LARGE_BYTES * LARGE_BYTES);

	(void)state;
	assert_true(block != MAP_FAILED);
	if (access("/sys/kernel/mm/transparent_hugepage", F_OK))
		skip(); /* a kernel without them */
	heap__advise(large + 4096, 2 * LARGE_BYTES - 4096);
	assert_false(is_advised(large + 4096));
	assert_true(is_advised(large + LARGE_BYTES));
	assert_false(is_advised(large + 2 * LARGE_BYTES));
	munmap(block, size);
}

static void what_is_too_small_is_left_alone(void **state)
{
	char small[64];

	(void)state;
	heap__advise(small, sizeof(small));
	heap__advise(NULL, 0);
	assert_false(is_advised(small));
}

static void what_started_us_does_not_forbid_them(void **state)
{
	(void)state;
	if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0))
		skip(); /* a kernel without them */
	heap__use_large_pages();
	assert_int_equal(prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0), 0);
}

static void the_heap_works_afterwards(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		heap__use_large_pages();
		for (size_t size = 1; size <= 64 * LARGE_BYTES; size *= 8) {
			char *block = calloc(1, size);

			assert_non_null(block);
			assert_int_equal(block[size - 1], 0);
			memset(block, 1, size);
			free(block);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_whole_large_pages_are_advised),
		cmocka_unit_test(what_is_too_small_is_left_alone),
		cmocka_unit_test(what_started_us_does_not_forbid_them),
		cmocka_unit_test(the_heap_works_afterwards),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
