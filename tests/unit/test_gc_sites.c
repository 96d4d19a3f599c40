/* SPDX-License-Identifier: BSD-2-Clause */
/* Entries and exits of the garbage collector: real builds, damaged ones, and made-up ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "file_copy.h"
#include "user/discover/gc_sites.h"

#define FLAGS_OFFSET 16 /* of struct objspace in tests/fixtures/fake_gc.c, as in Ruby 3.1 */
#define FLIPS	     60

/* ---- real builds ---- */

static int open_runtime(const char *path, struct runtime **ret_runtime)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), result;

	if (fd < 0)
		skip();
	result = runtime__open(fd, ret_runtime);
	close(fd);
	return result;
}

static bool is_jcc_or_call(const unsigned char *bytes)
{
	return (bytes[0] & 0xf0) == 0x70 || (bytes[0] == 0x0f && (bytes[1] & 0xf0) == 0x80) ||
	       bytes[0] == 0xe8;
}

static void check_site(const struct file_copy *copy, const struct runtime_gc_site *site)
{
	assert_true(site->file_offset && site->file_offset < copy->size - 6);
	assert_true(is_jcc_or_call(copy->bytes + site->file_offset));
	assert_true(site->is_cheap);
}

/* What every build must have: start, continue, rest and the finalizers' sweep, or more. */
static void check_real(const char *path, enum runtime_tier tier)
{
	struct file_copy copy = { .size = 0 };
	struct runtime *runtime = NULL;
	const struct runtime_gc_sites *gc;

	assert_int_equal(open_runtime(path, &runtime), 0);
	assert_int_equal(file_copy__read(path, &copy), 0);
	gc = &runtime->gc;
	if (gc->why)
		print_message("%s: %s\n", path, gc->why);
	assert_int_equal(gc->tier, tier);
	assert_null(gc->why);
	assert_in_range(gc->entry_count, 4, RUNTIME_GC_SITES_MAX);
	assert_in_range(gc->exit_count, 4, RUNTIME_GC_SITES_MAX);
	for (int i = 0; i < gc->entry_count; i++)
		check_site(&copy, &gc->entries[i]);
	for (int i = 0; i < gc->exit_count; i++)
		check_site(&copy, &gc->exits[i]);
	for (int i = 0; i < gc->entry_count; i++)
		for (int j = 0; j < gc->exit_count; j++)
			assert_int_not_equal(gc->entries[i].address, gc->exits[j].address);
	file_copy__free(&copy);
	runtime__free(runtime);
}

static void test_installed(void **state)
{
	(void)state;
	check_real(INSTALLED_LIBRUBY, RUNTIME_TIER_CODE);
}

/* The library of another Ruby, if its root folder is there. */
static void check_other(const char *version)
{
	char command[128], root[256] = "", path[512];
	FILE *output;

	snprintf(command, sizeof(command), "tests/rubies --path %s 2>/dev/null", version);
	output = popen(command, "r");
	if (!output || !fgets(root, sizeof(root), output))
		*root = '\0';
	if (output)
		pclose(output);
	root[strcspn(root, "\n")] = '\0';
	if (!*root) {
		print_message("Ruby %s is not there: tests/rubies %s\n", version, version);
		skip();
	}
	snprintf(path, sizeof(path), "%s/usr/lib/x86_64-linux-gnu/libruby-%s.so.%s", root, version,
		 version);
	check_real(path, RUNTIME_TIER_CODE);
}

static void test_ruby_2_7(void **state)
{
	(void)state;
	check_other("2.7");
}

static void test_ruby_3_3(void **state)
{
	(void)state;
	check_other("3.3");
}

static void test_ruby_3_4(void **state)
{
	(void)state;
	check_other("3.4");
}

/* ---- damaged builds ---- */

static void open_damaged(const struct file_copy *copy, size_t size)
{
	int fd = file_copy__open(copy, size);
	struct runtime *runtime = NULL;

	if (runtime__open(fd, &runtime) == 0) {
		const struct runtime_gc_sites *gc = &runtime->gc;

		assert_true((gc->tier == RUNTIME_TIER_NONE) == (gc->why != NULL));
		assert_true((gc->tier == RUNTIME_TIER_NONE) == !gc->entry_count);
		assert_true((gc->tier == RUNTIME_TIER_NONE) == !gc->exit_count);
		for (int i = 0; i < gc->entry_count; i++)
			assert_true(gc->entries[i].file_offset < size);
		for (int i = 0; i < gc->exit_count; i++)
			assert_true(gc->exits[i].file_offset < size);
	}
	runtime__free(runtime);
	close(fd);
}

