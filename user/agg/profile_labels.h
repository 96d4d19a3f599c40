/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Labels by the names that people type: "thread" for `thread name`, "endpoint" for
 * `trace endpoint`; and their values as text.
 */
#ifndef RBPROF_PROFILE_LABELS_H
#define RBPROF_PROFILE_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile.h"

/* What a sample without the label is grouped under, and found by. */
#define PROFILE_LABELS_NONE "(none)"

/* Room for any number as text. */
#define PROFILE_LABELS_NUMBER 24

/*
 * The key that this name means in this profile: the key itself, a short name, or the key with `-`
 * or `_` in place of its spaces. A short name may stand for several keys (container: `container`,
 * else `container_id`): the first that the profile has. PROFILE_NONE: no row has such a label.
 * name ends at length bytes. The id is that of the key's text.
 */
uint32_t profile_labels__find(const struct profile *profile, const char *name, size_t length);

/* The key that this name means first of all, in whatever profile; NULL: not a name we know. */
const char *profile_labels__known(const char *name, size_t length);

/*
 * "endpoint, process, state, thread, thread id": the names of all labels that rows of the profile
 * carry, short ones where there is one, sorted. 0 and a text that the caller frees, or -ENOMEM.
 */
int profile_labels__list(const struct profile *profile, char **ret_text);

/* The label with this key; NULL: the set has none. */
const struct profile_label *profile_labels__of(struct profile_label_set set, uint32_t key);

/*
 * Its value as text: the profile's own, or its number written to `number`. PROFILE_LABELS_NONE for
 * a label that is NULL.
 */
const char *profile_labels__value(const struct profile *profile, const struct profile_label *label,
				  char number[PROFILE_LABELS_NUMBER]);

#endif
