/* SPDX-License-Identifier: BSD-2-Clause */
#include "reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * ruby/internal/fl_type.h: FL_PROMOTED0 and FL_PROMOTED1, two bits of age up to 3.2. They are 0
 * in a new object and change only while the collector marks. Later releases keep them elsewhere.
 */
#define AGE_MASK      0x60
#define OBJECT_ALIGN  8
#define LOWEST_OBJECT 0x1000 /* below it lie special constants, and no memory */

void reader__init(struct reader *reader, struct memory *memory, const struct ruby_layout *layout)
{
	*reader = (struct reader){ .memory = memory, .layout = layout };
}

void reader__free(struct reader *reader)
{
	free(reader->ranges);
	reader->ranges = NULL;
	reader->count = reader->capacity = 0;
}

/* Mixes by the two halves of a wide product; both constants are odd and have no pattern. */
static uint64_t mix(uint64_t a, uint64_t b)
{
	const unsigned __int128 product =
		(unsigned __int128)(a ^ 0x9e3779b97f4a7c15ULL) * (b ^ 0xd6e8feb86659fd93ULL);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t reader__fingerprint(uint64_t fingerprint, const struct reader_range *range,
			     const void *bytes)
{
	const unsigned char *at = bytes;
	size_t left = range->size;
	uint64_t word;

	if (range->mask) {
		memcpy(&word, at, sizeof(word));
		return mix(fingerprint + 1, word & range->mask);
	}
	fingerprint = mix(fingerprint, left);
	for (; left >= sizeof(word); at += sizeof(word), left -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		fingerprint = mix(fingerprint + 1, word);
	}
	if (left) {
		word = 0;
		memcpy(&word, at, left);
		fingerprint = mix(fingerprint + 1, word);
	}
	return fingerprint;
}

static bool reader_has(const struct reader *reader, const struct reader_range *range)
{
	uint32_t i;

	for (i = 0; i < reader->count; i++)
		if (reader->ranges[i].address == range->address &&
		    reader->ranges[i].size == range->size &&
		    reader->ranges[i].mask == range->mask &&
		    reader->ranges[i].object == range->object)
			return true;
	return false;
}

static int reader_record(struct reader *reader, const struct reader_range *range, const void *bytes)
{
	/* Several names hang on one class or file; should it have changed, it will show. */
	if (reader_has(reader, range))
		return 0;
	if (reader->count >= READER_MAX_RANGES || reader->bytes + range->size > READER_MAX_BYTES)
		return -E2BIG;
	if (reader->count == reader->capacity) {
		uint32_t capacity = reader->capacity ? reader->capacity * 2 : 24;
		void *ranges = realloc(reader->ranges, capacity * sizeof(*reader->ranges));

		if (!ranges)
			return -ENOMEM;
		reader->ranges = ranges;
		reader->capacity = capacity;
	}
	reader->ranges[reader->count++] = *range;
	reader->bytes += range->size;
	reader->fingerprint = reader__fingerprint(reader->fingerprint, range, bytes);
	return 0;
}

int reader__read(struct reader *reader, uint64_t address, void *into, size_t size)
{
	struct reader_range range = { .address = address };
	int err;

	if (size > READER_MAX_BYTES)
		return -E2BIG;
	if (!size)
		return 0;
	range.size = (uint32_t)size & 0x3fffffff;
	err = memory__read(reader->memory, address, into, size);
	return err ? err : reader_record(reader, &range, into);
}

int reader__word(struct reader *reader, uint64_t address, uint64_t *ret_word)
{
	uint64_t word;
	int err = reader__read(reader, address, &word, sizeof(word));

	if (!err)
		*ret_word = word;
	return err;
}

static int reader_word_masked(struct reader *reader, uint64_t address, uint32_t mask, bool object,
			      uint64_t *ret_word)
{
	const struct reader_range range = {
		.address = address, .mask = mask, .size = sizeof(uint64_t), .object = object
	};
	uint64_t word;
	int err = memory__read(reader->memory, address, &word, sizeof(word));

	if (!err)
		err = reader_record(reader, &range, &word);
	if (!err)
		*ret_word = word & mask;
	return err;
}

int reader__masked(struct reader *reader, uint64_t address, uint32_t mask, uint64_t *ret_word)
{
	return reader_word_masked(reader, address, mask, false, ret_word);
}

int reader__object(struct reader *reader, uint64_t value, uint32_t mask, uint64_t *ret_flags)
{
	if (value < LOWEST_OBJECT || value % OBJECT_ALIGN)
		return -EINVAL;
	return reader_word_masked(reader, value + reader->layout->rbasic__flags, mask | RUBY_T_MASK,
				  true, ret_flags);
}

void reader__mark_key(struct reader *reader, uint32_t since)
{
	for (; since < reader->count; since++)
		reader->ranges[since].key = 1;
}

int reader__peek(struct reader *reader, uint64_t address, void *into, size_t size)
{
	return memory__read(reader->memory, address, into, size);
}

bool reader__survived(uint64_t flags)
{
	return flags & AGE_MASK;
}

bool reader__has_ages(const struct ruby_layout *layout)
{
	/* Up to 3.1 a line number is a VALUE; 3.2 is the only other one with so large a frame. */
	return layout->body__first_lineno_size == 8 || layout->cfp__sizeof == 64;
}
