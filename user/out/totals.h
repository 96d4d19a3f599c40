/* SPDX-License-Identifier: BSD-2-Clause */
/* Sums over a profile: by function, and by label. */
#ifndef RBPROF_TOTALS_H
#define RBPROF_TOTALS_H

#include <stddef.h>
#include <stdint.h>

#include "../agg/profile.h"

struct totals_values {
	int64_t values[PROFILE_MAX_TYPES];
};

struct totals {
	struct totals_values all;    /* of every row */
	struct totals_values *self;  /* by function id: rows whose leaf it is */
	struct totals_values *total; /* by function id: rows in which it is, each row once */
	size_t function_count;
};

/* 0 or -ENOMEM. Free it with totals__free(). */
int totals__init(struct totals *totals, const struct profile *profile);
void totals__free(struct totals *totals);

/*
 * The functions that are in a row with any value: largest self sum of `type` first, then largest
 * total, then by name, file and first line. 0 and an array that the caller frees, or -ENOMEM.
 */
int totals__order(const struct totals *totals, const struct profile *profile, size_t type,
		  uint32_t **ret_functions, size_t *ret_count);

/* The sums of one value of one label. */
struct totals_label {
	struct profile_label label;
	struct totals_values sums;
};

/*
 * One entry for each different label of the profile: by key's text; for one key the largest
 * sum of `type` first, then by text and number. 0 and an array that the caller frees, or -ENOMEM.
 */
int totals__labels(const struct profile *profile, size_t type, struct totals_label **ret_labels,
		   size_t *ret_count);

#endif
