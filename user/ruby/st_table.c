/* SPDX-License-Identifier: BSD-2-Clause */
#include "st_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* st.c: a table of up to 2^4 entries has no bins. */
#define MAX_WITHOUT_BINS 16
#define MAX_POWER	 40
#define MAX_PROBES	 256 /* half of the bins are free: a handful is what it takes */
#define MAX_ENTRY_WORDS	 8

/* st.c: a bin is empty, was used, or is the index of an entry plus 2. */
#define BIN_EMPTY   0
#define BIN_DELETED 1
#define BIN_BASE    2

/* st.c: the hash of a deleted entry; a key whose hash is the same has the other one instead. */
#define HASH_RESERVED	(~0ULL)
#define HASH_SUBSTITUTE (~(~0ULL >> 1))

struct table {
	struct memory *memory;
	const struct ruby_layout *layout;
	uint64_t address;
	unsigned char head[64];
	uint64_t start, bound, entries, bins;
	uint32_t bin_power, bin_bytes;
};

static uint64_t head_word(const struct table *table, uint16_t at)
{
	uint64_t word = 0;

	if (at <= sizeof(table->head) - sizeof(word))
		memcpy(&word, table->head + at, sizeof(word));
	return word;
}

static int table_open(struct table *table)
{
	const struct ruby_layout *layout = table->layout;
	const uint16_t last = layout->st_table__entries;
	uint32_t entry_power, size_index;
	int err;

	if (last > sizeof(table->head) - 8 || layout->st_table__size_ind >= last ||
	    layout->st_table__bin_power >= last || layout->st_table__entry_power >= last ||
	    layout->st_entry__sizeof > MAX_ENTRY_WORDS * 8 || layout->st_entry__sizeof % 8 ||
	    layout->st_entry__key < 8 || layout->st_entry__key > layout->st_entry__sizeof - 8 ||
	    layout->st_entry__record > layout->st_entry__sizeof - 8)
		return -ENOTSUP;
	err = memory__read(table->memory, table->address, table->head, last + 8u);
	if (err)
		return err;
	entry_power = table->head[layout->st_table__entry_power];
	size_index = table->head[layout->st_table__size_ind];
	table->bin_power = table->head[layout->st_table__bin_power];
	table->bins = head_word(table, layout->st_table__bins);
	table->start = head_word(table, layout->st_table__entries_start);
	table->bound = head_word(table, layout->st_table__entries_bound);
	table->entries = head_word(table, last);
	if (entry_power > MAX_POWER || table->bin_power > MAX_POWER || size_index > 3 ||
	    table->bound > 1ULL << entry_power || table->start > table->bound ||
	    (!table->bins && table->bound > MAX_WITHOUT_BINS))
		return -EINVAL;
	table->bin_bytes = 1U << size_index;
	return 0;
}

/* Whether what the table consists of is where it was. */
static int table_still(const struct table *table)
{
	const struct ruby_layout *layout = table->layout;
	uint64_t bins, entries;
	int err;

	err = memory__read_u64(table->memory, table->address + layout->st_table__bins, &bins);
	if (!err)
		err = memory__read_u64(table->memory, table->address + layout->st_table__entries,
				       &entries);
	if (err)
		return err;
	return bins == table->bins && entries == table->entries ? 0 : -EAGAIN;
}

static int table_entry(const struct table *table, uint64_t index, uint64_t *words)
{
	const uint64_t size = table->layout->st_entry__sizeof;

	return memory__read(table->memory, table->entries + index * size, words, size);
}

static bool entry_is(const struct table *table, const uint64_t *words, uint64_t hash, uint64_t key)
{
	const uint32_t at = table->layout->st_entry__key / 8u;

	return words[at - 1] == hash && words[at] == key;
}

/* The entry has been found: its value, if it stands there still, and whole. */
static int table_value(const struct table *table, uint64_t index, const uint64_t *words,
		       uint64_t *ret_value)
{
	uint64_t again[MAX_ENTRY_WORDS];
	int err = table_entry(table, index, again);

	if (!err)
		err = table_still(table);
	if (!err && memcmp(again, words, table->layout->st_entry__sizeof))
		err = -EAGAIN;
	if (!err)
		*ret_value = words[table->layout->st_entry__record / 8u];
	return err;
}

/* st.c: st_numhash() */
static uint64_t hash_of(uint64_t key)
{
	const uint64_t hash = (key >> 11 | key << 3) ^ key >> 3;

	return hash == HASH_RESERVED ? HASH_SUBSTITUTE : hash;
}

static int find_without_bins(const struct table *table, uint64_t hash, uint64_t key,
			     uint64_t *ret_value)
{
	uint64_t words[MAX_ENTRY_WORDS], index;
	int err;

	for (index = table->start; index < table->bound; index++) {
		err = table_entry(table, index, words);
		if (err)
			return err;
		if (entry_is(table, words, hash, key))
			return table_value(table, index, words, ret_value);
	}
	return -ENOENT;
}

/* st.c: find_table_entry_ind(), secondary_hash() */
static int find_by_bins(const struct table *table, uint64_t hash, uint64_t key, uint64_t *ret_value)
{
	const uint64_t mask = (1ULL << table->bin_power) - 1;
	uint64_t words[MAX_ENTRY_WORDS], at = hash & mask, perturb = hash, bin;
	int probes, err;

	for (probes = 0; probes < MAX_PROBES; probes++) {
		bin = 0;
		err = memory__read(table->memory, table->bins + at * table->bin_bytes, &bin,
				   table->bin_bytes);
		if (err)
			return err;
		if (bin == BIN_EMPTY)
			return -ENOENT;
		if (bin != BIN_DELETED && bin - BIN_BASE < table->bound) {
			err = table_entry(table, bin - BIN_BASE, words);
			if (err)
				return err;
			if (entry_is(table, words, hash, key))
				return table_value(table, bin - BIN_BASE, words, ret_value);
		}
		perturb >>= 11;
		at = (at * 5 + perturb + 1) & mask;
	}
	return -EAGAIN;
}

int st_table__find(struct memory *memory, const struct ruby_layout *layout, uint64_t table,
		   uint64_t key, uint64_t *ret_value)
{
	struct table open = { .memory = memory, .layout = layout, .address = table };
	const uint64_t hash = hash_of(key);
	int err = table_open(&open);

	if (err)
		return err;
	return open.bins ? find_by_bins(&open, hash, key, ret_value)
			 : find_without_bins(&open, hash, key, ret_value);
}
