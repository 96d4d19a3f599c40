/* SPDX-License-Identifier: BSD-2-Clause */
/* A verdict for people: what got worse first, then every metric. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "report.h"

#define RED    "\033[1;31m"
#define GREEN  "\033[32m"
#define YELLOW "\033[1;33m"
#define DIM    "\033[2m"
#define PLAIN  "\033[0m"

static const char *colored(const struct gate_report *report, const char *color)
{
	return report->color ? color : "";
}

static const char *color_of(enum gate_state state)
{
	switch (state) {
	case GATE_REGRESSION:
		return RED;
	case GATE_INCONCLUSIVE:
		return YELLOW;
	case GATE_IMPROVEMENT:
	case GATE_PASS:
		return GREEN;
	default:
		return DIM;
	}
}

static void print_place(const struct gate_report *report, const struct gate_row *row, FILE *stream)
{
	fprintf(stream, "  %s%s", colored(report, DIM), row->file);
	if (row->line > 0)
		fprintf(stream, ":%lld", (long long)row->line);
	fprintf(stream, "%s\n", colored(report, PLAIN));
}

static void print_neighbours(const struct gate_row *row, const char *title,
			     const struct gate_neighbour *neighbours, size_t count, FILE *stream)
{
	for (size_t i = 0; i < count; i++) {
		char before[GATE_REPORT_VALUE], after[GATE_REPORT_VALUE];

		gate_report__value(row, neighbours[i].before, before);
		gate_report__value(row, neighbours[i].after, after);
		fprintf(stream, "    %-14s%s  %s -> %s\n", i ? "" : title, neighbours[i].name,
			before, after);
	}
}

static void print_figures(const struct gate_report *report, const struct gate_verdict *verdict,
			  FILE *stream)
{
	char before[GATE_REPORT_VALUE], after[GATE_REPORT_VALUE], change[GATE_REPORT_VALUE];
	char interval[GATE_REPORT_VALUE], p[GATE_REPORT_VALUE], limit[GATE_REPORT_VALUE];

	gate_report__value(verdict->row, verdict->before, before);
	gate_report__value(verdict->row, verdict->after, after);
	gate_report__percent(verdict->change, change);
	gate_report__interval(verdict, interval);
	gate_report__percent(verdict->limit, limit);
	gate_report__p(verdict->p, p);
	fprintf(stream, "    %-24s%s -> %s %s, %s%s%s (%s), p %s, limit %s\n",
		gate_report__measure(verdict->row), before, after,
		gate_report__unit(report->result->table), colored(report, color_of(verdict->state)),
		change, colored(report, PLAIN), interval, p, limit);
}

/* What grew only because of a finding that is told. */
static void print_parts(const struct gate_report *report, const struct gate_verdict *of,
			FILE *stream)
{
	size_t count = 0;

	for (size_t i = 0; i < report->findings->count; i++) {
		const struct gate_verdict *verdict = report->findings->items[i].verdict;
		char change[GATE_REPORT_VALUE];

		if (verdict->through != of)
			continue;
		gate_report__percent(verdict->change, change);
		fprintf(stream, "    %-14s%s %s (%s)\n", count++ ? "" : "with it grew",
			verdict->row->name, change, gate_report__measure(verdict->row));
	}
}

static void print_finding(const struct gate_report *report, const struct gate_finding *finding,
			  FILE *stream)
{
	const struct gate_verdict *verdict = finding->verdict;
	const struct gate_row *row = verdict->row;

	if (verdict->through)
		return;
	fprintf(stream, "\n%s%s%s", colored(report, RED), row->name, colored(report, PLAIN));
	if (row->kind == GATE_ROW_METRIC)
		putc('\n', stream);
	else
		print_place(report, row, stream);
	print_figures(report, verdict, stream);
	if (row->kind != GATE_ROW_METRIC)
		fprintf(stream, "    %-24s%.1f%% -> %.1f%%\n", "share of all cpu",
			row->base_share * 100, row->head_share * 100);
	print_neighbours(row, "called by", finding->callers, finding->caller_count, stream);
	print_neighbours(row, "in", finding->callees, finding->callee_count, stream);
	print_parts(report, verdict, stream);
}

