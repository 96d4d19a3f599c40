/* SPDX-License-Identifier: BSD-2-Clause */
#include "object.h"

#include <errno.h>
#include <string.h>

/* ruby/internal/fl_type.h, rstring.h, rarray.h: flags of 2.7 to 3.1, and of later ones */
#define ELTS_SHARED	   (1u << (RUBY_FL_USHIFT + 2)) /* with NOEMBED: bytes are another's */
#define EMBED_LENGTH_SHIFT (RUBY_FL_USHIFT + 2)
#define EMBED_LENGTH_MASK  0x1f
#define ARRAY_LENGTH_SHIFT (RUBY_FL_USHIFT + 3)

#define MAX_ROOTS     4		 /* strings that share bytes, one behind the other */
#define MAX_STRING    (1u << 30) /* a longer one is no name */
#define MAX_TABLE     (1u << 16) /* entries of a table that are looked at */
#define TABLE_BATCH   64
#define DELETED_ENTRY (~0ULL) /* st.c: RESERVED_HASH_VAL, in place of the hash */

void text__add(struct text *text, const char *bytes, size_t length)
{
	size_t room = sizeof(text->bytes) - text->length;

	if (length > room)
		length = room;
	memcpy(text->bytes + text->length, bytes, length);
	text->length += length;
}

void text__string(struct text *text, const char *string)
{
	text__add(text, string, strlen(string));
}

/* A string that shares its bytes is only as good as the one that owns them. */
static int string_owner(struct reader *reader, uint64_t value, uint64_t flags)
{
	int i, err = 0;

	for (i = 0; !err && (flags & RUBY_STRING_NOEMBED) && (flags & ELTS_SHARED); i++) {
		if (i == MAX_ROOTS)
			return -EINVAL;
		/* struct RString: len, ptr, aux: the owner is the word behind the pointer. */
		err = reader__word(reader, value + reader->layout->rstring__heap_ptr + 8, &value);
		if (!err)
			err = reader__object(reader, value, RUBY_STRING_NOEMBED | ELTS_SHARED,
					     &flags);
		if (!err && (flags & RUBY_T_MASK) != RUBY_T_STRING)
			err = -EINVAL;
	}
	return err;
}

static int string_place(struct reader *reader, uint64_t value, uint64_t flags,
			uint64_t *ret_address, uint64_t *ret_length)
{
	const struct ruby_layout *layout = reader->layout;
	uint64_t head[2];
	int err;

	if (!(flags & RUBY_STRING_NOEMBED)) {
		*ret_address = value + layout->rstring__embed;
		if (!layout->string_embed_len_in_flags)
			return reader__word(reader, value + layout->rstring__len, ret_length);
		*ret_length = (flags >> EMBED_LENGTH_SHIFT) & EMBED_LENGTH_MASK;
		return 0;
	}
	/* struct RString: len, ptr */
	if (layout->rstring__heap_ptr != layout->rstring__len + 8)
		return -ENOTSUP;
	err = reader__read(reader, value + layout->rstring__len, head, sizeof(head));
	if (err)
		return err;
	*ret_length = head[0];
	*ret_address = head[1];
	return string_owner(reader, value, flags);
}

int object__string(struct reader *reader, uint64_t value, size_t most, struct text *text)
{
	uint32_t mask = RUBY_STRING_NOEMBED;
	uint64_t flags, address, length;
	int err;

	/* The bits of the length and of the sharing overlap: which it is NOEMBED says. */
	mask |= EMBED_LENGTH_MASK << EMBED_LENGTH_SHIFT;
	err = reader__object(reader, value, RUBY_STRING_NOEMBED, &flags);
	if (err)
		return err;
	if ((flags & RUBY_T_MASK) != RUBY_T_STRING)
		return -EINVAL;
	if (flags & RUBY_STRING_NOEMBED)
		mask = RUBY_STRING_NOEMBED | ELTS_SHARED;
	else if (!reader->layout->string_embed_len_in_flags)
		mask = RUBY_STRING_NOEMBED;
	err = reader__object(reader, value, mask, &flags);
	if (!err)
		err = string_place(reader, value, flags, &address, &length);
	if (err)
		return err;
	if (length > MAX_STRING)
		return -EINVAL;
	if (length > most)
		length = most;
	if (length > sizeof(text->bytes) - text->length)
		length = sizeof(text->bytes) - text->length;
	err = reader__read(reader, address, text->bytes + text->length, length);
	if (!err)
		text->length += length;
	return err;
}

