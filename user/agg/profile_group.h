/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * --by and --lines: a profile whose frames are something else than methods. Sums over functions
 * (out/totals.h) of the profile made are then sums by group, and every format can write it.
 * All leave `from` as it is, keep types, labels, comments and times, and return 0 (the caller
 * frees *ret_profile) or -ENOMEM.
 */
#ifndef RBPROF_PROFILE_GROUP_H
#define RBPROF_PROFILE_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "profile.h"

/* The name that --by takes for what is no label. */
#define PROFILE_GROUP_GEM "gem"

enum profile_group_stack {
	PROFILE_GROUP_ALONE = 0, /* the label's value is the only frame */
	PROFILE_GROUP_ROOT,	 /* it is put before the root: as `go tool pprof -tagroot` */
};

/*
 * A function a value of the label with this key (profile_labels__find()), without a file;
 * "(none)" for rows that have no such label.
 */
int profile_group__by_label(const struct profile *from, uint32_t key,
			    enum profile_group_stack stack, struct profile **ret_profile);

/*
 * A function a gem, without a file (gem_name__of()). C functions and native ones are their
 * caller's: what calls them. Frames that stand for no code ("Garbage Collection") stay as they
 * are. Frames of one gem that follow each other are one.
 */
int profile_group__by_gem(const struct profile *from, struct profile **ret_profile);

/*
 * A function a method and line: its first line is the line that ran. With has_place_in_name it is
 * named "NAME (FILE:LINE)", for formats that know a frame by its name alone.
 */
int profile_group__by_line(const struct profile *from, bool has_place_in_name,
			   struct profile **ret_profile);

/*
 * A function a name and file, as they stay when code around them changes: first lines, which
 * move, and native symbols are left out.
 */
int profile_group__by_name(const struct profile *from, struct profile **ret_profile);

#endif
