/* SPDX-License-Identifier: BSD-2-Clause */
#include "waits.h"

#include <errno.h>
#include <string.h>

#include "object.h"

#define MAX_JOINERS 65536
#define MAX_JOIN    2 /* innermost frames that can be a join */

/* vm_core.h: enum rb_thread_status, THREAD_STOPPED_FOREVER */
#define STATUS_STOPPED	       1
#define STATUS_STOPPED_FOREVER 2

/* ext/monitor/monitor.c: struct rb_monitor { long count; VALUE owner; VALUE mutex; }, 2.7 to 4.0 */
#define MONITOR_MUTEX 16

int waits__gvl_owner_address(struct memory *memory, const struct ruby_layout *layout,
			     uint64_t thread, uint64_t *ret_address)
{
	const bool is_vms = layout->vm__gvl_owner != RUBY_NO_FIELD;
	const uint16_t link = is_vms ? layout->th__vm : layout->th__ractor;
	const uint16_t owner = is_vms ? layout->vm__gvl_owner : layout->ractor__gvl_owner;
	uint64_t from;
	int err;

	if (link == RUBY_NO_FIELD || owner == RUBY_NO_FIELD)
		return -ENOTSUP;
	err = memory__read_u64(memory, thread + link, &from);
	if (!err)
		*ret_address = from + owner;
	return err;
}

int waits__read_words(struct memory *memory, const struct ruby_layout *layout, uint64_t thread,
		      uint64_t gvl_owner_address, struct rbprof_wait *words)
{
	uint64_t unblock_func = 0, region = 0, locking_mutex = 0, gvl_owner = 0;
	uint32_t status = 0;
	const struct memory_range ranges[] = {
		{ thread + layout->th__status, &status, sizeof(status) },
		{ thread + layout->th__unblock_func, &unblock_func, 8 },
		{ thread + layout->th__blocking_region_buffer, &region, 8 },
		{ thread + layout->th__locking_mutex, &locking_mutex, 8 },
		{ gvl_owner_address, &gvl_owner, 8 },
	};
	int err = memory__read_ranges(memory, ranges, 5);

	if (err)
		return err;
	words->vm |= RBPROF_WAIT_VM_READ;
	if (unblock_func)
		words->vm |= RBPROF_WAIT_CAN_BE_WOKEN;
	if (locking_mutex && locking_mutex != layout->qnil)
		words->vm |= RBPROF_WAIT_LOCKS_MUTEX;
	if (region)
		words->vm |= RBPROF_WAIT_IN_REGION;
	words->vm_status = status >> layout->th__status_shift & 3;
	words->gvl_owner = gvl_owner;
	return 0;
}

enum wait_kind waits__kind(const struct rbprof_wait *words, bool is_owner)
{
	if (!(words->vm & RBPROF_WAIT_VM_READ))
		return WAIT_UNKNOWN;
	if (is_owner || words->vm_status == RUBY_THREAD_KILLED)
		return WAIT_NOTHING;
	/* Nobody could wake it but the GVL (true of every way to wait of the VM's, 2.7 to 4.0). */
	if (!(words->vm & RBPROF_WAIT_CAN_BE_WOKEN))
		return WAIT_GVL;
	if (words->vm & RBPROF_WAIT_LOCKS_MUTEX)
		return WAIT_MUTEX;
	if (words->vm & RBPROF_WAIT_IN_REGION)
		return WAIT_OUTSIDE;
	return words->vm_status == STATUS_STOPPED ? WAIT_SLEEP : WAIT_UNKNOWN;
}

static int payload(struct memory *memory, const struct ruby_layout *layout, uint64_t value,
		   uint64_t *ret_data)
{
	struct reader reader;
	int err;

	reader__init(&reader, memory, layout);
	err = object__data(&reader, value, ret_data);
	reader__free(&reader);
	return err ? err : *ret_data ? 0 : -EINVAL;
}

