/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tables of a Firefox profile: columns, each written in one pass over what the profile in
 * memory has. Functions and frames keep their ids; one more of each is that of an empty stack.
 */
#include "firefox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "json_text.h"

static const char *const texts[FIREFOX_TEXT_COUNT] = {
	[FIREFOX_TEXT_NO_STACK] = "(no stack)",
	[FIREFOX_TEXT_GC] = "GC",
	[FIREFOX_TEXT_GVL_WAIT] = "GVL wait",
	[FIREFOX_TEXT_WAIT] = "Wait",
};

uint32_t firefox__text(const struct firefox *firefox, enum firefox_text text)
{
	return (uint32_t)profile__string_count(firefox->profile) + text;
}

static void write_strings(const struct firefox *firefox)
{
	FILE *stream = firefox->stream;

	fputs("\"stringArray\":[", stream);
	for (uint32_t i = 0; i < profile__string_count(firefox->profile); i++) {
		json_text__id(stream, firefox->profile, i);
		fputs(",\n", stream);
	}
	for (size_t i = 0; i < FIREFOX_TEXT_COUNT; i++) {
		if (i)
			putc(',', stream);
		json_text__cstring(stream, texts[i]);
	}
	putc(']', stream);
}

/* A column of count equal cells. */
static void write_column(FILE *stream, const char *name, size_t count, const char *cell)
{
	fprintf(stream, ",\"%s\":[", name);
	for (size_t i = 0; i < count; i++) {
		if (i)
			putc_unlocked(',', stream);
		fputs(cell, stream);
	}
	putc(']', stream);
}

/* Numbers each file: by string id, 0 for none, else its index in the sources and one. */
static int write_sources(const struct firefox *firefox, uint32_t **ret_sources)
{
	const struct profile *profile = firefox->profile;
	uint32_t *sources = calloc(profile__string_count(profile) + 1, sizeof(*sources));
	FILE *stream = firefox->stream;
	uint32_t count = 0;

	if (!sources)
		return -ENOMEM;
	fputs(",\n\"sources\":{\"filename\":[", stream);
	for (uint32_t i = 0; i < profile__function_count(profile); i++) {
		uint32_t file = profile__function_at(profile, i)->file;

		if (!profile__text_length(profile, file) || sources[file])
			continue;
		if (count)
			putc(',', stream);
		sources[file] = ++count;
		json_text__number(stream, file);
	}
	putc(']', stream);
	write_column(stream, "id", count, "null");
	fprintf(stream, ",\"length\":%u}", count);
	*ret_sources = sources;
	return 0;
}

/* A line, or null where it is unknown. */
static void write_line(FILE *stream, int64_t line)
{
	if (line > 0)
		json_text__number(stream, line);
	else
		fputs("null", stream);
	putc_unlocked(',', stream);
}

static int write_functions(const struct firefox *firefox)
{
	const struct profile *profile = firefox->profile;
	uint32_t count = (uint32_t)profile__function_count(profile);
	FILE *stream = firefox->stream;
	uint32_t *sources;
	int error = write_sources(firefox, &sources);

	if (error)
		return error;
	fputs(",\n\"funcTable\":{\"name\":[", stream);
	for (uint32_t i = 0; i < count; i++) {
		json_text__number(stream, profile__function_at(profile, i)->name);
		putc(',', stream);
	}
	json_text__number(stream, firefox__text(firefox, FIREFOX_TEXT_NO_STACK));
	fputs("],\n\"source\":[", stream);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t source = sources[profile__function_at(profile, i)->file];

		if (source)
			json_text__number(stream, source - 1);
		else
			fputs("null", stream);
		putc(',', stream);
	}
	fputs("null],\n\"lineNumber\":[", stream);
	for (uint32_t i = 0; i < count; i++)
		write_line(stream, profile__function_at(profile, i)->start_line);
	fputs("null]", stream);
	write_column(stream, "columnNumber", count + 1, "null");
	write_column(stream, "isJS", count + 1, "false");
	write_column(stream, "relevantForJS", count + 1, "false");
	write_column(stream, "resource", count + 1, "-1");
	fprintf(stream, ",\"length\":%u}", count + 1);
	free(sources);
	return 0;
}

static enum firefox_category category_of(const struct profile *profile, uint32_t frame)
{
	uint32_t id = profile__frame_at(profile, frame)->function;
	const struct profile_function *function = profile__function_at(profile, id);
	const char *file = profile__text(profile, function->file);

