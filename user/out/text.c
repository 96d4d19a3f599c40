/* SPDX-License-Identifier: BSD-2-Clause */
/* The report that a person reads: what was recorded, where time went, and the table. */
#include "out.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../agg/profile_group.h"
#include "escape.h"
#include "text_parts.h"
#include "view.h"

#define RESET	    "\033[0m"
#define KEY_WIDTH   10
#define MIN_CELL    12 /* columns that a name or a file keeps on a narrow terminal */
#define PADDED_NAME 48 /* names longer than this do not push all files to the right */

/* A unit and its multiples, largest first. */
struct scale {
	const char *unit;
	double size;
	const char *text;
};

static const struct scale scales[] = {
	{ "nanoseconds", 1e9, "s" }, { "nanoseconds", 1e6, "ms" }, { "nanoseconds", 1e3, "us" },
	{ "nanoseconds", 1, "ns" },  { "microseconds", 1e6, "s" }, { "microseconds", 1e3, "ms" },
	{ "microseconds", 1, "us" }, { "bytes", 1 << 30, "GiB" },  { "bytes", 1 << 20, "MiB" },
	{ "bytes", 1 << 10, "KiB" }, { "bytes", 1, "B" },
};

void text__value(char text[TEXT_VALUE_BYTES], int64_t value, const char *unit)
{
	double magnitude = value < 0 ? -(double)value : (double)value;

	for (size_t i = 0; value && i < sizeof(scales) / sizeof(*scales); i++) {
		const struct scale *scale = &scales[i];

		if (strcmp(scale->unit, unit) || (magnitude < scale->size && scale->size > 1))
			continue;
		if (scale->size > 1)
			snprintf(text, TEXT_VALUE_BYTES, "%.2f %s", (double)value / scale->size,
				 scale->text);
		else
			snprintf(text, TEXT_VALUE_BYTES, "%" PRId64 " %s", value, scale->text);
		return;
	}
	snprintf(text, TEXT_VALUE_BYTES, "%" PRId64, value);
}

double text__percent(int64_t part, int64_t sum)
{
	double whole = sum < 0 ? -(double)sum : (double)sum;

	return sum ? 100 * (double)part / whole : 0;
}

const char *text__color(const struct text *text, const char *color)
{
	return text->options->color ? color : "";
}

const char *text__plain(const struct text *text)
{
	return text__color(text, RESET);
}

int text__fact(const struct text *text, const char *color, const char *key, const char *value)
{
	char *line = escape__text(value, strlen(value), ESCAPE_LINE);
	size_t columns = text->options->columns;

	if (!line)
		return -ENOMEM;
	if (columns)
		escape__cut_end(line, columns > KEY_WIDTH + 2 ? columns - KEY_WIDTH - 2 : 1);
	fprintf(text->stream, "%s%-*s%s  %s%s%s\n", text__color(text, TEXT_DIM), KEY_WIDTH, key,
		text__plain(text), text__color(text, color), line, *color ? text__plain(text) : "");
	free(line);
	return 0;
}

char *text__name(const struct profile *profile, uint32_t string)
{
	return escape__text(profile__text(profile, string), profile__text_length(profile, string),
			    ESCAPE_LINE);
}

char *text__place(const struct profile *profile, uint32_t function)
{
	const struct profile_function *it = profile__function_at(profile, function);
	char *file = text__name(profile, it->file), *place = NULL;
	int length;

	if (!file || it->start_line <= 0 || !*file)
		return file;
	/* The room at the end is for escape__cut_start(). */
	length = asprintf(&place, "%s:%" PRId64 "    ", file, it->start_line);
	free(file);
	if (length < 0)
		return NULL;
	place[length - 4] = '\0';
	return place;
}

void text__fit(size_t left, size_t *name_width, size_t *place_width)
{
	size_t for_place;

	if (!left) {
		*name_width = *name_width < PADDED_NAME ? *name_width : PADDED_NAME;
		return;
	}
	if (left < 2 * MIN_CELL)
		left = 2 * MIN_CELL;
	if (*name_width + *place_width <= left)
		return;
	/* Names say more than places. */
	for_place = left * 2 / 5;
	if (*name_width < left - for_place)
		for_place = left - *name_width;
	*place_width = *place_width < for_place ? *place_width : for_place;
	*name_width = left - *place_width < *name_width ? left - *place_width : *name_width;
}

void text__names(const struct text *text, size_t left, char *name, size_t name_width, char *place,
		 size_t place_width)
{
	size_t width;

	if (left) {
		escape__cut_middle(name, name_width);
		escape__cut_start(place, place_width);
	}
	width = escape__width(name);
	fputs(name, text->stream);
	if (*place)
		fprintf(text->stream, "%*s%s%s%s",
			(int)(width < name_width ? name_width - width : 0) + 2, "",
			text__color(text, TEXT_DIM), place, text__plain(text));
	putc('\n', text->stream);
}

static int write_tables(const struct text *text)
{
	const struct out_options *options = text->options;
	bool by_gem = options->by && !strcmp(options->by, PROFILE_GROUP_GEM);
	struct profile *rows = NULL;
	int error;

	if (options->by && !by_gem)
		return text__groups(text);
	error = by_gem ? 0 : text__states(text);
	if (!error && !by_gem)
		error = text__gc(text);
	if (!error && !by_gem)
		error = text__hottest_path(text);
	if (!error)
		error = view__table(text->profile, options, &rows);
	if (!error)
		error = text__functions(text, rows ? rows : text->profile,
					by_gem ? "gem" : "function");
	profile__free(rows);
	return error;
}

int text__write(struct profile *profile, const struct out_options *options, FILE *stream)
{
	struct text text = {
		.profile = profile,
		.options = options,
		.stream = stream,
		.type = profile__type(profile, options->type),
	};
	struct totals totals;
	int error = totals__init(&totals, profile);

	if (error)
		return error;
	text.sum = totals.all.values[options->type];
	error = text__heading(&text, &totals);
	totals__free(&totals);
	if (error)
		return error;
	if (!profile__row_count(profile)) {
		fputs("\nthe profile is empty\n", stream);
		return 0;
	}
	return write_tables(&text);
}
