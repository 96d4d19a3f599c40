/* SPDX-License-Identifier: BSD-2-Clause */
/* From the VM's words, the system call and the innermost frames to the state of a wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <string.h>
#include <sys/syscall.h>

#include "user/core/wait_state.h"
#include "user/ruby/names.h"

#define STOPPED	 1 /* enum rb_thread_status */
#define FOREVER	 2
#define READ	 RBPROF_WAIT_VM_READ
#define WOKEN	 (READ | RBPROF_WAIT_CAN_BE_WOKEN)
#define REGION	 (WOKEN | RBPROF_WAIT_IN_REGION)
#define MUTEX	 (WOKEN | RBPROF_WAIT_LOCKS_MUTEX)
#define HAS_GVL	 RBPROF_SAMPLE_HAS_GVL
#define RUNNABLE RBPROF_SAMPLE_RUNNABLE

struct example {
	const char *state;
	uint32_t vm, status;
	int32_t call;
	uint32_t fd_kind, flags;
	const char *names[3];
};

static void check(const struct example *examples, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct example *e = &examples[i];
		const struct rbprof_wait wait = {
			.vm = e->vm, .vm_status = e->status, .call = e->call, .fd_kind = e->fd_kind
		};
		size_t names = 0;
		const char *state;

		while (names < 3 && e->names[names])
			names++;
		state = wait_state__of(&wait, e->flags, e->names, names);
		if (strcmp(state, e->state))
			print_error("example %zu (%s): %s\n", i, names ? e->names[0] : "-", state);
		assert_string_equal(state, e->state);
	}
}

#define CHECK(examples) check(examples, sizeof(examples) / sizeof((examples)[0]))

static void by_words(void **state)
{
	static const struct example examples[] = {
		{ "waiting for gvl", READ, 0, SYS_futex, 0, 0, { "Integer#times" } },
		/* Coming back from a read: all but the unblock function is as it was there. */
		{ "waiting for gvl",
		  READ | RBPROF_WAIT_IN_REGION,
		  STOPPED,
		  SYS_futex,
		  0,
		  0,
		  { 0 } },
		{ "waiting for gvl", READ, 0, -1, 0, 0, { 0 } },
		{ "waiting for gvl", READ, 0, SYS_restart_syscall, 0, 0, { 0 } },
		{ "blocked", MUTEX, FOREVER, SYS_futex, 0, 0, { "Thread::Mutex#lock" } },
		{ "blocked", MUTEX, FOREVER, SYS_futex, 0, 0, { "Monitor#synchronize" } },
		{ "sleeping", WOKEN, STOPPED, SYS_futex, 0, 0, { "Kernel#sleep" } },
		{ "sleeping", WOKEN, STOPPED, SYS_ppoll, RBPROF_FD_OTHER, 0, { 0 } },
		/* What the VM says counts, not what it uses for it. */
		{ "waiting", WOKEN, FOREVER, SYS_futex, 0, 0, { "Thread::Queue#pop" } },
		{ "unknown", WOKEN, FOREVER, SYS_futex, 0, 0, { "Some#method" } },
		/* A thread that ends. */
		{ "unknown", WOKEN, RUBY_THREAD_KILLED, SYS_futex, 0, 0, { 0 } },
	};

	(void)state;
	CHECK(examples);
}

