/* SPDX-License-Identifier: BSD-2-Clause */
#include "lines.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../out/escape.h"

#define MIN_NAME      16 /* columns, on however narrow a terminal */
#define MIN_BOTH      40 /* columns for a name and a place */
#define WITHOUT_WIDTH 40

struct text {
	char *bytes;
	size_t used, size;
};

static void add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct text *text, const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(text->bytes + text->used, text->size - text->used, format, arguments);
	va_end(arguments);
	if (length > 0)
		text->used += (size_t)length;
	if (text->used >= text->size)
		text->used = text->size - 1;
}

/* A name from another process. */
static void add_name(struct text *text, const char *name)
{
	char *harmless = escape__text(name, strlen(name), ESCAPE_LINE);

	add(text, "%s", harmless ? harmless : "?");
	free(harmless);
}

static void format_time(char *text, size_t size, double ns)
{
	if (ns >= 1e9)
		snprintf(text, size, "%.2f s", ns / 1e9);
	else if (ns >= 1e6)
		snprintf(text, size, "%.1f ms", ns / 1e6);
	else if (ns >= 1e3)
		snprintf(text, size, "%.1f us", ns / 1e3);
	else
		snprintf(text, size, "%.0f ns", ns);
}

static void format_value(const struct top_model *model, char *text, size_t size, int64_t value)
{
	if (!strcmp(model->view->unit, "count"))
		snprintf(text, size, "%" PRId64, value);
	else if (value)
		format_time(text, size, (double)value);
	else
		snprintf(text, size, "0");
}

double lines__percent(const struct top_model *model, int64_t value)
{
	return model->view && model->view->sum ? 100 * (double)value / (double)model->view->sum : 0;
}

/* ---- above the table ---- */

void lines__counts(const struct top_model *model, char *text, size_t size)
{
	const struct session_summary *summary = &model->summary;
	struct text out = { text, 0, size };

	add(&out, "%u process%s, %u thread%s, %.0f samples/s, %" PRIu64 " lost", summary->processes,
	    summary->processes == 1 ? "" : "es", summary->threads, summary->threads == 1 ? "" : "s",
	    top_model__samples_per_second(model), summary->lost);
	if (summary->refused)
		add(&out, ", %u not readable", summary->refused);
}

void lines__costs(const struct top_model *model, char *text, size_t size)
{
	const struct view *view = model->view;
	double window_ns = view && view->window_ns ? (double)view->window_ns : 1;
	struct text out = { text, 0, size };

	if (view)
		add(&out, "cpu %.1f %%, gc %.1f %%, overhead %.2f %%, ",
		    100 * (double)view->cpu_ns / window_ns, 100 * (double)view->gc_ns / window_ns,
		    100 * (double)view->overhead_ns / window_ns);
	add(&out, "own cpu %.2f %%", 100 * top_model__own_cpu(model));
}

static void add_rule(struct text *text, const struct rule *rule)
{
	add(text, ", %s", rule->kind == RULE_IGNORE ? "without " : "");
	if (rule->kind == RULE_METHOD)
		add(text, "in ");
	add_name(text, rule->label);
	if (rule->kind == RULE_METHOD)
		return;
	add(text, " = ");
	add_name(text, rule->text);
}

void lines__shown(const struct top_model *model, char *text, size_t size)
{
	struct text out = { text, 0, size };
	char sum[32];

	add(&out, "%s by %s", top_model__value_name(model), top_model__by_name(model));
	if (model->by_line && !model->by)
		add(&out, " and line");
	if (model->view) {
		format_value(model, sum, sizeof(sum), model->view->sum);
		add(&out, ", last %.*f s: %s", model->view->window_ns < 9500000000 ? 1 : 0,
		    (double)model->view->window_ns / 1e9, sum);
	}
	for (size_t i = 0; i < model->rule_count; i++)
		add_rule(&out, &model->rules[i]);
	if (*model->filter) {
		add(&out, ", filter: ");
		add_name(&out, model->filter);
	}
}

