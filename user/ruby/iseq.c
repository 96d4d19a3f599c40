/* SPDX-License-Identifier: BSD-2-Clause */
#include "iseq.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../util/utf8.h"

#define PATH_BYTES   (UTF8_LIMIT_PATH + 4)
#define BODY_MAX     512 /* bytes of rb_iseq_constant_body that are looked at */
#define MAX_ROW_SIZE 32	 /* bytes of an insn_info entry */

/*
 * iseq.c: struct succ_index_table, 2.7 to 4.0. The rank of a position (how many entries begin at
 * or before it) stands in 7 bits, nine to a word, for the first 54 positions. For the rest there
 * is a block per 512 positions: its own rank, seven 9-bit ranks of its later words, eight words
 * of one bit a position.
 */
#define IMMEDIATE_POSITIONS 54
#define IMMEDIATE_PER_WORD  9
#define IMMEDIATE_BITS	    7
#define IMMEDIATE_WORDS	    6
#define BLOCK_POSITIONS	    512
#define BLOCK_WORDS	    10
#define BLOCK_RANK	    0
#define BLOCK_SMALL_RANKS   1
#define BLOCK_BITS	    2
#define SMALL_RANK_BITS	    9

static uint64_t body_word(const unsigned char *body, uint32_t begin, uint32_t offset)
{
	uint64_t word;

	memcpy(&word, body + offset - begin, sizeof(word));
	return word;
}

/* The part of the body with the names and tables; nothing in it changes while the code lives. */
static int iseq_location(struct reader *reader, uint64_t address, struct iseq *iseq)
{
	const struct ruby_layout *layout = reader->layout;
	const uint32_t begin = layout->body__pathobj;
	const uint32_t end = layout->body__local_iseq + 8;
	const uint16_t inside[] = {
		layout->body__base_label,	    layout->body__label,
		layout->body__first_lineno,	    layout->body__insns_info_body,
		layout->body__insns_info_positions, layout->body__insns_info_size,
		layout->body__succ_index_table,	    layout->body__parent_iseq
	};
	unsigned char body[BODY_MAX];
	uint64_t line;
	size_t i;
	int err;

	if (end <= begin || end - begin > sizeof(body))
		return -ENOTSUP;
	for (i = 0; i < sizeof(inside) / sizeof(*inside); i++)
		if (inside[i] < begin || inside[i] + 8u > end)
			return -ENOTSUP;
	err = reader__read(reader, address + begin, body, end - begin);
	if (err)
		return err;
	iseq->path = body_word(body, begin, layout->body__pathobj);
	iseq->label = body_word(body, begin, layout->body__label);
	iseq->base_label = body_word(body, begin, layout->body__base_label);
	iseq->parent = body_word(body, begin, layout->body__parent_iseq);
	iseq->local = body_word(body, begin, layout->body__local_iseq);
	iseq->lines = body_word(body, begin, layout->body__insns_info_body);
	iseq->line_positions = body_word(body, begin, layout->body__insns_info_positions);
	iseq->line_index = body_word(body, begin, layout->body__succ_index_table);
	iseq->line_count = (uint32_t)body_word(body, begin, layout->body__insns_info_size);
	line = body_word(body, begin, layout->body__first_lineno);
	if (layout->body__first_lineno_size == 8) {
		if (!object__fixnum(line, &iseq->first_line))
			return -EINVAL;
	} else {
		iseq->first_line = (int32_t)line;
	}
	/* An eval may begin at any line that it was told. */
	if (iseq->first_line < INT32_MIN || iseq->first_line > INT32_MAX)
		return -EINVAL;
	return 0;
}

