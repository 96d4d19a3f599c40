/* SPDX-License-Identifier: BSD-2-Clause */
/* Values of options: text to numbers, times and names. */
#include "options_table.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_MS 1000000ULL
#define NS_PER_S  1000000000ULL

static const struct {
	const char *name;
	uint64_t ns;
} units[] = {
	/* Largest first: the order in which 1h30m may name them. */
	{ "d", 86400 * NS_PER_S }, { "h", 3600 * NS_PER_S }, { "m", 60 * NS_PER_S },
	{ "s", NS_PER_S },	   { "ms", NS_PER_MS },
};

#define UNIT_COUNT  (sizeof(units) / sizeof(units[0]))
#define UNIT_SECOND 3

int options__number(const char *text, uint64_t minimum, uint64_t maximum, uint64_t *ret_value)
{
	char *end;
	uint64_t value;

	/* strtoull() would take a sign or leading space. */
	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (*end)
		return -EINVAL;
	if (errno || value < minimum || value > maximum)
		return -ERANGE;
	*ret_value = value;
	return 0;
}

/* Index of the unit that text starts with, by all its letters; UNIT_COUNT: none. */
static size_t find_unit(const char *text, size_t length)
{
	for (size_t i = 0; i < UNIT_COUNT; i++)
		if (strlen(units[i].name) == length && !strncmp(units[i].name, text, length))
			return i;
	return UNIT_COUNT;
}

/*
 * One `1.5m` at *text, which moves behind it. *unit is that of the part before, or -1, and becomes
 * this one's. 0, -EINVAL or -ERANGE.
 */
static int duration_part(const char **text, int *unit, uint64_t *ret_ns)
{
	const char *whole = *text, *fraction = NULL, *at = whole;
	uint64_t ns, scale;
	size_t index, length = 0;
	uint64_t count;
	char *end;

	if (!isdigit((unsigned char)*at))
		return -EINVAL;
	errno = 0;
	count = strtoull(whole, &end, 10);
	if (errno)
		return -ERANGE;
	at = end;
	if (*at == '.') {
		fraction = ++at;
		if (!isdigit((unsigned char)*at))
			return -EINVAL;
		while (isdigit((unsigned char)*at))
			at++;
	}
	while (isalpha((unsigned char)at[length]))
		length++;
	if (!length && !*at && *unit < 0)
		index = UNIT_SECOND; /* a plain number */
	else
		index = find_unit(at, length);
	if (index == UNIT_COUNT || (int)index <= *unit)
		return -EINVAL;

	if (count > OPTIONS_MAX_DURATION_NS / units[index].ns)
		return -ERANGE;
	ns = count * units[index].ns;
	scale = units[index].ns;
	for (; fraction && isdigit((unsigned char)*fraction); fraction++) {
		scale /= 10;
		ns += scale * (uint64_t)(*fraction - '0');
	}
	*text = at + length;
	*unit = (int)index;
	*ret_ns = ns;
	return 0;
}

int options__duration(const char *text, uint64_t *ret_ns)
{
	uint64_t total = 0;
	int unit = -1;

	do {
		uint64_t part;
		int error = duration_part(&text, &unit, &part);

		if (error)
			return error;
		total += part;
		if (total > OPTIONS_MAX_DURATION_NS)
			return -ERANGE;
	} while (*text);
	if (!total)
		return -ERANGE;
	*ret_ns = total;
	return 0;
}

int options__count(const char *what, const char *text, uint32_t minimum, uint32_t maximum,
		   uint32_t *ret_count)
{
	uint64_t count;

	if (options__number(text, minimum, maximum, &count)) {
		log__error("bad %s '%s': give a whole number from %u to %u", what, text, minimum,
			   maximum);
		return EINVAL;
	}
	*ret_count = (uint32_t)count;
	return 0;
}

int options__time(const char *what, const char *text, uint64_t *ret_ns)
{
	int error = options__duration(text, ret_ns);

	if (error == -ERANGE)
		log__error("bad %s '%s': must be more than zero and at most 10 years", what, text);
	else if (error)
		log__error("bad %s '%s': give a time like 10, 10s, 500ms, 5m or 1h30m", what, text);
	return error ? EINVAL : 0;
}

int options__default_output(uint64_t realtime_ns, char *text, size_t size)
{
	time_t seconds = (time_t)(realtime_ns / NS_PER_S);
	char host[65] = "", stamp[32];
	struct tm tm;
	int length;

	if (gethostname(host, sizeof(host) - 1) || !*host)
		snprintf(host, sizeof(host), "localhost");
	for (char *at = host; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("-_.", *at))
			*at = '_';
	if (!localtime_r(&seconds, &tm) || !strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%S", &tm))
		return -EOVERFLOW;
	length = snprintf(text, size, "rbprof-%s-%s.pb.gz", host, stamp);
	return length < 0 || (size_t)length >= size ? -ENAMETOOLONG : 0;
}
