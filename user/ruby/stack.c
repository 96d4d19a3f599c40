/* SPDX-License-Identifier: BSD-2-Clause */
#include "stack.h"

#include <errno.h>
#include <stdlib.h>

#include "walk_memory.h"

#include "../../bpf/walk.h"

int stack__read(struct memory *memory, const struct ruby_layout *layout, uint64_t ec,
		uint32_t max_frames, struct stack *ret_stack)
{
	struct walk_state state = { .max_frames = max_frames };
	struct walk walk = { .layout = layout, .state = &state };
	uint64_t cfp, vm_stack, vm_stack_size;
	struct rbprof_frame *frames;
	int err;

	if (max_frames > RBPROF_MAX_FRAMES)
		state.max_frames = max_frames = RBPROF_MAX_FRAMES;
	err = memory__read_u64(memory, ec + layout->ec__cfp, &cfp);
	if (!err)
		err = memory__read_u64(memory, ec + layout->ec__vm_stack, &vm_stack);
	if (!err)
		err = memory__read_u64(memory, ec + layout->ec__vm_stack_size, &vm_stack_size);
	if (err)
		return err;
	frames = calloc(max_frames + 1, sizeof(*frames) + sizeof(*walk.receivers));
	if (!frames)
		return -ENOMEM;
	walk.frames = frames;
	walk.receivers = (uint64_t *)(frames + max_frames + 1);
	walk_memory = memory;
	walk_stack(&walk, cfp, vm_stack, vm_stack_size);
	walk_memory = NULL;
	ret_stack->frames = frames;
	ret_stack->receivers = walk.receivers;
	ret_stack->count = state.count;
	ret_stack->omitted = state.omitted;
	ret_stack->root_frames = state.omitted ? state.count - state.root_at : 0;
	ret_stack->error = (int)state.error;
	return 0;
}
