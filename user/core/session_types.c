/* SPDX-License-Identifier: BSD-2-Clause */
/* Which values a recording has. */
#include "session_internal.h"

#include <string.h>

#define ANY_CPU	 1
#define ANY_WALL 2
#define ANY_GC	 4

/* In the order of spec/cli.md. */
static const struct {
	struct profile_type type;
	int by; /* any of what is collected */
} known_types[] = {
	[SESSION_SAMPLES] = { { "cpu-samples", "count" }, ANY_CPU },
	[SESSION_CPU] = { { "cpu-time", "nanoseconds" }, ANY_CPU },
	[SESSION_WALL] = { { "wall-time", "nanoseconds" }, ANY_WALL },
	[SESSION_TIMELINE] = { { "timeline", "nanoseconds" }, ANY_GC },
};

static bool is_collected(const struct options *options, int by)
{
	return (options->cpu && by & ANY_CPU) || (options->wall && by & ANY_WALL) ||
	       (options->gc && by & ANY_GC);
}

bool session__collects(const struct options *options, const char *type)
{
	size_t i;

	for (i = 0; i < SESSION_TYPES; i++) {
		if (!strcmp(known_types[i].type.type, type))
			return is_collected(options, known_types[i].by);
	}
	return false;
}

size_t session__types(struct session *session, struct profile_type *types)
{
	size_t i, count = 0;

	for (i = 0; i < SESSION_TYPES; i++) {
		session->types[i] = -1;
		if (!is_collected(session->options, known_types[i].by))
			continue;
		session->types[i] = (int)count;
		types[count++] = known_types[i].type;
	}
	return count;
}

bool session__values(const struct session *session, const struct tracked_row *row,
		     int64_t *ret_values)
{
	const int64_t values[SESSION_TYPES] = {
		[SESSION_SAMPLES] = row->values.samples,
		[SESSION_CPU] = row->values.cpu_ns,
		[SESSION_WALL] = row->values.wall_ns,
		[SESSION_TIMELINE] = row->key.kind == TRACKED_GC ? row->values.wall_ns : 0,
	};
	bool has_any = false;
	size_t i;

	for (i = 0; i < SESSION_TYPES; i++) {
		if (session->types[i] < 0)
			continue;
		ret_values[session->types[i]] = values[i];
		has_any |= values[i] != 0;
	}
	return has_any;
}
