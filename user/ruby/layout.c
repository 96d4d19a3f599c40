/* SPDX-License-Identifier: BSD-2-Clause */
#include "layout.h"

#include <string.h>

#define VERSION_PARTS 3
#define PART_LIMIT    1000

/* Three numbers, each below PART_LIMIT, with nothing around them. */
static int parse_version(const char *version, unsigned int parts[VERSION_PARTS])
{
	for (int i = 0; i < VERSION_PARTS; i++) {
		unsigned int value = 0;
		size_t digits = strspn(version, "0123456789");

		if (!digits || digits > 3)
			return -1;
		for (size_t j = 0; j < digits; j++)
			value = value * 10 + (unsigned int)(version[j] - '0');
		parts[i] = value;
		version += digits;
		if (i < VERSION_PARTS - 1 && *version++ != '.')
			return -1;
	}
	return *version == '\0' ? 0 : -1;
}

static unsigned int as_number(const unsigned int parts[VERSION_PARTS])
{
	return (parts[0] * PART_LIMIT + parts[1]) * PART_LIMIT + parts[2];
}

const struct layout_entry *layout__find(const char *version, int *ret_exact)
{
	const struct layout_entry *newest = NULL;
	unsigned int wanted[VERSION_PARTS], from[VERSION_PARTS], to[VERSION_PARTS];

	if (parse_version(version, wanted))
		return NULL;
	for (size_t i = 0; i < layout_table_count; i++) {
		const struct layout_entry *entry = &layout_table[i];

		if (parse_version(entry->from, from) || parse_version(entry->to, to) ||
		    wanted[0] != from[0] || wanted[1] != from[1])
			continue;
		if (as_number(wanted) >= as_number(from) && as_number(wanted) <= as_number(to)) {
			*ret_exact = 1;
			return entry;
		}
		if (as_number(wanted) > as_number(to))
			newest = entry;
	}
	if (newest)
		*ret_exact = 0;
	return newest;
}
