/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile_filter.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "profile_import.h"
#include "profile_labels.h"

int profile_filter__parse(const char *text, bool is_ignored, struct profile_filter *ret_filter)
{
	const char *equals = strchr(text, '=');

	if (!equals || equals == text)
		return -EINVAL;
	*ret_filter = (struct profile_filter){
		.label = text,
		.label_length = (size_t)(equals - text),
		.glob = equals + 1,
		.is_ignored = is_ignored,
	};
	return 0;
}

static bool fits(const struct profile *profile, struct profile_label_set set, uint32_t key,
		 const char *glob)
{
	const struct profile_label *label = profile_labels__of(set, key);
	char number[PROFILE_LABELS_NUMBER];

	if (!label)
		return !strcmp(glob, PROFILE_LABELS_NONE);
	return !fnmatch(glob, profile_labels__value(profile, label, number), 0);
}

/* Whether the set fits a focus of this label. */
static bool fits_focus_of(const struct profile *profile, struct profile_label_set set,
			  const struct profile_filter *filters, const uint32_t *keys, size_t count,
			  uint32_t key)
{
	for (size_t i = 0; i < count; i++)
		if (!filters[i].is_ignored && keys[i] == key &&
		    fits(profile, set, key, filters[i].glob))
			return true;
	return false;
}

static bool is_kept(const struct profile *profile, struct profile_label_set set,
		    const struct profile_filter *filters, const uint32_t *keys, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (filters[i].is_ignored) {
			if (fits(profile, set, keys[i], filters[i].glob))
				return false;
		} else if (!fits_focus_of(profile, set, filters, keys, count, keys[i])) {
			return false;
		}
	}
	return true;
}

/* By label set id. NULL: out of memory. */
static bool *kept_sets(const struct profile *profile, const struct profile_filter *filters,
		       size_t count)
{
	size_t sets = profile__label_set_count(profile);
	bool *kept = calloc(sets + 1, sizeof(*kept));
	uint32_t *keys = calloc(count + 1, sizeof(*keys));

	for (size_t i = 0; kept && keys && i < count; i++)
		keys[i] = profile_labels__find(profile, filters[i].label, filters[i].label_length);
	for (uint32_t i = 0; kept && keys && i < sets; i++)
		kept[i] = is_kept(profile, profile__label_set_at(profile, i), filters, keys, count);
	if (!keys) {
		free(kept);
		kept = NULL;
	}
	free(keys);
	return kept;
}

int profile_filter__apply(const struct profile *from, const struct profile_filter *filters,
			  size_t count, struct profile **ret_profile)
{
	struct profile_import *import = NULL;
	struct profile *profile = NULL;
	bool *kept = kept_sets(from, filters, count);
	int error = kept ? profile_import__begin(from, &profile, &import) : -ENOMEM;

	for (size_t i = 0; !error && i < profile__row_count(from); i++) {
		const struct profile_row *row = profile__row(from, i);

		if (kept[row->label_set])
			error = profile_import__row(import, row);
	}
	profile_import__free(import);
	free(kept);
	if (error)
		profile__free(profile);
	else
		*ret_profile = profile;
	return error;
}