int iseq__read(struct reader *reader, uint64_t address, struct iseq *ret_iseq)
{
	const struct ruby_layout *layout = reader->layout;
	const uint32_t imemo = RUBY_IMEMO_MASK << RUBY_FL_USHIFT;
	struct iseq iseq = { .address = address };
	uint64_t flags, body, head[2]; /* type and size, code */
	int err;

	err = reader__object(reader, address, imemo, &flags);
	if (!err && flags != (RUBY_T_IMEMO | RUBY_IMEMO_ISEQ << RUBY_FL_USHIFT))
		err = -EINVAL;
	if (!err)
		err = reader__word(reader, address + layout->iseq__body, &body);
	if (!err && (!body || body % 8))
		err = -EINVAL;
	if (!err && (layout->body__iseq_size != layout->body__type + 4 ||
		     layout->body__iseq_encoded != layout->body__type + 8))
		err = -ENOTSUP;
	if (!err)
		err = reader__read(reader, body + layout->body__type, head, sizeof(head));
	if (!err)
		err = iseq_location(reader, body, &iseq);
	if (err)
		return err;
	iseq.type = (uint32_t)head[0];
	iseq.size = (uint32_t)(head[0] >> 32);
	iseq.code = head[1];
	if (iseq.type > RUBY_ISEQ_TYPE_MAX || iseq.size > ISEQ_MAX_INSTRUCTIONS ||
	    iseq.code % ISEQ_WORD)
		return -EINVAL;
	*ret_iseq = iseq;
	return 0;
}

bool iseq__contains(const struct iseq *iseq, uint64_t pc)
{
	return pc >= iseq->code && pc - iseq->code <= (uint64_t)iseq->size * ISEQ_WORD &&
	       pc % ISEQ_WORD == 0;
}

int iseq__path(struct reader *reader, const struct iseq *iseq, bool as_given, struct text *text)
{
	uint64_t value = iseq->path, length, elements, both[2];
	uint32_t type;
	int err;

	err = object__type(reader, value, &type);
	if (err)
		return err;
	if (type == RUBY_T_ARRAY) {
		err = object__array(reader, value, &length, &elements);
		if (!err && length != 2)
			err = -EINVAL;
		if (!err)
			err = reader__read(reader, elements, both, sizeof(both));
		if (err)
			return err;
		/* The second is nil, or a Symbol in code without a file. */
		value = both[0];
		if (!as_given && !object__type(reader, both[1], &type) && type == RUBY_T_STRING)
			value = both[1];
	}
	return object__string(reader, value, PATH_BYTES, text);
}

static uint32_t index_rank(const uint64_t *index, uint32_t position)
{
	const uint64_t *block;
	uint32_t word, bit;
	uint64_t rank;

	if (position < IMMEDIATE_POSITIONS)
		return (uint32_t)(index[position / IMMEDIATE_PER_WORD] >>
				  position % IMMEDIATE_PER_WORD * IMMEDIATE_BITS) &
		       ((1u << IMMEDIATE_BITS) - 1);
	position -= IMMEDIATE_POSITIONS;
	block = index + IMMEDIATE_WORDS + (size_t)(position / BLOCK_POSITIONS) * BLOCK_WORDS;
	word = position % BLOCK_POSITIONS / 64;
	bit = position % 64;
	rank = block[BLOCK_RANK];
	if (word)
		rank += (block[BLOCK_SMALL_RANKS] >> (word - 1) * SMALL_RANK_BITS) &
			((1u << SMALL_RANK_BITS) - 1);
	rank += (uint64_t)__builtin_popcountll(block[BLOCK_BITS + word] << (63 - bit));
	return rank > UINT32_MAX ? UINT32_MAX : (uint32_t)rank;
}

