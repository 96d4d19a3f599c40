/* SPDX-License-Identifier: BSD-2-Clause */
#include "pprof_read.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util/utf8.h"
#include "pprof.pb-c.h"
#include "pprof_bytes.h"
#include "pprof_reader.h"

int reader__fail(struct reader *reader, int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(reader->why, PPROF_READ_REASON, format, arguments);
	va_end(arguments);
	return error;
}

int reader__fail_memory(struct reader *reader)
{
	return reader__fail(reader, -ENOMEM, "out of memory");
}

/* Calls handle for every field with this number, in the order of the file. */
int reader__each(struct reader *reader, enum reader_field number, reader_handler *handle)
{
	struct wire wire = reader->spans[number];
	struct wire_field field;
	int error;

	/* The whole was found well-formed by count_fields(). */
	while (wire__next(&wire, &field) > 0) {
		if (field.number != number)
			continue;
		error = handle(reader, &field);
		if (error)
			return error;
	}
	return 0;
}

/* Whether a field that we use has the form that we expect. */
static bool has_right_type(const struct wire_field *field)
{
	switch (field->number) {
	case FIELD_SAMPLE_TYPE:
	case FIELD_SAMPLE:
	case FIELD_MAPPING:
	case FIELD_LOCATION:
	case FIELD_FUNCTION:
	case FIELD_PERIOD_TYPE:
		return field->type == WIRE_BYTES && field->length <= READER_MAX_MESSAGE_BYTES;
	case FIELD_STRING:
		return field->type == WIRE_BYTES && field->length <= UINT32_MAX;
	case FIELD_COMMENT:
		return field->type == WIRE_BYTES || field->type == WIRE_VARINT;
	case FIELD_TIME:
	case FIELD_DURATION:
	case FIELD_PERIOD:
	case FIELD_DEFAULT_TYPE:
		return field->type == WIRE_VARINT;
	default:
		return true;
	}
}

static int check_counts(struct reader *reader)
{
	const size_t *counts = reader->counts;

	if (!counts[FIELD_STRING])
		return reader__fail(reader, -EBADMSG, "not a pprof profile: it has no strings");
	if (!counts[FIELD_SAMPLE_TYPE])
		return reader__fail(reader, -EBADMSG, "it has no sample types");
	if (counts[FIELD_SAMPLE_TYPE] > PROFILE_MAX_TYPES)
		return reader__fail(reader, -EFBIG, "it has %zu sample types, %d is the limit",
				    counts[FIELD_SAMPLE_TYPE], PROFILE_MAX_TYPES);
	if (counts[FIELD_SAMPLE] > READER_MAX_SAMPLES ||
	    counts[FIELD_STRING] > READER_MAX_ENTITIES ||
	    counts[FIELD_FUNCTION] > READER_MAX_ENTITIES ||
	    counts[FIELD_LOCATION] > READER_MAX_ENTITIES ||
	    counts[FIELD_MAPPING] > READER_MAX_ENTITIES)
		return reader__fail(reader, -EFBIG,
				    "it has too many samples, locations or strings");
	return 0;
}

static int count_fields(struct reader *reader)
{
	struct wire wire = { reader->bytes, reader->bytes + reader->length };
	struct wire_field field;
	int more;

	for (const uint8_t *at = wire.at; (more = wire__next(&wire, &field)) > 0; at = wire.at) {
		if (!has_right_type(&field))
			return reader__fail(reader, -EBADMSG,
					    "not a pprof profile: field %" PRIu32 " is malformed",
					    field.number);
		if (field.number >= FIELD_COUNT)
			continue;
		if (!reader->counts[field.number]++)
			reader->spans[field.number].at = at;
		reader->spans[field.number].end = wire.at;
		if (field.type == WIRE_VARINT)
			reader->numbers[field.number] = (int64_t)field.value;
		if (field.number == FIELD_PERIOD_TYPE)
			reader->period_type =
				(struct wire){ field.bytes, field.bytes + field.length };
	}
	if (more < 0)
		return reader__fail(reader, -EBADMSG, "not a pprof profile, or cut off: byte %zu",
				    (size_t)(wire.at - reader->bytes));
	return check_counts(reader);
}

/* ---- strings ---- */

