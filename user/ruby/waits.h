/* SPDX-License-Identifier: BSD-2-Clause */
/* What a Ruby thread waits for, as the VM keeps it. */
#ifndef RBPROF_WAITS_H
#define RBPROF_WAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stack_copy.h"
#include "threads.h"

enum wait_kind {
	WAIT_NOTHING = 0, /* has the GVL */
	WAIT_GVL,
	WAIT_MUTEX,
	WAIT_MONITOR,
	WAIT_JOIN,
	WAIT_CONDITION, /* a condition variable */
	WAIT_QUEUE,	/* something to pop */
	WAIT_QUEUE_ROOM,
	WAIT_SLEEP,
	WAIT_CHILD, /* a process */
	WAIT_RACTOR,
	WAIT_OUTSIDE, /* runs or waits without the GVL, in a system call or native code */
	WAIT_UNKNOWN,
};

struct wait {
	enum wait_kind kind;
	uint64_t object; /* VALUE of what is waited for, 0: none or not known */
	uint64_t owner;	 /* rb_thread_t of who has it, or is joined; 0: nobody or not known */
	bool is_endless; /* no time limit: only its end ends it */
};

/*
 * Address of the word that names the thread which has the GVL; it stays the same for a thread's
 * life. 0, -ENOTSUP or -errno of the memory.
 */
int waits__gvl_owner_address(struct memory *memory, const struct ruby_layout *layout,
			     uint64_t thread, uint64_t *ret_address);

/* Reads what the VM keeps of the thread: vm, vm_status and gvl_owner. 0 or -errno of the memory. */
int waits__read_words(struct memory *memory, const struct ruby_layout *layout, uint64_t thread,
		      uint64_t gvl_owner_address, struct rbprof_wait *words);

/* What these words alone say; is_owner: the thread has the GVL. */
enum wait_kind waits__kind(const struct rbprof_wait *words, bool is_owner);

/*
 * Reads what the thread waits for; copy is its stack. It holds for the instant of the read:
 * the caller checks that the thread did not run meanwhile. 0 or -errno of the memory.
 */
int waits__read(struct memory *memory, const struct ruby_layout *layout, uint64_t thread,
		const struct stack_copy *copy, struct wait *ret_wait);

/*
 * What the names of the innermost frames say beyond the words: what the VM keeps no record of.
 * NULL: a frame without a name. Else `kind` itself. *ret_receiver (may be NULL): index of the
 * frame whose receiver is waited for, or -1.
 */
enum wait_kind waits__kind_by_names(enum wait_kind kind, const char *const *names, size_t count,
				    int *ret_receiver);

/* The same for a wait that was read, with names in the order of copy->newest. */
void waits__refine(const struct stack_copy *copy, const char *const *names, size_t count,
		   struct wait *wait);

#endif