static void by_names(void **state)
{
	static const struct example examples[] = {
		{ "blocked", WOKEN, FOREVER, SYS_futex, 0, 0, { "Thread#join" } },
		{ "blocked", WOKEN, STOPPED, SYS_futex, 0, 0, { "Thread#join" } },
		{ "blocked", WOKEN, FOREVER, SYS_futex, 0, 0, { "Thread#value" } },
		{ "waiting", WOKEN, STOPPED, SYS_futex, 0, 0, { "Queue#pop" } },
		{ "waiting", WOKEN, FOREVER, SYS_futex, 0, 0, { "Thread::SizedQueue#push" } },
		{ "waiting",
		  WOKEN,
		  STOPPED,
		  SYS_futex,
		  0,
		  0,
		  { "Thread::Mutex#sleep", "Thread::ConditionVariable#wait" } },
		{ "sleeping",
		  WOKEN,
		  FOREVER,
		  SYS_futex,
		  0,
		  0,
		  { "Thread::Mutex#sleep", "Object#a" } },
		{ "sleeping", WOKEN, FOREVER, SYS_futex, 0, 0, { "Kernel#sleep" } },
		{ "sleeping", WOKEN, FOREVER, SYS_futex, 0, 0, { "Thread.stop" } },
		{ "waiting", WOKEN, STOPPED, SYS_futex, 0, 0, { "Process.wait" } },
		{ "waiting", WOKEN, FOREVER, SYS_futex, 0, 0, { "Ractor.receive" } },
		/* They are not asked where the words say it. */
		{ "waiting for gvl", READ, 0, SYS_futex, 0, 0, { "Kernel#sleep" } },
		{ "blocked",
		  MUTEX,
		  FOREVER,
		  SYS_futex,
		  0,
		  0,
		  { "Thread::Mutex#sleep", "Thread::ConditionVariable#wait" } },
	};
	static const char *const nameless[] = { NULL, "Kernel#sleep" };
	const struct rbprof_wait wait = { .vm = WOKEN, .vm_status = FOREVER, .call = SYS_futex };

	(void)state;
	CHECK(examples);
	assert_string_equal(wait_state__of(&wait, 0, nameless, 2), "unknown");
	assert_string_equal(wait_state__of(&wait, 0, NULL, 0), "unknown");
}

static void by_call(void **state)
{
	static const struct example examples[] = {
		{ "network",
		  REGION,
		  STOPPED,
		  SYS_accept4,
		  RBPROF_FD_SOCKET,
		  0,
		  { "TCPServer#accept" } },
		{ "network",
		  REGION,
		  STOPPED,
		  SYS_ppoll,
		  RBPROF_FD_SOCKET,
		  0,
		  { "IO#wait_readable" } },
		{ "waiting", REGION, STOPPED, SYS_read, RBPROF_FD_OTHER, 0, { "IO#read" } },
		{ "waiting", REGION, STOPPED, SYS_pselect6, RBPROF_FD_OTHER, 0, { "IO.select" } },
		{ "sleeping", REGION, STOPPED, SYS_pselect6, RBPROF_FD_NONE, 0, { "IO.select" } },
		{ "waiting", REGION, STOPPED, SYS_flock, 0, 0, { "File#flock" } },
		{ "waiting", REGION, STOPPED, SYS_wait4, 0, 0, { "Process.wait" } },
		{ "unknown", REGION, STOPPED, SYS_futex, 0, 0, { "Native#wait" } },
		/* With the GVL: a C extension that sleeps. */
		{ "sleeping", READ, 0, SYS_clock_nanosleep, 0, HAS_GVL, { "Native#sleep" } },
		{ "sleeping", READ, 0, SYS_poll, RBPROF_FD_NONE, HAS_GVL, { "Native#sleep" } },
		{ "network", READ, 0, SYS_recvfrom, RBPROF_FD_SOCKET, HAS_GVL, { "Native#get" } },
		/* Without the GVL, and nothing could wake it. */
		{ "sleeping", READ, STOPPED, SYS_nanosleep, 0, 0, { "Native#sleep" } },
		{ "waiting", READ, STOPPED, SYS_read, RBPROF_FD_OTHER, 0, { "Native#read" } },
		{ "unknown", READ, STOPPED, SYS_semtimedop, 0, 0, { "Native#lock" } },
		/* Threads that the VM does not know. */
		{ "unknown", 0, 0, SYS_futex, 0, RBPROF_SAMPLE_NO_EC, { "(no ruby frames)" } },
		{ "sleeping", 0, 0, SYS_clock_nanosleep, 0, RBPROF_SAMPLE_NO_EC, { 0 } },
		{ "waiting", 0, 0, SYS_epoll_wait, RBPROF_FD_OTHER, RBPROF_SAMPLE_NO_EC, { 0 } },
		{ "network", 0, 0, SYS_poll, RBPROF_FD_SOCKET, RBPROF_SAMPLE_NO_EC, { 0 } },
		{ "unknown", 0, 0, -1, 0, RBPROF_SAMPLE_NO_EC, { 0 } },
		{ "unknown", 0, 0, 99999, 0, 0, { 0 } },
	};

	(void)state;
	CHECK(examples);
}

