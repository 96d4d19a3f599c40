/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One sample of a pprof, field by field: there are hundreds of thousands, each with a hundred
 * locations, so they are not worth a tree of objects each.
 */
#include "pprof_reader.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

enum sample_field {
	SAMPLE_LOCATION = 1,
	SAMPLE_VALUE,
	SAMPLE_LABEL,
};

enum label_field {
	LABEL_KEY = 1,
	LABEL_TEXT,
	LABEL_NUMBER,
	LABEL_UNIT,
};

/* Whole large pages, of which none is to be broken up. */
#define GIVE_BACK_BYTES (8 << 20)
#define ALIGNMENT	(2 << 20)

static int malformed(struct reader *reader)
{
	return reader__fail(reader, -EBADMSG, "a sample is malformed");
}

/* Into the array of ids, where locations are not in one piece. */
static int add_location(struct reader *reader, uint64_t id)
{
	struct reader_sample *sample = &reader->sample;

	if (sample->location_count == READER_MAX_STACK)
		return reader__fail(reader, -EFBIG, "a stack has more than %d frames",
				    READER_MAX_STACK);
	reader->sample_locations[sample->location_count++] = id;
	return 0;
}

/* What is too much is counted, and refused by its number. */
static int add_value(struct reader *reader, uint64_t value)
{
	struct reader_sample *sample = &reader->sample;

	if (sample->value_count < PROFILE_MAX_TYPES)
		sample->values[sample->value_count] = (int64_t)value;
	sample->value_count++;
	return 0;
}

/* A repeated number, packed or not. */
static int each_number(struct reader *reader, const struct wire_field *field,
		       int (*add)(struct reader *reader, uint64_t number))
{
	struct wire packed;
	int error = 0;

	if (field->type == WIRE_VARINT)
		return add(reader, field->value);
	if (field->type != WIRE_BYTES)
		return malformed(reader);
	packed = (struct wire){ field->bytes, field->bytes + field->length };
	while (!error && packed.at < packed.end) {
		uint64_t number;

		if (wire__varint(&packed, &number))
			return malformed(reader);
		error = add(reader, number);
	}
	return error;
}

static int add_label(struct reader *reader, const struct wire_field *field)
{
	struct reader_sample *sample = &reader->sample;
	struct reader_label label = { 0 };
	struct wire_field part;
	struct wire wire;
	int more;

	if (field->type != WIRE_BYTES)
		return malformed(reader);
	wire = (struct wire){ field->bytes, field->bytes + field->length };
	if (sample->label_count == READER_MAX_LABELS)
		return reader__fail(reader, -EFBIG, "a sample has more than %d labels",
				    READER_MAX_LABELS);
	while ((more = wire__next(&wire, &part)) > 0) {
		if (part.number > LABEL_UNIT)
			continue;
		if (part.type != WIRE_VARINT)
			return malformed(reader);
		if (part.number == LABEL_KEY)
			label.key = (int64_t)part.value;
		else if (part.number == LABEL_TEXT)
			label.text = (int64_t)part.value;
		else if (part.number == LABEL_NUMBER)
			label.number = (int64_t)part.value;
		else
			label.unit = (int64_t)part.value;
	}
	if (more < 0)
		return malformed(reader);
	sample->labels[sample->label_count++] = label;
	return 0;
}

/* Usually there is one packed field: it is taken as it is, see reader__stack(). */
static int take_locations(struct reader *reader, const struct wire_field *field)
{
	struct reader_sample *sample = &reader->sample;
	struct wire_field first = { .type = WIRE_BYTES };
	int error = 0;

	if (!sample->has_locations && field->type == WIRE_BYTES) {
		sample->has_locations = true;
		sample->packed = (struct wire){ field->bytes, field->bytes + field->length };
		return 0;
	}
	sample->has_locations = true;
	if (sample->packed.at) {
		first.bytes = sample->packed.at;
		first.length = (size_t)(sample->packed.end - sample->packed.at);
		sample->packed.at = NULL;
		error = each_number(reader, &first, add_location);
	}
	return error ? error : each_number(reader, field, add_location);
}

