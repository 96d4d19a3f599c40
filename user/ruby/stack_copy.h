/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stack of a thread that may be running, as it was at one instant: its control frames and
 * the part of its VM stack that they refer to are copied in one system call, the frames twice.
 * Where both copies agree, nothing was called or returned from in between.
 */
#ifndef RBPROF_STACK_COPY_H
#define RBPROF_STACK_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "stack.h"

#define STACK_COPY_NEWEST 4

struct stack_copy {
	struct stack stack; /* frames: the caller's to free */
	uint64_t ec;
	bool is_instant; /* false: the copies did not agree, the frames may never have been so */
	/* Receivers of the innermost frames, in the order of stack.frames. */
	uint32_t newest_count;
	uint64_t newest[STACK_COPY_NEWEST];
};

/*
 * Copies and walks the stack of thread (rb_thread_t), at most max_frames of it. 0; -EINVAL: not
 * a thread; -errno of the memory.
 */
int stack_copy__read(struct memory *memory, const struct ruby_layout *layout, uint64_t thread,
		     uint32_t max_frames, struct stack_copy *ret_copy);

/*
 * The same, cheaper, for a thread of which the caller finds out whether it ran meanwhile:
 * is_instant says nothing then.
 */
int stack_copy__read_still(struct memory *memory, const struct ruby_layout *layout, uint64_t thread,
			   uint32_t max_frames, struct stack_copy *ret_copy);

#endif