	if (!strcmp(file, "<cfunc>"))
		return FIREFOX_C;
	if (strcmp(file, "<rbprof>"))
		return FIREFOX_RUBY;
	if (!strcmp(profile__text(profile, function->name), "Garbage Collection"))
		return FIREFOX_GC;
	return FIREFOX_OTHER;
}

static void write_frames(const struct firefox *firefox)
{
	const struct profile *profile = firefox->profile;
	uint32_t count = (uint32_t)profile__frame_count(profile);
	FILE *stream = firefox->stream;

	fputs(",\n\"frameTable\":{\"func\":[", stream);
	for (uint32_t i = 0; i < count; i++) {
		json_text__number(stream, profile__frame_at(profile, i)->function);
		putc(',', stream);
	}
	fprintf(stream, "%zu],\n\"line\":[", profile__function_count(profile));
	for (uint32_t i = 0; i < count; i++)
		write_line(stream, profile__frame_at(profile, i)->line);
	fputs("null],\n\"category\":[", stream);
	for (uint32_t i = 0; i < count; i++)
		fprintf(stream, "%d,", category_of(profile, i));
	fprintf(stream, "%d]", FIREFOX_OTHER);
	write_column(stream, "subcategory", count + 1, "0");
	write_column(stream, "address", count + 1, "-1");
	write_column(stream, "inlineDepth", count + 1, "0");
	write_column(stream, "nativeSymbol", count + 1, "null");
	write_column(stream, "innerWindowID", count + 1, "0");
	write_column(stream, "column", count + 1, "null");
	fprintf(stream, ",\"length\":%u}", count + 1);
}

/* Nodes that a stack adds to those of the one before; an empty stack has one of its own. */
static uint32_t new_nodes(const struct stack_order_entry *entry)
{
	return entry->depth ? entry->depth - entry->common : 1;
}

static void write_node_frames(const struct firefox *firefox)
{
	FILE *stream = firefox->stream;
	const char *comma = "";

	fputs(",\n\"stackTable\":{\"frame\":[", stream);
	for (size_t i = 0; i < firefox->order.count; i++) {
		const struct stack_order_entry *entry = &firefox->order.entries[i];
		const uint32_t *frames = firefox->order.frames + entry->first;

		for (uint32_t j = 0; j < new_nodes(entry); j++, comma = ",") {
			fputs_unlocked(comma, stream);
			json_text__number(stream, entry->depth
							  ? frames[j]
							  : profile__frame_count(firefox->profile));
		}
	}
	putc(']', stream);
}

/* Nodes are numbered as they come; path: those of the last stack, by depth. */
static uint32_t write_node_parents(struct firefox *firefox, uint32_t *path)
{
	FILE *stream = firefox->stream;
	uint32_t count = 0;

	fputs(",\n\"prefix\":[", stream);
	for (size_t i = 0; i < firefox->order.count; i++) {
		const struct stack_order_entry *entry = &firefox->order.entries[i];
		uint32_t depth = entry->common;

		for (uint32_t left = new_nodes(entry); left > 0; left--) {
			if (count)
				putc_unlocked(',', stream);
			if (depth)
				json_text__number(stream, path[depth - 1]);
			else
				fputs("null", stream);
			path[depth++] = count++;
		}
		firefox->nodes[entry->id] = path[depth - 1];
	}
	putc(']', stream);
	return count;
}

static int write_stacks(struct firefox *firefox)
{
	uint32_t *path = calloc((size_t)firefox->order.depth + 1, sizeof(*path));

	if (!path)
		return -ENOMEM;
	write_node_frames(firefox);
	fprintf(firefox->stream, ",\"length\":%u}", write_node_parents(firefox, path));
	free(path);
	return 0;
}

int firefox__write_shared(struct firefox *firefox)
{
	int error;

	fputs("\"shared\":{", firefox->stream);
	write_strings(firefox);
	error = write_functions(firefox);
	if (error)
		return error;
	write_frames(firefox);
	error = write_stacks(firefox);
	fputs(",\n\"resourceTable\":{\"lib\":[],\"name\":[],\"host\":[],\"type\":[],\"length\":0},"
	      "\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],\"functionSize\":[],"
	      "\"length\":0}}",
	      firefox->stream);
	return error;
}
