/* SPDX-License-Identifier: BSD-2-Clause */
/* Values of options that say what of a profile is shown, and how. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "options_table.h"

#define MAX_LISTED 64

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
