/* SPDX-License-Identifier: BSD-2-Clause */
/* Values of options of `gate run`. */
#include <argp.h>
#include <errno.h>

#include "options_table.h"

static int parse_count(const char *what, const char *text, uint32_t minimum, uint32_t maximum,
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

static int parse_work(struct options *options, const char *text)
{
	uint64_t work;

	if (options__number(text, 1, INT64_MAX, &work)) {
		log__error("bad --work '%s': give a whole number of units above 0", text);
		return EINVAL;
	}
	options->work = (int64_t)work;
	return 0;
}

int options__gate(struct options *options, int key, const char *text)
{
	switch (key) {
	case 'n':
		return parse_count("number of runs", text, 1, OPTIONS_MAX_RUNS, &options->runs);
	case OPTION_KEY_WARMUP:
		return parse_count("--warmup", text, 0, OPTIONS_MAX_WARMUPS, &options->warmups);
	case OPTION_KEY_INTERLEAVE:
		options->interleave = text;
		return 0;
	case OPTION_KEY_WORK:
		return parse_work(options, text);
	default:
		return options__setting(options, key, text);
	}
}
