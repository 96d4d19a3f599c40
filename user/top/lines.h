/* SPDX-License-Identifier: BSD-2-Clause */
/* The lines of `top`, as UTF-8 that is harmless on a terminal. */
#ifndef RBPROF_TOP_LINES_H
#define RBPROF_TOP_LINES_H

#include <stddef.h>

#include "model.h"

#define LINE_BYTES    1024
#define LINES_NUMBERS 27 /* columns that the numbers of a row take */

/* "2 processes, 14 threads, 198 samples/s, 0 lost" */
void lines__counts(const struct top_model *model, char *text, size_t size);
/* "cpu 198.0 %, gc 4.1 %, overhead 0.1 %, own cpu 0.3 %": of one CPU. */
void lines__costs(const struct top_model *model, char *text, size_t size);
/* "cpu by method, last 10 s: 19.8 s", and what is left out of it. */
void lines__shown(const struct top_model *model, char *text, size_t size);

/* How a line is divided: the columns of names and of what stands after them, 0: no limit. */
struct lines_columns {
	size_t name, place;
};

/* columns: of the whole line; 0: no limit. */
struct lines_columns lines__divide(const struct top_model *model, size_t columns);

/* " self%  total%      self  method   file" */
void lines__heading(const struct top_model *model, const struct lines_columns *columns, char *text,
		    size_t size);

/* A row, in three parts that stand side by side. */
struct lines_row {
	char numbers[64]; /* LINES_NUMBERS columns */
	char *name;	  /* filled up with spaces to its columns */
	char *place;
};

/* 0 or -ENOMEM; to be freed with lines__free_row(). */
int lines__row(const struct top_model *model, const struct view_row *row,
	       const struct lines_columns *columns, struct lines_row *ret_row);
void lines__free_row(struct lines_row *row);

/* The row's share of all that is shown, 0 to 100. */
double lines__percent(const struct top_model *model, int64_t value);

#endif
