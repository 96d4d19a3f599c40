/* SPDX-License-Identifier: BSD-2-Clause */
/* The second half of the pprof reader: from mappings to samples, ids looked up and checked. */
#include "../agg/stack_table.h"
#include "pprof_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pprof.pb-c.h"

/*
 * Inlining may make more frames than there are bytes in the file, but not without end: this many
 * a byte, and some for very small files.
 */
#define EXPANSION	4
#define EXPANSION_START (1U << 20)

static int table__init(struct reader *reader, struct reader_table *table, const char *what,
		       enum reader_field field)
{
	table->what = what;
	table->entries = calloc(reader->counts[field] + 1, sizeof(*table->entries));
	return table->entries ? 0 : reader__fail_memory(reader);
}

static int compare_entries(const void *left, const void *right)
{
	const struct reader_entry *a = left, *b = right;

	return (a->id > b->id) - (a->id < b->id);
}

/* Makes entries findable. 0, or -EBADMSG: an id is 0 or there twice. */
static int table__sort(struct reader *reader, struct reader_table *table)
{
	const struct reader_entry *entries = table->entries;

	qsort(table->entries, table->count, sizeof(*table->entries), compare_entries);
	if (table->count && !entries[0].id)
		return reader__fail(reader, -EBADMSG, "a %s has the id 0", table->what);
	for (size_t i = 1; i < table->count; i++)
		if (entries[i].id == entries[i - 1].id)
			return reader__fail(reader, -EBADMSG, "two %ss have the id %" PRIu64,
					    table->what, entries[i].id);
	return 0;
}

/* The entry, or NULL with the reason noted. */
static const struct reader_entry *table__find(struct reader *reader,
					      const struct reader_table *table, uint64_t id)
{
	const struct reader_entry key = { .id = id };
	const struct reader_entry *entry;

	/* Most writers count from 1. */
	if (id - 1 < table->count && table->entries[id - 1].id == id)
		return &table->entries[id - 1];
	entry = bsearch(&key, table->entries, table->count, sizeof(key), compare_entries);
	if (!entry)
		reader__fail(reader, -EBADMSG, "%s %" PRIu64 " is used but not there", table->what,
			     id);
	return entry;
}

static int read_mapping(struct reader *reader, const struct wire_field *field)
{
	struct profile_mapping *first = profile__mapping(reader->profile);
	Perftools__Profiles__Mapping *message;
	uint32_t file, build_id;
	int error;

	message = perftools__profiles__mapping__unpack(NULL, field->length, field->bytes);
	if (!message)
		return reader__fail(reader, -EBADMSG, "a mapping is malformed");
	error = reader__string(reader, message->filename, &file);
	if (!error)
		error = reader__string(reader, message->build_id, &build_id);
	if (error)
		goto out;
	if (!reader->mappings.count) {
		first->start = message->memory_start;
		first->limit = message->memory_limit;
		first->offset = message->file_offset;
		if (profile__text_length(reader->profile, file))
			first->file = file;
		if (profile__text_length(reader->profile, build_id))
			first->build_id = build_id;
	}
	reader->mappings.entries[reader->mappings.count++] =
		(struct reader_entry){ .id = message->id, .first = file };
out:
	perftools__profiles__mapping__free_unpacked(message, NULL);
	return error;
}

static int read_function(struct reader *reader, const struct wire_field *field)
{
	struct profile_function function = { 0 };
	Perftools__Profiles__Function *message;
	uint32_t id;
	int error;

	message = perftools__profiles__function__unpack(NULL, field->length, field->bytes);
	if (!message)
		return reader__fail(reader, -EBADMSG, "a function is malformed");
	error = reader__string(reader, message->name, &function.name);
	if (!error)
		error = reader__string(reader, message->system_name, &function.system_name);
	if (!error)
		error = reader__string(reader, message->filename, &function.file);
	if (error)
		goto out;
	if (!profile__text_length(reader->profile, function.name))
		function.name = function.system_name;
	if (!profile__text_length(reader->profile, function.name))
		function.name = profile__cstring(reader->profile, "(unnamed)");
	function.start_line = message->start_line;
	id = profile__function(reader->profile, &function);
	if (id == PROFILE_NONE) {
		error = reader__fail_memory(reader);
		goto out;
	}
	reader->functions.entries[reader->functions.count++] =
		(struct reader_entry){ .id = message->id, .first = id };
out:
	perftools__profiles__function__free_unpacked(message, NULL);
	return error;
}