static int read_string(struct reader *reader, const struct wire_field *field)
{
	struct reader_text *text = &reader->strings[reader->string_count++];

	text->bytes = field->bytes;
	text->length = (uint32_t)field->length;
	text->id = PROFILE_NONE;
	return 0;
}

/* NULL, with the reason noted: there is no such string. */
static struct reader_text *find_text(struct reader *reader, int64_t index)
{
	if (index < 0 || (uint64_t)index >= reader->string_count) {
		reader__fail(reader, -EBADMSG, "string %" PRId64 " is not in its table of %zu",
			     index, reader->string_count);
		return NULL;
	}
	return &reader->strings[index];
}

/* The profile's id of a string of the file. */
int reader__string(struct reader *reader, int64_t index, uint32_t *ret_id)
{
	struct reader_text *text = find_text(reader, index);
	size_t length;

	if (!text)
		return -EBADMSG;
	if (text->id == PROFILE_NONE) {
		length = utf8__clean((const char *)text->bytes, text->length, reader->clean,
				     READER_MAX_TEXT_BYTES);
		text->id = profile__string(reader->profile, reader->clean, length);
		if (text->id == PROFILE_NONE)
			return reader__fail_memory(reader);
	}
	*ret_id = text->id;
	return 0;
}

/* ---- types: the profile starts with them ---- */

struct type_names {
	char type[UTF8_LIMIT_NAME + 1];
	char unit[UTF8_LIMIT_NAME + 1];
};

static int clean_name(struct reader *reader, int64_t index, char name[UTF8_LIMIT_NAME + 1])
{
	const struct reader_text *text = find_text(reader, index);

	if (!text)
		return -EBADMSG;
	utf8__clean((const char *)text->bytes, text->length, name, UTF8_LIMIT_NAME);
	return 0;
}

static int read_type(struct reader *reader, const uint8_t *bytes, size_t length,
		     struct type_names *names)
{
	Perftools__Profiles__ValueType *message;
	int error;

	message = perftools__profiles__value_type__unpack(NULL, length, bytes);
	if (!message)
		return reader__fail(reader, -EBADMSG, "a sample type is malformed");
	error = clean_name(reader, message->type, names->type);
	if (!error)
		error = clean_name(reader, message->unit, names->unit);
	perftools__profiles__value_type__free_unpacked(message, NULL);
	return error;
}

static int start_profile(struct reader *reader)
{
	struct wire wire = reader->spans[FIELD_SAMPLE_TYPE];
	struct profile_type types[PROFILE_MAX_TYPES];
	struct type_names names[PROFILE_MAX_TYPES];
	struct wire_field field;
	size_t count = 0;
	int error;

	while (wire__next(&wire, &field) > 0) {
		if (field.number != FIELD_SAMPLE_TYPE)
			continue;
		error = read_type(reader, field.bytes, field.length, &names[count]);
		if (error)
			return error;
		types[count].type = names[count].type;
		types[count].unit = names[count].unit;
		count++;
	}
	error = profile__new(types, count, &reader->profile);
	return error ? reader__fail_memory(reader) : 0;
}

static int read_info(struct reader *reader)
{
	struct profile_info *info = profile__info(reader->profile);
	struct type_names names;
	uint32_t type, unit;
	int index = -1;
	int error;

	info->time_ns = reader->numbers[FIELD_TIME];
	info->duration_ns = reader->numbers[FIELD_DURATION];
	info->period = reader->numbers[FIELD_PERIOD];
	/* Without a word about it, readers of pprof show the last type. */
	info->default_type = (uint32_t)profile__type_count(reader->profile) - 1;
	if (reader->numbers[FIELD_DEFAULT_TYPE]) {
		error = clean_name(reader, reader->numbers[FIELD_DEFAULT_TYPE], names.type);
		if (error)
			return error;
		index = profile__type_index(reader->profile, names.type);
		if (index >= 0)
			info->default_type = (uint32_t)index;
	}
	if (!reader->period_type.at)
		return 0;
	error = read_type(reader, reader->period_type.at,
			  (size_t)(reader->period_type.end - reader->period_type.at), &names);
	if (error)
		return error;
	type = profile__cstring(reader->profile, names.type);
	unit = profile__cstring(reader->profile, names.unit);
	info->period_type.type = profile__text(reader->profile, type);
	info->period_type.unit = profile__text(reader->profile, unit);
	return 0;
}

