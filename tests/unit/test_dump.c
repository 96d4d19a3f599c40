/* SPDX-License-Identifier: BSD-2-Clause */
/* What threads wait for, on a VM of three threads that the test makes up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "overlay_memory.h"
#include "user/ruby/deadlock.h"
#include "user/ruby/layout.h"
#include "user/ruby/waits.h"

#define THREAD_SIZE  0x1000
#define THREAD(i)    (0x100000 + THREAD_SIZE * (uint64_t)(i))
#define RACTOR	     0x200000
#define MUTEX	     0x300000
#define MUTEX_DATA   0x301000
#define FIBER	     0x302000
#define MONITOR	     0x303000
#define MONITOR_DATA 0x304000
#define OBJECT	     0x305000
#define WAITER	     0x306000
#define FUNCTION     0x400000

struct fixture {
	struct overlay overlay;
	const struct ruby_layout *layout;
	struct stack_copy copy;
};

static void set_object(struct fixture *f, uint64_t value, uint64_t data)
{
	overlay_u64(&f->overlay, value + f->layout->rbasic__flags, RUBY_T_DATA);
	overlay_u64(&f->overlay, value + f->layout->rdata__data, data);
}

static void set_thread(struct fixture *f, int i, uint32_t status, uint64_t unblock, uint64_t region,
		       uint64_t mutex)
{
	const struct ruby_layout *layout = f->layout;

	overlay_u32(&f->overlay, THREAD(i) + layout->th__status, status);
	overlay_u64(&f->overlay, THREAD(i) + layout->th__unblock_func, unblock);
	overlay_u64(&f->overlay, THREAD(i) + layout->th__blocking_region_buffer, region);
	overlay_u64(&f->overlay, THREAD(i) + layout->th__locking_mutex, mutex);
	overlay_u64(&f->overlay, THREAD(i) + layout->th__ractor, RACTOR);
	overlay_u64(&f->overlay, THREAD(i) + layout->th__join_list, 0);
	overlay_u64(&f->overlay, THREAD(i) + layout->th__self, OBJECT + 0x100 * (uint64_t)i);
	set_object(f, OBJECT + 0x100 * (uint64_t)i, THREAD(i));
}

static int setup(void **state)
{
	static struct fixture fixture;
	int exact;

	memset(&fixture, 0, sizeof(fixture));
	fixture.layout = &layout__find("3.1.2", &exact)->layout;
	overlay_init(&fixture.overlay, NULL);
	overlay_u64(&fixture.overlay, RACTOR + fixture.layout->ractor__gvl_owner, THREAD(2));
	set_thread(&fixture, 0, 1, FUNCTION, 0, 0);
	set_thread(&fixture, 1, 1, FUNCTION, 0, 0);
	*state = &fixture;
	return 0;
}

static struct wait read_wait(struct fixture *f, int i)
{
	struct wait wait = { .kind = WAIT_NOTHING };

	assert_int_equal(waits__read(&f->overlay.memory, f->layout, THREAD(i), &f->copy, &wait), 0);
	return wait;
}

static void set_newest(struct fixture *f, uint64_t first, uint64_t second)
{
	f->copy.newest[0] = first;
	f->copy.newest[1] = second;
	f->copy.newest_count = second ? 2 : 1;
}

static void lock(struct fixture *f, int owner)
{
	set_object(f, MUTEX, MUTEX_DATA);
	overlay_u64(&f->overlay, MUTEX_DATA + f->layout->mutex__owner, owner < 0 ? 0 : FIBER);
	if (owner >= 0)
		overlay_u64(&f->overlay,
			    FIBER + f->layout->fiber__saved_ec + f->layout->ec__thread_ptr,
			    THREAD(owner));
}

static void gvl(void **state)
{
	struct fixture *f = *state;
	struct wait wait;

	set_thread(f, 0, 1, 0, 0x1234, 0);
	wait = read_wait(f, 0);
	assert_int_equal(wait.kind, WAIT_GVL);
	assert_int_equal(wait.owner, THREAD(2));
	overlay_u64(&f->overlay, RACTOR + f->layout->ractor__gvl_owner, THREAD(0));
	assert_int_equal(read_wait(f, 0).kind, WAIT_NOTHING);
}

static void outside(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(read_wait(f, 0).kind, WAIT_SLEEP);
	set_thread(f, 0, 1, FUNCTION, 0x1234, 0);
	assert_int_equal(read_wait(f, 0).kind, WAIT_OUTSIDE);
	set_thread(f, 0, 2, FUNCTION, 0, 0);
	assert_int_equal(read_wait(f, 0).kind, WAIT_UNKNOWN);
	assert_true(read_wait(f, 0).is_endless);
}

static void mutex(void **state)
{
	struct fixture *f = *state;
	struct wait wait;

	lock(f, 1);
	set_thread(f, 0, 2, FUNCTION, 0, MUTEX);
	set_newest(f, MUTEX, 0);
	wait = read_wait(f, 0);
	assert_int_equal(wait.kind, WAIT_MUTEX);
	assert_int_equal(wait.object, MUTEX);
	assert_int_equal(wait.owner, THREAD(1));
	lock(f, -1);
	wait = read_wait(f, 0);
	assert_int_equal(wait.kind, WAIT_MUTEX);
	assert_int_equal(wait.owner, 0);
}

static void mutex_that_is_none(void **state)
{
	struct fixture *f = *state;

	/* Not mapped, not aligned, of another type: who owns it is not known. */
	set_thread(f, 0, 2, FUNCTION, 0, 0x999000);
	assert_int_equal(read_wait(f, 0).owner, 0);
	set_thread(f, 0, 2, FUNCTION, 0, MUTEX + 1);
	assert_int_equal(read_wait(f, 0).owner, 0);
	lock(f, 1);
	overlay_u64(&f->overlay, MUTEX + f->layout->rbasic__flags, RUBY_T_STRING);
	set_thread(f, 0, 2, FUNCTION, 0, MUTEX);
	assert_int_equal(read_wait(f, 0).owner, 0);
}

