/* SPDX-License-Identifier: BSD-2-Clause */
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
	const char *name, *suffix;
	gate_write write;
} outputs[] = {
	{ "text", ".txt", gate_text__write },	{ "markdown", ".md", gate_markdown__write },
	{ "junit", ".xml", gate_junit__write }, { "sarif", ".sarif", gate_sarif__write },
	{ "github", NULL, gate_github__write }, { "json", ".json", gate_json__write },
	{ "html", ".html", gate_html__write },
};

#define OUTPUTS (sizeof(outputs) / sizeof(*outputs))

gate_write gate_output__find(const char *name)
{
	for (size_t i = 0; i < OUTPUTS; i++)
		if (!strcmp(outputs[i].name, name))
			return outputs[i].write;
	return NULL;
}

const char *gate_output__by_suffix(const char *path)
{
	size_t length = strlen(path);

	for (size_t i = 0; i < OUTPUTS; i++) {
		size_t suffix = outputs[i].suffix ? strlen(outputs[i].suffix) : length + 1;

		if (suffix < length && !strcmp(path + length - suffix, outputs[i].suffix))
			return outputs[i].name;
	}
	return NULL;
}

/* ---- figures ---- */

void gate_report__value(const struct gate_row *row, double value, char text[GATE_REPORT_VALUE])
{
	static const struct {
		double ns;
		const char *unit;
	} units[] = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" }, { 0, "ns" } };

	if (gate_row__is_count(row)) {
		/* A mean of whole numbers is seldom one. */
		snprintf(text, GATE_REPORT_VALUE,
			 fabs(value - round(value)) < 5e-3 ? "%.0f" : "%.2f", value);
		return;
	}
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (value < units[i].ns)
			continue;
		snprintf(text, GATE_REPORT_VALUE, "%.2f %s",
			 units[i].ns > 0 ? value / units[i].ns : value, units[i].unit);
		return;
	}
	snprintf(text, GATE_REPORT_VALUE, "-");
}

const char *gate_report__unit(const struct gate_table *table)
{
	return table->is_per_work ? "a unit of work" : "a run";
}

void gate_report__percent(double share, char text[GATE_REPORT_VALUE])
{
	if (isnan(share))
		snprintf(text, GATE_REPORT_VALUE, "-");
	else if (isinf(share))
		snprintf(text, GATE_REPORT_VALUE, "new");
	else if (fabs(share) < 5e-5)
		snprintf(text, GATE_REPORT_VALUE, "+0.00%%"); /* not -0.00 */
	else
		snprintf(text, GATE_REPORT_VALUE, fabs(share) < 0.0095 ? "%+.2f%%" : "%+.1f%%",
			 share * 100);
}

void gate_report__interval(const struct gate_verdict *verdict, char text[GATE_REPORT_VALUE])
{
	char low[GATE_REPORT_VALUE], high[GATE_REPORT_VALUE];

	gate_report__percent(verdict->low, low);
	gate_report__percent(verdict->high, high);
	if (isfinite(verdict->low) && isfinite(verdict->high))
		snprintf(text, GATE_REPORT_VALUE, "%.16s to %.16s", low, high);
	else
		snprintf(text, GATE_REPORT_VALUE, "-");
}

void gate_report__p(double p, char text[GATE_REPORT_VALUE])
{
	if (isnan(p))
		snprintf(text, GATE_REPORT_VALUE, "-");
	else
		snprintf(text, GATE_REPORT_VALUE, "%.2g", p);
}

const char *gate_report__measure(const struct gate_row *row)
{
	switch (row->kind) {
	case GATE_ROW_SELF:
		return "cpu of its own";
	case GATE_ROW_TOTAL:
		return "cpu with what it calls";
	default:
		return row->name;
	}
}

/* ---- sentences ---- */

static const char *plural(size_t count)
{
	return count == 1 ? "" : "s";
}

