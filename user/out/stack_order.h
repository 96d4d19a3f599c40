/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stacks of a profile in an order in which all that begin alike, from the root on, come one
 * after the other: what a tree of them is made of.
 */
#ifndef RBPROF_STACK_ORDER_H
#define RBPROF_STACK_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "../agg/profile.h"

struct stack_order_entry {
	struct profile_stack stack;
	uint32_t id;	 /* of the stack */
	uint32_t common; /* frames from the root on that the one before has as well */
};

struct stack_order {
	struct stack_order_entry *entries;
	size_t count;
};

/*
 * The stacks that any row has, of those that begin alike the one with the lower next frame first:
 * by frame id, or by the number that `numbers` has for it. 0 or -ENOMEM. Free it with
 * stack_order__free().
 */
int stack_order__init(struct stack_order *order, const struct profile *profile,
		      const uint32_t *numbers);
void stack_order__free(struct stack_order *order);

#endif