/* ---- the table ---- */

struct lines_columns lines__divide(const struct top_model *model, size_t columns)
{
	struct lines_columns divided = { 0 };
	size_t widest = MIN_NAME, left;

	if (!columns)
		return divided;
	for (size_t i = 0; model->view && i < model->view->count; i++) {
		size_t bytes = strlen(model->view->rows[i].name);

		widest = bytes > widest ? bytes : widest;
	}
	left = columns > LINES_NUMBERS + 2 ? columns - LINES_NUMBERS - 2 : 0;
	/* Names have three fifths of it if they need them; all of it where there is little. */
	divided.name = left < MIN_BOTH ? left : left * 3 / 5;
	if (divided.name < MIN_NAME)
		divided.name = MIN_NAME < left ? MIN_NAME : left;
	if (widest < divided.name)
		divided.name = widest;
	divided.place = left - divided.name;
	return divided;
}

void lines__heading(const struct top_model *model, const struct lines_columns *columns, char *text,
		    size_t size)
{
	size_t width = columns->name ? columns->name : WITHOUT_WIDTH;

	if (model->by)
		snprintf(text, size, "%7s %7s %9s  %-*s  %s", "share", "", "time", (int)width,
			 top_model__by_name(model), "most of it in");
	else
		snprintf(text, size, "%7s %7s %9s  %-*s  %s", "self%", "total%", "self", (int)width,
			 "method", "file");
}

/* Fills up with spaces. */
static char *pad(char *text, size_t columns)
{
	size_t length = strlen(text), width = escape__width(text);
	char *padded;

	if (width >= columns)
		return text;
	padded = realloc(text, length + columns - width + 1);
	if (!padded) {
		free(text);
		return NULL;
	}
	memset(padded + length, ' ', columns - width);
	padded[length + columns - width] = '\0';
	return padded;
}

static int place_of(const struct view_row *row, char **ret_text)
{
	char *file = escape__text(row->file, strlen(row->file), ESCAPE_LINE);
	int length;

	if (!file)
		return -ENOMEM;
	/* The room at the end is for escape__cut_start(). */
	if (row->kind == VIEW_LABEL && row->self > 0)
		length = asprintf(ret_text, "%s %.0f %%    ", file,
				  100 * (double)row->hottest / (double)row->self);
	else if (row->line > 0)
		length = asprintf(ret_text, "%s:%" PRId64 "    ", file, row->line);
	else
		length = asprintf(ret_text, "%s    ", file);
	free(file);
	if (length < 0)
		return -ENOMEM;
	(*ret_text)[length - 4] = '\0';
	return 0;
}

int lines__row(const struct top_model *model, const struct view_row *row,
	       const struct lines_columns *columns, struct lines_row *ret_row)
{
	struct lines_row line;
	char value[32], total[16] = "";

	format_value(model, value, sizeof(value), row->self);
	if (row->kind != VIEW_LABEL)
		snprintf(total, sizeof(total), "%.1f%%", lines__percent(model, row->total));
	snprintf(line.numbers, sizeof(line.numbers), "%6.1f%% %7s %9s  ",
		 lines__percent(model, row->self), total, value);
	line.name = escape__text(row->name, strlen(row->name), ESCAPE_LINE);
	if (!line.name)
		return -ENOMEM;
	if (columns->name)
		escape__cut_end(line.name, columns->name);
	line.name = pad(line.name, columns->name ? columns->name : WITHOUT_WIDTH);
	if (!line.name || place_of(row, &line.place)) {
		free(line.name);
		return -ENOMEM;
	}
	if (columns->name && row->kind == VIEW_LABEL)
		escape__cut_end(line.place, columns->place);
	else if (columns->name)
		escape__cut_start(line.place, columns->place);
	*ret_row = line;
	return 0;
}

void lines__free_row(struct lines_row *row)
{
	free(row->name);
	free(row->place);
}