/* Positions of the entries, out of either form. *ret_words is the caller's to free. */
static int lines_positions(struct reader *reader, const struct iseq *iseq, uint64_t **ret_words)
{
	uint64_t *words;
	size_t size;
	int err;

	if (iseq->line_index) {
		size_t blocks = 0;

		if (iseq->size > IMMEDIATE_POSITIONS)
			blocks = (iseq->size - IMMEDIATE_POSITIONS + BLOCK_POSITIONS - 1) /
				 BLOCK_POSITIONS;
		size = (IMMEDIATE_WORDS + blocks * BLOCK_WORDS) * sizeof(*words);
		words = malloc(size);
		err = !words ? -ENOMEM : reader__read(reader, iseq->line_index, words, size);
	} else if (iseq->line_positions) {
		size = (size_t)iseq->line_count * sizeof(uint32_t);
		words = malloc(size);
		err = !words ? -ENOMEM : reader__read(reader, iseq->line_positions, words, size);
	} else {
		return -EINVAL;
	}
	if (err) {
		free(words);
		return err;
	}
	*ret_words = words;
	return 0;
}

static int lines_build(const struct iseq *iseq, const unsigned char *rows, uint32_t row_size,
		       uint32_t line_offset, const uint64_t *positions, struct iseq_lines *lines)
{
	uint32_t position, entry = 0, rank, last = UINT32_MAX;

	for (position = 0; position < iseq->size; position++) {
		int32_t line;

		if (!positions || iseq->line_count == 1) {
			rank = 1;
		} else if (iseq->line_index) {
			rank = index_rank(positions, position);
		} else {
			const uint32_t *at = (const uint32_t *)positions;

			while (entry < iseq->line_count && at[entry] <= position)
				entry++;
			rank = entry;
		}
		if (rank > iseq->line_count || (last != UINT32_MAX && rank < last))
			return -EINVAL; /* ranks only grow */
		if (!rank || rank == last)
			continue;
		last = rank;
		memcpy(&line, rows + (size_t)(rank - 1) * row_size + line_offset, sizeof(line));
		if (lines->count && lines->runs[lines->count - 1].line == line)
			continue;
		lines->runs[lines->count++] = (struct iseq_run){ position, line };
	}
	return 0;
}

int iseq__lines(struct reader *reader, const struct iseq *iseq, struct iseq_lines *ret_lines)
{
	const uint32_t row_size = reader->layout->insn_info__sizeof;
	const uint32_t line_offset = reader->layout->insn_info__line_no;
	struct iseq_lines lines = { .runs = NULL };
	unsigned char *rows = NULL;
	uint64_t *positions = NULL;
	struct iseq_run *fit;
	int err = -EINVAL;

	if (row_size > MAX_ROW_SIZE || line_offset + sizeof(int32_t) > row_size)
		return -ENOTSUP;
	if (!iseq->line_count) {
		*ret_lines = lines;
		return 0;
	}
	/* Each entry begins at a word of its own. */
	if (iseq->line_count > iseq->size)
		return -EINVAL;
	rows = malloc((size_t)iseq->line_count * row_size);
	lines.runs = malloc((size_t)iseq->line_count * sizeof(*lines.runs));
	if (!rows || !lines.runs) {
		err = -ENOMEM;
		goto out;
	}
	err = reader__read(reader, iseq->lines, rows, (size_t)iseq->line_count * row_size);
	if (!err && iseq->line_count > 1)
		err = lines_positions(reader, iseq, &positions);
	if (!err)
		err = lines_build(iseq, rows, row_size, line_offset, positions, &lines);
	if (err)
		goto out;
	fit = realloc(lines.runs, lines.count ? lines.count * sizeof(*fit) : 1);
	if (fit)
		lines.runs = fit;
	*ret_lines = lines;
	lines.runs = NULL;
out:
	free(lines.runs);
	free(rows);
	free(positions);
	return err;
}

void iseq_lines__free(struct iseq_lines *lines)
{
	free(lines->runs);
	lines->runs = NULL;
	lines->count = 0;
}

int64_t iseq_lines__find(const struct iseq_lines *lines, uint64_t offset)
{
	const uint64_t position = offset / ISEQ_WORD ? offset / ISEQ_WORD - 1 : 0;
	uint32_t low = 0, high = lines->count;

	/* The last run that begins at or before the position. */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (lines->runs[middle].position <= position)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? lines->runs[low - 1].line : 0;
}