static void print_metrics(const struct gate_report *report, FILE *stream)
{
	fprintf(stream, "\n%-12s%14s%14s%10s  %-20s%8s%9s  %s\n", "metric", "before", "after",
		"change", "interval", "p", "limit", "verdict");
	for (size_t i = 0; i < report->result->count; i++) {
		const struct gate_verdict *verdict = &report->result->verdicts[i];
		char before[GATE_REPORT_VALUE] = "-", after[GATE_REPORT_VALUE] = "-";
		char change[GATE_REPORT_VALUE] = "-", interval[GATE_REPORT_VALUE];
		char p[GATE_REPORT_VALUE], limit[GATE_REPORT_VALUE] = "-";

		if (verdict->row->kind != GATE_ROW_METRIC)
			continue;
		if (!verdict->row->missing) {
			gate_report__value(verdict->row, verdict->before, before);
			gate_report__value(verdict->row, verdict->after, after);
			gate_report__percent(verdict->change, change);
			gate_report__percent(verdict->limit, limit);
		}
		gate_report__interval(verdict, interval);
		gate_report__p(verdict->p, p);
		fprintf(stream, "%-12s%14s%14s%10s  %-20s%8s%9s  %s%s%s\n", verdict->row->name,
			before, after, change, interval, p, limit,
			colored(report, color_of(verdict->state)), gate_state__name(verdict->state),
			colored(report, PLAIN));
	}
}

/* How many functions there were, of which state: none is left out silently. */
static void print_functions(const struct gate_report *report, FILE *stream)
{
	size_t counts[GATE_STATES] = { 0 }, all = 0;

	for (size_t i = 0; i < report->result->count; i++) {
		const struct gate_verdict *verdict = &report->result->verdicts[i];

		if (verdict->row->kind == GATE_ROW_METRIC)
			continue;
		counts[verdict->state]++;
		all++;
	}
	if (!all)
		return;
	fprintf(stream, "%-12s%zu figures of functions above %g%% of the cpu:", "functions", all,
		report->result->config->min_share * 100);
	for (int state = 0; state < GATE_STATES; state++)
		if (counts[state])
			fprintf(stream, " %zu %s%s", counts[state], gate_state__name(state),
				(all -= counts[state]) ? "," : "\n");
}

static int print_others(const struct gate_report *report, enum gate_state state, FILE *stream)
{
	for (size_t i = 0; i < report->result->count; i++) {
		const struct gate_verdict *verdict = &report->result->verdicts[i];
		char *text;

		if (verdict->state != state || verdict->row->kind == GATE_ROW_METRIC)
			continue;
		text = gate_report__verdict(report, verdict);
		if (!text)
			return -ENOMEM;
		fprintf(stream, "%s: %s", gate_state__name(state), text);
		if (state == GATE_IGNORED)
			fprintf(stream, ": %s, until %s", verdict->rule->reason,
				verdict->rule->until);
		putc('\n', stream);
		free(text);
	}
	return 0;
}

int gate_text__write(const struct gate_report *report, FILE *stream)
{
	const struct gate_result *result = report->result;
	char *headline = gate_report__headline(report);
	int status = gate_result__status(result), error;

	if (!headline)
		return -ENOMEM;
	fprintf(stream, "%s%s%s\n",
		colored(report, status == 0   ? GREEN
				: status == 1 ? RED
					      : YELLOW),
		headline, colored(report, PLAIN));
	free(headline);
	for (size_t i = 0; i < report->findings->count; i++)
		print_finding(report, &report->findings->items[i], stream);
	print_metrics(report, stream);
	print_functions(report, stream);
	error = print_others(report, GATE_IMPROVEMENT, stream);
	if (!error)
		error = print_others(report, GATE_MOVED, stream);
	if (!error)
		error = print_others(report, GATE_IGNORED, stream);
	for (size_t i = 0; i < result->reason_count; i++)
		fprintf(stream, "%sinconclusive%s: %s\n", colored(report, YELLOW),
			colored(report, PLAIN), result->reasons[i]);
	return error;
}