static void monitor(void **state)
{
	struct fixture *f = *state;
	struct wait wait;

	lock(f, 1);
	set_object(f, MONITOR, MONITOR_DATA);
	overlay_u64(&f->overlay, MONITOR_DATA + 16, MUTEX);
	set_thread(f, 0, 2, FUNCTION, 0, MUTEX);
	set_newest(f, MONITOR, 0);
	wait = read_wait(f, 0);
	assert_int_equal(wait.kind, WAIT_MONITOR);
	assert_int_equal(wait.object, MONITOR);
	assert_int_equal(wait.owner, THREAD(1));
	/* One with another mutex has nothing to do with it. */
	overlay_u64(&f->overlay, MONITOR_DATA + 16, MUTEX + 0x40);
	assert_int_equal(read_wait(f, 0).kind, WAIT_MUTEX);
}

static void join(void **state)
{
	struct fixture *f = *state;
	const struct ruby_layout *layout = f->layout;
	struct wait wait;

	set_thread(f, 0, 2, FUNCTION, 0, 0);
	set_newest(f, OBJECT + 0x100, 0);
	assert_int_equal(read_wait(f, 0).kind, WAIT_UNKNOWN);
	overlay_u64(&f->overlay, THREAD(1) + layout->th__join_list, WAITER);
	overlay_u64(&f->overlay, WAITER + layout->waiting_list__thread, THREAD(2));
	overlay_u64(&f->overlay, WAITER + layout->waiting_list__next, WAITER + 0x40);
	overlay_u64(&f->overlay, WAITER + 0x40 + layout->waiting_list__thread, THREAD(0));
	wait = read_wait(f, 0);
	assert_int_equal(wait.kind, WAIT_JOIN);
	assert_int_equal(wait.owner, THREAD(1));
	/* A list without an end in which it does not stand. */
	overlay_u64(&f->overlay, WAITER + layout->waiting_list__next, WAITER);
	assert_int_equal(read_wait(f, 0).kind, WAIT_UNKNOWN);
}

static void unreadable(void **state)
{
	struct fixture *f = *state;
	struct wait wait = { .kind = WAIT_JOIN };

	assert_int_equal(waits__read(&f->overlay.memory, f->layout, 0x999000, &f->copy, &wait),
			 -EFAULT);
	f->overlay.error = -ESRCH;
	assert_int_equal(waits__read(&f->overlay.memory, f->layout, THREAD(0), &f->copy, &wait),
			 -ESRCH);
	assert_int_equal(wait.kind, WAIT_JOIN);
}

