/* SPDX-License-Identifier: BSD-2-Clause */
/* Values of options that say what of a profile is shown, and how. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../out/out.h"
#include "options_table.h"

#define MAX_LISTED	64
#define MIN_INTERVAL_NS 100000000ULL
#define MAX_INTERVAL_NS 3600000000000ULL

int options__add_to_list(struct options_list *list, const char *name, const char *text)
{
	const char **items;

	if (list->count == MAX_LISTED) {
		log__error("more than %d --%s: use a pattern or a path above them all", MAX_LISTED,
			   name);
		return EINVAL;
	}
	items = realloc(list->items, (list->count + 1) * sizeof(*items));
	if (!items)
		return ENOMEM;
	items[list->count++] = text;
	list->items = items;
	return 0;
}

/* "pprof, folded, json, text": all formats. */
static void list_formats(char *text, size_t size)
{
	const struct out_format *format;
	size_t used = 0;

	*text = '\0';
	for (size_t i = 0; (format = out__format(i)) && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
					 format->name);
}

int options__format(struct options *options, const char *text)
{
	const struct out_format *format = out__format_by_name(text);
	char names[128];

	if (format) {
		options->format = text;
		return 0;
	}
	list_formats(names, sizeof(names));
	log__error("unknown format '%s': choose one of %s", text, names);
	return EINVAL;
}

int options__interval(struct options *options, const char *text)
{
	uint64_t interval_ns;

	if (options__time("--interval", text, &interval_ns))
		return EINVAL;
	if (interval_ns < MIN_INTERVAL_NS || interval_ns > MAX_INTERVAL_NS) {
		log__error("bad --interval '%s': give a time from 100ms to 1h", text);
		return EINVAL;
	}
	options->interval_ns = interval_ns;
	return 0;
}

int options__by(struct options *options, const char *text)
{
	if (!*text) {
		log__error("empty --by: give a label, like process, thread, endpoint or state");
		return EINVAL;
	}
	options->by = strcmp(text, "method") ? text : NULL;
	return 0;
}

int options__label_glob(struct options_list *list, const char *name, const char *text)
{
	const char *equals = strchr(text, '=');

	if (!equals || equals == text) {
		log__error("bad --%s '%s': give LABEL=GLOB, like process='puma*'", name, text);
		return EINVAL;
	}
	return options__add_to_list(list, name, text);
}

int options__color(struct options *options, const char *text)
{
	if (!text || !strcmp(text, "always")) {
		options->color = LOG_COLOR_ALWAYS;
	} else if (!strcmp(text, "auto")) {
		options->color = LOG_COLOR_AUTO;
	} else if (!strcmp(text, "never")) {
		options->color = LOG_COLOR_NEVER;
	} else {
		log__error("unknown --color=%s: give auto, always or never", text);
		return EINVAL;
	}
	return 0;
}
