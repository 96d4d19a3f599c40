/* SPDX-License-Identifier: BSD-2-Clause */
#include "html_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct order {
	const struct profile *profile;
	uint32_t *ranks; /* by frame id: frames of one function come one after the other */
};

static int compare_frames(const void *left, const void *right, void *context)
{
	const struct profile *profile = context;
	const struct profile_frame *a = profile__frame_at(profile, *(const uint32_t *)left);
	const struct profile_frame *b = profile__frame_at(profile, *(const uint32_t *)right);

	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	return (a->line > b->line) - (a->line < b->line);
}

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

/* From the root on: stacks that share callers come one after the other. */
static int compare_stacks(const void *left, const void *right, void *context)
{
	const struct order *order = context;
	const uint32_t *ranks = order->ranks;
	struct profile_stack a = profile__stack_at(order->profile, *(const uint32_t *)left);
	struct profile_stack b = profile__stack_at(order->profile, *(const uint32_t *)right);

	while (a.count && b.count) {
		uint32_t frame_a = a.frames[--a.count], frame_b = b.frames[--b.count];

		if (frame_a != frame_b)
			return ranks[frame_a] < ranks[frame_b] ? -1 : 1;
	}
	return (a.count > b.count) - (a.count < b.count);
}

/* How many frames two stacks share, from the root on. */
static uint32_t shared_depth(struct profile_stack a, struct profile_stack b)
{
	uint32_t depth = 0;

	while (depth < a.count && depth < b.count &&
	       a.frames[a.count - 1 - depth] == b.frames[b.count - 1 - depth])
		depth++;
	return depth;
}

static size_t count_nodes(const struct profile *profile, const uint32_t *order,
			  uint32_t *ret_max_depth)
{
	struct profile_stack last = { 0 };
	size_t count = 1;

	for (size_t i = 0; i < profile__stack_count(profile); i++) {
		struct profile_stack stack = profile__stack_at(profile, order[i]);

		count += stack.count - shared_depth(last, stack);
		if (stack.count > *ret_max_depth)
			*ret_max_depth = stack.count;
		last = stack;
	}
	return count;
}

/* path: the nodes from the root to the latest one. */
static void fill(struct html_tree *tree, const struct profile *profile, const uint32_t *order,
		 uint32_t *path)
{
	struct profile_stack last = { 0 };

	tree->count = 1;
	for (size_t i = 0; i < profile__stack_count(profile); i++) {
		struct profile_stack stack = profile__stack_at(profile, order[i]);

		for (uint32_t depth = shared_depth(last, stack); depth < stack.count; depth++) {
			tree->depths[tree->count] = depth + 1;
			tree->frames[tree->count] = stack.frames[stack.count - 1 - depth];
			path[depth + 1] = (uint32_t)tree->count++;
		}
		tree->node_of_stack[order[i]] = path[stack.count];
		last = stack;
	}
}

int html_tree__init(struct html_tree *tree, const struct profile *profile)
{
	size_t stacks = profile__stack_count(profile), count;
	uint32_t *order = calloc(stacks + 1, sizeof(*order)), *path = NULL;
	struct order by = { .profile = profile };
	uint32_t max_depth = 0;
	int error = -ENOMEM;

	memset(tree, 0, sizeof(*tree));
	if (!order || rank_frames(profile, &by.ranks)) {
		free(order);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < stacks; i++)
		order[i] = i;
	qsort_r(order, stacks, sizeof(*order), compare_stacks, &by);
	free(by.ranks);
	count = count_nodes(profile, order, &max_depth);
	path = calloc((size_t)max_depth + 1, sizeof(*path));
	tree->depths = calloc(count, sizeof(*tree->depths));
	tree->frames = calloc(count, sizeof(*tree->frames));
	tree->node_of_stack = calloc(stacks + 1, sizeof(*tree->node_of_stack));
	if (path && tree->depths && tree->frames && tree->node_of_stack && count < UINT32_MAX) {
		fill(tree, profile, order, path);
		error = 0;
	}
	free(order);
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