static enum wait_kind refined(enum wait_kind kind, const char *first, const char *second)
{
	const char *const names[] = { first, second };
	const struct stack_copy copy = { .newest_count = 2, .newest = { 0x10, 0x20 } };
	struct wait wait = { .kind = kind };

	waits__refine(&copy, names, second ? 2 : 1, &wait);
	return wait.kind;
}

static void by_method(void **state)
{
	(void)state;
	assert_int_equal(refined(WAIT_UNKNOWN, "Thread::Queue#pop", NULL), WAIT_QUEUE);
	assert_int_equal(refined(WAIT_UNKNOWN, "Queue#pop", NULL), WAIT_QUEUE);
	assert_int_equal(refined(WAIT_UNKNOWN, "Thread::SizedQueue#push", NULL), WAIT_QUEUE_ROOM);
	assert_int_equal(refined(WAIT_UNKNOWN, "MyQueue#pop", NULL), WAIT_UNKNOWN);
	assert_int_equal(
		refined(WAIT_SLEEP, "Thread::Mutex#sleep", "Thread::ConditionVariable#wait"),
		WAIT_CONDITION);
	assert_int_equal(refined(WAIT_SLEEP, "Thread::Mutex#sleep", "Object#mine"), WAIT_SLEEP);
	assert_int_equal(refined(WAIT_OUTSIDE, "Process.wait", NULL), WAIT_CHILD);
	assert_int_equal(refined(WAIT_OUTSIDE, "IO#read", NULL), WAIT_OUTSIDE);
	/* What the VM says goes before what a method is called. */
	assert_int_equal(refined(WAIT_MUTEX, "Thread::Queue#pop", NULL), WAIT_MUTEX);
	assert_int_equal(refined(WAIT_GVL, "Thread::Queue#pop", NULL), WAIT_GVL);
	assert_int_equal(refined(WAIT_UNKNOWN, NULL, NULL), WAIT_UNKNOWN);
}

/* ---- circles ---- */

struct found {
	uint32_t members[16];
	size_t count, circles;
	int result;
};

static int on_circle(const uint32_t *members, size_t count, void *context)
{
	struct found *found = context;

	for (size_t i = 0; i < count && found->count < 16; i++)
		found->members[found->count++] = members[i];
	found->circles++;
	return found->result;
}

#define NONE DEADLOCK_NONE

static void circles(void **state)
{
	/* 0 waits for the circle 4 2 1, 3 for itself, 5 and 6 for each other, 7 for nobody. */
	const uint32_t waits_for[] = { 1, 4, 1, 3, 2, 6, 5, NONE };
	const uint32_t expected[] = { 1, 4, 2, 3, 5, 6 };
	struct found found = { .count = 0 };

	(void)state;
	assert_int_equal(deadlock__find(waits_for, 8, on_circle, &found), 0);
	assert_int_equal(found.circles, 3);
	assert_int_equal(found.count, 6);
	assert_memory_equal(found.members, expected, sizeof(expected));
	found = (struct found){ .result = 7 };
	assert_int_equal(deadlock__find(waits_for, 8, on_circle, &found), 7);
	assert_int_equal(found.circles, 1);
}

static void no_circles(void **state)
{
	const uint32_t chain[] = { 1, 2, NONE }, outside_of_it[] = { 9, 0, UINT32_MAX - 1 };
	struct found found = { .count = 0 };

	(void)state;
	assert_int_equal(deadlock__find(chain, 3, on_circle, &found), 0);
	assert_int_equal(deadlock__find(outside_of_it, 3, on_circle, &found), 0);
	assert_int_equal(deadlock__find(NULL, 0, on_circle, &found), 0);
	assert_int_equal(found.circles, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(gvl, setup),
		cmocka_unit_test_setup(outside, setup),
		cmocka_unit_test_setup(mutex, setup),
		cmocka_unit_test_setup(mutex_that_is_none, setup),
		cmocka_unit_test_setup(monitor, setup),
		cmocka_unit_test_setup(join, setup),
		cmocka_unit_test_setup(unreadable, setup),
		cmocka_unit_test(by_method),
		cmocka_unit_test(circles),
		cmocka_unit_test(no_circles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
