/* SPDX-License-Identifier: BSD-2-Clause */
/* What changed, for people: largest change first. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../agg/profile_group.h"
#include "diff.h"
#include "escape.h"
#include "text_parts.h"

#define NARROW	     110  /* columns below which values before and after are left out */
#define SHOWN_CHANGE 0.05 /* percent of BASE: less has no colour */

struct table {
	const struct diff *diff;
	struct text text;
	const struct totals *totals;
	const char *title;
	bool is_narrow;
	size_t left, name_width, place_width;
};

/* "+1.50 s" */
static void change_text(char text[TEXT_VALUE_BYTES + 1], int64_t change, const char *unit)
{
	*text = '+';
	text__value(change > 0 ? text + 1 : text, change, unit);
}

static int print_profile(const struct text *text, const char *key, const char *path,
			 struct profile *profile, int64_t sum)
{
	const struct profile_info *info = profile__info(profile);
	char value[TEXT_VALUE_BYTES], duration[TEXT_VALUE_BYTES], *line;
	int length, error;

	text__value(value, sum, text->type->unit);
	text__value(duration, info->duration_ns, "nanoseconds");
	if (info->duration_ns > 0)
		length =
			asprintf(&line, "%s %s in %s: %s", value, text->type->type, duration, path);
	else
		length = asprintf(&line, "%s %s: %s", value, text->type->type, path);
	if (length < 0)
		return -ENOMEM;
	error = text__fact(text, "", key, line);
	free(line);
	return error;
}

static int print_heading(const struct table *table)
{
	const struct diff *diff = table->diff;
	int64_t change = diff->head_sum - diff->base_sum;
	char value[TEXT_VALUE_BYTES + 1], line[128];
	int error =
		print_profile(&table->text, "base", diff->base_path, diff->base, diff->base_sum);

	if (!error)
		error = print_profile(&table->text, "head", diff->head_path, diff->head,
				      diff->head_sum);
	if (error)
		return error;
	change_text(value, change, diff->type->unit);
	if (diff->base_sum)
		snprintf(line, sizeof(line), "%s (%+.1f%%)%s", value,
			 text__percent(change, diff->base_sum),
			 diff->is_normalized ? "; below, head is scaled to the total of base" : "");
	else
		snprintf(line, sizeof(line), "%s", value);
	return text__fact(&table->text, TEXT_BOLD, "change", line);
}

static const char *color_of(const struct table *table, double percent)
{
	if (percent >= SHOWN_CHANGE)
		return text__color(&table->text, TEXT_HOT);
	return percent <= -SHOWN_CHANGE ? text__color(&table->text, TEXT_GOOD) : "";
}

/* The figures of self or of total. */
static void print_figures(const struct table *table, const struct totals_values *sums)
{
	const char *unit = table->diff->type->unit;
	double percent = text__percent(diff__change(sums), table->diff->base_sum);
	char base[TEXT_VALUE_BYTES], head[TEXT_VALUE_BYTES], change[TEXT_VALUE_BYTES + 1];
	const char *color = color_of(table, percent);

	if (!table->is_narrow) {
		text__value(base, sums->values[PROFILE_DIFF_BASE], unit);
		text__value(head, sums->values[PROFILE_DIFF_HEAD], unit);
		fprintf(table->text.stream, "%10s %10s ", base, head);
	}
	change_text(change, diff__change(sums), unit);
	fprintf(table->text.stream, "%s%11s %+6.1f%%%s  ", color, change, percent,
		*color ? text__plain(&table->text) : "");
}

static int print_row(const struct table *table, uint32_t id)
{
	const struct profile *both = table->diff->both;
	char *name = text__name(both, profile__function_at(both, id)->name);
	char *place = text__place(both, id);

	if (name && place) {
		print_figures(table, &table->totals->self[id]);
		print_figures(table, &table->totals->total[id]);
		text__names(&table->text, table->left, name, table->name_width, place,
			    table->place_width);
	}
	free(name);
	free(place);
	return name && place ? 0 : -ENOMEM;
}

static int fit(struct table *table, const uint32_t *functions, size_t count)
{
	size_t columns = table->text.options->columns, figures;

	table->is_narrow = columns && columns < NARROW;
	figures = table->is_narrow ? 42 : 86;
	if (columns)
		table->left = columns > figures + 2 ? columns - figures - 2 : 1;
	table->name_width = strlen(table->title);
	for (size_t i = 0; i < count; i++) {
		const struct profile *both = table->diff->both;
		char *name = text__name(both, profile__function_at(both, functions[i])->name);
		char *place = text__place(both, functions[i]);
		size_t name_width = name ? escape__width(name) : 0;
		size_t place_width = place ? escape__width(place) : 0;

		free(name);
		free(place);
		if (!name || !place)
			return -ENOMEM;
		if (name_width > table->name_width)
			table->name_width = name_width;
		if (place_width > table->place_width)
			table->place_width = place_width;
	}
	text__fit(table->left, &table->name_width, &table->place_width);
	return 0;
}

static int print_table(struct table *table, const uint32_t *functions, size_t count)
{
	const struct text *text = &table->text;
	size_t shown =
		text->options->rows && count > text->options->rows ? text->options->rows : count;
	int error = fit(table, functions, shown);

	if (error)
		return error;
	fprintf(text->stream, "\n%s", text__color(text, TEXT_BOLD));
	if (table->is_narrow)
		fprintf(text->stream, "%11s %7s  %11s %7s  %s", "self", "", "total", "",
			table->title);
	else
		fprintf(text->stream, "%10s %10s %11s %7s  %10s %10s %11s %7s  %s", "self base",
			"head", "change", "", "total base", "head", "change", "", table->title);
	fprintf(text->stream, "%s\n", text__plain(text));
	for (size_t i = 0; i < shown && !error; i++)
		error = print_row(table, functions[i]);
	if (!error && shown < count)
		fprintf(text->stream, "%11s %zu more, all of them in a file or pipe\n", "",
			count - shown);
	return error;
}

static const char *title_of(const struct out_options *options)
{
	if (!options->by)
		return options->lines ? "line" : "function";
	return options->by;
}

int diff__text(const struct diff *diff, const struct out_options *options, FILE *stream)
{
	struct table table = {
		.diff = diff,
		.text = { .options = options, .stream = stream, .type = diff->type },
		.title = title_of(options),
	};
	uint32_t *functions = NULL;
	struct totals totals;
	size_t count = 0;
	int error = totals__init(&totals, diff->both);

	if (error)
		return error;
	table.totals = &totals;
	error = print_heading(&table);
	if (!error)
		error = diff__order(diff, &totals, &functions, &count);
	if (!error && !count)
		fputs("\nboth profiles are empty\n", stream);
	else if (!error)
		error = print_table(&table, functions, count);
	free(functions);
	totals__free(&totals);
	return error;
}
