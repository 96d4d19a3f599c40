/* SPDX-License-Identifier: BSD-2-Clause */
#include "intern.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "../util/hash.h"

/* Ids are 32 bits, and there are more slots than items. */
#define MAX_ITEMS      (UINT32_MAX / 4)
#define FIRST_ITEMS    64
#define FIRST_CHUNK    4096
#define MAX_CHUNK      (1U << 20) /* larger items have a chunk of their own */
#define ITEM_ALIGNMENT 8

struct intern_chunk {
	struct intern_chunk *next;
	size_t size;
	uint64_t bytes[];
};

/* The hash here as well: without it every look would be one at the item. */
struct intern_slot {
	uint32_t hash;
	uint32_t number; /* id + 1; 0: free */
};

/* Twice the slots, every item in its place by its hash. */
static int grow_slots(struct intern_table *table, uint32_t slot_count)
{
	struct intern_slot *slots = calloc(slot_count, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < table->slot_count; i++) {
		uint32_t at = table->slots[i].hash & (slot_count - 1);

		if (!table->slots[i].number)
			continue;
		while (slots[at].number)
			at = (at + 1) & (slot_count - 1);
		slots[at] = table->slots[i];
	}
	free(table->slots);
	table->slots = slots;
	table->slot_count = slot_count;
	return 0;
}

/* Reserves room for one more item: at most every second slot is taken. */
static int grow(struct intern_table *table)
{
	uint32_t capacity = table->capacity ? table->capacity * 2 : FIRST_ITEMS;
	struct intern_item **items;

	if (table->count < table->capacity)
		return 0;
	if (table->count >= MAX_ITEMS)
		return -ENOMEM;
	/* Kept even if the other half fails: it is only larger than it has to be. */
	items = realloc(table->items, capacity * sizeof(*items));
	if (!items)
		return -ENOMEM;
	table->items = items;
	if (table->slot_count < 2 * capacity && grow_slots(table, 2 * capacity))
		return -ENOMEM;
	table->capacity = capacity;
	return 0;
}

/* The slot of the key, or the free one where it belongs. */
static uint32_t find_slot(const struct intern_table *table, const void *key, size_t key_size,
			  uint32_t hash)
{
	uint32_t mask = table->slot_count - 1, at = hash & mask;

	for (; table->slots[at].number; at = (at + 1) & mask) {
		const struct intern_item *item;

		if (table->slots[at].hash != hash)
			continue;
		item = table->items[table->slots[at].number - 1];
		if (item->size == key_size && (!key_size || !memcmp(item->data, key, key_size)))
			break;
	}
	return at;
}

static size_t chunk_size(const struct intern_table *table, size_t least)
{
	size_t size = table->chunks ? 2 * table->chunks->size : FIRST_CHUNK;

	if (size > MAX_CHUNK)
		size = MAX_CHUNK;
	return size < least ? least : size;
}

/* Room for an item with so much data, zeroed; NULL: no memory. */
static struct intern_item *new_item(struct intern_table *table, size_t data_size)
{
	size_t size = sizeof(struct intern_item) + data_size;
	struct intern_chunk *chunk = table->chunks;
	char *at;

	size = (size + ITEM_ALIGNMENT - 1) / ITEM_ALIGNMENT * ITEM_ALIGNMENT;
	if (size > table->chunk_left) {
		size_t bytes = chunk_size(table, size);

		chunk = calloc(1, sizeof(*chunk) + bytes);
		if (!chunk)
			return NULL;
		chunk->size = bytes;
		chunk->next = table->chunks;
		table->chunks = chunk;
		table->chunk_left = bytes;
	}
	at = (char *)chunk->bytes + chunk->size - table->chunk_left;
	table->chunk_left -= size;
	return (struct intern_item *)(void *)at;
}

uint32_t intern__add(struct intern_table *table, const void *key, size_t key_size, size_t data_size)
{
	uint32_t hash = hash__bytes(key, key_size), slot;
	struct intern_item *item;

	if (data_size > INT_MAX || key_size > data_size)
		return INTERN_NONE;
	if (table->slots) {
		slot = find_slot(table, key, key_size, hash);
		if (table->slots[slot].number)
			return table->slots[slot].number - 1;
	}
	if (grow(table))
		return INTERN_NONE;
	item = new_item(table, data_size);
	if (!item)
		return INTERN_NONE;
	item->size = key_size;
	if (key_size)
		memcpy(item->data, key, key_size);
	/* The slots may be others than before. */
	slot = find_slot(table, key, key_size, hash);
	table->slots[slot] = (struct intern_slot){ hash, table->count + 1 };
	table->items[table->count] = item;
	table->bytes += sizeof(*item) + data_size;
	return table->count++;
}

void intern__free(struct intern_table *table)
{
	struct intern_chunk *chunk = table->chunks, *next;

	for (; chunk; chunk = next) {
		next = chunk->next;
		free(chunk);
	}
	free(table->items);
	free(table->slots);
	*table = (struct intern_table){ 0 };
}