/* ---- locations ---- */

static int push_location_frame(struct reader *reader, uint32_t frame)
{
	if (frame == PROFILE_NONE)
		return reader__fail_memory(reader);
	if (reader->location_frame_count == reader->location_frame_capacity) {
		size_t capacity = reader->location_frame_capacity * 2 + 1024;
		uint32_t *frames = realloc(reader->location_frames, capacity * sizeof(*frames));

		if (!frames)
			return reader__fail_memory(reader);
		reader->location_frames = frames;
		reader->location_frame_capacity = capacity;
	}
	reader->location_frames[reader->location_frame_count++] = frame;
	return 0;
}

/* A frame for an address that nobody has given a function: 0x401000 [libfoo.so]. */
static uint32_t address_frame(struct reader *reader, uint64_t address, uint32_t file, int64_t line)
{
	struct profile_function function = { .file = file };
	const char *path = profile__text(reader->profile, file);
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	char name[300];

	if (!address && !*base)
		snprintf(name, sizeof(name), "(unnamed)");
	else if (!*base)
		snprintf(name, sizeof(name), "0x%" PRIx64, address);
	else
		/* A longer base than any file system allows is left out: never half a character. */
		snprintf(name, sizeof(name), "0x%" PRIx64 " [%s]", address,
			 strlen(base) <= 255 ? base : "?");
	function.name = profile__cstring(reader->profile, name);
	return profile__frame(reader->profile, profile__function(reader->profile, &function), line);
}

static int read_lines(struct reader *reader, const Perftools__Profiles__Location *message,
		      uint32_t file)
{
	uint32_t frame;
	int error;

	for (size_t i = 0; i < message->n_line; i++) {
		const Perftools__Profiles__Line *line = message->line[i];
		const struct reader_entry *function;

		if (!line->function_id) {
			frame = address_frame(reader, message->address, file, line->line);
		} else {
			function = table__find(reader, &reader->functions, line->function_id);
			if (!function)
				return -EBADMSG;
			frame = profile__frame(reader->profile, function->first, line->line);
		}
		error = push_location_frame(reader, frame);
		if (error)
			return error;
	}
	if (message->n_line)
		return 0;
	return push_location_frame(reader, address_frame(reader, message->address, file, 0));
}

static int read_location(struct reader *reader, const struct wire_field *field)
{
	size_t first = reader->location_frame_count;
	const struct reader_entry *mapping = NULL;
	Perftools__Profiles__Location *message;
	int error = 0;

	message = perftools__profiles__location__unpack(NULL, field->length, field->bytes);
	if (!message)
		return reader__fail(reader, -EBADMSG, "a location is malformed");
	if (message->mapping_id) {
		mapping = table__find(reader, &reader->mappings, message->mapping_id);
		error = mapping ? 0 : -EBADMSG;
	}
	if (!error)
		error = read_lines(reader, message, mapping ? mapping->first : 0);
	if (error)
		goto out;
	reader->locations.entries[reader->locations.count++] = (struct reader_entry){
		.id = message->id,
		.first = (uint32_t)first,
		.count = (uint32_t)(reader->location_frame_count - first),
	};
out:
	perftools__profiles__location__free_unpacked(message, NULL);
	return error;
}

/* ---- samples ---- */

const struct reader_entry *reader__location(struct reader *reader, uint64_t id)
{
	return table__find(reader, &reader->locations, id);
}