char *gate_report__headline(const struct gate_report *report)
{
	const struct gate_result *result = report->result;
	const struct gate_table *table = result->table;
	size_t functions = 0, metrics = 0;
	char runs[64], *text;

	for (size_t i = 0; i < report->findings->count; i++) {
		const struct gate_verdict *verdict = report->findings->items[i].verdict;

		if (verdict->row->kind == GATE_ROW_METRIC)
			metrics++;
		else if (!verdict->through)
			functions++;
	}
	if (table->is_paired)
		snprintf(runs, sizeof(runs), "%zu pair%s of runs", table->base_count,
			 plural(table->base_count));
	else
		snprintf(runs, sizeof(runs), "%zu run%s before, %zu after", table->base_count,
			 plural(table->base_count), table->head_count);
	if (asprintf(&text, "%s: %s; %zu function%s and %zu metric%s got worse",
		     gate_result__name(result), runs, functions, plural(functions), metrics,
		     plural(metrics)) < 0)
		return NULL;
	return text;
}

char *gate_report__verdict(const struct gate_report *report, const struct gate_verdict *verdict)
{
	const struct gate_row *row = verdict->row;
	char before[GATE_REPORT_VALUE], after[GATE_REPORT_VALUE], change[GATE_REPORT_VALUE];
	char p[GATE_REPORT_VALUE], limit[GATE_REPORT_VALUE], tested[2 * GATE_REPORT_VALUE] = "";
	char *text;
	int length;

	gate_report__value(row, verdict->before, before);
	gate_report__value(row, verdict->after, after);
	gate_report__percent(verdict->change, change);
	gate_report__percent(verdict->limit, limit);
	gate_report__p(verdict->p, p);
	if (!isnan(verdict->p))
		snprintf(tested, sizeof(tested), ", p %.16s", p);
	if (row->kind == GATE_ROW_METRIC)
		length = asprintf(&text, "%s %s (%s -> %s %s%s, limit %s)", row->name, change,
				  before, after, gate_report__unit(report->result->table), tested,
				  limit);
	else
		length = asprintf(&text,
				  "%s: %s %s (%s -> %s %s, %.1f%% -> %.1f%% of all CPU%s, limit "
				  "%s)",
				  row->name, gate_report__measure(row), change, before, after,
				  gate_report__unit(report->result->table), row->base_share * 100,
				  row->head_share * 100, tested, limit);
	return length < 0 ? NULL : text;
}

static void add_neighbours(FILE *stream, const char *word, const struct gate_row *row,
			   const struct gate_neighbour *neighbours, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char before[GATE_REPORT_VALUE], after[GATE_REPORT_VALUE];

		gate_report__value(row, neighbours[i].before, before);
		gate_report__value(row, neighbours[i].after, after);
		fprintf(stream, "%s%s (%s -> %s)", i ? ", " : word, neighbours[i].name, before,
			after);
	}
}

char *gate_report__neighbours(const struct gate_finding *finding)
{
	const struct gate_row *row = finding->verdict->row;
	char *text = NULL;
	size_t length;
	FILE *stream = open_memstream(&text, &length);

	if (!stream)
		return NULL;
	add_neighbours(stream, "called by ", row, finding->callers, finding->caller_count);
	if (finding->caller_count && finding->callee_count)
		fputs("; ", stream);
	add_neighbours(stream, "in ", row, finding->callees, finding->callee_count);
	if (fclose(stream)) {
		free(text);
		return NULL;
	}
	return text;
}

const struct gate_finding *gate_report__finding(const struct gate_report *report,
						const struct gate_verdict *verdict)
{
	for (size_t i = 0; i < report->findings->count; i++)
		if (report->findings->items[i].verdict == verdict)
			return &report->findings->items[i];
	return NULL;
}

const char *gate_report__path(const char *file)
{
	static char folder[4096];
	size_t length;

	if (!*file || *file == '<' || *file == '(')
		return NULL;
	if (!*folder && !getcwd(folder, sizeof(folder)))
		return file;
	length = strlen(folder);
	if (!strncmp(file, folder, length) && file[length] == '/' && file[length + 1])
		return file + length + 1;
	return file;
}
