/* SPDX-License-Identifier: BSD-2-Clause */
/* The table a person reads: functions by what they used themselves, under a short heading. */
#include "out.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "escape.h"
#include "totals.h"

#define MAX_COMMENTS	20
#define MAX_PROCESSES	5
#define MIN_CELL	12 /* columns that a name or a file keeps on a narrow terminal */
#define PADDED_NAME	48 /* names longer than this do not push all files to the right */
#define HOT_PERCENT	10
#define MAX_VALUE_BYTES 32

#define BOLD  "\033[1m"
#define HOT   "\033[1;31m"
#define DIM   "\033[2m"
#define RESET "\033[0m"

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

struct row {
	char *name;
	char *place; /* file and first line */
	char self[MAX_VALUE_BYTES], total[MAX_VALUE_BYTES];
	double self_percent, total_percent;
};

struct table {
	struct profile *profile;
	const struct out_options *options;
	FILE *stream;
	const struct profile_type *type;
	int64_t sum;
	struct row *rows;
	size_t row_count;
	size_t left_out; /* functions that have no row */
	int value_width;
	size_t name_width, place_width;
};

static void format_value(char *text, int64_t value, const char *unit)
{
	double magnitude = value < 0 ? -(double)value : (double)value;

	for (size_t i = 0; value && i < sizeof(scales) / sizeof(*scales); i++) {
		const struct scale *scale = &scales[i];

		if (strcmp(scale->unit, unit) || (magnitude < scale->size && scale->size > 1))
			continue;
		if (scale->size > 1)
			snprintf(text, MAX_VALUE_BYTES, "%.2f %s", (double)value / scale->size,
				 scale->text);
		else
			snprintf(text, MAX_VALUE_BYTES, "%" PRId64 " %s", value, scale->text);
		return;
	}
	snprintf(text, MAX_VALUE_BYTES, "%" PRId64, value);
}

static double percent(int64_t part, int64_t sum)
{
	double whole = sum < 0 ? -(double)sum : (double)sum;

	return sum ? 100 * (double)part / whole : 0;
}

/* ---- the heading ---- */

/* "key  text", the text made harmless and cut to the terminal. */
static int print_fact(struct table *table, const char *key, const char *text)
{
	char *line = escape__text(text, strlen(text), ESCAPE_LINE);

	if (!line)
		return -ENOMEM;
	if (table->options->columns)
		escape__cut_end(line,
				table->options->columns > 12 ? table->options->columns - 12 : 1);
	fprintf(table->stream, "%s%-10s%s  %s\n", table->options->color ? DIM : "", key,
		table->options->color ? RESET : "", line);
	free(line);
	return 0;
}

static int print_time(struct table *table)
{
	const struct profile_info *info = profile__info(table->profile);
	time_t seconds = (time_t)(info->time_ns / 1000000000);
	char when[64] = "", duration[MAX_VALUE_BYTES], period[MAX_VALUE_BYTES];
	char text[256];
	struct tm local;
	size_t used;

	if (info->time_ns > 0 && localtime_r(&seconds, &local))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S %z", &local);
	used = (size_t)snprintf(text, sizeof(text), "%s", when);
	if (info->duration_ns > 0) {
		format_value(duration, info->duration_ns, "nanoseconds");
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%sfor %s",
					 used ? ", " : "", duration);
	}
	if (info->period > 0 && info->period_type.type && info->period_type.unit) {
		format_value(period, info->period, info->period_type.unit);
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%severy %s of %.64s",
					 used ? ", " : "", period, info->period_type.type);
	}
	if (!used)
		return 0;
	return print_fact(table, "recorded", text);
}