static struct file_copy copy_installed(void)
{
	struct file_copy copy = { .size = 0 };

	if (file_copy__read(INSTALLED_LIBRUBY, &copy))
		skip();
	return copy;
}

static void test_truncated(void **state)
{
	struct file_copy copy = copy_installed();

	(void)state;
	for (size_t size = 0x33000; size < copy.size; size += copy.size / 40)
		open_damaged(&copy, size);
	file_copy__free(&copy);
}

static void test_garbage(void **state)
{
	struct file_copy copy = copy_installed();
	struct runtime *runtime = NULL;
	unsigned int seed = 7;
	uint64_t first;

	(void)state;
	assert_int_equal(open_runtime(INSTALLED_LIBRUBY, &runtime), 0);
	first = runtime->gc.entries[0].file_offset;
	runtime__free(runtime);
	for (int i = 0; i < FLIPS; i++) {
		unsigned char *code = copy.bytes + first - 0x1000;
		unsigned char kept[0x6000];

		/* Around the collector's functions, few bytes at a time, then all of them. */
		memcpy(kept, code, sizeof(kept));
		for (int j = 0; j < (i < FLIPS - 4 ? 200 : (int)sizeof(kept)); j++)
			code[(size_t)rand_r(&seed) % sizeof(kept)] = (unsigned char)rand_r(&seed);
		open_damaged(&copy, copy.size);
		memcpy(code, kept, sizeof(kept));
	}
	file_copy__free(&copy);
}

/* Each call of the hooks in turn loses its test, or an exit its flag: then nothing is known. */
static void test_one_site_odd(void **state)
{
	struct file_copy copy = copy_installed();
	struct runtime *whole = NULL;

	(void)state;
	assert_int_equal(open_runtime(INSTALLED_LIBRUBY, &whole), 0);
	for (int i = 0; i < whole->gc.exit_count; i++) {
		unsigned char *site = copy.bytes + whole->gc.exits[i].file_offset;
		size_t length = *site == 0x0f ? 6 : 2;
		struct runtime *runtime = NULL;
		unsigned char kept[6];
		int fd;

		memcpy(kept, site, sizeof(kept));
		memset(site, 0x90, length); /* nop */
		fd = file_copy__open(&copy, copy.size);
		assert_int_equal(runtime__open(fd, &runtime), 0);
		assert_int_equal(runtime->gc.tier, RUNTIME_TIER_NONE);
		assert_int_equal(runtime->gc.exit_count, 0);
		runtime__free(runtime);
		close(fd);
		memcpy(site, kept, sizeof(kept));
	}
	runtime__free(whole);
	file_copy__free(&copy);
}

/* ---- made-up builds: tests/fixtures/fake_gc.c ---- */

