/* SPDX-License-Identifier: BSD-2-Clause */
#include "out.h"

#include <errno.h>
#include <string.h>

#define SUFFIXES(...) ((const char *const[]){ __VA_ARGS__, NULL })

static const struct out_format formats[] = {
	{ "pprof", SUFFIXES(".pb.gz", ".pb"), false, true, pprof__write },
	{ "folded", SUFFIXES(".folded"), true, false, folded__write },
	{ "json", SUFFIXES(".json"), false, false, json__write },
	{ "text", SUFFIXES(".txt"), true, false, text__write },
	{ "speedscope", SUFFIXES(".speedscope.json"), false, false, NULL },
	{ "firefox", SUFFIXES(".firefox.json"), false, false, NULL },
	{ "chrome", SUFFIXES(".trace.json"), false, false, NULL },
	{ "html", SUFFIXES(".html"), false, false, html__write },
};

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

int out__write(const struct out_format *format, struct profile *profile,
	       const struct out_options *options, FILE *stream)
{
	if (!format->write)
		return -ENOTSUP;
	if (profile__failed(profile))
		return -ENOMEM;
	if (options->type >= profile__type_count(profile))
		return -EINVAL;
	return format->write(profile, options, stream);
}
