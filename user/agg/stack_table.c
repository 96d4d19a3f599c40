/* SPDX-License-Identifier: BSD-2-Clause */
#include "stack_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../util/hash.h"

/* Ids are 32 bits, and there are more slots than nodes. */
#define MAX_NODES   (UINT32_MAX / 4)
#define FIRST_NODES 64
#define FIRST_DEPTH 64

/* The hash here as well: without it every look would be one at the node. */
struct stack_slot {
	uint32_t hash;
	uint32_t node; /* 0: free */
};

static uint32_t hash_of(uint32_t parent, uint32_t frame)
{
	const uint32_t key[2] = { parent, frame };

	return hash__bytes(key, sizeof(key));
}

/* The slot of the node, or the free one where it belongs. */
static struct stack_slot *slot_of(const struct stack_table *table, uint32_t parent, uint32_t frame,
				  uint32_t hash)
{
	uint32_t mask = table->slot_count - 1, at = hash & mask;

	for (; table->slots[at].node; at = (at + 1) & mask) {
		const struct stack_node *node = &table->nodes[table->slots[at].node];

		if (table->slots[at].hash == hash && node->parent == parent && node->frame == frame)
			break;
	}
	return &table->slots[at];
}

/* Twice the slots, every node in its place: in the order of slots, so that places go up as well. */
static int double_slots(struct stack_table *table)
{
	uint32_t count = table->slot_count ? 2 * table->slot_count : 2 * FIRST_NODES;
	struct stack_slot *slots = calloc(count, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < table->slot_count; i++) {
		uint32_t at = table->slots[i].hash & (count - 1);

		if (!table->slots[i].node)
			continue;
		while (slots[at].node)
			at = (at + 1) & (count - 1);
		slots[at] = table->slots[i];
	}
	free(table->slots);
	table->slots = slots;
	table->slot_count = count;
	return 0;
}

static int grow_nodes(struct stack_table *table)
{
	uint32_t room = table->node_room ? 2 * table->node_room : FIRST_NODES, *grown;
	struct stack_node *nodes;

	if (table->node_count >= MAX_NODES)
		return -ENOMEM;
	/* Kept even if another fails: it is only larger than it has to be. */
	nodes = reallocarray(table->nodes, room, sizeof(*nodes));
	if (!nodes)
		return -ENOMEM;
	table->nodes = nodes;
	grown = reallocarray(table->stack_of, room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	table->stack_of = grown;
	grown = reallocarray(table->first_child, room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	table->first_child = grown;
	table->node_room = room;
	return 0;
}

static uint32_t new_node(struct stack_table *table, uint32_t parent, uint32_t frame)
{
	uint32_t node = table->node_count;

	if (node == table->node_room && grow_nodes(table))
		return PROFILE_NONE;
	table->nodes[node] = (struct stack_node){ parent, frame };
	table->stack_of[node] = PROFILE_NONE;
	table->first_child[node] = 0;
	table->node_count++;
	return node;
}

/* The same of a node that has a child already, which is another one. */
static uint32_t sibling(struct stack_table *table, uint32_t parent, uint32_t frame)
{
	uint32_t hash = hash_of(parent, frame), node;
	struct stack_slot *slot;

	/* At most every second slot is taken. */
	if (table->slots_taken >= table->slot_count / 2 && double_slots(table))
		return PROFILE_NONE;
	slot = slot_of(table, parent, frame, hash);
	if (slot->node)
		return slot->node;
	node = new_node(table, parent, frame);
	if (node != PROFILE_NONE)
		*slot = (struct stack_slot){ hash, node };
	table->slots_taken += node != PROFILE_NONE;
	return node;
}

/* The node of the frame below its parent, made if it is new. Most nodes have one child. */
static uint32_t node_below(struct stack_table *table, uint32_t parent, uint32_t frame)
{
	uint32_t node = table->first_child[parent];

	if (node)
		return table->nodes[node].frame == frame ? node : sibling(table, parent, frame);
	node = new_node(table, parent, frame);
	if (node != PROFILE_NONE)
		table->first_child[parent] = node;
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

uint32_t stack_table__add(struct stack_table *table, const uint32_t *frames, size_t count)
{
	struct stack_end *stacks;
	uint32_t node, room;

	if (grow_depth(table, count))
		return PROFILE_NONE;
	if (!table->node_count && new_node(table, PROFILE_NONE, PROFILE_NONE) == PROFILE_NONE)
		return PROFILE_NONE;
	node = walk(table, frames, (uint32_t)count);
	if (node == PROFILE_NONE)
		return PROFILE_NONE;
	if (table->stack_of[node] != PROFILE_NONE)
		return table->stack_of[node];
	if (table->count == table->room) {
		room = table->room ? 2 * table->room : FIRST_NODES;
		stacks = reallocarray(table->stacks, room, sizeof(*stacks));
		if (!stacks)
			return PROFILE_NONE;
		table->stacks = stacks;
		table->room = room;
	}
	table->stacks[table->count] = (struct stack_end){ node, (uint32_t)count };
	if (count > table->depth)
		table->depth = (uint32_t)count;
	return table->stack_of[node] = table->count++;
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
	size_t node =
		sizeof(*table->nodes) + sizeof(*table->stack_of) + sizeof(*table->first_child);

	return table->node_count * node + table->slots_taken * 2 * sizeof(*table->slots) +
	       table->count * sizeof(*table->stacks);
}

void stack_table__free(struct stack_table *table)
{
	free(table->nodes);
	free(table->stack_of);
	free(table->first_child);
	free(table->stacks);
	free(table->slots);
	free(table->path);
	free(table->frames);
	*table = (struct stack_table){ 0 };
}