static int read_stack(struct reader *reader, uint32_t *ret_stack)
{
	const uint32_t *frames;
	size_t depth;
	uint32_t stack;
	int error = reader__stack(reader, &frames, &depth);

	if (error)
		return error;
	reader->expanded += depth;
	if (reader->expanded > EXPANSION * (uint64_t)reader->length + EXPANSION_START)
		return reader__fail(reader, -EFBIG, "its stacks are too large for its size");
	stack = profile__stack(reader->profile, frames, depth);
	if (stack == PROFILE_NONE)
		return reader__fail_memory(reader);
	if (profile__stacks(reader->profile)->node_count > READER_MAX_NODES)
		return reader__fail(reader, -EFBIG, "it has too many different stacks");
	*ret_stack = stack;
	return 0;
}

static int read_label(struct reader *reader, const struct reader_label *from,
		      struct profile_label *label)
{
	int error = reader__string(reader, from->key, &label->key);

	label->text = PROFILE_NONE;
	label->unit = PROFILE_NONE;
	label->number = from->number;
	if (!error && from->text)
		error = reader__string(reader, from->text, &label->text);
	else if (!error && from->unit)
		error = reader__string(reader, from->unit, &label->unit);
	return error;
}

static int read_labels(struct reader *reader, uint32_t *ret_label_set)
{
	const struct reader_sample *sample = &reader->sample;
	struct profile_label labels[READER_MAX_LABELS];
	uint32_t label_set;
	int error;

	for (size_t i = 0; i < sample->label_count; i++) {
		error = read_label(reader, &sample->labels[i], &labels[i]);
		if (error)
			return error;
	}
	label_set = profile__label_set(reader->profile, labels, sample->label_count);
	if (label_set == PROFILE_NONE)
		return reader__fail_memory(reader);
	*ret_label_set = label_set;
	return 0;
}

static int read_sample(struct reader *reader, const struct wire_field *field)
{
	size_t types = profile__type_count(reader->profile);
	uint32_t stack = PROFILE_NONE, label_set = PROFILE_NONE;
	int error = reader__parse_sample(reader, field);

	if (error)
		return error;
	if (reader->sample.value_count != types)
		return reader__fail(reader, -EBADMSG, "a sample has %zu values for %zu types",
				    reader->sample.value_count, types);
	error = read_stack(reader, &stack);
	if (!error)
		error = read_labels(reader, &label_set);
	if (error)
		return error;
	reader__give_back(reader, field);
	error = profile__add(reader->profile, stack, label_set, reader->sample.values);
	if (error == -EOVERFLOW)
		return reader__fail(reader, -EFBIG, "its values are too large to be summed up");
	return error ? reader__fail_memory(reader) : 0;
}

static int read_table(struct reader *reader, struct reader_table *table, const char *what,
		      enum reader_field field, reader_handler *handle)
{
	int error = table__init(reader, table, what, field);

	if (!error)
		error = reader__each(reader, field, handle);
	if (!error)
		error = table__sort(reader, table);
	return error;
}

int reader__read_samples(struct reader *reader)
{
	int error;

	reader->stack = malloc(READER_MAX_STACK * sizeof(*reader->stack));
	reader->sample_locations = malloc(READER_MAX_STACK * sizeof(*reader->sample_locations));
	if (!reader->stack || !reader->sample_locations)
		return reader__fail_memory(reader);
	error = read_table(reader, &reader->mappings, "mapping", FIELD_MAPPING, read_mapping);
	if (!error)
		error = read_table(reader, &reader->functions, "function", FIELD_FUNCTION,
				   read_function);
	if (!error)
		error = read_table(reader, &reader->locations, "location", FIELD_LOCATION,
				   read_location);
	reader->has_single_frames = reader->location_frame_count == reader->locations.count;
	if (!error)
		error = reader__each(reader, FIELD_SAMPLE, read_sample);
	return error;
}
