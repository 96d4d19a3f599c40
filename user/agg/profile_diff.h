/* SPDX-License-Identifier: BSD-2-Clause */
/* Two profiles as one, whose two values are before and after. */
#ifndef RBPROF_PROFILE_DIFF_H
#define RBPROF_PROFILE_DIFF_H

#include <stdbool.h>
#include <stddef.h>

#include "profile.h"

/* The types of what is made. */
#define PROFILE_DIFF_BASE 0
#define PROFILE_DIFF_HEAD 1

struct profile_diff {
	const struct profile *base, *head;
	size_t base_type, head_type; /* indexes; of the same unit */
	/*
	 * HEAD's values are scaled, row by row, so that both have the total of BASE: what `go tool
	 * pprof -normalize` does. Without effect if either total is 0.
	 */
	bool is_normalized;
};

/*
 * A profile with the types "base" and "head". Its stacks are those of both, without labels. A
 * function is a name and file (profile_group__by_name()); where a name has one file left over in
 * either profile, as after an update of a gem, these are taken for one, by HEAD's. It says nothing
 * about itself.
 * 0, and the caller frees *ret_profile; -ENOMEM; -EOVERFLOW.
 */
int profile_diff__new(const struct profile_diff *diff, struct profile **ret_profile);

#endif
