/* SPDX-License-Identifier: BSD-2-Clause */
/* Analysis of Ruby builds: the installed one, copies of it with faults, and made-up ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "file_copy.h"
#include "user/discover/runtime.h"
#include "user/ruby/layout.h"

#define FLIPS 150

static struct file_copy libruby; /* as installed; no bytes if it is not */

static int setup(void **state)
{
	(void)state;
	if (file_copy__read(INSTALLED_LIBRUBY, &libruby))
		libruby.size = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	file_copy__free(&libruby);
	return 0;
}

static struct file_copy copy_installed(void)
{
	struct file_copy copy = { .size = libruby.size };

	if (!libruby.size)
		skip();
	copy.bytes = malloc(copy.size);
	memcpy(copy.bytes, libruby.bytes, copy.size);
	return copy;
}

/* The result; the build only if that is 0. */
static int open_bytes(const struct file_copy *copy, size_t size, struct runtime **ret_runtime)
{
	int fd = file_copy__open(copy, size);
	int result = runtime__open(fd, ret_runtime);

	close(fd);
	return result;
}

static int open_path(const char *path, struct runtime **ret_runtime)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), result;

	if (fd < 0)
		skip();
	result = runtime__open(fd, ret_runtime);
	close(fd);
	return result;
}

static void test_installed(void **state)
{
	struct runtime *runtime = NULL;

	(void)state;
	assert_int_equal(open_path(INSTALLED_LIBRUBY, &runtime), 0);
	assert_string_equal(runtime->version, "3.1.2");
	assert_string_equal(runtime->layout_version, "3.1.0");
	assert_non_null(strstr(runtime->description, "ruby 3.1.2p20"));
	assert_int_equal(strlen(runtime->build_id), 40);
	assert_int_equal(runtime->size, libruby.size);
	assert_false(runtime->is_static);
	assert_true(runtime->has_yjit);
	assert_int_equal(runtime->ec_source, RBPROF_EC_TLS_DYNAMIC);
	assert_int_equal(runtime->ec.tier, RUNTIME_TIER_SYMBOL);
	assert_int_equal(runtime->vm.tier, RUNTIME_TIER_SYMBOL);
	assert_int_equal(runtime->symbols.tier, RUNTIME_TIER_CODE);
	assert_int_equal(runtime->layout.vm__objspace, 1104);
	assert_int_equal(runtime->layout.objspace__flags, 16);
	assert_int_equal(runtime->layout.objspace__profile_count, 440);
	runtime__free(runtime);
}

/* A case of "new patch release": works, by the table of its series. */
static void test_unknown_patch_release(void **state)
{
	struct file_copy copy = copy_installed();
	struct runtime *runtime = NULL;
	int exact = -1;

	(void)state;
	assert_true(file_copy__replace(&copy, "3.1.2", "3.1.9") > 0);
	assert_int_equal(open_bytes(&copy, copy.size, &runtime), 0);
	assert_string_equal(runtime->version, "3.1.9");
	assert_string_equal(runtime->layout_version, "3.1.5");
	assert_non_null(layout__find(runtime->version, &exact));
	assert_false(exact);
	/* The newest table says 1112; this file's code knows better. */
	assert_int_equal(runtime->layout.vm__objspace, 1104);
	runtime__free(runtime);
	file_copy__free(&copy);
}

static void test_versions_that_are_refused(void **state)
{
	static const struct {
		const char *version;
		int result;
	} cases[] = {
		{ "3.9.9", RBPROF_E_VERSION_UNSUPPORTED },
		{ "9.1.2", RBPROF_E_VERSION_UNSUPPORTED },
		{ "3.1..", RBPROF_E_VERSION_UNSUPPORTED },
		{ "a.b.c", RBPROF_E_VERSION_MISSING },
		{ "3.1\n2", RBPROF_E_VERSION_MISSING },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct file_copy copy = copy_installed();
		struct runtime *runtime = NULL;

		file_copy__replace(&copy, "3.1.2", cases[i].version);
		assert_int_equal(open_bytes(&copy, copy.size, &runtime), cases[i].result);
		assert_null(runtime);
		file_copy__free(&copy);
	}
}

