/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory of live processes (our own children), and of fixture files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/util/memory.h"
#include "user/util/memory_fixture.h"

#define RANGES 2500 /* more than one call takes */

static uint64_t words[RANGES];

/* A child that stands still until it is killed. */
static pid_t child_new(void)
{
	pid_t pid = fork();

	if (!pid) {
		words[0] = 42;
		for (;;)
			pause();
	}
	return pid;
}

static void child_end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void wait_for_word(struct memory *memory, uint64_t expected)
{
	uint64_t word = 0;
	int i;

	for (i = 0; i < 60000 && word != expected; i++) {
		assert_int_equal(memory__read_u64(memory, (uintptr_t)words, &word), 0);
		usleep(1000);
	}
	assert_int_equal(word, expected);
}

static void words_and_ranges(void **state)
{
	static struct memory_range ranges[RANGES];
	static uint64_t into[RANGES];
	struct memory *memory;
	uint64_t word = 7;
	uint32_t half;
	pid_t pid;
	size_t i;

	(void)state;
	for (i = 0; i < RANGES; i++) {
		words[i] = i * 3;
		ranges[i] = (struct memory_range){ (uintptr_t)&words[i], &into[i], 8 };
	}
	pid = child_new();
	assert_int_equal(memory__open_process(pid, &memory), 0);
	wait_for_word(memory, 42);
	assert_int_equal(memory__read_ranges(memory, ranges, RANGES), 0);
	for (i = 1; i < RANGES; i++)
		assert_int_equal(into[i], i * 3);
	assert_int_equal(memory__read_u32(memory, (uintptr_t)&words[1], &half), 0);
	assert_int_equal(half, 3);
	assert_int_equal(memory__read(memory, (uintptr_t)words, NULL, 0), 0);
	assert_int_equal(memory__read_ranges(memory, NULL, 0), 0);
	/* As a whole or not at all, and the output stays as it was. */
	ranges[1500].address = 8;
	assert_int_equal(memory__read_ranges(memory, ranges, RANGES), -EFAULT);
	assert_int_equal(memory__read_u64(memory, 8, &word), -EFAULT);
	assert_int_equal(memory__read_u64(memory, UINT64_MAX - 3, &word), -EFAULT);
	assert_int_equal(memory__read_u64(memory, 1ULL << 63, &word), -EFAULT);
	assert_int_equal(word, 7);
	memory__close(memory);
	child_end(pid);
}

/* A range that begins in a page and ends behind it. */
static void partly_mapped(void **state)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *pages, into[64];
	struct memory *memory;
	pid_t pid;

	(void)state;
	pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(pages, MAP_FAILED);
	munmap(pages + page, page);
	pid = child_new();
	assert_int_equal(memory__open_process(pid, &memory), 0);
	assert_int_equal(memory__read(memory, (uintptr_t)pages + page - 64, into, 64), 0);
	assert_int_equal(memory__read(memory, (uintptr_t)pages + page - 32, into, 64), -EFAULT);
	memory__close(memory);
	child_end(pid);
	munmap(pages, page);
}

static void exited(void **state)
{
	struct memory *memory, *late;
	uint64_t word;
	pid_t pid = child_new();

	(void)state;
	assert_int_equal(memory__open_process(pid, &memory), 0);
	kill(pid, SIGKILL);
	/* A zombie, and then nothing. */
	waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOWAIT);
	assert_int_equal(memory__read_u64(memory, (uintptr_t)words, &word), -ESRCH);
	assert_int_equal(memory__open_process(pid, &late), -ESRCH);
	waitpid(pid, NULL, 0);
	assert_int_equal(memory__read_u64(memory, (uintptr_t)words, &word), -ESRCH);
	assert_int_equal(memory__open_process(pid, &late), -ESRCH);
	memory__close(memory);
	assert_int_equal(memory__open_process(0, &memory), -ESRCH);
	assert_int_equal(memory__open_process(-5, &memory), -ESRCH);
	memory__close(NULL);
}

/* After an exec the pid is the same and the addresses may be mapped: they are another's. */
static void executed(void **state)
{
	struct memory *memory;
	uint64_t word;
	pid_t pid;
	int pipes[2], err = 0, i;

	(void)state;
	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	if (!pid) {
		char byte;

		close(pipes[1]);
		if (read(pipes[0], &byte, 1) >= 0)
			execl("/bin/sleep", "sleep", "100", NULL);
		_exit(1);
	}
	assert_int_equal(memory__open_process(pid, &memory), 0);
	assert_int_equal(memory__read_u64(memory, (uintptr_t)words, &word), 0);
	close(pipes[1]);
	close(pipes[0]);
	for (i = 0; i < 60000 && err != -ESRCH; i++) {
		err = memory__read_u64(memory, (uintptr_t)words, &word);
		assert_true(err == 0 || err == -ESRCH);
		usleep(1000);
	}
	assert_int_equal(err, -ESRCH);
	memory__close(memory);
	child_end(pid);
}

