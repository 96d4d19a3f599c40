/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of functions by what they used themselves. */
#include "text_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "escape.h"

#define HOT_PERCENT 10
#define NARROW	    100 /* columns below which a total's value is left out for the names */

struct row {
	char *name;
	char *place;
	char self[TEXT_VALUE_BYTES], total[TEXT_VALUE_BYTES];
	double self_percent, total_percent;
};

struct table {
	const struct text *text;
	const char *title;
	struct row *rows;
	size_t row_count;
	size_t left_out; /* functions that have no row */
	int value_width;
	size_t name_width, place_width;
	size_t left; /* columns for both, 0: as many as it takes */
	bool is_narrow;
};

static int fill_row(struct table *table, const struct profile *rows, const struct totals *totals,
		    uint32_t id, struct row *row)
{
	const struct text *text = table->text;
	int64_t self = totals->self[id].values[text->options->type];
	int64_t total = totals->total[id].values[text->options->type];

	row->name = text__name(rows, profile__function_at(rows, id)->name);
	row->place = text__place(rows, id);
	if (!row->name || !row->place)
		return -ENOMEM;
	text__value(row->self, self, text->type->unit);
	text__value(row->total, total, text->type->unit);
	row->self_percent = text__percent(self, text->sum);
	row->total_percent = text__percent(total, text->sum);
	return 0;
}

static int fill_rows(struct table *table, const struct profile *rows, const struct totals *totals)
{
	const struct out_options *options = table->text->options;
	uint32_t *functions;
	size_t count;
	int error = totals__order(totals, rows, options->type, &functions, &count);

	if (error)
		return error;
	table->rows = calloc(count + 1, sizeof(*table->rows));
	if (!table->rows)
		error = -ENOMEM;
	for (size_t i = 0; i < count && !error; i++) {
		/* Has values, but not of this type. */
		if (!totals->self[functions[i]].values[options->type] &&
		    !totals->total[functions[i]].values[options->type])
			continue;
		if (options->rows && table->row_count == options->rows) {
			table->left_out++;
			continue;
		}
		error = fill_row(table, rows, totals, functions[i],
				 &table->rows[table->row_count++]);
	}
	free(functions);
	return error;
}

/* What the numbers leave of the line is for names and files. */
static void fit_columns(struct table *table)
{
	size_t columns = table->text->options->columns, numbers;

	table->value_width = 5;
	table->name_width = strlen(table->title);
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
	table->is_narrow = columns && columns < NARROW;
	numbers = (size_t)table->value_width + 2 * 8 + 2 + 2 + 2;
	if (!table->is_narrow)
		numbers += (size_t)table->value_width + 1;
	if (columns)
		table->left = columns > numbers ? columns - numbers : 1;
	text__fit(table->left, &table->name_width, &table->place_width);
}

static void print_row(const struct table *table, struct row *row)
{
	const struct text *text = table->text;
	bool is_hot = row->self_percent >= HOT_PERCENT;

	fprintf(text->stream, "%s%*s %6.1f%%%s  ", is_hot ? text__color(text, TEXT_HOT) : "",
		table->value_width, row->self, row->self_percent, is_hot ? text__plain(text) : "");
	if (!table->is_narrow)
		fprintf(text->stream, "%*s ", table->value_width, row->total);
	fprintf(text->stream, "%6.1f%%  ", row->total_percent);
	text__names(text, table->left, row->name, table->name_width, row->place,
		    table->place_width);
}

static void print_table(const struct table *table)
{
	const struct text *text = table->text;
	bool has_places = false;

	for (size_t i = 0; i < table->row_count; i++)
		has_places |= *table->rows[i].place != '\0';
	fprintf(text->stream, "\n%s%*s %7s  ", text__color(text, TEXT_BOLD), table->value_width,
		"self", "self%");
	if (!table->is_narrow)
		fprintf(text->stream, "%*s ", table->value_width, "total");
	if (has_places)
		fprintf(text->stream, "%7s  %-*s  %s%s\n", "total%", (int)table->name_width,
			table->title, "file", text__plain(text));
	else
		fprintf(text->stream, "%7s  %s%s\n", "total%", table->title, text__plain(text));
	for (size_t i = 0; i < table->row_count; i++)
		print_row(table, &table->rows[i]);
	if (table->left_out)
		fprintf(text->stream, "%*s %zu more, all of them in a file or pipe\n",
			table->value_width, "", table->left_out);
}

int text__functions(const struct text *text, const struct profile *rows, const char *title)
{
	struct table table = { .text = text, .title = title };
	struct totals totals;
	int error = totals__init(&totals, rows);

	if (error)
		return error;
	error = fill_rows(&table, rows, &totals);
	if (!error) {
		fit_columns(&table);
		print_table(&table);
	}
	for (size_t i = 0; i < table.row_count; i++) {
		free(table.rows[i].name);
		free(table.rows[i].place);
	}
	free(table.rows);
	totals__free(&totals);
	return error;
}