/* One text out of the sums of a label: "ruby (12) 60.0%, puma (34) 40.0%, 2 more". */
static int print_processes(struct table *table)
{
	struct totals_label *labels;
	size_t count, shown = 0, all = 0, length;
	char *text = NULL;
	FILE *memory;
	int error;

	error = totals__labels(table->profile, table->options->type, &labels, &count);
	if (error)
		return error;
	memory = open_memstream(&text, &length);
	if (!memory) {
		free(labels);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++) {
		const char *value = profile__text(table->profile, labels[i].label.text);

		if (!value || strcmp(profile__text(table->profile, labels[i].label.key), "process"))
			continue;
		if (++all > MAX_PROCESSES)
			continue;
		fprintf(memory, "%s%s %.1f%%", shown++ ? ", " : "", value,
			percent(labels[i].sums.values[table->options->type], table->sum));
	}
	if (all > shown)
		fprintf(memory, ", %zu more", all - shown);
	free(labels);
	if (fclose(memory))
		error = -ENOMEM;
	else if (all)
		error = print_fact(table, "processes", text);
	free(text);
	return error;
}

static int print_totals(struct table *table, const struct totals *totals)
{
	char text[PROFILE_MAX_TYPES * 128] = "";
	size_t used = 0;

	for (size_t i = 0; i < profile__type_count(table->profile); i++) {
		const struct profile_type *type = profile__type(table->profile, i);
		char value[MAX_VALUE_BYTES];

		format_value(value, totals->all.values[i], type->unit);
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %.64s",
					 used ? ", " : "", value, type->type);
	}
	return print_fact(table, "total", text);
}

static int print_heading(struct table *table, const struct totals *totals)
{
	const char *file = profile__text(table->profile, profile__mapping(table->profile)->file);
	size_t comments = profile__comment_count(table->profile);
	char more[64];
	int error = print_time(table);

	if (!error && file)
		error = print_fact(table, "executable", file);
	if (!error)
		error = print_processes(table);
	for (size_t i = 0; !error && i < comments && i < MAX_COMMENTS; i++)
		error = print_fact(table, "comment", profile__comment_at(table->profile, i));
	if (!error && comments > MAX_COMMENTS) {
		snprintf(more, sizeof(more), "(%zu more, see -f json)", comments - MAX_COMMENTS);
		error = print_fact(table, "comment", more);
	}
	if (!error)
		error = print_totals(table, totals);
	if (!error)
		error = print_fact(table, "shown", table->type->type);
	return error;
}

/* ---- the table ---- */

static int fill_row(struct table *table, const struct totals *totals, uint32_t id, struct row *row)
{
	const struct profile_function *function = profile__function_at(table->profile, id);
	size_t type = table->options->type;
	char *file;
	int length;

	row->name = escape__text(profile__text(table->profile, function->name),
				 profile__text_length(table->profile, function->name), ESCAPE_LINE);
	file = escape__text(profile__text(table->profile, function->file),
			    profile__text_length(table->profile, function->file), ESCAPE_LINE);
	if (!row->name || !file) {
		free(file);
		return -ENOMEM;
	}
	row->place = file;
	if (function->start_line > 0) {
		/* The room at the end is for escape__cut_start(). */
		length = asprintf(&row->place, "%s:%" PRId64 "    ", file, function->start_line);
		free(file);
		if (length < 0) {
			row->place = NULL;
			return -ENOMEM;
		}
		row->place[length - 4] = '\0';
	}
	format_value(row->self, totals->self[id].values[type], table->type->unit);
	format_value(row->total, totals->total[id].values[type], table->type->unit);
	row->self_percent = percent(totals->self[id].values[type], table->sum);
	row->total_percent = percent(totals->total[id].values[type], table->sum);
	return 0;
}

static int fill_rows(struct table *table, const struct totals *totals)
{
	size_t type = table->options->type;
	uint32_t *functions;
	size_t count;
	int error = totals__order(totals, table->profile, type, &functions, &count);

	if (error)
		return error;
	table->rows = calloc(count + 1, sizeof(*table->rows));
	if (!table->rows)
		error = -ENOMEM;
	for (size_t i = 0; i < count && !error; i++) {
		/* Has values, but not of this type. */
		if (!totals->self[functions[i]].values[type] &&
		    !totals->total[functions[i]].values[type])
			continue;
		if (table->options->rows && table->row_count == table->options->rows) {
			table->left_out++;
			continue;
		}
		error = fill_row(table, totals, functions[i], &table->rows[table->row_count++]);
	}
	free(functions);
	return error;
}

