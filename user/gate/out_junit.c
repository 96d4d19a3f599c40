/* SPDX-License-Identifier: BSD-2-Clause */
/* JUnit's XML, which most CI systems show: a test case a row, and one for the whole comparison. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "out_markup.h"
#include "report.h"

static void begin_case(const struct gate_verdict *verdict, FILE *stream)
{
	const char *path = gate_report__path(verdict->row->file);

	fputs("  <testcase classname=\"", stream);
	if (verdict->row->kind == GATE_ROW_METRIC)
		fputs("metrics", stream);
	else
		gate_markup__xml(stream, path ? path : verdict->row->file);
	fputs("\" name=\"", stream);
	gate_markup__xml(stream, verdict->row->name);
	if (verdict->row->kind != GATE_ROW_METRIC)
		fprintf(stream, ": %s", gate_report__measure(verdict->row));
	fputs("\" time=\"0\"", stream);
}

static void write_problem(const char *element, const char *type, const char *message,
			  const char *text, FILE *stream)
{
	fprintf(stream, "    <%s type=\"%s\" message=\"", element, type);
	gate_markup__xml(stream, message);
	fputs("\">", stream);
	gate_markup__xml(stream, text);
	fprintf(stream, "</%s>\n", element);
}

static int write_failure(const struct gate_report *report, const struct gate_verdict *verdict,
			 FILE *stream)
{
	const struct gate_finding *finding = gate_report__finding(report, verdict);
	char *message = gate_report__verdict(report, verdict);
	char *text = finding ? gate_report__neighbours(finding) : strdup("");
	int error = message && text ? 0 : -ENOMEM;

	if (!error)
		write_problem("failure", "regression", message, text, stream);
	free(message);
	free(text);
	return error;
}

static int write_case(const struct gate_report *report, const struct gate_verdict *verdict,
		      FILE *stream)
{
	int error = 0;

	begin_case(verdict, stream);
	switch (verdict->state) {
	case GATE_REGRESSION:
		fputs(">\n", stream);
		error = write_failure(report, verdict, stream);
		fputs("  </testcase>\n", stream);
		break;
	case GATE_INCONCLUSIVE:
	case GATE_IGNORED:
	case GATE_NOT_MEASURED:
		/* The case of the whole comparison is an error where it matters. */
		fputs(">\n    <skipped message=\"", stream);
		gate_markup__xml(stream, verdict->state == GATE_IGNORED
						 ? verdict->rule->reason
						 : gate_state__name(verdict->state));
		fputs("\"/>\n  </testcase>\n", stream);
		break;
	default:
		fputs("/>\n", stream);
	}
	return error;
}

static void write_whole(const struct gate_report *report, FILE *stream)
{
	const struct gate_result *result = report->result;

	fputs("  <testcase classname=\"gate\" name=\"the runs can be compared\" time=\"0\"",
	      stream);
	if (!result->reason_count) {
		fputs("/>\n", stream);
		return;
	}
	fputs(">\n", stream);
	write_problem("error", "inconclusive", result->reasons[0], "", stream);
	fputs("    <system-err>", stream);
	for (size_t i = 0; i < result->reason_count; i++) {
		gate_markup__xml(stream, result->reasons[i]);
		putc('\n', stream);
	}
	fputs("</system-err>\n  </testcase>\n", stream);
}

int gate_junit__write(const struct gate_report *report, FILE *stream)
{
	const struct gate_result *result = report->result;
	size_t skipped = gate_result__count(result, GATE_INCONCLUSIVE) +
			 gate_result__count(result, GATE_IGNORED) +
			 gate_result__count(result, GATE_NOT_MEASURED);
	char counts[128];
	int error = 0;

	snprintf(counts, sizeof(counts),
		 "tests=\"%zu\" failures=\"%zu\" errors=\"%d\" skipped=\"%zu\" time=\"0\"",
		 result->count + 1, gate_result__count(result, GATE_REGRESSION),
		 result->reason_count > 0, skipped);
	fprintf(stream,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites %s>\n"
		"<testsuite name=\"rbprof-bpf gate\" %s>\n",
		counts, counts);
	write_whole(report, stream);
	for (size_t i = 0; !error && i < result->count; i++)
		error = write_case(report, &result->verdicts[i], stream);
	fputs("</testsuite>\n</testsuites>\n", stream);
	return error;
}
