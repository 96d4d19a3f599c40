/* SPDX-License-Identifier: BSD-2-Clause */
#include "pairs.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_SLOTS 256

static size_t slot_of(const struct pairs *pairs, uint32_t first, uint32_t second)
{
	uint64_t key = (uint64_t)first << 32 | second;

	/* Multiplicative hashing: the golden ratio of 64 bits spreads dense numbers. */
	return (size_t)(key * 0x9e3779b97f4a7c15ULL >> 32) & (pairs->slot_count - 1);
}

/* The slot that has the pair, or the free one where it belongs. */
static uint32_t *find(const struct pairs *pairs, uint32_t first, uint32_t second)
{
	size_t at = slot_of(pairs, first, second);

	for (; pairs->slots[at]; at = (at + 1) & (pairs->slot_count - 1)) {
		const struct pair *pair = &pairs->pairs[pairs->slots[at] - 1];

		if (pair->first == first && pair->second == second)
			break;
	}
	return &pairs->slots[at];
}

static int grow(struct pairs *pairs)
{
	size_t slot_count = pairs->slot_count ? pairs->slot_count * 2 : FIRST_SLOTS, i;
	uint32_t *slots = calloc(slot_count, sizeof(*slots));
	struct pair *moved;

	if (!slots)
		return -ENOMEM;
	/* Slots are at most half full. */
	moved = realloc(pairs->pairs, slot_count / 2 * sizeof(*moved));
	if (!moved) {
		free(slots);
		return -ENOMEM;
	}
	free(pairs->slots);
	pairs->pairs = moved;
	pairs->room = slot_count / 2;
	pairs->slots = slots;
	pairs->slot_count = slot_count;
	for (i = 0; i < pairs->count; i++)
		*find(pairs, moved[i].first, moved[i].second) = (uint32_t)i + 1;
	return 0;
}

int pairs__add(struct pairs *pairs, uint32_t first, uint32_t second, int64_t value)
{
	uint32_t *slot;

	if (pairs->count == pairs->room && grow(pairs))
		return -ENOMEM;
	slot = find(pairs, first, second);
	if (!*slot) {
		pairs->pairs[pairs->count] = (struct pair){ first, second, 0 };
		*slot = (uint32_t)++pairs->count;
	}
	pairs->pairs[*slot - 1].sum += value;
	return 0;
}

void pairs__free(struct pairs *pairs)
{
	free(pairs->pairs);
	free(pairs->slots);
	*pairs = (struct pairs){ 0 };
}
