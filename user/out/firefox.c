/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The Firefox profiler's processed profile. Version 60, the first in which the tables are shared
 * by all threads; the profiler brings any older version up to its own.
 */
#include "firefox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_PERIOD_NS 10101010

static enum firefox_weight weight_of(const char *unit)
{
	if (!strcmp(unit, "nanoseconds"))
		return FIREFOX_TIME;
	return strcmp(unit, "bytes") ? FIREFOX_SAMPLES : FIREFOX_BYTES;
}

/* The recording's start; of a file that does not tell it, the first sample's end. */
static int64_t find_origin(const struct firefox *firefox)
{
	int64_t origin_ns = profile__info(firefox->profile)->time_ns;

	for (size_t i = 0; i < profile__row_count(firefox->profile); i++) {
		int64_t end_ns = firefox->threads.rows[i].end_ns;

		if (end_ns != OUT_NO_TIME && (origin_ns <= 0 || end_ns < origin_ns))
			origin_ns = end_ns;
	}
	return origin_ns < 0 ? 0 : origin_ns;
}

static int init(struct firefox *firefox)
{
	const struct profile_info *info = profile__info(firefox->profile);
	size_t type = firefox->options->type;
	int error = stack_order__of_rows(&firefox->order, firefox->profile, NULL);

	if (!error)
		error = out_threads__init(&firefox->threads, firefox->profile);
	if (error)
		return error;
	firefox->nodes =
		calloc(profile__stack_count(firefox->profile) + 1, sizeof(*firefox->nodes));
	firefox->starts_ns =
		calloc(profile__row_count(firefox->profile) + 1, sizeof(*firefox->starts_ns));
	if (!firefox->nodes || !firefox->starts_ns)
		return -ENOMEM;
	firefox->weight = weight_of(profile__type(firefox->profile, type)->unit);
	firefox->wall_type = profile__type_index(firefox->profile, "wall-time");
	firefox->cpu_type = profile__type_index(firefox->profile, "cpu-time");
	firefox->origin_ns = find_origin(firefox);
	firefox->period_ns = DEFAULT_PERIOD_NS;
	if (info->period > 0 && info->period_type.unit &&
	    !strcmp(info->period_type.unit, "nanoseconds"))
		firefox->period_ns = info->period;
	return 0;
}

int firefox__write(struct profile *profile, const struct out_options *options, FILE *stream)
{
	struct firefox firefox = { .profile = profile, .options = options, .stream = stream };
	int error = init(&firefox);

	if (error)
		goto out;
	putc('{', stream);
	firefox__write_meta(&firefox);
	fputs(",\n\"libs\":[],\"pages\":[],\n", stream);
	error = firefox__write_shared(&firefox);
	if (error)
		goto out;
	fputs(",\n\"threads\":[", stream);
	for (size_t i = 0; i < firefox.threads.count; i++) {
		fputs(i ? ",\n" : "\n", stream);
		firefox__write_thread(&firefox, &firefox.threads.threads[i]);
	}
	fputs("\n]}\n", stream);
out:
	stack_order__free(&firefox.order);
	out_threads__free(&firefox.threads);
	free(firefox.nodes);
	free(firefox.starts_ns);
	return error;
}
