/* SPDX-License-Identifier: BSD-2-Clause */
/* A profile as it was asked for: --by and --lines, in the way of the format that shows it. */
#ifndef RBPROF_VIEW_H
#define RBPROF_VIEW_H

#include <stdbool.h>

#include "../agg/profile.h"
#include "out.h"

/* Whether the format is a table that groups by itself (text, json), not one of stacks. */
bool view__is_table(const struct out_format *format);

/*
 * For a format of stacks: the values of a label are put before the root, gems and lines take the
 * place of methods. 0, and the caller frees *ret_profile, which is NULL where nothing of this was
 * asked for; or -ENOMEM.
 */
int view__stacks(const struct profile *profile, const struct out_format *format,
		 const struct out_options *options, struct profile **ret_profile);

/*
 * The profile whose functions are the rows of a table by options->by: values of a label or gems.
 * Without: methods, or lines. 0 and the same, or -ENOMEM.
 */
int view__table(const struct profile *profile, const struct out_options *options,
		struct profile **ret_profile);

#endif
