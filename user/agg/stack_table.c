/* SPDX-License-Identifier: BSD-2-Clause */
#include "stack_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../util/hash.h"

/* Ids are 32 bits, and there are more slots than nodes. */
#define MAX_NODES   (UINT32_MAX / 4)
#define FIRST_NODES 64
#define FIRST_SLOTS 128
#define FIRST_DEPTH 64

/* The hash here as well: without it every look would be one at the node. */
struct stack_slot {
	uint32_t hash;
	uint32_t number; /* of the node or stack, counted from 1; 0: free */
};

static uint32_t hash_of(uint32_t node, uint32_t frame)
{
	const uint32_t key[2] = { node, frame };

	return hash__bytes(key, sizeof(key));
}

/* Twice the slots: in their order, so that places go up as well. */
static int double_slots(struct stack_slots *slots)
{
	uint32_t count = slots->count ? 2 * slots->count : FIRST_SLOTS;
	struct stack_slot *grown = calloc(count, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	for (uint32_t i = 0; i < slots->count; i++) {
		uint32_t at = slots->slots[i].hash & (count - 1);

		if (!slots->slots[i].number)
			continue;
		while (grown[at].number)
			at = (at + 1) & (count - 1);
		grown[at] = slots->slots[i];
	}
	free(slots->slots);
	slots->slots = grown;
	slots->count = count;
	return 0;
}

/* Room for one more: at most every second slot is taken. */
static int reserve_slot(struct stack_slots *slots)
{
	return slots->taken < slots->count / 2 ? 0 : double_slots(slots);
}

/* The slot of the node, or the free one where it belongs. */
static struct stack_slot *slot_of_node(const struct stack_table *table, uint32_t parent,
				       uint32_t frame, uint32_t hash)
{
	const struct stack_slots *slots = &table->further;
	uint32_t mask = slots->count - 1, at = hash & mask;

	for (; slots->slots[at].number; at = (at + 1) & mask) {
		const struct stack_node *node = &table->nodes[slots->slots[at].number - 1];

		if (slots->slots[at].hash == hash && node->parent == parent && node->frame == frame)
			break;
	}
	return &slots->slots[at];
}

/* The same of the stack that ends at the node. */
static struct stack_slot *slot_of_end(const struct stack_table *table, uint32_t node, uint32_t hash)
{
	const struct stack_slots *slots = &table->ends;
	uint32_t mask = slots->count - 1, at = hash & mask;

	for (; slots->slots[at].number; at = (at + 1) & mask)
		if (table->stacks[slots->slots[at].number - 1].node == node)
			break;
	return &slots->slots[at];
}

static uint32_t new_node(struct stack_table *table, uint32_t parent, uint32_t frame)
{
	if (table->node_count == table->node_room) {
		uint32_t room = table->node_room ? 2 * table->node_room : FIRST_NODES;
		struct stack_node *nodes = NULL;

		if (table->node_count < MAX_NODES)
			nodes = reallocarray(table->nodes, room, sizeof(*nodes));
		if (!nodes)
			return PROFILE_NONE;
		table->nodes = nodes;
		table->node_room = room;
	}
	table->nodes[table->node_count] = (struct stack_node){ parent, frame };
	return table->node_count++;
}

/* The node of the frame below its parent, made if it is new. */
static uint32_t node_below(struct stack_table *table, uint32_t parent, uint32_t frame)
{
	uint32_t next = parent + 1, hash, node;
	struct stack_slot *slot;

	/* Most nodes have one child, which was made right after them. */
	if (next == table->node_count)
		return new_node(table, parent, frame);
	if (table->nodes[next].parent == parent && table->nodes[next].frame == frame)
		return next;
	if (reserve_slot(&table->further))
		return PROFILE_NONE;
	hash = hash_of(parent, frame);
	slot = slot_of_node(table, parent, frame, hash);
	if (slot->number)
		return slot->number - 1;
	node = new_node(table, parent, frame);
	if (node == PROFILE_NONE)
		return node;
	*slot = (struct stack_slot){ hash, node + 1 };
	table->further.taken++;
	return node;
}

/* Room for the path of a stack so deep. */
static int grow_depth(struct stack_table *table, size_t depth)
{
	size_t room = table->depth_room ? table->depth_room : FIRST_DEPTH;
	uint32_t *path, *frames;

	if (depth > UINT32_MAX / 2)
		return -ENOMEM;
	while (room < depth)
		room *= 2;
	if (room == table->depth_room)
		return 0;
	path = reallocarray(table->path, room, sizeof(*path));
	if (!path)
		return -ENOMEM;
	table->path = path;
	frames = reallocarray(table->frames, room, sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	table->frames = frames;
	table->depth_room = (uint32_t)room;
	return 0;
}

/* The node of the leaf. What the last stack had as well needs no search. */
static uint32_t walk(struct stack_table *table, const uint32_t *frames, uint32_t count)
{
	uint32_t depth = 0, node = 0;

	while (depth < count && depth < table->path_count &&
	       table->nodes[table->path[depth]].frame == frames[count - 1 - depth])
		node = table->path[depth++];
	for (; depth < count; depth++) {
		node = node_below(table, node, frames[count - 1 - depth]);
		if (node == PROFILE_NONE)
			break;
		table->path[depth] = node;
	}
	table->path_count = depth;
	return node;
}

static int grow_stacks(struct stack_table *table)
{
	uint32_t room = table->room ? 2 * table->room : FIRST_NODES;
	struct stack_end *stacks;

	if (table->count < table->room)
		return 0;
	stacks = reallocarray(table->stacks, room, sizeof(*stacks));
	if (!stacks)
		return -ENOMEM;
	table->stacks = stacks;
	table->room = room;
	return 0;
}

/* The stack that ends at the node, made if it is new. */
static uint32_t end_at(struct stack_table *table, uint32_t node, uint32_t depth)
{
	struct stack_slot *slot;
	uint32_t hash;

	if (grow_stacks(table) || reserve_slot(&table->ends))
		return PROFILE_NONE;
	hash = hash_of(node, PROFILE_NONE);
	slot = slot_of_end(table, node, hash);
	if (slot->number)
		return slot->number - 1;
	table->stacks[table->count] = (struct stack_end){ node, depth };
	if (depth > table->depth)
		table->depth = depth;
	*slot = (struct stack_slot){ hash, ++table->count };
	table->ends.taken++;
	return table->count - 1;
}

static bool has_root(struct stack_table *table)
{
	return table->node_count || new_node(table, PROFILE_NONE, PROFILE_NONE) != PROFILE_NONE;
}

uint32_t stack_table__add(struct stack_table *table, const uint32_t *frames, size_t count)
{
	uint32_t node;

	if (grow_depth(table, count) || !has_root(table))
		return PROFILE_NONE;
	node = walk(table, frames, (uint32_t)count);
	return node == PROFILE_NONE ? node : end_at(table, node, (uint32_t)count);
}

int stack_table__add_all(struct stack_table *table, const struct stack_table *from,
			 const uint32_t *numbers, uint32_t *ret_ids)
{
	uint32_t *nodes = calloc((size_t)from->node_count + 1, sizeof(*nodes)); /* by node there */
	int error = nodes && grow_depth(table, from->depth) == 0 && has_root(table) ? 0 : -ENOMEM;

	for (uint32_t i = 1; i < from->node_count && !error; i++) {
		const struct stack_node *node = &from->nodes[i];

		nodes[i] = node_below(table, nodes[node->parent], numbers[node->frame]);
		if (nodes[i] == PROFILE_NONE)
			error = -ENOMEM;
	}
	for (uint32_t i = 0; i < from->count && !error; i++) {
		const struct stack_end *stack = &from->stacks[i];

		ret_ids[i] = end_at(table, nodes[stack->node], stack->depth);
		if (ret_ids[i] == PROFILE_NONE)
			error = -ENOMEM;
	}
	free(nodes);
	return error;
}

struct profile_stack stack_table__at(const struct stack_table *table, uint32_t id)
{
	struct profile_stack stack = { 0 };
	uint32_t node;

	if (id >= table->count)
		return stack;
	stack.frames = table->frames;
	node = table->stacks[id].node;
	for (; node; node = table->nodes[node].parent)
		table->frames[stack.count++] = table->nodes[node].frame;
	return stack;
}

size_t stack_table__bytes(const struct stack_table *table)
{
	size_t slots = 2 * ((size_t)table->ends.taken + table->further.taken);

	return table->node_count * sizeof(*table->nodes) + table->count * sizeof(*table->stacks) +
	       slots * sizeof(struct stack_slot);
}

void stack_table__free(struct stack_table *table)
{
	free(table->nodes);
	free(table->stacks);
	free(table->ends.slots);
	free(table->further.slots);
	free(table->path);
	free(table->frames);
	*table = (struct stack_table){ 0 };
}
