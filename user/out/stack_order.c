/* SPDX-License-Identifier: BSD-2-Clause */
/* A walk through the tree of the stacks, each node's children sorted. */
#include "stack_order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Children of all nodes, those of one side by side. */
struct family {
	const struct stack_table *stacks;
	const uint32_t *numbers; /* by frame id; NULL: the ids themselves */
	uint32_t *stack_of;	 /* by node: the stack that is used and ends there, or none */
	bool *is_needed;	 /* by node: there is one, or one below */
	uint32_t *first;	 /* by node: where its children begin, and the next one's */
	uint32_t *children;
};

static void mark_needed(struct family *family, const bool *is_used)
{
	const struct stack_table *stacks = family->stacks;

	memset(family->stack_of, 0xff, stacks->node_count * sizeof(*family->stack_of));
	for (uint32_t i = 0; i < stacks->count; i++) {
		if (is_used && !is_used[i])
			continue;
		family->stack_of[stacks->stacks[i].node] = i;
		family->is_needed[stacks->stacks[i].node] = true;
	}
	for (uint32_t i = stacks->node_count; i-- > 1;)
		if (family->is_needed[i])
			family->is_needed[stacks->nodes[i].parent] = true;
}

/* first[i + 1] is where the children of i begin until they are there, and then where they end. */
static void list_children(struct family *family)
{
	const struct stack_node *nodes = family->stacks->nodes;
	uint32_t count = family->stacks->node_count;

	for (uint32_t i = 1; i < count; i++)
		if (family->is_needed[i])
			family->first[nodes[i].parent + 2]++;
	for (uint32_t i = 2; i < count + 2; i++)
		family->first[i] += family->first[i - 1];
	for (uint32_t i = 1; i < count; i++)
		if (family->is_needed[i])
			family->children[family->first[nodes[i].parent + 1]++] = i;
}

static uint32_t number_of(const struct family *family, uint32_t node)
{
	uint32_t frame = family->stacks->nodes[node].frame;

	return family->numbers ? family->numbers[frame] : frame;
}

static int compare_children(const void *left, const void *right, void *context)
{
	uint32_t a = number_of(context, *(const uint32_t *)left);
	uint32_t b = number_of(context, *(const uint32_t *)right);

	return (a > b) - (a < b);
}

/* Most nodes have one child or a few. */
static void sort_children(struct family *family, uint32_t *children, uint32_t count)
{
	if (count > 16) {
		qsort_r(children, count, sizeof(*children), compare_children, family);
		return;
	}
	for (uint32_t i = 1; i < count; i++) {
		uint32_t child = children[i], number = number_of(family, child), at = i;

		for (; at && number_of(family, children[at - 1]) > number; at--)
			children[at] = children[at - 1];
		children[at] = child;
	}
}

static void sort_all(struct family *family)
{
	for (uint32_t i = 0; i < family->stacks->node_count; i++)
		sort_children(family, family->children + family->first[i],
			      family->first[i + 1] - family->first[i]);
}

/* ---- the walk ---- */

struct walk {
	const struct family *family;
	struct stack_order *order;
	uint32_t *left; /* by depth: next child of the node on the way */
	uint32_t node, depth;
	uint32_t common; /* depth that was kept since the last entry */
	uint32_t frames, told;
};

static void enter(struct walk *walk)
{
	uint32_t id = walk->family->stack_of[walk->node];

	walk->left[walk->depth] = walk->family->first[walk->node];
	if (id == PROFILE_NONE)
		return;
	walk->order->entries[walk->order->count++] =
		(struct stack_order_entry){ id, walk->depth, walk->common, walk->told };
	walk->common = walk->depth;
	walk->told = walk->frames;
	if (walk->depth > walk->order->depth)
		walk->order->depth = walk->depth;
}

/* Every node that is left has had an entry: frames since the last one are all on the way. */
static void go(struct walk *walk)
{
	const struct family *family = walk->family;
	const struct stack_node *nodes = family->stacks->nodes;

	enter(walk);
	for (;;) {
		if (walk->left[walk->depth] < family->first[walk->node + 1]) {
			walk->node = family->children[walk->left[walk->depth]++];
			walk->order->frames[walk->frames++] = nodes[walk->node].frame;
			walk->depth++;
			enter(walk);
			continue;
		}
		if (!walk->depth)
			return;
		walk->node = nodes[walk->node].parent;
		walk->depth--;
		if (walk->depth < walk->common)
			walk->common = walk->depth;
	}
}

int stack_order__init(struct stack_order *order, const struct stack_table *stacks,
		      const bool *is_used, const uint32_t *numbers)
{
	struct family family = { .stacks = stacks, .numbers = numbers };
	struct walk walk = { .family = &family, .order = order };
	size_t nodes = stacks->node_count;
	int error = -ENOMEM;

	*order = (struct stack_order){ 0 };
	order->entries = calloc((size_t)stacks->count + 1, sizeof(*order->entries));
	order->frames = calloc(nodes + 1, sizeof(*order->frames));
	family.stack_of = calloc(nodes + 1, sizeof(*family.stack_of));
	family.is_needed = calloc(nodes + 1, sizeof(*family.is_needed));
	family.first = calloc(nodes + 2, sizeof(*family.first));
	family.children = calloc(nodes + 1, sizeof(*family.children));
	walk.left = calloc((size_t)stacks->depth + 1, sizeof(*walk.left));
	if (!order->entries || !order->frames || !family.stack_of || !family.is_needed ||
	    !family.first || !family.children || !walk.left)
		goto out;
	error = 0;
	if (!nodes)
		goto out;
	mark_needed(&family, is_used);
	list_children(&family);
	sort_all(&family);
	go(&walk);
out:
	free(family.stack_of);
	free(family.is_needed);
	free(family.first);
	free(family.children);
	free(walk.left);
	if (error)
		stack_order__free(order);
	return error;
}

int stack_order__of_rows(struct stack_order *order, const struct profile *profile,
			 const uint32_t *numbers)
{
	const struct stack_table *stacks = profile__stacks(profile);
	bool *is_used = calloc((size_t)stacks->count + 1, sizeof(*is_used));
	int error;

	*order = (struct stack_order){ 0 };
	if (!is_used)
		return -ENOMEM;
	for (size_t i = 0; i < profile__row_count(profile); i++)
		is_used[profile__row(profile, i)->stack] = true;
	error = stack_order__init(order, stacks, is_used, numbers);
	free(is_used);
	return error;
}

void stack_order__free(struct stack_order *order)
{
	free(order->entries);
	free(order->frames);
	*order = (struct stack_order){ 0 };
}
