/* SPDX-License-Identifier: BSD-2-Clause */
/* What is read out of /proc about a waiting thread, and what is made of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "overlay_memory.h"
#include "user/discover/kernel_wait.h"
#include "user/discover/thread_states.h"

#define STATUS                                                                                \
	"Name:\tState:\tR\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t70\nNSpid:\t71\t8\t3\n" \
	"Threads:\t2\nvoluntary_ctxt_switches:\t40\nnonvoluntary_ctxt_switches:\t2\n"

static void status(void **state)
{
	struct thread_state thread;

	(void)state;
	assert_int_equal(thread_state__parse(STATUS, &thread), 0);
	assert_int_equal(thread.letter, 'S');
	assert_int_equal(thread.tid_inside, 3);
	assert_int_equal(thread.switches, 42);
}

static void status_that_is_none(void **state)
{
	static const char *const bad[] = {
		"",
		"\n\n",
		"State:",
		"State:\tS (sleeping)\n",
		"State:\tS\nvoluntary_ctxt_switches:\t-1\nnonvoluntary_ctxt_switches:\t2\n",
		"State:\t1\nvoluntary_ctxt_switches:\t1\nnonvoluntary_ctxt_switches:\t2\n",
		"State:\tS\nNSpid:\t99999999999\nvoluntary_ctxt_switches:\t1\n"
		"nonvoluntary_ctxt_switches:\t2\n",
		"State:\tS\nvoluntary_ctxt_switches:\t99999999999999999999999\n"
		"nonvoluntary_ctxt_switches:\t2\n",
	};
	struct thread_state thread = { .letter = '!' };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(thread_state__parse(bad[i], &thread), -EINVAL);
		assert_int_equal(thread.letter, '!');
	}
}

static void stood_still(void **state)
{
	const struct thread_state asleep = { .letter = 'S', .switches = 5 };
	const struct thread_state later = { .letter = 'S', .switches = 6 };
	const struct thread_state runs = { .letter = 'R', .switches = 5 };

	(void)state;
	assert_true(thread_state__stood_still(&asleep, &asleep));
	assert_false(thread_state__stood_still(&asleep, &later));
	assert_false(thread_state__stood_still(&asleep, &runs));
	assert_false(thread_state__stood_still(&runs, &asleep));
}

static void own_threads(void **state)
{
	struct thread_state *states;
	size_t count;

	(void)state;
	assert_int_equal(thread_states__list(getpid(), &states, &count), 0);
	assert_true(count >= 1);
	assert_int_equal(states[0].tid, getpid());
	free(states);
	assert_int_equal(thread_states__list(-1, &states, &count), -ESRCH);
}

static void system_call(void **state)
{
	struct thread_call call = { .number = 7 };

	(void)state;
	assert_int_equal(thread_call__parse("running\n", &call), -EAGAIN);
	assert_int_equal(thread_call__parse("", &call), -EINVAL);
	assert_int_equal(thread_call__parse("no", &call), -EINVAL);
	assert_int_equal(call.number, 7);
	/* In the kernel, but in no call: stack and instruction pointer follow. */
	assert_int_equal(thread_call__parse("-1 0x7ffc 0x7f96\n", &call), 0);
	assert_int_equal(call.number, -1);
	assert_int_equal(
		thread_call__parse("0 0x3 0x7f 0x20 0x1 0xffffffff 0x0 0x7ffc 0x7f96\n", &call), 0);
	assert_int_equal(call.number, 0);
	assert_int_equal(call.arguments[0], 3);
	assert_int_equal(call.arguments[4], 0xffffffff);
}

static struct kernel_wait wait_of(struct overlay *overlay, int64_t number, uint64_t first,
				  uint64_t second)
{
	const struct thread_call call = { .number = number, .arguments = { first, second } };
	struct kernel_wait wait;

	kernel_wait__of_call(&overlay->memory, &call, &wait);
	return wait;
}