/* Shares what the numbers leave of the line between names and files. */
static void fit_columns(struct table *table)
{
	size_t left, numbers;

	table->value_width = 5;
	table->name_width = 8;
	table->place_width = 4;
	for (size_t i = 0; i < table->row_count; i++) {
		const struct row *row = &table->rows[i];
		size_t name = escape__width(row->name), place = escape__width(row->place);
		int self = (int)strlen(row->self), total = (int)strlen(row->total);

		table->value_width = self > table->value_width ? self : table->value_width;
		table->value_width = total > table->value_width ? total : table->value_width;
		table->name_width = name > table->name_width ? name : table->name_width;
		table->place_width = place > table->place_width ? place : table->place_width;
	}
	if (!table->options->columns) {
		table->name_width =
			table->name_width < PADDED_NAME ? table->name_width : PADDED_NAME;
		return;
	}
	numbers = 2 * (size_t)table->value_width + 2 * 8 + 2 + 2 + 2;
	left = table->options->columns > numbers + 2 * MIN_CELL ? table->options->columns - numbers
								: 2 * MIN_CELL;
	if (table->name_width + table->place_width <= left)
		return;
	if (table->place_width > left / 2)
		table->place_width =
			table->name_width < left - left / 2 ? left - table->name_width : left / 2;
	table->name_width = left - table->place_width < table->name_width
				    ? left - table->place_width
				    : table->name_width;
}

static void print_row(struct table *table, struct row *row)
{
	bool color = table->options->color;
	size_t width;

	if (table->options->columns) {
		escape__cut_end(row->name, table->name_width);
		escape__cut_start(row->place, table->place_width);
	}
	width = escape__width(row->name);
	fprintf(table->stream, "%s%*s %6.1f%%%s  %*s %6.1f%%  %s",
		color && row->self_percent >= HOT_PERCENT ? HOT : "", table->value_width, row->self,
		row->self_percent, color && row->self_percent >= HOT_PERCENT ? RESET : "",
		table->value_width, row->total, row->total_percent, row->name);
	if (*row->place)
		fprintf(table->stream, "%*s%s%s%s",
			(int)(width < table->name_width ? table->name_width - width : 0) + 2, "",
			color ? DIM : "", row->place, color ? RESET : "");
	putc('\n', table->stream);
}

static void print_rows(struct table *table)
{
	bool color = table->options->color;

	if (!table->row_count) {
		fputs("\nthe profile is empty\n", table->stream);
		return;
	}
	fprintf(table->stream, "\n%s%*s %7s  %*s %7s  %-*s  %s%s\n", color ? BOLD : "",
		table->value_width, "self", "self%", table->value_width, "total", "total%",
		(int)table->name_width, "function", "file", color ? RESET : "");
	for (size_t i = 0; i < table->row_count; i++)
		print_row(table, &table->rows[i]);
	if (table->left_out)
		fprintf(table->stream, "%*s %zu more functions, all of them in a file or pipe\n",
			table->value_width, "", table->left_out);
}

int text__write(struct profile *profile, const struct out_options *options, FILE *stream)
{
	struct table table = { .profile = profile, .options = options, .stream = stream };
	struct totals totals;
	int error = totals__init(&totals, profile);

	if (error)
		return error;
	table.type = profile__type(profile, options->type);
	table.sum = totals.all.values[options->type];
	error = print_heading(&table, &totals);
	if (!error)
		error = fill_rows(&table, &totals);
	if (!error) {
		fit_columns(&table);
		print_rows(&table);
	}
	for (size_t i = 0; i < table.row_count; i++) {
		free(table.rows[i].name);
		free(table.rows[i].place);
	}
	free(table.rows);
	totals__free(&totals);
	return error;
}