/* The thread that has the mutex: by the fiber that locked it, or as it is kept. */
static int mutex_owner(struct memory *memory, const struct ruby_layout *layout, uint64_t mutex,
		       uint64_t *ret_thread)
{
	uint64_t data, fiber, thread;
	int err = payload(memory, layout, mutex, &data);

	if (err)
		return err;
	if (layout->mutex__owner_thread != RUBY_NO_FIELD) {
		err = memory__read_u64(memory, data + layout->mutex__owner_thread, &thread);
	} else {
		err = memory__read_u64(memory, data + layout->mutex__owner, &fiber);
		if (err || !fiber)
			return err;
		err = memory__read_u64(
			memory, fiber + layout->fiber__saved_ec + layout->ec__thread_ptr, &thread);
	}
	if (!err)
		*ret_thread = thread;
	return err;
}

/* Whether `thread` stands in the list of those who wait for the end of `target`. */
static bool joins(struct memory *memory, const struct ruby_layout *layout, uint64_t thread,
		  uint64_t target)
{
	uint64_t node, waiter;
	int i;

	if (memory__read_u64(memory, target + layout->th__join_list, &node))
		return false;
	for (i = 0; node && i < MAX_JOINERS; i++) {
		if (memory__read_u64(memory, node + layout->waiting_list__thread, &waiter))
			return false;
		if (waiter == thread)
			return true;
		if (memory__read_u64(memory, node + layout->waiting_list__next, &node))
			return false;
	}
	return false;
}

/* Thread#join and Thread#value are methods of the thread that is waited for. */
static void find_join(struct memory *memory, const struct ruby_layout *layout, uint64_t thread,
		      const struct stack_copy *copy, struct wait *wait)
{
	uint64_t target, self;
	uint32_t i;

	for (i = 0; i < copy->newest_count && i < MAX_JOIN; i++) {
		if (payload(memory, layout, copy->newest[i], &target) || target % 8 ||
		    target == thread)
			continue;
		/* A payload is a thread if its object is the one that we came from. */
		if (memory__read_u64(memory, target + layout->th__self, &self) ||
		    self != copy->newest[i] || !joins(memory, layout, thread, target))
			continue;
		wait->kind = WAIT_JOIN;
		wait->object = copy->newest[i];
		wait->owner = target;
		return;
	}
}

/* A monitor locks a mutex of its own: is it that of one of the receivers? */
static bool find_monitor(struct memory *memory, const struct ruby_layout *layout, uint64_t mutex,
			 const struct stack_copy *copy, uint64_t *ret_monitor)
{
	uint64_t data, inner;
	uint32_t i;

	for (i = 0; i < copy->newest_count; i++) {
		if (copy->newest[i] == mutex || payload(memory, layout, copy->newest[i], &data) ||
		    memory__read_u64(memory, data + MONITOR_MUTEX, &inner) || inner != mutex)
			continue;
		*ret_monitor = copy->newest[i];
		return true;
	}
	return false;
}

/* The mutex that the thread wants, who has it, and whether it is a monitor's. */
static int find_mutex(struct memory *memory, const struct ruby_layout *layout, uint64_t thread,
		      const struct stack_copy *copy, struct wait *wait)
{
	uint64_t mutex;
	int err = memory__read_u64(memory, thread + layout->th__locking_mutex, &mutex);

	if (err)
		return err;
	wait->object = mutex;
	if (mutex_owner(memory, layout, mutex, &wait->owner))
		wait->owner = 0;
	if (find_monitor(memory, layout, mutex, copy, &wait->object))
		wait->kind = WAIT_MONITOR;
	return 0;
}

