/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * speedscope's own format: frames once, and for each value of the profile a list of stacks and
 * their weights. With times each thread's samples come one after the other as they were, so that
 * its "time order" says something; else equal stacks are one.
 */
#include "out.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "json_text.h"
#include "stack_order.h"
#include "threads.h"

#define SCHEMA	     "https://www.speedscope.app/file-format-schema.json"
#define NUMBER_BYTES 12 /* of a frame's index, with a comma */

struct number {
	char text[NUMBER_BYTES - 1];
	uint8_t length;
};

struct writer {
	struct profile *profile;
	FILE *stream;
	struct stack_order order;
	struct out_threads threads;
	struct number *numbers; /* by frame id: ",N", N the index of its function */
	struct sums {
		int64_t values[PROFILE_MAX_TYPES];
	} *sums;	/* by stack id */
	char *text;	/* of the stack that was put last */
	uint32_t *ends; /* in it, by depth */
};

/* What is written: rows in the order of time, or stacks. */
static size_t sample_count(const struct writer *writer)
{
	return writer->threads.has_times ? profile__row_count(writer->profile)
					 : writer->order.count;
}

static int64_t sample_value(const struct writer *writer, size_t index, size_t type)
{
	if (writer->threads.has_times)
		return profile__row(writer->profile, writer->threads.rows[index].row)->values[type];
	return writer->sums[writer->order.entries[index].id].values[type];
}

static int writer__init(struct writer *writer)
{
	const struct profile *profile = writer->profile;
	size_t frames = profile__frame_count(profile), depth = profile__stacks(profile)->depth;
	int error = out_threads__init(&writer->threads, profile);

	/* With times rows are written, not stacks. */
	if (!error && !writer->threads.has_times)
		error = stack_order__of_rows(&writer->order, profile, NULL);
	if (error)
		return error;
	writer->numbers = calloc(frames + 1, sizeof(*writer->numbers));
	writer->sums = calloc(profile__stack_count(profile) + 1, sizeof(*writer->sums));
	writer->text = malloc((depth + 1) * NUMBER_BYTES);
	writer->ends = calloc(depth + 1, sizeof(*writer->ends));
	if (!writer->numbers || !writer->sums || !writer->text || !writer->ends)
		return -ENOMEM;
	for (uint32_t i = 0; i < frames; i++) {
		struct number *number = &writer->numbers[i];
		char text[NUMBER_BYTES];
		int length = snprintf(text, sizeof(text), ",%u",
				      profile__frame_at(profile, i)->function);

		memcpy(number->text, text, sizeof(number->text));
		number->length = (uint8_t)length;
	}
	for (size_t i = 0; i < profile__row_count(profile); i++) {
		const struct profile_row *row = profile__row(profile, i);

		for (size_t j = 0; j < profile__type_count(profile); j++)
			writer->sums[row->stack].values[j] += row->values[j];
	}
	return 0;
}

static void writer__free(struct writer *writer)
{
	stack_order__free(&writer->order);
	out_threads__free(&writer->threads);
	free(writer->numbers);
	free(writer->sums);
	free(writer->text);
	free(writer->ends);
}

/* A frame for each function, and a last one for samples without a stack. */
static void write_frames(struct writer *writer)
{
	const struct profile *profile = writer->profile;
	FILE *stream = writer->stream;

	fputs("\"shared\":{\"frames\":[\n", stream);
	for (uint32_t i = 0; i < profile__function_count(profile); i++) {
		const struct profile_function *function = profile__function_at(profile, i);

		fputs("{\"name\":", stream);
		json_text__id(stream, profile, function->name);
		if (profile__text_length(profile, function->file)) {
			fputs(",\"file\":", stream);
			json_text__id(stream, profile, function->file);
		}
		if (function->start_line > 0) {
			fputs(",\"line\":", stream);
			json_text__number(stream, function->start_line);
		}
		fputs("},\n", stream);
	}
	fputs("{\"name\":\"(no stack)\"}\n]}", stream);
}

/* Writes the frame that is at this depth, from 0 at the root, behind those above it. */
static void put_frame(struct writer *writer, uint32_t depth, uint32_t frame)
{
	const struct number *number = &writer->numbers[frame];
	uint32_t end = depth ? writer->ends[depth - 1] : 0;

	memcpy(writer->text + end, number->text, sizeof(number->text));
	writer->ends[depth] = end + number->length;
}

