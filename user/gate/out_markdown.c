/* SPDX-License-Identifier: BSD-2-Clause */
/* Markdown as GitHub and GitLab show it: for a job's summary or a comment. */
#include <errno.h>
#include <stdlib.h>

#include "out_markup.h"
#include "report.h"

/* A figure or word of ours, which has nothing to escape. */
static void cell(const char *text, FILE *stream)
{
	fprintf(stream, " %s |", text);
}

static void name(const char *text, FILE *stream)
{
	fputs("<code>", stream);
	gate_markup__markdown(stream, text);
	fputs("</code>", stream);
}

static void figures(const struct gate_verdict *verdict, FILE *stream)
{
	char text[GATE_REPORT_VALUE];
	bool is_known = !verdict->row->missing;

	gate_report__value(verdict->row, verdict->before, text);
	cell(is_known ? text : "-", stream);
	gate_report__value(verdict->row, verdict->after, text);
	cell(is_known ? text : "-", stream);
	gate_report__percent(verdict->change, text);
	cell(is_known ? text : "-", stream);
	gate_report__interval(verdict, text);
	cell(text, stream);
	gate_report__p(verdict->p, text);
	cell(text, stream);
	gate_report__percent(verdict->limit, text);
	cell(is_known ? text : "-", stream);
}

static void neighbours(const char *title, const struct gate_row *row,
		       const struct gate_neighbour *list, size_t count, FILE *stream)
{
	for (size_t i = 0; i < count; i++) {
		char text[GATE_REPORT_VALUE];

		fprintf(stream, "- %s ", title);
		name(list[i].name, stream);
		gate_report__value(row, list[i].before, text);
		fprintf(stream, ": %s to ", text);
		gate_report__value(row, list[i].after, text);
		fprintf(stream, "%s\n", text);
	}
}

static void finding(const struct gate_report *report, const struct gate_finding *it, FILE *stream)
{
	const struct gate_row *row = it->verdict->row;
	const char *path = gate_report__path(row->file);
	char text[GATE_REPORT_VALUE];

	if (row->kind == GATE_ROW_METRIC || it->verdict->through)
		return;
	fputs("\n#### ", stream);
	name(row->name, stream);
	gate_report__percent(it->verdict->change, text);
	fprintf(stream, " %s\n\n", text);
	name(path ? path : row->file, stream);
	if (row->line > 0)
		fprintf(stream, " line %lld", (long long)row->line);
	fprintf(stream, ": %s, %.1f%% of all CPU before, %.1f%% after\n\n",
		gate_report__measure(row), row->base_share * 100, row->head_share * 100);
	fprintf(stream,
		"| before (%s) | after | change | interval | p | limit |\n"
		"|---:|---:|---:|---:|---:|---:|\n|",
		gate_report__unit(report->result->table));
	figures(it->verdict, stream);
	fputs("\n\n", stream);
	neighbours("called by", row, it->callers, it->caller_count, stream);
	neighbours("in", row, it->callees, it->callee_count, stream);
}

static void metrics(const struct gate_report *report, FILE *stream)
{
	fprintf(stream,
		"\n| metric | before (%s) | after | change | interval | p | limit | verdict "
		"|\n|---|---:|---:|---:|---:|---:|---:|---|\n",
		gate_report__unit(report->result->table));
	for (size_t i = 0; i < report->result->count; i++) {
		const struct gate_verdict *verdict = &report->result->verdicts[i];

		if (verdict->row->kind != GATE_ROW_METRIC)
			continue;
		putc('|', stream);
		cell(verdict->row->name, stream);
		figures(verdict, stream);
		cell(gate_state__name(verdict->state), stream);
		putc('\n', stream);
	}
}

static int others(const struct gate_report *report, enum gate_state state, FILE *stream)
{
	for (size_t i = 0; i < report->result->count; i++) {
		const struct gate_verdict *verdict = &report->result->verdicts[i];
		char *text;

		if (verdict->state != state || verdict->row->kind == GATE_ROW_METRIC)
			continue;
		text = gate_report__verdict(report, verdict);
		if (!text)
			return -ENOMEM;
		fprintf(stream, "- %s: ", gate_state__name(state));
		gate_markup__markdown(stream, text);
		if (state == GATE_IGNORED) {
			fputs(": ", stream);
			gate_markup__markdown(stream, verdict->rule->reason);
			fprintf(stream, ", until %s", verdict->rule->until);
		}
		putc('\n', stream);
		free(text);
	}
	return 0;
}

int gate_markdown__write(const struct gate_report *report, FILE *stream)
{
	const struct gate_result *result = report->result;
	char *headline = gate_report__headline(report);
	int error;

	if (!headline)
		return -ENOMEM;
	fprintf(stream, "### Performance gate: %s\n", headline);
	free(headline);
	for (size_t i = 0; i < report->findings->count; i++)
		finding(report, &report->findings->items[i], stream);
	metrics(report, stream);
	putc('\n', stream);
	error = others(report, GATE_IMPROVEMENT, stream);
	if (!error)
		error = others(report, GATE_MOVED, stream);
	if (!error)
		error = others(report, GATE_IGNORED, stream);
	for (size_t i = 0; i < result->reason_count; i++) {
		fputs("- inconclusive: ", stream);
		gate_markup__markdown(stream, result->reasons[i]);
		putc('\n', stream);
	}
	return error;
}