int waits__read(struct memory *memory, const struct ruby_layout *layout, uint64_t thread,
		const struct stack_copy *copy, struct wait *ret_wait)
{
	struct wait wait = { .kind = WAIT_UNKNOWN };
	struct rbprof_wait words = { .vm = 0 };
	uint64_t owner;
	int err = waits__gvl_owner_address(memory, layout, thread, &owner);

	if (!err)
		err = waits__read_words(memory, layout, thread, owner, &words);
	if (err)
		return err;
	wait.kind = waits__kind(&words, words.gvl_owner == thread);
	wait.is_endless = words.vm_status == STATUS_STOPPED_FOREVER;
	if (wait.kind == WAIT_GVL)
		wait.owner = words.gvl_owner;
	else if (wait.kind == WAIT_MUTEX)
		err = find_mutex(memory, layout, thread, copy, &wait);
	else if (wait.kind != WAIT_NOTHING)
		find_join(memory, layout, thread, copy, &wait);
	if (!err)
		*ret_wait = wait;
	return err;
}

static const struct {
	const char *method; /* without the `Thread::` that classes have or not, by release */
	enum wait_kind kind;
	bool is_of_receiver; /* what is waited for is the frame's receiver */
} methods[] = {
	{ "Kernel#sleep", WAIT_SLEEP, false },
	{ "Kernel.sleep", WAIT_SLEEP, false },
	{ "Thread.stop", WAIT_SLEEP, false },
	{ "Mutex#sleep", WAIT_SLEEP, false },
	{ "Thread#join", WAIT_JOIN, true },
	{ "Thread#value", WAIT_JOIN, true },
	{ "Queue#pop", WAIT_QUEUE, true },
	{ "SizedQueue#pop", WAIT_QUEUE, true },
	{ "SizedQueue#push", WAIT_QUEUE_ROOM, true },
	{ "Process.wait", WAIT_CHILD, false },
	{ "Process.wait2", WAIT_CHILD, false },
	{ "Process.waitall", WAIT_CHILD, false },
	{ "Process.waitpid", WAIT_CHILD, false },
	{ "Process.waitpid2", WAIT_CHILD, false },
	{ "Process::Status.wait", WAIT_CHILD, false },
	{ "Kernel#system", WAIT_CHILD, false },
	{ "Ractor.receive", WAIT_RACTOR, false },
	{ "Ractor#receive", WAIT_RACTOR, false },
	{ "Ractor.receive_if", WAIT_RACTOR, false },
	{ "Ractor#receive_if", WAIT_RACTOR, false },
	{ "Ractor.select", WAIT_RACTOR, false },
	{ "Ractor.yield", WAIT_RACTOR, false },
	{ "Ractor#take", WAIT_RACTOR, true },
	{ "Ractor#value", WAIT_RACTOR, true },
	{ "Ractor#join", WAIT_RACTOR, true },
};

static const char *plain(const char *name)
{
	return !strncmp(name, "Thread::", 8) ? name + 8 : name;
}

enum wait_kind waits__kind_by_names(enum wait_kind kind, const char *const *names, size_t count,
				    int *ret_receiver)
{
	const char *name = count && names[0] ? plain(names[0]) : NULL;
	int receiver = -1;
	size_t i;

	if (ret_receiver)
		*ret_receiver = -1;
	if (!name || (kind != WAIT_OUTSIDE && kind != WAIT_UNKNOWN && kind != WAIT_SLEEP))
		return kind;
	for (i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		if (strcmp(name, methods[i].method))
			continue;
		kind = methods[i].kind;
		receiver = methods[i].is_of_receiver ? 0 : -1;
		break;
	}
	/* A condition variable lets its mutex sleep. */
	if (!strcmp(name, "Mutex#sleep") && count > 1 && names[1] &&
	    !strcmp(plain(names[1]), "ConditionVariable#wait")) {
		kind = WAIT_CONDITION;
		receiver = 1;
	}
	if (ret_receiver)
		*ret_receiver = receiver;
	return kind;
}

void waits__refine(const struct stack_copy *copy, const char *const *names, size_t count,
		   struct wait *wait)
{
	int receiver;

	wait->kind = waits__kind_by_names(wait->kind, names, count, &receiver);
	if (receiver >= 0 && (uint32_t)receiver < copy->newest_count)
		wait->object = copy->newest[receiver];
}
