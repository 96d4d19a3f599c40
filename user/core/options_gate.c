/* SPDX-License-Identifier: BSD-2-Clause */
/* Values of options of `gate run`. */
#include <argp.h>
#include <errno.h>

#include "options_table.h"

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
		return options__count("number of runs", text, 1, OPTIONS_MAX_RUNS, &options->runs);
	case OPTION_KEY_WARMUP:
		return options__count("--warmup", text, 0, OPTIONS_MAX_WARMUPS, &options->warmups);
	case OPTION_KEY_INTERLEAVE:
		options->interleave = text;
		return 0;
	case OPTION_KEY_WORK:
		return parse_work(options, text);
	default:
		return options__setting(options, key, text);
	}
}