/* Of the stack that was put last. */
static void write_stack(struct writer *writer, uint32_t depth)
{
	putc_unlocked('[', writer->stream);
	if (depth)
		fwrite_unlocked(writer->text + 1, 1, writer->ends[depth - 1] - 1, writer->stream);
	else
		json_text__number(writer->stream,
				  (int64_t)profile__function_count(writer->profile));
	putc_unlocked(']', writer->stream);
}

/* Puts the stack of a sample; how deep it is. */
static uint32_t put_stack(struct writer *writer, size_t index)
{
	const struct stack_order_entry *entry;
	struct profile_stack stack;
	uint32_t row;

	if (writer->threads.has_times) {
		row = writer->threads.rows[index].row;
		stack = profile__stack_at(writer->profile,
					  profile__row(writer->profile, row)->stack);
		for (uint32_t i = 0; i < stack.count; i++)
			put_frame(writer, i, stack.frames[stack.count - 1 - i]);
		return stack.count;
	}
	entry = &writer->order.entries[index];
	for (uint32_t i = entry->common; i < entry->depth; i++)
		put_frame(writer, i, writer->order.frames[entry->first + i - entry->common]);
	return entry->depth;
}

/* The units that the format knows. */
static const char *unit_of(const char *unit)
{
	static const char *const known[] = { "nanoseconds", "microseconds", "milliseconds",
					     "seconds", "bytes" };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(known[i], unit))
			return unit;
	return "none";
}

static void write_value(struct writer *writer, size_t type)
{
	const struct profile_type *it = profile__type(writer->profile, type);
	size_t samples = sample_count(writer);
	FILE *stream = writer->stream;
	const char *comma = "";
	int64_t sum = 0;

	fputs("{\"type\":\"sampled\",\"name\":", stream);
	json_text__cstring(stream, it->type);
	fprintf(stream, ",\"unit\":\"%s\",\"samples\":[\n", unit_of(it->unit));
	for (size_t i = 0; i < samples; i++) {
		bool has_value = sample_value(writer, i, type);
		uint32_t depth;

		/* The next one may have frames in common with one that is not written. */
		if (!has_value && writer->threads.has_times)
			continue;
		depth = put_stack(writer, i);
		if (!has_value)
			continue;
		fputs_unlocked(comma, stream);
		write_stack(writer, depth);
		comma = ",\n";
	}
	fputs("\n],\"weights\":[\n", stream);
	comma = "";
	for (size_t i = 0; i < samples; i++) {
		int64_t value = sample_value(writer, i, type);

		if (!value)
			continue;
		fputs(comma, stream);
		json_text__number(stream, value);
		sum += value;
		comma = ",";
	}
	fputs("\n],\"startValue\":0,\"endValue\":", stream);
	json_text__number(stream, sum);
	putc_unlocked('}', stream);
}

/* Of the file, which has several profiles. */
static void write_name(struct writer *writer)
{
	const struct profile *profile = writer->profile;
	uint32_t process = PROFILE_NONE;
	bool are_several = false;

	for (size_t i = 0; i < writer->threads.count; i++) {
		uint32_t own = writer->threads.threads[i].process;

		if (own == PROFILE_NONE)
			continue;
		are_several |= process != PROFILE_NONE && process != own;
		process = own;
	}
	if (process == PROFILE_NONE || are_several)
		json_text__cstring(writer->stream, "rbprof-bpf");
	else
		json_text__id(writer->stream, profile, process);
}

int speedscope__write(struct profile *profile, const struct out_options *options, FILE *stream)
{
	struct writer writer = { .profile = profile, .stream = stream };
	int error = writer__init(&writer);

	if (error)
		goto out;
	fputs("{\"$schema\":\"" SCHEMA "\",\n\"exporter\":\"rbprof-bpf\",\"name\":", stream);
	write_name(&writer);
	fprintf(stream, ",\"activeProfileIndex\":%zu,\n", options->type);
	write_frames(&writer);
	fputs(",\n\"profiles\":[\n", stream);
	for (size_t i = 0; i < profile__type_count(profile); i++) {
		if (i)
			fputs(",\n", stream);
		write_value(&writer, i);
	}
	fputs("\n]}\n", stream);
out:
	writer__free(&writer);
	return error;
}

const char *speedscope__refuse(const struct profile *profile)
{
	for (size_t i = 0; i < profile__row_count(profile); i++)
		for (size_t j = 0; j < profile__type_count(profile); j++)
			if (profile__row(profile, i)->values[j] < 0)
				return "speedscope cannot show values below zero";
	return NULL;
}