static void test_not_ruby(void **state)
{
	static const char *const paths[] = { "/dev/null", "/etc/passwd",
					     "/lib/x86_64-linux-gnu/libc.so.6", "/usr/bin/ruby3.1",
					     "/proc/self/exe" };
	struct file_copy tiny = { .bytes = (unsigned char *)"\177ELF" };
	struct runtime *runtime = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (access(paths[i], R_OK) == 0)
			assert_int_equal(open_path(paths[i], &runtime), RBPROF_E_NOT_RUBY);
	for (size_t size = 0; size <= 4; size++)
		assert_int_equal(open_bytes(&tiny, size, &runtime), RBPROF_E_NOT_RUBY);
	assert_int_equal(runtime__open(-1, &runtime), -EBADF);
	assert_null(runtime);
}

static void test_other_machines(void **state)
{
	struct file_copy copy = copy_installed();
	struct runtime *runtime = NULL;
	Elf64_Ehdr *header = (Elf64_Ehdr *)copy.bytes;

	(void)state;
	header->e_machine = EM_AARCH64;
	assert_int_equal(open_bytes(&copy, copy.size, &runtime), RBPROF_E_ELF_MACHINE);
	header->e_machine = EM_386;
	header->e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(open_bytes(&copy, copy.size, &runtime), RBPROF_E_ELF_MACHINE);
	assert_int_equal(open_bytes(&copy, 4096, &runtime), RBPROF_E_NOT_RUBY);
	assert_null(runtime);
	file_copy__free(&copy);
}

static void test_other_libc(void **state)
{
	struct file_copy copy = copy_installed();
	struct runtime *runtime = NULL;

	(void)state;
	/* What musl calls itself in Debian's and in its own builds. */
	assert_true(file_copy__replace(&copy, "libc.so.6",
				       "libc.so\0"
				       "6") > 0);
	assert_int_equal(open_bytes(&copy, copy.size, &runtime), RBPROF_E_LIBC_UNSUPPORTED);
	assert_null(runtime);
	file_copy__free(&copy);
}

static void test_truncated(void **state)
{
	struct file_copy copy = copy_installed();

	(void)state;
	for (size_t size = 0; size < copy.size; size += size < 4096 ? 37 : copy.size / 97) {
		struct runtime *runtime = NULL;
		int result = open_bytes(&copy, size, &runtime);

		assert_true(result == 0 || !runtime);
		/* Half of it: there is nothing to read the addresses from. */
		if (size < copy.size / 2)
			assert_int_not_equal(result, 0);
		runtime__free(runtime);
	}
	file_copy__free(&copy);
}

static void test_section_headers_do_not_matter(void **state)
{
	static const struct {
		uint64_t offset;
		uint16_t size, count;
	} cases[] = { { 0, 0, 0 },
		      { UINT64_MAX, 64, 0xffff },
		      { 1, 64, 0xffff },
		      { 64, 64, 0 },
		      { 3000000, 7, 9 } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct file_copy copy = copy_installed();
		Elf64_Ehdr *header = (Elf64_Ehdr *)copy.bytes;
		struct runtime *runtime = NULL;

		header->e_shoff = cases[i].offset;
		header->e_shentsize = cases[i].size;
		header->e_shnum = cases[i].count;
		assert_int_equal(open_bytes(&copy, copy.size, &runtime), 0);
		assert_int_equal(runtime->ec.tier, RUNTIME_TIER_SYMBOL);
		assert_int_not_equal(runtime->symbols.address, 0);
		runtime__free(runtime);
		file_copy__free(&copy);
	}
}

/* Extreme values in the program headers and in the dynamic section: never a crash, and never a
 * build with a wrong version. */
static void test_lying_tables(void **state)
{
	static const uint64_t extremes[] = { 0, 8, UINT64_MAX, 1UL << 63, 1UL << 33, 0x2000000 };
	struct file_copy copy = copy_installed();
	Elf64_Ehdr *header = (Elf64_Ehdr *)copy.bytes;
	size_t words[200], count = 0;

	(void)state;
	for (size_t i = 0; i < header->e_phnum; i++) {
		const Elf64_Phdr *segment = (Elf64_Phdr *)(copy.bytes + header->e_phoff) + i;

		for (size_t j = 0; j < sizeof(*segment); j += 8)
			words[count++] = header->e_phoff + i * sizeof(*segment) + j;
		for (size_t j = 0; segment->p_type == PT_DYNAMIC && j < 30; j++)
			words[count++] = segment->p_offset + 16 * j + 8;
	}
	for (size_t i = 0; i < count; i++) {
		uint64_t kept;

		memcpy(&kept, copy.bytes + words[i], sizeof(kept));
		for (size_t j = 0; j < sizeof(extremes) / sizeof(extremes[0]); j++) {
			struct runtime *runtime = NULL;

			memcpy(copy.bytes + words[i], &extremes[j], sizeof(kept));
			if (open_bytes(&copy, copy.size, &runtime) == 0)
				assert_string_equal(runtime->version, "3.1.2");
			runtime__free(runtime);
		}
		memcpy(copy.bytes + words[i], &kept, sizeof(kept));
	}
	file_copy__free(&copy);
}