static void name_servers(void **state)
{
	static const struct example examples[] = {
		{ "network",
		  REGION,
		  STOPPED,
		  SYS_poll,
		  RBPROF_FD_SOCKET,
		  0,
		  { "Addrinfo.getaddrinfo" } },
		{ "network", REGION, STOPPED, SYS_futex, 0, 0, { "Addrinfo.getaddrinfo" } },
		{ "network",
		  REGION,
		  STOPPED,
		  SYS_futex,
		  0,
		  0,
		  { "TCPSocket#initialize", "IO.new" } },
		{ "network",
		  REGION,
		  STOPPED,
		  SYS_pselect6,
		  RBPROF_FD_OTHER,
		  0,
		  { "IO.select", "Resolv::DNS::Requester#request" } },
		/* It waits for the GVL all the same, and a file is no name server. */
		{ "waiting for gvl", READ, STOPPED, SYS_futex, 0, 0, { "Addrinfo.getaddrinfo" } },
		{ "waiting", REGION, STOPPED, SYS_openat, 0, 0, { "Addrinfo.getaddrinfo" } },
	};

	(void)state;
	CHECK(examples);
}

static void by_kernel(void **state)
{
	const uint32_t stopped = RBPROF_WAIT_STOPPED, disk = RBPROF_WAIT_UNINTERRUPTIBLE;
	const struct example examples[] = {
		{ "waiting for cpu", READ, 0, -1, 0, RUNNABLE | HAS_GVL, { "Integer#+" } },
		{ "waiting for cpu",
		  REGION,
		  1,
		  SYS_read,
		  RBPROF_FD_SOCKET,
		  RUNNABLE,
		  { "IO#read" } },
		{ "throttled",
		  READ,
		  0,
		  -1,
		  0,
		  RUNNABLE | RBPROF_SAMPLE_THROTTLED | HAS_GVL,
		  { 0 } },
		{ "throttled", READ, 0, -1, 0, RBPROF_SAMPLE_THROTTLED, { 0 } },
		{ "waiting", WOKEN | stopped, STOPPED, SYS_futex, 0, 0, { "Kernel#sleep" } },
		{ "waiting", READ | stopped, 0, -1, 0, HAS_GVL, { "Integer#+" } },
		{ "waiting", stopped, 0, SYS_futex, 0, 0, { 0 } },
		/* A page that is read in. */
		{ "waiting", READ | disk, 0, -1, 0, HAS_GVL, { "Integer#+" } },
		{ "waiting", READ | disk, 0, -1, 0, 0, { "Native#touch" } },
		{ "sleeping", READ | disk, 0, SYS_nanosleep, 0, HAS_GVL, { 0 } },
	};

	(void)state;
	CHECK(examples);
}

static void names_of_a_stack(void **state)
{
	static const struct profile_type type = { "wall-time", "nanoseconds" };
	static const char *const texts[] = { "a", "b", "c", "d", "e" };
	const char *names[WAIT_STATE_NAMES];
	struct profile *profile;
	uint32_t frames[5];

	(void)state;
	assert_int_equal(profile__new(&type, 1, &profile), 0);
	for (int i = 0; i < 5; i++)
		frames[i] = names__special(profile, texts[i]);
	assert_int_equal(wait_state__names(profile, profile__stack(profile, frames, 5), names),
			 WAIT_STATE_NAMES);
	assert_string_equal(names[0], "a");
	assert_string_equal(names[3], "d");
	assert_int_equal(wait_state__names(profile, profile__stack(profile, frames + 4, 1), names),
			 1);
	assert_string_equal(names[0], "e");
	profile__free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_words),  cmocka_unit_test(by_names),
		cmocka_unit_test(by_call),   cmocka_unit_test(name_servers),
		cmocka_unit_test(by_kernel), cmocka_unit_test(names_of_a_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
