/* SPDX-License-Identifier: BSD-2-Clause */
#include "out.h"

#include <errno.h>
#include <string.h>

#define SUFFIXES(...) ((const char *const[]){ __VA_ARGS__, NULL })

#define WRITTEN_BY(format) .name = #format, .write = format##__write

/* clang-format off */
static const struct out_format formats[] = {
	{ WRITTEN_BY(pprof), .suffixes = SUFFIXES(".pb.gz", ".pb"), .is_binary = true },
	{ WRITTEN_BY(folded), .suffixes = SUFFIXES(".folded"), .has_one_value = true },
	{ WRITTEN_BY(json), .suffixes = SUFFIXES(".json") },
	{ WRITTEN_BY(text), .suffixes = SUFFIXES(".txt"), .has_one_value = true },
	{ WRITTEN_BY(speedscope), .suffixes = SUFFIXES(".speedscope.json"),
	  .refuse = speedscope__refuse },
	{ WRITTEN_BY(firefox), .suffixes = SUFFIXES(".firefox.json"), .has_one_value = true },
	{ WRITTEN_BY(chrome), .suffixes = SUFFIXES(".trace.json"), .refuse = chrome__refuse,
	  .needs_times = true },
	{ WRITTEN_BY(html), .suffixes = SUFFIXES(".html") },
};
/* clang-format on */

#define FORMAT_COUNT (sizeof(formats) / sizeof(*formats))

const struct out_format *out__format(size_t index)
{
	return index < FORMAT_COUNT ? &formats[index] : NULL;
}

const struct out_format *out__format_by_name(const char *name)
{
	for (size_t i = 0; i < FORMAT_COUNT; i++)
		if (!strcmp(formats[i].name, name))
			return &formats[i];
	return NULL;
}

const struct out_format *out__format_by_suffix(const char *path)
{
	const struct out_format *best = NULL;
	size_t length = strlen(path);
	size_t best_length = 0;

	/* The longest one: .speedscope.json ends in .json as well. */
	for (size_t i = 0; i < FORMAT_COUNT; i++) {
		for (const char *const *suffix = formats[i].suffixes; *suffix; suffix++) {
			size_t size = strlen(*suffix);

			if (size > best_length && size <= length &&
			    !strcmp(path + length - size, *suffix)) {
				best = &formats[i];
				best_length = size;
			}
		}
	}
	return best;
}

const struct out_format *out__format_by_path(const char *path)
{
	const struct out_format *format = out__format_by_suffix(path);

	return format ? format : &formats[0];
}

size_t out__default_type(struct profile *profile)
{
	int index = profile__type_index(profile, "cpu-time");

	if (index >= 0)
		return (size_t)index;
	if (profile__info(profile)->default_type < profile__type_count(profile))
		return profile__info(profile)->default_type;
	return 0;
}

const char *out__refuses(const struct out_format *format, const struct profile *profile)
{
	return format->refuse ? format->refuse(profile) : NULL;
}

int out__write(const struct out_format *format, struct profile *profile,
	       const struct out_options *options, FILE *stream)
{
	if (profile__failed(profile))
		return -ENOMEM;
	if (options->type >= profile__type_count(profile))
		return -EINVAL;
	if (out__refuses(format, profile))
		return -ENOTSUP;
	return format->write(profile, options, stream);
}