static void kinds(void **state)
{
	struct overlay none;
	struct kernel_wait wait;

	(void)state;
	overlay_init(&none, NULL);
	wait = wait_of(&none, SYS_read, 5, 0);
	assert_int_equal(wait.kind, KERNEL_WAIT_FD);
	assert_int_equal(wait.fd_count, 1);
	assert_int_equal(wait.fds[0].number, 5);
	assert_string_equal(wait.call, "read");
	assert_int_equal(wait_of(&none, SYS_futex, 0, 0).kind, KERNEL_WAIT_FUTEX);
	assert_int_equal(wait_of(&none, SYS_clock_nanosleep, 0, 0).kind, KERNEL_WAIT_SLEEP);
	assert_int_equal(wait_of(&none, SYS_flock, 3, 0).kind, KERNEL_WAIT_FILE_LOCK);
	assert_int_equal(wait_of(&none, SYS_fcntl, 3, F_SETLKW).kind, KERNEL_WAIT_FILE_LOCK);
	assert_int_equal(wait_of(&none, SYS_fcntl, 3, F_GETFD).kind, KERNEL_WAIT_UNKNOWN);
	assert_int_equal(wait_of(&none, SYS_wait4, 77, 0).child, 77);
	assert_int_equal(wait_of(&none, SYS_wait4, UINT64_MAX, 0).child, 0);
	assert_int_equal(wait_of(&none, SYS_waitid, 1, 78).child, 78);
	assert_int_equal(wait_of(&none, SYS_waitid, 0, 78).child, 0);
	assert_int_equal(wait_of(&none, -1, 0, 0).kind, KERNEL_WAIT_UNKNOWN);
	assert_int_equal(wait_of(&none, 999999, 0, 0).kind, KERNEL_WAIT_UNKNOWN);
}

static void polled(void **state)
{
	const struct pollfd fds[] = { { .fd = 4 }, { .fd = -1 }, { .fd = 9 } };
	struct overlay overlay;
	struct kernel_wait wait;

	(void)state;
	overlay_init(&overlay, NULL);
	overlay_bytes(&overlay, 0x1000, fds, sizeof(fds));
	wait = wait_of(&overlay, SYS_ppoll, 0x1000, 3);
	assert_int_equal(wait.kind, KERNEL_WAIT_FDS_ANY);
	assert_int_equal(wait.fd_count, 2);
	assert_int_equal(wait.fds[1].number, 9);
	/* No fds: a way to sleep. Absurdly many, or unreadable: only that it polls. */
	assert_int_equal(wait_of(&overlay, SYS_ppoll, 0, 0).kind, KERNEL_WAIT_SLEEP);
	wait = wait_of(&overlay, SYS_ppoll, 0x1000, UINT64_MAX);
	assert_int_equal(wait.kind, KERNEL_WAIT_FDS_ANY);
	assert_int_equal(wait.fd_count, 0);
}

static void selected(void **state)
{
	const uint64_t set = 1ULL << 3 | 1ULL << 63;
	struct overlay overlay;
	struct kernel_wait wait;

	(void)state;
	overlay_init(&overlay, NULL);
	overlay_u64(&overlay, 0x1000, set);
	wait = wait_of(&overlay, SYS_pselect6, 64, 0x1000);
	assert_int_equal(wait.fd_count, 2);
	assert_int_equal(wait.fds[0].number, 3);
	assert_int_equal(wait.fds[1].number, 63);
	assert_int_equal(wait_of(&overlay, SYS_pselect6, 63, 0x1000).fd_count, 1);
	assert_int_equal(wait_of(&overlay, SYS_pselect6, UINT64_MAX, 0x1000).fd_count, 0);
}

/* A child of ours that stands in read() on a pipe. */
static void live(void **state)
{
	struct overlay none;
	struct kernel_wait wait;
	int pipes[2], tries = 0;
	char byte;
	pid_t child;

	(void)state;
	overlay_init(&none, NULL);
	assert_int_equal(pipe(pipes), 0);
	child = fork();
	if (!child) {
		close(pipes[1]);
		_exit(read(pipes[0], &byte, 1) ? 1 : 0);
	}
	do {
		usleep(1000);
		kernel_wait__read(&none.memory, child, child, 'S', &wait);
	} while (wait.kind != KERNEL_WAIT_FD && tries++ < 60000);
	close(pipes[1]);
	if (wait.number < 0)
		skip(); /* not allowed to look */
	assert_int_equal(wait.kind, KERNEL_WAIT_FD);
	assert_int_equal(wait.fds[0].number, pipes[0]);
	assert_int_equal(strncmp(wait.fds[0].name, "pipe:[", 6), 0);
	assert_false(wait.is_network);
	close(pipes[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(status),      cmocka_unit_test(status_that_is_none),
		cmocka_unit_test(stood_still), cmocka_unit_test(own_threads),
		cmocka_unit_test(system_call), cmocka_unit_test(kinds),
		cmocka_unit_test(polled),      cmocka_unit_test(selected),
		cmocka_unit_test(live),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
