/* SPDX-License-Identifier: BSD-2-Clause */
#include "view.h"

#include <string.h>

#include "../agg/profile_group.h"
#include "../agg/profile_labels.h"

bool view__is_table(const struct out_format *format)
{
	return format->write == text__write || format->write == json__write;
}

static int by_label(const struct profile *profile, const char *key, enum profile_group_stack stack,
		    struct profile **ret_profile)
{
	/* By its text: the ids of a part of a profile are others, and it may lack the label. */
	return profile_group__by_label(profile, profile_labels__find(profile, key, strlen(key)),
				       stack, ret_profile);
}

int view__stacks(const struct profile *profile, const struct out_format *format,
		 const struct out_options *options, struct profile **ret_profile)
{
	struct profile *lines = NULL;
	int error = 0;

	*ret_profile = NULL;
	if (options->by && !strcmp(options->by, PROFILE_GROUP_GEM))
		return profile_group__by_gem(profile, ret_profile);
	/* All but folded have a place for lines, and always write them. */
	if (options->lines && format->write == folded__write)
		error = profile_group__by_line(profile, true, &lines);
	if (error || !options->by) {
		*ret_profile = lines;
		return error;
	}
	error = by_label(lines ? lines : profile, options->by, PROFILE_GROUP_ROOT, ret_profile);
	profile__free(lines);
	return error;
}

int view__table(const struct profile *profile, const struct out_options *options,
		struct profile **ret_profile)
{
	*ret_profile = NULL;
	if (options->by && !strcmp(options->by, PROFILE_GROUP_GEM))
		return profile_group__by_gem(profile, ret_profile);
	if (options->by)
		return by_label(profile, options->by, PROFILE_GROUP_ALONE, ret_profile);
	return options->lines ? profile_group__by_line(profile, false, ret_profile) : 0;
}
