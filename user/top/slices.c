/* SPDX-License-Identifier: BSD-2-Clause */
#include "slices.h"

#include <errno.h>
#include <stdlib.h>

#include "../agg/profile_import.h"

const struct session_slice *slices__window(const struct session_slice *slices, uint64_t window_ns)
{
	const struct session_slice *newest = slices;

	if (!slices)
		return NULL;
	while (newest->next)
		newest = newest->next;
	/* A slice is as long as it was asked for, and a little more. */
	while (slices != newest && newest->end_ns - slices->begin_ns >
					   window_ns + (slices->end_ns - slices->begin_ns) / 2)
		slices = slices->next;
	return slices;
}

/* Adds the slices that have one profile; *slice: the first that has another. */
static int add_run(const struct session_slice **slice, struct profile *to)
{
	const struct profile *from = (*slice)->profile;
	struct profile_import *import;
	size_t i;
	int error = profile_import__new(from, to, &import);

	if (error)
		return error;
	for (; *slice && (*slice)->profile == from; *slice = (*slice)->next) {
		for (i = 0; i < (*slice)->count; i++)
			profile_import__row(import, &(*slice)->rows[i]);
	}
	profile_import__free(import);
	return profile__failed(to) ? -ENOMEM : 0;
}

static int new_profile(const struct profile *like, struct profile **ret_profile)
{
	struct profile_type types[PROFILE_MAX_TYPES];
	size_t count = profile__type_count(like), i;

	for (i = 0; i < count; i++)
		types[i] = *profile__type(like, i);
	return profile__new(types, count, ret_profile);
}

int slices__copy(const struct session_slice *slices, uint64_t window_ns,
		 struct session_slice **ret_slice)
{
	const struct session_slice *from = slices__window(slices, window_ns);
	struct session_slice *slice;
	int error;

	if (!from)
		return -ENOENT;
	slice = calloc(1, sizeof(*slice));
	if (!slice)
		return -ENOMEM;
	slice->begin_ns = from->begin_ns;
	error = new_profile(from->profile, &slice->profile);
	while (from && !error) {
		for (const struct session_slice *at = from; at; at = at->next)
			slice->end_ns = at->end_ns;
		error = add_run(&from, slice->profile);
	}
	if (!error)
		error = profile__take_rows(slice->profile, &slice->rows, &slice->count);
	if (error)
		slices__free(slice);
	else
		*ret_slice = slice;
	return error;
}

void slices__free(struct session_slice *slice)
{
	if (!slice)
		return;
	profile__free(slice->profile);
	free(slice->rows);
	free(slice);
}
