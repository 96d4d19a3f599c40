/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Annotations of GitHub: workflow commands on stdout, which become marks at the lines of a pull
 * request.
 */
#include <errno.h>
#include <stdlib.h>

#include "out_markup.h"
#include "report.h"

static void begin(const char *level, const char *title, FILE *stream)
{
	fprintf(stream, "::%s title=", level);
	gate_markup__github_property(stream, title);
}

static int annotate(const struct gate_report *report, const char *level, const char *title,
		    const struct gate_verdict *verdict, const struct gate_finding *finding,
		    FILE *stream)
{
	const char *path = gate_report__path(verdict->row->file);
	char *text = gate_report__verdict(report, verdict);
	char *more = finding ? gate_report__neighbours(finding) : NULL;

	if (!text || (finding && !more)) {
		free(text);
		free(more);
		return -ENOMEM;
	}
	begin(level, title, stream);
	if (path) {
		fputs(",file=", stream);
		gate_markup__github_property(stream, path);
		fprintf(stream, ",line=%lld",
			(long long)(verdict->row->line > 0 ? verdict->row->line : 1));
	}
	fputs("::", stream);
	gate_markup__github(stream, text);
	if (more && *more) {
		fputs("%0A", stream);
		gate_markup__github(stream, more);
	}
	putc('\n', stream);
	free(text);
	free(more);
	return 0;
}

int gate_github__write(const struct gate_report *report, FILE *stream)
{
	const struct gate_result *result = report->result;
	int error = 0;

	for (size_t i = 0; !error && i < report->findings->count; i++) {
		const struct gate_finding *finding = &report->findings->items[i];

		/* What grew with a finding is told by that one. */
		if (!finding->verdict->through)
			error = annotate(report, "error", "Performance regression",
					 finding->verdict, finding, stream);
	}
	for (size_t i = 0; !error && i < result->count; i++)
		if (result->verdicts[i].state == GATE_IMPROVEMENT)
			error = annotate(report, "notice", "Performance improvement",
					 &result->verdicts[i], NULL, stream);
	for (size_t i = 0; !error && i < result->reason_count; i++) {
		begin("warning", "Performance gate inconclusive", stream);
		fputs("::", stream);
		gate_markup__github(stream, result->reasons[i]);
		putc('\n', stream);
	}
	return error;
}
