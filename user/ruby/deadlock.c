/* SPDX-License-Identifier: BSD-2-Clause */
#include "deadlock.h"

#include <errno.h>
#include <stdlib.h>

/* Puts the circle through `from` into members; returns their number. */
static size_t circle(const uint32_t *waits_for, uint32_t from, uint32_t *members)
{
	uint32_t lowest = from, at;
	size_t count = 0;

	for (at = waits_for[from]; at != from; at = waits_for[at])
		if (at < lowest)
			lowest = at;
	at = lowest;
	do {
		members[count++] = at;
		at = waits_for[at];
	} while (at != lowest);
	return count;
}

int deadlock__find(const uint32_t *waits_for, size_t count,
		   int (*each)(const uint32_t *members, size_t count, void *context), void *context)
{
	uint32_t *seen, *members, at;
	int result = 0;
	size_t i;

	if (!count)
		return 0;
	if (count >= DEADLOCK_NONE)
		return -EINVAL;
	/* The walk (its first thread + 1) that came by: a walk that meets itself closed a circle.
	 */
	seen = calloc(count, sizeof(*seen));
	members = calloc(count, sizeof(*members));
	if (!seen || !members)
		result = -ENOMEM;
	for (i = 0; !result && i < count; i++) {
		at = (uint32_t)i;
		while (at < count && !seen[at]) {
			seen[at] = (uint32_t)i + 1;
			at = waits_for[at];
		}
		if (at < count && seen[at] == i + 1)
			result = each(members, circle(waits_for, at, members), context);
	}
	free(seen);
	free(members);
	return result;
}
