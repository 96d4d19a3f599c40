/* SPDX-License-Identifier: BSD-2-Clause */
/* The stack of a Ruby thread, walked from outside by the same walker that the kernel runs. */
#ifndef RBPROF_STACK_H
#define RBPROF_STACK_H

#include <stddef.h>
#include <stdint.h>

#include "../../include/rbprof_abi.h"
#include "../util/memory.h"

struct stack {
	struct rbprof_frame *frames; /* leaf first */
	uint64_t *receivers; /* VALUE of the object that each was called on; lies behind them */
	uint32_t count;
	uint32_t omitted;     /* frames left out */
	uint32_t root_frames; /* frames at the end that follow the omitted ones */
	int error;	      /* enum rbprof_error: why the walk ended early, or 0 */
};

/*
 * Walks the frames of the execution context at ec, at most max_frames (and RBPROF_MAX_FRAMES)
 * of them. The thread may run meanwhile: only a walk between two reads of an unchanged context
 * switch count (or of a thread that cannot run) is one instant. 0; then the caller frees
 * ret_stack->frames. -errno: nothing could be read.
 */
int stack__read(struct memory *memory, const struct ruby_layout *layout, uint64_t ec,
		uint32_t max_frames, struct stack *ret_stack);

#endif