static void *outlive(void *argument)
{
	(void)argument;
	usleep(100000);
	words[0] = 43;
	for (;;)
		pause();
	return NULL;
}

/* The main thread ends, another goes on: the process is there, though its leader is a zombie. */
static void leader_gone(void **state)
{
	struct memory *early, *late;
	pid_t pid = fork();

	(void)state;
	if (!pid) {
		pthread_t thread;

		pthread_create(&thread, NULL, outlive, NULL);
		words[0] = 42;
		syscall(SYS_exit, 0);
	}
	assert_int_equal(memory__open_process(pid, &early), 0);
	wait_for_word(early, 43);
	assert_int_equal(memory__open_process(pid, &late), 0);
	wait_for_word(late, 43);
	memory__close(early);
	memory__close(late);
	child_end(pid);
}

/* ---- fixtures ---- */

static int load(const char *text, size_t length, struct fixture **ret_fixture)
{
	char path[] = "/tmp/rbprof-test-XXXXXX";
	int fd = mkstemp(path), err;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, length), length);
	close(fd);
	err = fixture__load(path, ret_fixture);
	unlink(path);
	return err;
}

static void fixture_file(void **state)
{
	static const char text[] = "rbprof-fixture 1\nversion 3.1.2\nroot vm 10\nroot symbols 20\n"
				   "stack 1 2 3 2\nframe a b c d\nframe 0 0 d 1\ntruth a b\n"
				   "segment 1000 8\n01234567\nsegment 1008 4\nabcd\n"
				   "segment 2000 1\nx\nend\n";
	struct fixture *fixture;
	char into[16] = "";

	(void)state;
	assert_int_equal(load(text, sizeof(text) - 1, &fixture), 0);
	assert_string_equal(fixture->version, "3.1.2");
	assert_int_equal(fixture->vm_ptr_address, 0x10);
	assert_int_equal(fixture->symbols_address, 0x20);
	assert_int_equal(fixture->stack_count, 1);
	assert_int_equal(fixture->stacks[0].count, 2);
	assert_int_equal(fixture->stacks[0].frames[1].method_entry, 0xd);
	assert_int_equal(fixture->stacks[0].frames[0].method_serial, 0xd);
	assert_string_equal(fixture->truths[0], "a b");
	assert_int_equal(memory__read(fixture->memory, 0x1006, into, 6), 0);
	assert_string_equal(into, "67abcd");
	assert_int_equal(memory__read(fixture->memory, 0x1006, into, 7), -EFAULT);
	assert_int_equal(memory__read(fixture->memory, 0xfff, into, 2), -EFAULT);
	assert_int_equal(memory__read(fixture->memory, 0x2000, into, 1), 0);
	assert_int_equal(memory__read(fixture->memory, UINT64_MAX, into, 1), -EFAULT);
	fixture__free(fixture);
}

static void broken_fixtures(void **state)
{
	static const char *const texts[] = {
		"",
		"rbprof-fixture 2\nend\n",
		"rbprof-fixture 1\n",
		"rbprof-fixture 1\nend",
		"rbprof-fixture 1\nnonsense\nend\n",
		"rbprof-fixture 1\nsegment 1000 8\n0123\nend\n",
		"rbprof-fixture 1\nsegment 1000 99999999999999\nx\nend\n",
		"rbprof-fixture 1\nsegment ffffffffffffffff 8\n01234567\nend\n",
		"rbprof-fixture 1\nsegment 1000 8\n01234567\nsegment 1004 1\nx\nend\n",
		"rbprof-fixture 1\nsegment 1000 0\n\nend\n",
		"rbprof-fixture 1\nstack 1 2 3 99999999\nend\n",
		"rbprof-fixture 1\nstack 1 2 3 2\nframe 1 2 3 4\nend\n",
	};
	struct fixture *fixture = NULL;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		assert_true(load(texts[i], strlen(texts[i]), &fixture) < 0);
		assert_null(fixture);
	}
	assert_int_equal(fixture__load("/nowhere/at/all", &fixture), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_and_ranges), cmocka_unit_test(partly_mapped),
		cmocka_unit_test(exited),	    cmocka_unit_test(executed),
		cmocka_unit_test(leader_gone),	    cmocka_unit_test(fixture_file),
		cmocka_unit_test(broken_fixtures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
