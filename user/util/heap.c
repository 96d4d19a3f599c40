/* SPDX-License-Identifier: BSD-2-Clause */
#include "heap.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Addresses, not memory: pages are there once they are touched. */
#define HEAP_BYTES	 (512 << 20)
#define LATER_BYTES	 (1 << 20)
#define KEPT_BYTES	 (1 << 30)
#define LARGE_PAGE_BYTES (2 << 20) /* of x86 and of arm64 with pages of 4 KiB */

void heap__advise(void *block, size_t size)
{
	uintptr_t from = (uintptr_t)block, to = from + size;

	from = (from + LARGE_PAGE_BYTES - 1) / LARGE_PAGE_BYTES * LARGE_PAGE_BYTES;
	to = to / LARGE_PAGE_BYTES * LARGE_PAGE_BYTES;
	/* A kernel without them refuses, and pages are small. */
	if (from < to)
		madvise((void *)from, to - from, MADV_HUGEPAGE);
}

/*
 * The heap is grown to its size in one step, so that the advice can be given for all of it. Where a
 * limit forbids that, malloc() goes on as it always does.
 */
void heap__use_large_pages(void)
{
	static bool is_done;
	void *volatile grown; /* or the compiler leaves both calls out */
	char *before, *after;

	if (is_done)
		return;
	is_done = true;
	/* Ruby does without them, so that forks share more, and with it all that it starts. */
	prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
	mallopt(M_MMAP_MAX, 0);
	mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
	mallopt(M_TOP_PAD, HEAP_BYTES);
	before = sbrk(0);
	grown = malloc(LATER_BYTES);
	free(grown);
	after = sbrk(0);
	mallopt(M_TOP_PAD, LATER_BYTES);
	if (before != (char *)-1 && after > before)
		heap__advise(before, (size_t)(after - before));
}
