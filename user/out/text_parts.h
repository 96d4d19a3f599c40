/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of the text that a person reads; for text*.c and diff_text.c only. */
#ifndef RBPROF_TEXT_PARTS_H
#define RBPROF_TEXT_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "../agg/profile.h"
#include "out.h"
#include "totals.h"

#define TEXT_VALUE_BYTES 32

#define TEXT_BOLD "\033[1m"
#define TEXT_HOT  "\033[1;31m"
#define TEXT_WARN "\033[1;33m"
#define TEXT_GOOD "\033[32m"
#define TEXT_DIM  "\033[2m"

/* What is written, and how. */
struct text {
	struct profile *profile; /* the part that was asked for, as it was recorded */
	const struct out_options *options;
	FILE *stream;
	const struct profile_type *type; /* that is shown */
	int64_t sum;			 /* of it */
};

/* "1.50 s", "2.00 MiB", "17" by the unit. */
void text__value(char text[TEXT_VALUE_BYTES], int64_t value, const char *unit);
double text__percent(int64_t part, int64_t sum);

/* The escape sequence, and what ends it; empty without colours. */
const char *text__color(const struct text *text, const char *color);
const char *text__plain(const struct text *text);

/* "key         value": one line, the value made harmless and cut to the terminal. 0 or -ENOMEM. */
int text__fact(const struct text *text, const char *color, const char *key, const char *value);

/* A name made harmless. The caller frees it; NULL: out of memory. */
char *text__name(const struct profile *profile, uint32_t string);
/* "file:line" of a function. The same. */
char *text__place(const struct profile *profile, uint32_t function);

/*
 * Shares what `left` columns (0: as many as it takes) are among names and places; both widths are
 * those of the widest and become what is there for them.
 */
void text__fit(size_t left, size_t *name_width, size_t *place_width);
/* Cuts both to these widths (unless left is 0) and prints them, the place dim, and a newline. */
void text__names(const struct text *text, size_t left, char *name, size_t name_width, char *place,
		 size_t place_width);

/* The parts, from the top. 0 or -ENOMEM. */
int text__heading(const struct text *text, const struct totals *totals);
int text__states(const struct text *text);
int text__gc(const struct text *text);
int text__hottest_path(const struct text *text);
/* Functions of `rows` by self and total; title is what they are. */
int text__functions(const struct text *text, const struct profile *rows, const char *title);
/* Values of the label options->by. */
int text__groups(const struct text *text);

#endif