static void test_flipped_bytes(void **state)
{
	struct file_copy copy = copy_installed();
	unsigned int seed = 42;

	(void)state;
	for (int i = 0; i < FLIPS; i++) {
		struct runtime *runtime = NULL;

		/* In symbols, hashes and relocations: the first segment. */
		for (int j = 0; j < 500; j++)
			copy.bytes[(size_t)rand_r(&seed) % 0x32000] = (unsigned char)rand_r(&seed);
		memcpy(copy.bytes, libruby.bytes, 1024);
		open_bytes(&copy, copy.size, &runtime);
		runtime__free(runtime);
		memcpy(copy.bytes, libruby.bytes, copy.size);
	}
	file_copy__free(&copy);
}

/* ---- builds that no package has: tests/fixtures/fake_ruby.c ---- */

static int build(const char *options, struct runtime **ret_runtime)
{
	char folder[] = "/tmp/rbprof-test-XXXXXX", command[512], path[64];
	int result;

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/fake", folder);
	snprintf(command, sizeof(command), "gcc -w %s tests/fixtures/fake_ruby.c -o %s", options,
		 path);
	if (system(command) != 0) {
		rmdir(folder);
		print_message("gcc is needed\n");
		skip();
	}
	result = open_path(path, ret_runtime);
	unlink(path);
	rmdir(folder);
	return result;
}

static void check_built(const char *options, enum rbprof_ec_source source, enum runtime_tier tier)
{
	struct runtime *runtime = NULL;

	assert_int_equal(build(options, &runtime), 0);
	assert_int_equal(runtime->ec_source, source);
	assert_int_equal(runtime->ec.tier, tier);
	assert_int_equal(runtime->vm.tier, tier);
	assert_int_equal(runtime->symbols.tier, tier);
	assert_int_not_equal(runtime->vm.address, 0);
	assert_int_not_equal(runtime->symbols.address, 0);
	if (source == RBPROF_EC_TLS_STATIC) {
		assert_true(runtime->is_static);
		assert_true(runtime->ec_tp_offset < 0 && runtime->ec_tp_offset >= -256);
	} else {
		assert_int_not_equal(runtime->ec.address, 0);
	}
	assert_int_equal(runtime->layout.vm__objspace, 1104);
	runtime__free(runtime);
}

static void test_tiers(void **state)
{
	(void)state;
	check_built("-O2 -shared -fPIC -s", RBPROF_EC_TLS_DYNAMIC, RUNTIME_TIER_SYMBOL);
	check_built("-O2 -shared -fPIC -DHIDDEN", RBPROF_EC_TLS_DYNAMIC, RUNTIME_TIER_SYMBOL);
	check_built("-O2 -shared -fPIC -DHIDDEN -s", RBPROF_EC_TLS_DYNAMIC, RUNTIME_TIER_CODE);
	check_built("-Os -shared -fPIC -DHIDDEN -s", RBPROF_EC_TLS_DYNAMIC, RUNTIME_TIER_CODE);
	check_built("-O2 -shared -fPIC -Wl,--hash-style=sysv -s", RBPROF_EC_TLS_DYNAMIC,
		    RUNTIME_TIER_SYMBOL);
	check_built("-O2 -rdynamic -s", RBPROF_EC_TLS_STATIC, RUNTIME_TIER_SYMBOL);
	check_built("-O2 -rdynamic -DHIDDEN -s", RBPROF_EC_TLS_STATIC, RUNTIME_TIER_CODE);
	check_built("-O2 -no-pie -rdynamic -DHIDDEN -s", RBPROF_EC_TLS_STATIC, RUNTIME_TIER_CODE);
	check_built("-O2 -static -DHIDDEN", RBPROF_EC_TLS_STATIC, RUNTIME_TIER_SYMBOL);
	check_built("-O2 -static-pie -DHIDDEN", RBPROF_EC_TLS_STATIC, RUNTIME_TIER_SYMBOL);
}

