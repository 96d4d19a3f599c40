/* SPDX-License-Identifier: BSD-2-Clause */
/* A page with the verdict above the flame graph of the difference. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../out/html.h"
#include "out_markup.h"
#include "report.h"

/* The page's own style has the rest, light and dark. */
static const char style[] =
	"<style>.gate{padding:.4em 1em;max-height:45vh;overflow:auto;flex:none}"
	".gate table{border-collapse:collapse}.gate td,.gate th{padding:.1em .8em .1em 0;"
	"text-align:left;font-variant-numeric:tabular-nums}</style>\n";

static void cell(const char *text, FILE *stream)
{
	fputs("<td>", stream);
	gate_markup__xml(stream, text);
	fputs("</td>", stream);
}

static void write_row(const struct gate_verdict *verdict, FILE *stream)
{
	const struct gate_row *row = verdict->row;
	bool is_known = !row->missing;
	char text[GATE_REPORT_VALUE];

	fputs("<tr>", stream);
	cell(gate_state__name(verdict->state), stream);
	cell(row->name, stream);
	cell(row->kind == GATE_ROW_METRIC ? "" : gate_report__measure(row), stream);
	fputs("<td>", stream);
	gate_markup__xml(stream, row->file);
	if (row->line > 0)
		fprintf(stream, ":%lld", (long long)row->line);
	fputs("</td>", stream);
	gate_report__value(row, verdict->before, text);
	cell(is_known ? text : "-", stream);
	gate_report__value(row, verdict->after, text);
	cell(is_known ? text : "-", stream);
	gate_report__percent(verdict->change, text);
	cell(is_known ? text : "-", stream);
	gate_report__interval(verdict, text);
	cell(text, stream);
	gate_report__p(verdict->p, text);
	cell(text, stream);
	fputs("</tr>\n", stream);
}

static int write_verdict(const struct gate_report *report, FILE *stream)
{
	const struct gate_result *result = report->result;
	char *headline = gate_report__headline(report);

	if (!headline)
		return -ENOMEM;
	fprintf(stream, "\n%s<details class=\"gate\" open><summary>", style);
	gate_markup__xml(stream, headline);
	free(headline);
	fputs("</summary>\n", stream);
	for (size_t i = 0; i < result->reason_count; i++) {
		fputs("<p>inconclusive: ", stream);
		gate_markup__xml(stream, result->reasons[i]);
		fputs("</p>\n", stream);
	}
	fprintf(stream,
		"<table><thead><tr><th>verdict</th><th>name</th><th></th><th>file</th>"
		"<th>before (%s)</th><th>after</th><th>change</th><th>interval</th>"
		"<th>p</th></tr></thead>\n<tbody>\n",
		gate_report__unit(result->table));
	for (size_t i = 0; i < report->findings->count; i++)
		write_row(report->findings->items[i].verdict, stream);
	for (size_t i = 0; i < result->count; i++) {
		const struct gate_verdict *verdict = &result->verdicts[i];

		if (verdict->state != GATE_REGRESSION &&
		    (verdict->row->kind == GATE_ROW_METRIC || verdict->state != GATE_PASS))
			write_row(verdict, stream);
	}
	fputs("</tbody></table></details>", stream);
	return 0;
}

/* The verdict goes where the body begins; names in the page's data cannot look like that. */
static int write_joined(const struct gate_report *report, const char *page, size_t length,
			FILE *stream)
{
	static const char body[] = "<body>";
	const char *at = memmem(page, length, body, strlen(body));
	size_t before = at ? (size_t)(at - page) + strlen(body) : 0;
	int error;

	if (!at)
		return -EINVAL;
	fwrite(page, 1, before, stream);
	error = write_verdict(report, stream);
	fwrite(page + before, 1, length - before, stream);
	return error;
}

int gate_html__write(const struct gate_report *report, FILE *stream)
{
	const struct html_diff_options options = {
		.value = "cpu-time",
		.base_title = report->base->path,
		.head_title = report->head->path,
		/* A run with more work takes longer: shares can be compared then. */
		.normalize = report->result->table->is_per_work,
	};
	char *page = NULL;
	size_t length;
	FILE *memory = open_memstream(&page, &length);
	int error;

	if (!memory)
		return -ENOMEM;
	error = html__write_diff(report->findings->base, report->findings->head, &options, memory);
	if (fclose(memory) && !error)
		error = -ENOMEM;
	if (!error)
		error = write_joined(report, page, length, stream);
	free(page);
	return error;
}
