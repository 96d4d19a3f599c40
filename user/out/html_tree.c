/* SPDX-License-Identifier: BSD-2-Clause */
#include "html_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stack_order.h"

static int compare_frames(const void *left, const void *right, void *context)
{
	const struct profile *profile = context;
	const struct profile_frame *a = profile__frame_at(profile, *(const uint32_t *)left);
	const struct profile_frame *b = profile__frame_at(profile, *(const uint32_t *)right);

	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	return (a->line > b->line) - (a->line < b->line);
}

/* By frame id: frames of one function come one after the other. */
static int rank_frames(const struct profile *profile, uint32_t **ret_ranks)
{
	size_t count = profile__frame_count(profile);
	uint32_t *order = calloc(count + 1, sizeof(*order));
	uint32_t *ranks = calloc(count + 1, sizeof(*ranks));

	if (!order || !ranks) {
		free(order);
		free(ranks);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	qsort_r(order, count, sizeof(*order), compare_frames, (void *)profile);
	for (uint32_t i = 0; i < count; i++)
		ranks[order[i]] = i;
	free(order);
	*ret_ranks = ranks;
	return 0;
}

/* path: the nodes from the root to the latest one. */
static void fill(struct html_tree *tree, const struct stack_order *order, uint32_t *path)
{
	tree->count = 1;
	for (size_t i = 0; i < order->count; i++) {
		const struct stack_order_entry *entry = &order->entries[i];
		const uint32_t *frames = order->frames + entry->first;

		for (uint32_t depth = entry->common; depth < entry->depth; depth++) {
			tree->depths[tree->count] = depth + 1;
			tree->frames[tree->count] = *frames++;
			path[depth + 1] = (uint32_t)tree->count++;
		}
		tree->node_of_stack[entry->id] = path[entry->depth];
	}
}

int html_tree__init(struct html_tree *tree, const struct profile *profile)
{
	const struct stack_table *stacks = profile__stacks(profile);
	size_t nodes = (size_t)stacks->node_count + 1;
	struct stack_order order;
	uint32_t *ranks, *path;
	int error;

	memset(tree, 0, sizeof(*tree));
	error = rank_frames(profile, &ranks);
	if (error)
		return error;
	error = stack_order__init(&order, stacks, NULL, ranks);
	free(ranks);
	if (error)
		return error;
	path = calloc((size_t)order.depth + 1, sizeof(*path));
	tree->depths = calloc(nodes, sizeof(*tree->depths));
	tree->frames = calloc(nodes, sizeof(*tree->frames));
	tree->node_of_stack = calloc((size_t)stacks->count + 1, sizeof(*tree->node_of_stack));
	if (path && tree->depths && tree->frames && tree->node_of_stack)
		fill(tree, &order, path);
	else
		error = -ENOMEM;
	stack_order__free(&order);
	free(path);
	if (error)
		html_tree__free(tree);
	return error;
}

void html_tree__free(struct html_tree *tree)
{
	free(tree->depths);
	free(tree->frames);
	free(tree->node_of_stack);
	memset(tree, 0, sizeof(*tree));
}