static int read_comment(struct reader *reader, const struct wire_field *field)
{
	struct wire packed = { 0 };
	uint64_t index = field->value;
	uint32_t id;
	int error;

	if (field->type == WIRE_BYTES)
		packed = (struct wire){ field->bytes, field->bytes + field->length };
	do {
		if (field->type == WIRE_BYTES) {
			if (packed.at == packed.end)
				break;
			if (wire__varint(&packed, &index))
				return reader__fail(reader, -EBADMSG, "its comments are malformed");
		}
		error = reader__string(reader, (int64_t)index, &id);
		if (error)
			return error;
		reader->comment_bytes += profile__text_length(reader->profile, id);
		/* One long string may be named as a comment over and over. */
		if (profile__comment_count(reader->profile) >= READER_MAX_COMMENTS ||
		    reader->comment_bytes > reader->length + READER_MAX_TEXT_BYTES)
			return reader__fail(reader, -EFBIG, "it has too many comments");
		if (profile__comment(reader->profile, profile__text(reader->profile, id)))
			return reader__fail_memory(reader);
	} while (field->type == WIRE_BYTES);
	return 0;
}

/* ---- the whole ---- */

static int read_profile(struct reader *reader)
{
	int error = count_fields(reader);

	if (error)
		return error;
	reader->strings = calloc(reader->counts[FIELD_STRING], sizeof(*reader->strings));
	if (!reader->strings)
		return reader__fail_memory(reader);
	error = reader__each(reader, FIELD_STRING, read_string);
	if (error)
		return error;
	if (reader->strings[0].length)
		return reader__fail(reader, -EBADMSG,
				    "not a pprof profile: its first string is not empty");
	error = start_profile(reader);
	if (!error)
		error = read_info(reader);
	if (!error)
		error = reader__each(reader, FIELD_COMMENT, read_comment);
	if (!error)
		error = reader__read_samples(reader);
	if (!error && profile__failed(reader->profile))
		error = reader__fail_memory(reader);
	return error;
}

static void reader__free(struct reader *reader)
{
	free(reader->strings);
	free(reader->mappings.entries);
	free(reader->functions.entries);
	free(reader->locations.entries);
	free(reader->location_frames);
	free(reader->sample_locations);
	free(reader->stack);
	free(reader);
}

static int read_unpacked(const uint8_t *bytes, size_t length, bool owns_bytes,
			 struct profile **ret_profile, char *why)
{
	struct reader *reader = calloc(1, sizeof(*reader));
	int error;

	if (!reader) {
		snprintf(why, PPROF_READ_REASON, "out of memory");
		return -ENOMEM;
	}
	reader->bytes = bytes;
	reader->length = length;
	reader->owns_bytes = owns_bytes;
	reader->why = why;
	error = read_profile(reader);
	if (error)
		profile__free(reader->profile);
	else
		*ret_profile = reader->profile;
	reader__free(reader);
	return error;
}

int pprof_read__bytes(const void *bytes, size_t length, struct profile **ret_profile,
		      char ret_why[static PPROF_READ_REASON])
{
	const uint8_t *file = bytes;
	uint8_t *unpacked;
	size_t unpacked_length;
	int error;

	if (!length) {
		snprintf(ret_why, PPROF_READ_REASON, "the file is empty");
		return -EBADMSG;
	}
	if (length < 2 || file[0] != 0x1f || file[1] != 0x8b)
		return read_unpacked(file, length, false, ret_profile, ret_why);
	error = pprof_bytes__gunzip(file, length, &unpacked, &unpacked_length, ret_why);
	if (error)
		return error;
	error = read_unpacked(unpacked, unpacked_length, true, ret_profile, ret_why);
	free(unpacked);
	return error;
}

int pprof_read__fd(int fd, struct profile **ret_profile, char ret_why[static PPROF_READ_REASON])
{
	uint8_t *bytes;
	size_t length;
	int error = pprof_bytes__read(fd, &bytes, &length);

	if (error == -EFBIG)
		snprintf(ret_why, PPROF_READ_REASON, "it is larger than 1 GiB");
	else if (error)
		snprintf(ret_why, PPROF_READ_REASON, "%s", strerror(-error));
	if (error)
		return error;
	error = pprof_read__bytes(bytes, length, ret_profile, ret_why);
	free(bytes);
	return error;
}