int reader__parse_sample(struct reader *reader, const struct wire_field *field)
{
	struct wire wire = { field->bytes, field->bytes + field->length };
	struct reader_sample *sample = &reader->sample;
	struct wire_field part;
	int more, error = 0;

	sample->has_locations = false;
	sample->packed.at = NULL;
	sample->location_count = 0;
	sample->value_count = 0;
	sample->label_count = 0;
	while (!error && (more = wire__next(&wire, &part)) > 0) {
		if (part.number == SAMPLE_LOCATION)
			error = take_locations(reader, &part);
		else if (part.number == SAMPLE_VALUE)
			error = each_number(reader, &part, add_value);
		else if (part.number == SAMPLE_LABEL)
			error = add_label(reader, &part);
	}
	if (!error && more < 0)
		error = malformed(reader);
	return error;
}

/* ---- the stack ---- */

/* Whether a number starts at this byte of a packed field. */
static bool starts_number(const struct wire *packed, const uint8_t *at)
{
	return at == packed->at || !(at[-1] & 0x80);
}

/*
 * The longest end of whole numbers that the packed locations have in common with the sample
 * before: where it starts, and how many numbers it has.
 */
static const uint8_t *common_end(const struct reader *reader, const struct wire *packed,
				 size_t *ret_count)
{
	const struct wire *before = &reader->packed_before;
	const uint8_t *at = packed->end, *other = before->end;
	size_t count = 0;

	if (!before->at)
		other = NULL;
	while (other && at > packed->at && other > before->at && at[-1] == other[-1]) {
		at--;
		other--;
	}
	while (at < packed->end && !(starts_number(packed, at) && starts_number(before, other))) {
		at++;
		other++;
	}
	for (const uint8_t *byte = at; byte < packed->end; byte++)
		count += !(*byte & 0x80);
	*ret_count = count;
	return at;
}

/* Puts the frames of the ids that were found in front of `kept` frames at the end. */
static int put_frames(struct reader *reader, size_t kept, size_t *ret_depth)
{
	size_t depth = kept;

	for (size_t i = reader->sample.location_count; i-- > 0;) {
		const struct reader_entry *location =
			reader__location(reader, reader->sample_locations[i]);

		if (!location)
			return -EBADMSG;
		if (location->count > READER_MAX_STACK - depth)
			return reader__fail(reader, -EFBIG, "a stack has more than %d frames",
					    READER_MAX_STACK);
		depth += location->count;
		memcpy(&reader->stack[READER_MAX_STACK - depth],
		       &reader->location_frames[location->first],
		       location->count * sizeof(*reader->stack));
	}
	*ret_depth = depth;
	return 0;
}

int reader__stack(struct reader *reader, const uint32_t **ret_frames, size_t *ret_depth)
{
	struct reader_sample *sample = &reader->sample;
	struct wire packed = sample->packed;
	struct wire_field head = { .type = WIRE_BYTES, .bytes = packed.at };
	size_t kept = 0, depth = 0;
	int error = 0;

	if (packed.at) {
		if (packed.at < packed.end && packed.end[-1] & 0x80)
			return malformed(reader);
		head.length = (size_t)(packed.end - packed.at);
		if (reader->has_single_frames)
			head.length = (size_t)(common_end(reader, &packed, &kept) - packed.at);
		error = each_number(reader, &head, add_location);
	}
	if (!error)
		error = put_frames(reader, kept, &depth);
	/* After an error nothing is read any more. */
	reader->packed_before = packed;
	*ret_frames = &reader->stack[READER_MAX_STACK - depth];
	*ret_depth = depth;
	return error;
}

void reader__give_back(struct reader *reader, const struct wire_field *field)
{
	uintptr_t from, to = (uintptr_t)field->bytes / ALIGNMENT * ALIGNMENT;

	if (!reader->owns_bytes || reader->spans[FIELD_STRING].at < reader->spans[FIELD_SAMPLE].end)
		return;
	if (!reader->given_back)
		reader->given_back = field->bytes;
	if (field->bytes - reader->given_back < GIVE_BACK_BYTES)
		return;
	from = ((uintptr_t)reader->given_back + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	/* If it fails, it only takes memory. */
	if (to > from)
		madvise((void *)from, to - from, MADV_DONTNEED);
	reader->given_back = (const uint8_t *)to;
}
