/* SPDX-License-Identifier: BSD-2-Clause */
/* What changed between two profiles, in the formats of diff. */
#ifndef RBPROF_DIFF_H
#define RBPROF_DIFF_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "../agg/profile.h"
#include "../agg/profile_diff.h"
#include "out.h"
#include "totals.h"

struct diff {
	const struct profile *both;  /* of profile_diff__new() */
	struct profile *base, *head; /* for what they say about themselves */
	const char *base_path, *head_path;
	const struct profile_type *type;
	int64_t base_sum, head_sum; /* as recorded; in `both` HEAD's may be scaled */
	bool is_normalized;
};

/* NULL: no format of diff. */
typedef int (*diff_write)(const struct diff *diff, const struct out_options *options, FILE *stream);
diff_write diff__format(const struct out_format *format);

/* 0 or -errno; errors of the stream are its owner's to find. */
int diff__text(const struct diff *diff, const struct out_options *options, FILE *stream);
int diff__json(const struct diff *diff, const struct out_options *options, FILE *stream);
int diff__html(const struct diff *diff, const struct out_options *options, FILE *stream);
/* "stack base head": what difffolded tools read. */
int diff__folded(const struct diff *diff, const struct out_options *options, FILE *stream);

/*
 * The functions by change of self, then of total, largest first, whatever its sign; then by name
 * and file. 0 and an array that the caller frees, or -ENOMEM.
 */
int diff__order(const struct diff *diff, const struct totals *totals, uint32_t **ret_functions,
		size_t *ret_count);

/* HEAD less BASE. */
static inline int64_t diff__change(const struct totals_values *sums)
{
	return sums->values[PROFILE_DIFF_HEAD] - sums->values[PROFILE_DIFF_BASE];
}

#endif
