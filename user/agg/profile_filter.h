/* SPDX-License-Identifier: BSD-2-Clause */
/* --focus and --ignore: the part of a profile whose labels fit. */
#ifndef RBPROF_PROFILE_FILTER_H
#define RBPROF_PROFILE_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#include "profile.h"

/* One LABEL=GLOB. Points into the text that it was parsed from. */
struct profile_filter {
	const char *label; /* a name of profile_labels__find(), not terminated */
	size_t label_length;
	const char *glob; /* of fnmatch(3); `/` and `.` are plain characters */
	bool is_ignored;
};

/* "endpoint=/users*". 0, or -EINVAL: no `=`, or nothing before it. */
int profile_filter__parse(const char *text, bool is_ignored, struct profile_filter *ret_filter);

/*
 * A profile with the rows that fit. A row must fit the focus of every label that has one; of
 * several for one label, any. A row that fits an ignored one is left out. A row without the label
 * fits the glob "(none)" only. All else (types, comments, times) is as in `from`.
 * 0, and the caller frees *ret_profile; -ENOMEM.
 */
int profile_filter__apply(const struct profile *from, const struct profile_filter *filters,
			  size_t count, struct profile **ret_profile);

#endif
