/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The page that shows a profile, or the difference of two, in a browser: one file that asks
 * nothing of a network. Its look and behaviour are in html/, its data in html_data.c.
 */
#ifndef RBPROF_HTML_H
#define RBPROF_HTML_H

#include <stdbool.h>
#include <stdio.h>

#include "../agg/profile.h"

struct html_diff_options {
	const char *value; /* the sample type shown first, by name; NULL: cpu-time or the like */
	const char *base_title; /* what the page calls the profiles, such as the files' names; */
	const char *head_title; /* any bytes, NULL: nothing but "base" and "head" */
	bool normalize;		/* base is first shown as if its sum were head's */
};

/*
 * Writes a page with the differential flame graph of two profiles, which do not change, to
 * stream: red for what grew, blue for what shrank. It has the sample types that are in both; the
 * person who reads it may still switch the value and between normalised and absolute. 0,
 * -ENOMEM, or -EINVAL: the profiles have no sample type (name and unit) in common, or not `value`.
 * Errors of the stream itself are the stream owner's to find.
 */
int html__write_diff(const struct profile *base, const struct profile *head,
		     const struct html_diff_options *options, FILE *stream);

#endif
