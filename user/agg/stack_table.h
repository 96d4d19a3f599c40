/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stacks of a profile as one tree: stacks that begin alike, from the root on, share what they
 * have in common. So a stack costs only what it does not share, and what is to be summed or
 * sorted by stack goes through each shared beginning once.
 */
#ifndef RBPROF_STACK_TABLE_H
#define RBPROF_STACK_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "profile.h"

/*
 * A frame with the way to it. Node 0 is the root, which has no frame; any other one has a higher
 * number than its parent. Siblings differ in their frames.
 */
struct stack_node {
	uint32_t parent;
	uint32_t frame;
};

struct stack_end {
	uint32_t node;
	uint32_t depth; /* frames */
};

struct stack_slot;

struct stack_slots {
	struct stack_slot *slots; /* open addressing */
	uint32_t count, taken;
};

/* All zero: empty. Fields may be read directly; pointers stay valid until a stack is added. */
struct stack_table {
	struct stack_node *nodes;
	uint32_t node_count, node_room;
	struct stack_end *stacks; /* by stack id */
	uint32_t count, room;
	uint32_t depth; /* of the deepest stack */

	struct stack_slots ends;    /* stacks, by node */
	struct stack_slots further; /* nodes that do not follow their parent, by it and frame */
	uint32_t *path;		    /* nodes of the last stack, from the root's child on */
	uint32_t path_count;
	uint32_t *frames; /* scratch of stack_table__at() */
	uint32_t depth_room;
};

/*
 * The id of the stack with these frames, leaf first; a new one gets the next. PROFILE_NONE: no
 * memory, and no stack was added.
 */
uint32_t stack_table__add(struct stack_table *table, const uint32_t *frames, size_t count);

/*
 * Adds all stacks of another table, numbers[frame] in place of each frame; their ids here into
 * ret_ids, by those there. Shared beginnings are gone through once. 0, or -ENOMEM: some were added.
 */
int stack_table__add_all(struct stack_table *table, const struct stack_table *from,
			 const uint32_t *numbers, uint32_t *ret_ids);

/* The frames of a stack, leaf first, until the next call or addition. No such id: no frames. */
struct profile_stack stack_table__at(const struct stack_table *table, uint32_t id);

/* Heap that what it holds takes up, bytes, roughly. */
size_t stack_table__bytes(const struct stack_table *table);

void stack_table__free(struct stack_table *table);

#endif
