/* SPDX-License-Identifier: BSD-2-Clause */
/* The table behind options.h; for options*.c only. */
#ifndef RBPROF_OPTIONS_TABLE_H
#define RBPROF_OPTIONS_TABLE_H

#include "options.h"

/* Rows with a letter have it as their key. */
enum option_key {
	OPTION_KEY_COMM = 0x100,
	OPTION_KEY_CGROUP,
	OPTION_KEY_CONTAINER,
	OPTION_KEY_CPU,
	OPTION_KEY_NO_CPU,
	OPTION_KEY_WALL,
	OPTION_KEY_NO_WALL,
	OPTION_KEY_GC,
	OPTION_KEY_NO_GC,
	OPTION_KEY_NO_GC_STACK,
	OPTION_KEY_NO_FRAME_ENDPOINT,
	OPTION_KEY_NO_UPROBES,
	OPTION_KEY_NO_TRACE,
	OPTION_KEY_NO_ENDPOINT,
	OPTION_KEY_TIMELINE,
	OPTION_KEY_RING,
	OPTION_KEY_MAX_FRAMES,
	OPTION_KEY_INTERVAL,
	OPTION_KEY_VALUE,
	OPTION_KEY_BY,
	OPTION_KEY_FOCUS,
	OPTION_KEY_IGNORE,
	OPTION_KEY_LINES,
	OPTION_KEY_NORMALIZE,
	OPTION_KEY_STATS,
	OPTION_KEY_WARMUP,
	OPTION_KEY_INTERLEAVE,
	OPTION_KEY_WORK,
	OPTION_KEY_CONFIG,
	OPTION_KEY_BASELINE,
	OPTION_KEY_HEAD,
	OPTION_KEY_METRICS,
	OPTION_KEY_LIMIT,
	OPTION_KEY_ALPHA,
	OPTION_KEY_MIN_SHARE,
	OPTION_KEY_JSON,
	OPTION_KEY_COLOR,
	OPTION_KEY_USAGE,
	OPTION_KEY_NOT_YET = 0x200, /* and above: one a row that has not landed */
};

/* Groups of --help, in this order, the negative one last; argp puts help and version there. */
enum option_group {
	OPTION_GROUP_OTHER = -1,
	OPTION_GROUP_NONE = 0,
	OPTION_GROUP_TARGET,
	OPTION_GROUP_RUN,
	OPTION_GROUP_COLLECT,
	OPTION_GROUP_JUDGE,
	OPTION_GROUP_SELECT,
	OPTION_GROUP_OUTPUT,
};

struct option_entry {
	struct options_row row;
	unsigned int commands; /* bits, by enum options_command */
	int key;
	enum option_group group;
};

struct option_command {
	const char *name;
	const char *summary;
	const char *arguments; /* of the usage line; NULL: none */
	const char *text;      /* of --help, above and (after \v) below the options */
};

extern const struct option_entry option_entries[];
extern const size_t option_entry_count;
extern const struct option_command option_commands[OPTIONS_COMMAND_COUNT];

/* options_value.c: the same for an option, which `what` names. 0, or EINVAL after a message. */
int options__time(const char *what, const char *text, uint64_t *ret_ns);
int options__count(const char *what, const char *text, uint32_t minimum, uint32_t maximum,
		   uint32_t *ret_count);

/*
 * options_view.c: 0, or EINVAL after a message, or ENOMEM. name: of the option, without dashes.
 */
int options__add_to_list(struct options_list *list, const char *name, const char *text);
int options__format(struct options *options, const char *text);
int options__interval(struct options *options, const char *text);
int options__by(struct options *options, const char *text);
int options__color(struct options *options, const char *text);
int options__label_glob(struct options_list *list, const char *name, const char *text);

/* options_gate.c: an option of `gate`. 0, EINVAL after a message, ENOMEM, or ARGP_ERR_UNKNOWN. */
int options__gate(struct options *options, int key, const char *text);
/*
 * options_judge.c. Whether a command of `gate` (its argv[0]) takes files as arguments, not a
 * COMMAND. An option of `gate` that judges, which a configuration file may have, too. 0, EINVAL
 * after a message, ENOMEM, or ARGP_ERR_UNKNOWN: it is none.
 */
bool options__judges(enum options_command command, const char *word);
/* The same: whether an option is one of `gate`, but not of this command of it; after a message. */
bool options__refuse(int key, const char *word);
int options__setting(struct options *options, int key, const char *text);

/* Heading of a group in --help; NULL: none. */
const char *option_group__title(enum option_group group);

#endif
