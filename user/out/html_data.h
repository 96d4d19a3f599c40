/* SPDX-License-Identifier: BSD-2-Clause */
/* The data of the page: one JSON object that can stand inside an HTML script element. */
#ifndef RBPROF_HTML_DATA_H
#define RBPROF_HTML_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "../agg/profile.h"

#define HTML_DATA_MAX_SIDES 2

/* One profile, its rows with the ids of the profile that both share. */
struct html_side {
	const struct profile *profile; /* what it says about itself */
	const char *title;	       /* valid UTF-8, or NULL */
	struct profile_row *rows;      /* values in the order of `shared`'s types */
	size_t row_count;
};

struct html_data {
	struct profile *shared; /* interned things of all sides; no rows */
	struct html_side sides[HTML_DATA_MAX_SIDES];
	size_t side_count;
	size_t type;	/* index of the value that is shown first */
	bool normalize; /* two sides: see struct html_diff_options */
};

/*
 * Brings the rows of sides[i].profile into a profile of their own, one a type that all have, rows
 * and labels merged that differ in nothing the page shows. 0, -ENOMEM, or -EINVAL: no type in
 * common. Free it with html_data__free().
 */
int html_data__init(struct html_data *data, const struct profile *const *profiles, size_t count);
void html_data__free(struct html_data *data);

/* 0 or -ENOMEM. In what is written, every `<` is escaped. */
int html_data__write(const struct html_data *data, FILE *stream);

#endif
