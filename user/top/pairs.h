/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sums by pairs of ids. The ids are dense numbers of our own (of a profile, of rows of a table),
 * so the table needs no keyed hash.
 */
#ifndef RBPROF_PAIRS_H
#define RBPROF_PAIRS_H

#include <stddef.h>
#include <stdint.h>

struct pair {
	uint32_t first, second;
	int64_t sum;
};

/* Zeroed is empty. Read pairs[0] to pairs[count - 1], in the order in which they came. */
struct pairs {
	struct pair *pairs;
	size_t count, room;
	uint32_t *slots; /* a power of two of them: 1 + the index of a pair, 0: free */
	size_t slot_count;
};

/* Adds to the sum of the pair, which may be new. 0 or -ENOMEM, and nothing is added. */
int pairs__add(struct pairs *pairs, uint32_t first, uint32_t second, int64_t value);
void pairs__free(struct pairs *pairs);

#endif