/* Both ways must lead to the same places. */
static void test_tiers_agree(void **state)
{
	struct runtime *by_symbol = NULL, *by_code = NULL;

	(void)state;
	assert_int_equal(build("-O2 -shared -fPIC -DHIDDEN", &by_symbol), 0);
	assert_int_equal(build("-O2 -shared -fPIC -DHIDDEN -s", &by_code), 0);
	assert_int_equal(by_symbol->ec.address, by_code->ec.address);
	assert_int_equal(by_symbol->vm.address, by_code->vm.address);
	assert_int_equal(by_symbol->symbols.address, by_code->symbols.address);
	runtime__free(by_symbol);
	runtime__free(by_code);
	assert_int_equal(build("-O2 -rdynamic", &by_symbol), 0);
	assert_int_equal(build("-O2 -rdynamic -DHIDDEN -s", &by_code), 0);
	assert_int_equal(by_symbol->ec_tp_offset, by_code->ec_tp_offset);
	runtime__free(by_symbol);
	runtime__free(by_code);
}

static void test_code_beats_the_table(void **state)
{
	struct runtime *runtime = NULL;

	(void)state;
	assert_int_equal(build("-O2 -shared -fPIC -DFAKE_OBJSPACE=1200 -DFAKE_COUNT=480", &runtime),
			 0);
	assert_int_equal(runtime->layout.vm__objspace, 1200);
	assert_int_equal(runtime->layout.objspace__profile_count, 480);
	/* Nothing tells where its neighbours are now. */
	assert_int_equal(runtime->layout.objspace__profile_major_gc_count, RUBY_NO_FIELD);
	assert_int_equal(runtime->layout.objspace__latest_gc_info, RUBY_NO_FIELD);
	assert_int_equal(runtime->layout.objspace__total_time, RUBY_NO_FIELD);
	runtime__free(runtime);
}

static void test_contradictions_are_refused(void **state)
{
	struct runtime *runtime = NULL;

	(void)state;
	assert_int_equal(build("-O2 -shared -fPIC -DFAKE_SELF=24", &runtime),
			 RBPROF_E_PROOF_FAILED);
	assert_null(runtime);
}

static void test_identity(void **state)
{
	struct runtime *runtime = NULL, *again = NULL;

	(void)state;
	assert_int_equal(build("-O2 -shared -fPIC -Wl,--build-id=none", &runtime), 0);
	assert_int_equal(strlen(runtime->build_id), 32);
	/* Bytes that are no text are replaced in what is shown. */
	assert_string_equal(runtime->description, "ruby 3.1.2 (made up)\xef\xbf\xbd");
	assert_false(runtime->has_yjit);
	assert_false(runtime->is_stripped);
	assert_int_equal(build("-O1 -shared -fPIC -Wl,--build-id=none", &again), 0);
	assert_string_not_equal(runtime->build_id, again->build_id);
	runtime__free(runtime);
	runtime__free(again);
}

/* ---- load bias ---- */

static void test_load_bias(void **state)
{
	struct file_copy copy = copy_installed();
	const Elf64_Ehdr *header = (Elf64_Ehdr *)copy.bytes;
	uint64_t bias = 77, base = 0x7f0000000000;
	int fd = file_copy__open(&copy, copy.size);

	(void)state;
	for (size_t i = 0; i < header->e_phnum; i++) {
		const Elf64_Phdr *segment = (Elf64_Phdr *)(copy.bytes + header->e_phoff) + i;
		uint64_t offset = segment->p_offset & ~0xfffUL;

		if (segment->p_type != PT_LOAD)
			continue;
		assert_int_equal(
			runtime__load_bias(fd, base + (segment->p_vaddr & ~0xfffUL), offset, &bias),
			0);
		assert_int_equal(bias, base);
		/* A later part of it, as mprotect() cuts one off. */
		assert_int_equal(runtime__load_bias(fd,
						    base + (segment->p_vaddr & ~0xfffUL) + 0x1000,
						    offset + 0x1000, &bias),
				 0);
		assert_int_equal(bias, base);
	}
	bias = 77;
	assert_int_equal(runtime__load_bias(fd, base, 1UL << 40, &bias), -EINVAL);
	assert_int_equal(runtime__load_bias(fd, base, 5, &bias), -EINVAL);
	assert_int_equal(runtime__load_bias(fd, base + 1, 0, &bias), -EINVAL);
	assert_int_equal(runtime__load_bias(-1, base, 0, &bias), -EINVAL);
	assert_int_equal(bias, 77);
	close(fd);
	file_copy__free(&copy);
}

