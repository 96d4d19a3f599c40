/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stacks of a profile in an order in which all that begin alike, from the root on, come one
 * after the other: each tells what it does not have in common with the one before.
 */
#ifndef RBPROF_STACK_ORDER_H
#define RBPROF_STACK_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../agg/stack_table.h"

struct stack_order_entry {
	uint32_t id;	 /* of the stack */
	uint32_t depth;	 /* frames */
	uint32_t common; /* of them, from the root on, that the one before has as well */
	uint32_t first;	 /* where its other frames are, from there towards the leaf */
};

struct stack_order {
	struct stack_order_entry *entries;
	size_t count;
	uint32_t *frames;
	uint32_t depth; /* of the deepest one */
};

/*
 * Of stacks that begin alike the one that has ended comes first, then those with the lower next
 * frame: by frame id, or by the number that `numbers` has for it (a different one for each frame).
 * Only stacks for which is_used[id]; NULL: all. 0 or -ENOMEM. Free it with stack_order__free().
 */
int stack_order__init(struct stack_order *order, const struct stack_table *stacks,
		      const bool *is_used, const uint32_t *numbers);
/* The same of the stacks that any row has. */
int stack_order__of_rows(struct stack_order *order, const struct profile *profile,
			 const uint32_t *numbers);
void stack_order__free(struct stack_order *order);

#endif
