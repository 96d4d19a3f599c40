/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One sample of a pprof, field by field: there are hundreds of thousands, each with a hundred
 * locations, so they are not worth a tree of objects each.
 */
#include "pprof_reader.h"

#include <errno.h>
#include <string.h>

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

static int malformed(struct reader *reader)
{
	return reader__fail(reader, -EBADMSG, "a sample is malformed");
}

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
	struct wire packed = { field->bytes, field->bytes + field->length };
	int error = 0;

	if (field->type == WIRE_VARINT)
		return add(reader, field->value);
	if (field->type != WIRE_BYTES)
		return malformed(reader);
	while (!error && packed.at < packed.end) {
		uint64_t number = *packed.at;

		if (number < 0x80)
			packed.at++;
		else if (wire__varint(&packed, &number))
			return malformed(reader);
		error = add(reader, number);
	}
	return error;
}

static int add_label(struct reader *reader, const struct wire_field *field)
{
	struct wire wire = { field->bytes, field->bytes + field->length };
	struct reader_sample *sample = &reader->sample;
	struct reader_label label = { 0 };
	struct wire_field part;
	int more;

	if (field->type != WIRE_BYTES)
		return malformed(reader);
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

int reader__parse_sample(struct reader *reader, const struct wire_field *field)
{
	struct wire wire = { field->bytes, field->bytes + field->length };
	struct reader_sample *sample = &reader->sample;
	struct wire_field part;
	int more, error = 0;

	sample->location_count = 0;
	sample->value_count = 0;
	sample->label_count = 0;
	while (!error && (more = wire__next(&wire, &part)) > 0) {
		if (part.number == SAMPLE_LOCATION)
			error = each_number(reader, &part, add_location);
		else if (part.number == SAMPLE_VALUE)
			error = each_number(reader, &part, add_value);
		else if (part.number == SAMPLE_LABEL)
			error = add_label(reader, &part);
	}
	if (!error && more < 0)
		error = malformed(reader);
	return error;
}
