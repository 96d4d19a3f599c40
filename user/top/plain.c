/* SPDX-License-Identifier: BSD-2-Clause */
#include "plain.h"

#include <errno.h>
#include <time.h>

#include "lines.h"

#define MAX_ROWS 40

static int print_rows(const struct top_model *model, FILE *stream)
{
	const struct lines_columns columns = { 0 };
	const struct view *view = model->view;
	struct lines_row line;
	size_t i;

	for (i = 0; i < view->count && i < MAX_ROWS; i++) {
		if (lines__row(model, &view->rows[i], &columns, &line))
			return -ENOMEM;
		fprintf(stream, "%s%s%s%s\n", line.numbers, line.name, *line.place ? "  " : "",
			line.place);
		lines__free_row(&line);
	}
	if (view->count > MAX_ROWS)
		fprintf(stream, "%*s%zu more\n", LINES_NUMBERS, "", view->count - MAX_ROWS);
	return 0;
}

int plain__print(struct top_model *model, FILE *stream)
{
	const struct lines_columns columns = { 0 };
	char counts[LINE_BYTES], costs[LINE_BYTES], shown[LINE_BYTES], when[32] = "";
	time_t now = time(NULL);
	struct tm local;
	int error = top_model__refresh_slice(model);

	if (error)
		return error;
	if (localtime_r(&now, &local))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &local);
	lines__counts(model, counts, sizeof(counts));
	lines__costs(model, costs, sizeof(costs));
	lines__shown(model, shown, sizeof(shown));
	fprintf(stream, "%s  %s, %s\n%s\n", when, counts, costs, shown);
	if (model->view->count) {
		lines__heading(model, &columns, shown, sizeof(shown));
		fprintf(stream, "%s\n", shown);
	}
	error = print_rows(model, stream);
	putc('\n', stream);
	errno = 0;
	if (fflush(stream) || ferror(stream))
		return errno ? -errno : -EIO;
	return error;
}
