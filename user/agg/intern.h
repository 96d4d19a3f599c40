/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A table of interned things: equal keys are one item, with a dense id. Of a profile's stacks
 * there may be hundreds of thousands, so an item costs no more than its bytes and some 24: items
 * lie one after the other in chunks and are only freed together.
 */
#ifndef RBPROF_INTERN_H
#define RBPROF_INTERN_H

#include <stddef.h>
#include <stdint.h>

#define INTERN_NONE UINT32_MAX

/* Never moves, so pointers to its data stay valid. */
struct intern_item {
	uint64_t size; /* of the data's part that is the key, bytes */
	uint64_t data[];
};

struct intern_chunk;
struct intern_slot;

/* All zero: empty. */
struct intern_table {
	struct intern_item **items; /* by id */
	uint32_t count;
	uint32_t capacity;
	struct intern_slot *slots; /* by hash, open addressing */
	uint32_t slot_count;
	struct intern_chunk *chunks;
	size_t chunk_left; /* bytes, of the newest one */
	size_t bytes;	   /* of all items */
};

/*
 * The id of the item with this key; a new one gets a copy of the key, followed by zeroes up to
 * data_size (at most INT_MAX). INTERN_NONE: no memory; the table is as it was.
 */
uint32_t intern__add(struct intern_table *table, const void *key, size_t key_size,
		     size_t data_size);

void intern__free(struct intern_table *table);

#endif