static void find(const char *options, struct runtime_gc_sites *ret_sites)
{
	char folder[] = "/tmp/rbprof-test-XXXXXX", command[512], path[64];
	struct elf_wanted wanted[] = { { .name = "gc_enter" }, { .name = "gc_exit" } };
	struct gc_sites_request request = { .flags_offset = FLAGS_OFFSET };
	struct elf_file *file = NULL;
	Elf64_Sym during_gc;
	int fd;

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/fake", folder);
	snprintf(command, sizeof(command), "gcc -w -shared -fPIC %s tests/fixtures/fake_gc.c -o %s",
		 options, path);
	if (system(command) != 0) {
		rmdir(folder);
		print_message("gcc is needed\n");
		skip();
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	unlink(path);
	rmdir(folder);
	assert_int_equal(elf_file__open(fd, &file), 0);
	assert_int_equal(elf_file__load_relocations(file), 0);
	assert_int_equal(elf_file__dynamic_symbol(file, "rb_during_gc", &during_gc), 0);
	elf_file__static_symbols(file, wanted, 2);
	request.code_address = during_gc.st_value;
	request.gc_enter = wanted[0].found ? &wanted[0].symbol : NULL;
	request.gc_exit = wanted[1].found ? &wanted[1].symbol : NULL;
	assert_int_equal(gc_sites__find(file, &request, ret_sites), 0);
	elf_file__close(file);
	close(fd);
}

static void check_found(const char *options, enum runtime_tier tier, int entries, int exits)
{
	struct runtime_gc_sites sites;

	find(options, &sites);
	if (sites.why)
		print_message("%s: %s\n", options, sites.why);
	assert_int_equal(sites.tier, tier);
	assert_int_equal(sites.entry_count, entries);
	assert_int_equal(sites.exit_count, exits);
}

static void check_refused(const char *options, const char *why)
{
	struct runtime_gc_sites sites;

	find(options, &sites);
	assert_int_equal(sites.tier, RUNTIME_TIER_NONE);
	assert_int_equal(sites.entry_count + sites.exit_count, 0);
	assert_non_null(sites.why);
	if (!strstr(sites.why, why))
		fail_msg("%s: %s", options, sites.why);
}

static void test_inlined(void **state)
{
	(void)state;
	check_found("-O2", RUNTIME_TIER_CODE, 3, 4);
	check_found("-O3 -s", RUNTIME_TIER_CODE, 3, 4);
	check_found("-Os -s", RUNTIME_TIER_CODE, 3, 4);
	check_found("-O1 -s", RUNTIME_TIER_CODE, 3, 4);
	check_found("-O2 -fcf-protection=full -s", RUNTIME_TIER_CODE, 3, 4);
	check_found("-O2 -DOTHER_ENTER -s", RUNTIME_TIER_CODE, 3, 4);
}

static void test_unconditional_calls(void **state)
{
	(void)state;
	check_found("-O2 -DCALL -s", RUNTIME_TIER_CODE, 3, 4);
	check_found("-O3 -DCALL -s -Wl,-Bsymbolic", RUNTIME_TIER_CODE, 3, 4);
	check_found("-Os -DCALL -s", RUNTIME_TIER_CODE, 3, 4);
	check_refused("-O0 -DCALL -s", "without the known test");
	check_refused("-O2 -DCALL -DUNKNOWN_NAME", "without the known test");
}

static void test_functions(void **state)
{
	(void)state;
	check_found("-O2 -DOUTLINE", RUNTIME_TIER_SYMBOL, 1, 1);
	check_found("-O0 -DOUTLINE", RUNTIME_TIER_SYMBOL, 1, 1);
	check_found("-O2 -DCALL -DOUTLINE", RUNTIME_TIER_SYMBOL, 1, 1);
	check_found("-O1 -DOUTLINE -s", RUNTIME_TIER_CODE, 1, 1);
	check_found("-O2 -DCALL -DOUTLINE -s", RUNTIME_TIER_CODE, 1, 1);
}

static void test_refused(void **state)
{
	(void)state;
	check_refused("-O2 -DKEEP_FLAG", "does not clear during_gc");
	check_refused("-O2 -DNO_FLAG", "does not set during_gc");
	check_refused("-O2 -DVARIABLE", "in an unknown way");
	check_refused("-O2 -DOTHER", "more than one function");
	check_refused("-O0", "without the known test");
	check_refused("-O2 -DCALL -DKEEP_FLAG", "does not clear during_gc");
	check_refused("-O2 -DCALL -DNO_FLAG", "does not set during_gc");
	check_refused("-O2 -fno-asynchronous-unwind-tables -Wl,--no-eh-frame-hdr", "no table");
}

static void test_flag_unknown(void **state)
{
	struct gc_sites_request request = { .flags_offset = -1 };
	struct elf_file *file = NULL;
	struct runtime_gc_sites sites;
	int fd = open(INSTALLED_LIBRUBY, O_RDONLY | O_CLOEXEC);

	(void)state;
	if (fd < 0)
		skip();
	assert_int_equal(elf_file__open(fd, &file), 0);
	assert_int_equal(gc_sites__find(file, &request, &sites), 0);
	assert_int_equal(sites.tier, RUNTIME_TIER_NONE);
	/* The address of no code. */
	request.flags_offset = FLAGS_OFFSET;
	request.code_address = UINT64_MAX;
	assert_int_equal(gc_sites__find(file, &request, &sites), 0);
	assert_int_equal(sites.tier, RUNTIME_TIER_NONE);
	elf_file__close(file);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_installed),
		cmocka_unit_test(test_ruby_2_7),
		cmocka_unit_test(test_ruby_3_3),
		cmocka_unit_test(test_ruby_3_4),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_one_site_odd),
		cmocka_unit_test(test_inlined),
		cmocka_unit_test(test_unconditional_calls),
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_flag_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
