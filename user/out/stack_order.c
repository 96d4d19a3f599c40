/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sorted by quicksort on one frame after the other: stacks have long beginnings in common, which
 * a comparison of whole stacks would go through again and again.
 */
#include "stack_order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct range {
	struct stack_order_entry *from;
	size_t count;
	uint32_t depth; /* so many frames are the same in all of them */
};

struct sorter {
	const uint32_t *numbers; /* by frame id; NULL: the ids themselves */
	uint64_t seed;
};

/* The frame at this depth below the root, from 1 on; 0 where the stack has ended. */
static uint64_t key_at(const struct sorter *sorter, const struct stack_order_entry *entry,
		       uint32_t depth)
{
	const struct profile_stack *stack = &entry->stack;
	uint32_t frame;

	if (depth >= stack->count)
		return 0;
	frame = stack->frames[stack->count - 1 - depth];
	return (uint64_t)(sorter->numbers ? sorter->numbers[frame] : frame) + 1;
}

static void swap(struct stack_order_entry *a, struct stack_order_entry *b)
{
	struct stack_order_entry kept = *a;

	*a = *b;
	*b = kept;
}

/* By lot, so that no file can choose the slow case. */
static uint64_t pivot_of(struct sorter *sorter, const struct range *range)
{
	sorter->seed = sorter->seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return key_at(sorter, &range->from[(sorter->seed >> 33) % range->count], range->depth);
}

/* Splits a range into what is less, the same at one more depth, and more. */
static void split(struct sorter *sorter, const struct range *range, struct range parts[3])
{
	uint64_t pivot = pivot_of(sorter, range);
	struct stack_order_entry *from = range->from;
	size_t less = 0, at = 0, more = range->count;

	while (at < more) {
		uint64_t key = key_at(sorter, &from[at], range->depth);

		if (key < pivot)
			swap(&from[less++], &from[at++]);
		else if (key > pivot)
			swap(&from[at], &from[--more]);
		else
			at++;
	}
	parts[0] = (struct range){ from, less, range->depth };
	parts[1] = (struct range){ from + less, more - less, range->depth + 1 };
	parts[2] = (struct range){ from + more, range->count - more, range->depth };
	/* Stacks that have ended are equal: there is only one of each. */
	if (!pivot)
		parts[1].count = 0;
}

/* Recursion into the smaller parts only: as deep as the number of stacks has bits. */
static void sort(struct sorter *sorter, struct range range)
{
	while (range.count > 1) {
		struct range parts[3];
		int largest = 1;

		split(sorter, &range, parts);
		for (int i = 0; i < 3; i++)
			if (parts[i].count > parts[largest].count)
				largest = i;
		for (int i = 0; i < 3; i++)
			if (i != largest)
				sort(sorter, parts[i]);
		range = parts[largest];
	}
}

static uint32_t common_frames(const struct profile_stack *a, const struct profile_stack *b)
{
	const uint32_t *frame_a = a->frames + a->count, *frame_b = b->frames + b->count;
	uint32_t least = a->count < b->count ? a->count : b->count, common = 0;

	while (common < least && *--frame_a == *--frame_b)
		common++;
	return common;
}

int stack_order__init(struct stack_order *order, const struct profile *profile,
		      const uint32_t *numbers)
{
	size_t stacks = profile__stack_count(profile);
	struct sorter sorter = { numbers, stacks };
	bool *is_used = calloc(stacks + 1, sizeof(*is_used));

	order->count = 0;
	order->entries = calloc(stacks + 1, sizeof(*order->entries));
	if (!order->entries || !is_used) {
		free(is_used);
		stack_order__free(order);
		return -ENOMEM;
	}
	for (size_t i = 0; i < profile__row_count(profile); i++)
		is_used[profile__row(profile, i)->stack] = true;
	for (uint32_t i = 0; i < stacks; i++)
		if (is_used[i])
			order->entries[order->count++] = (struct stack_order_entry){
				.stack = profile__stack_at(profile, i),
				.id = i,
			};
	free(is_used);
	sort(&sorter, (struct range){ order->entries, order->count, 0 });
	for (size_t i = 1; i < order->count; i++)
		order->entries[i].common =
			common_frames(&order->entries[i - 1].stack, &order->entries[i].stack);
	return 0;
}

void stack_order__free(struct stack_order *order)
{
	free(order->entries);
	order->entries = NULL;
	order->count = 0;
}