int object__type(struct reader *reader, uint64_t value, uint32_t *ret_type)
{
	uint64_t flags;
	int err = reader__object(reader, value, RUBY_T_MASK, &flags);

	if (!err)
		*ret_type = (uint32_t)flags;
	return err;
}

int object__array(struct reader *reader, uint64_t value, uint64_t *ret_length,
		  uint64_t *ret_elements)
{
	const struct ruby_layout *layout = reader->layout;
	uint64_t flags, length, elements;
	int err;

	err = reader__object(reader, value,
			     RUBY_ARRAY_EMBED | (uint32_t)layout->array_embed_len_mask
							<< ARRAY_LENGTH_SHIFT,
			     &flags);
	if (err)
		return err;
	if ((flags & RUBY_T_MASK) != RUBY_T_ARRAY)
		return -EINVAL;
	if (flags & RUBY_ARRAY_EMBED) {
		*ret_length = (flags >> ARRAY_LENGTH_SHIFT) & layout->array_embed_len_mask;
		*ret_elements = value + layout->rarray__embed;
		return 0;
	}
	err = reader__word(reader, value + layout->rarray__heap_len, &length);
	if (!err)
		err = reader__word(reader, value + layout->rarray__heap_ptr, &elements);
	if (err)
		return err;
	*ret_length = length;
	*ret_elements = elements;
	return 0;
}

int object__data(struct reader *reader, uint64_t value, uint64_t *ret_data)
{
	const struct ruby_layout *layout = reader->layout;
	uint64_t word;
	uint32_t type;
	int err = object__type(reader, value, &type);

	if (!err && type != RUBY_T_DATA)
		err = -EINVAL;
	if (err)
		return err;
	if (layout->typed_embedded_mask) {
		err = reader__masked(reader, value + layout->rtypeddata__typed_flag,
				     layout->typed_embedded_mask, &word);
		if (err)
			return err;
		if (word) {
			*ret_data = value + layout->rdata__data + 8;
			return 0;
		}
	}
	return reader__word(reader, value + layout->rdata__data, ret_data);
}

bool object__fixnum(uint64_t value, int64_t *ret_number)
{
	if (!(value & 1))
		return false;
	*ret_number = (int64_t)value >> 1;
	return true;
}

int object__st_find(struct reader *reader, uint64_t table, bool (*is)(uint64_t key, void *context),
		    void *context, bool *ret_found, uint64_t *ret_value)
{
	const struct ruby_layout *layout = reader->layout;
	const uint32_t size = layout->st_entry__sizeof;
	const uint32_t first = layout->st_table__num_entries;
	uint64_t bytes[TABLE_BATCH * 8], table_head[5], entries, start, bound, count, at, head[2];
	uint64_t value;
	int err;

	if (!size || size % 8 || size > 64 || layout->st_entry__key > size - 8u ||
	    layout->st_entry__key < 8 || layout->st_entry__record > size - 8u)
		return -EINVAL;
	/* struct st_table: num_entries, bins, entries_start, entries_bound, entries */
	if (layout->st_table__entries_start != first + 16 ||
	    layout->st_table__entries_bound != first + 24 ||
	    layout->st_table__entries != first + 32)
		return -ENOTSUP;
	err = reader__read(reader, table + first, table_head, sizeof(table_head));
	if (err)
		return err;
	count = table_head[0];
	start = table_head[2];
	bound = table_head[3];
	entries = table_head[4];
	if (bound > MAX_TABLE || start > bound || count > bound - start)
		return -EINVAL;
	for (at = start; at < bound; at++) {
		const char *entry;

		if ((at - start) % TABLE_BATCH == 0) {
			uint64_t batch = bound - at < TABLE_BATCH ? bound - at : TABLE_BATCH;

			err = reader__peek(reader, entries + at * size, bytes, batch * size);
			if (err)
				return err;
		}
		entry = (const char *)bytes + (at - start) % TABLE_BATCH * size;
		/* The hash lies before the key. */
		memcpy(head, entry + layout->st_entry__key - 8, sizeof(head));
		if (head[0] == DELETED_ENTRY || !is(head[1], context))
			continue;
		err = reader__read(reader, entries + at * size + layout->st_entry__key - 8, head,
				   sizeof(head));
		if (!err)
			err = reader__word(reader, entries + at * size + layout->st_entry__record,
					   &value);
		if (err)
			return err;
		if (head[0] == DELETED_ENTRY || !is(head[1], context))
			return -EAGAIN; /* it changed under us */
		*ret_found = true;
		*ret_value = value;
		return 0;
	}
	*ret_found = false;
	return 0;
}