static uint64_t word_of(pid_t pid, uint64_t address)
{
	uint64_t value = 0;
	struct iovec local = { .iov_base = &value, .iov_len = sizeof(value) };
	struct iovec remote = { .iov_base = (void *)address, .iov_len = sizeof(value) };

	assert_int_equal(process_vm_readv(pid, &local, 1, &remote, 1, 0), sizeof(value));
	return value;
}

/* Start and offset of the process's first mapping of libruby. */
static bool find_mapping(pid_t pid, uint64_t *ret_start, uint64_t *ret_offset)
{
	char path[64], line[512];
	bool found = false;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "r");
	while (maps && !found && fgets(line, sizeof(line), maps)) {
		char *rest;

		if (!strstr(line, "/libruby-3.1.so"))
			continue;
		*ret_start = strtoull(line, &rest, 16);
		rest = strchr(rest, ' ') + 6;
		*ret_offset = strtoull(rest, NULL, 16);
		found = true;
	}
	if (maps)
		fclose(maps);
	return found;
}

static pid_t start_ruby(int *ret_output)
{
	int pipes[2];
	pid_t pid;

	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	if (pid == 0) {
		dup2(pipes[1], 1);
		execlp("ruby", "ruby", "-e", "$stdout.sync = true; puts :up; sleep", NULL);
		_exit(127);
	}
	close(pipes[1]);
	*ret_output = pipes[0];
	return pid;
}

/* What was found in the file is what a running Ruby uses. */
static void test_running_process(void **state)
{
	uint64_t start = 0, offset = 0, bias = 0, vm, last_id;
	struct runtime *runtime = NULL;
	int output, fd;
	char byte;
	pid_t pid;

	(void)state;
	assert_int_equal(open_path(INSTALLED_LIBRUBY, &runtime), 0);
	pid = start_ruby(&output);
	if (read(output, &byte, 1) != 1 || !find_mapping(pid, &start, &offset)) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		skip();
	}
	fd = open(INSTALLED_LIBRUBY, O_RDONLY | O_CLOEXEC);
	assert_int_equal(runtime__load_bias(fd, start, offset, &bias), 0);
	vm = word_of(pid, bias + runtime->vm.address);
	assert_int_not_equal(vm, 0);
	assert_int_equal(vm % 8, 0);
	/* vm -> main ractor -> main thread -> vm */
	assert_int_equal(word_of(pid, word_of(pid, vm + runtime->layout.vm__main_thread) +
					      runtime->layout.th__vm),
			 vm);
	/* GOT pair: a module id, and the offset of the symbol */
	assert_in_range(word_of(pid, bias + runtime->ec.address), 1, 64);
	assert_int_equal(word_of(pid, bias + runtime->ec.address + 8), 8);
	last_id = word_of(pid, bias + runtime->symbols.address) & 0xffffffff;
	assert_in_range(last_id, 1000, 1000000);
	assert_int_equal(word_of(pid, word_of(pid, bias + runtime->symbols.address + 16)) &
				 RUBY_T_MASK,
			 RUBY_T_ARRAY);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(output);
	close(fd);
	runtime__free(runtime);
}

static void test_tier_names(void **state)
{
	(void)state;
	assert_string_equal(runtime_tier__name(RUNTIME_TIER_NONE), "none");
	assert_string_equal(runtime_tier__name(RUNTIME_TIER_SYMBOL), "symbol");
	assert_string_equal(runtime_tier__name(RUNTIME_TIER_DEBUG), "debug file");
	assert_string_equal(runtime_tier__name(RUNTIME_TIER_CODE), "code");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_installed),
		cmocka_unit_test(test_unknown_patch_release),
		cmocka_unit_test(test_versions_that_are_refused),
		cmocka_unit_test(test_not_ruby),
		cmocka_unit_test(test_other_machines),
		cmocka_unit_test(test_other_libc),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_section_headers_do_not_matter),
		cmocka_unit_test(test_lying_tables),
		cmocka_unit_test(test_flipped_bytes),
		cmocka_unit_test(test_tiers),
		cmocka_unit_test(test_tiers_agree),
		cmocka_unit_test(test_code_beats_the_table),
		cmocka_unit_test(test_contradictions_are_refused),
		cmocka_unit_test(test_identity),
		cmocka_unit_test(test_load_bias),
		cmocka_unit_test(test_running_process),
		cmocka_unit_test(test_tier_names),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
