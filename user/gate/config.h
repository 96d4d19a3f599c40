/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a gate looks at and how much it allows: of flags, of the environment, of .rbprof.yml, in
 * this order of precedence.
 */
#ifndef RBPROF_GATE_CONFIG_H
#define RBPROF_GATE_CONFIG_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

#define GATE_CONFIG_FILE ".rbprof.yml"	/* where to look unless told */
#define GATE_CONFIG_RUNS ".rbprof-runs" /* where check puts runs unless told */

enum gate_metric {
	GATE_CPU = 0,
	GATE_WALL,
	GATE_GC,	/* CPU time of the collector */
	GATE_GC_COUNT,	/* its collections */
	GATE_ALLOCATED, /* objects */
	GATE_FUNCTIONS, /* CPU time of each function */
	GATE_METRIC_COUNT,
};

/* "cpu", "gc-count" ... */
const char *gate_metric__name(enum gate_metric metric);

/* Of functions whose name fits a pattern: another limit, or none. */
struct gate_rule {
	char *pattern; /* POSIX extended, as written */
	regex_t regex;
	double limit; /* share; of a rule that ignores: 0 */
	char *reason; /* why it is ignored; NULL: it is not */
	char *until;  /* "2026-12-31", the last day; NULL: for ever */
	int line;     /* in the file */
};

/* Settings of `gate run`, by the names of its flags. */
enum gate_run_option {
	GATE_OPTION_RUNS = 0,
	GATE_OPTION_WARMUP,
	GATE_OPTION_INTERLEAVE,
	GATE_OPTION_WORK,
	GATE_OPTION_FREQUENCY,
	GATE_RUN_OPTIONS,
};

/* "runs" ... */
const char *gate_run_option__name(enum gate_run_option option);

struct gate_config {
	double alpha;	  /* probability of a false alarm, of all tests together */
	double limit;	  /* growth that is allowed, a share: 0.05; less is no regression */
	double min_share; /* functions below this share of CPU on both sides are not looked at */
	double limits[GATE_METRIC_COUNT]; /* of a metric; negative: `limit`, or its own rule */
	bool has_metric[GATE_METRIC_COUNT];
	bool are_metrics_given; /* by somebody: what cannot be measured then is no pass */
	struct gate_rule *rules;
	size_t rule_count;
	char *baseline, *head; /* NULL: not given */
	char *format, *output;
	/* What `check` runs before it judges, as `gate run` does; NULL: not given. */
	char **command; /* ends in NULL */
	size_t command_count;
	char *run_options[GATE_RUN_OPTIONS]; /* texts that gate run takes */
};

void gate_config__init(struct gate_config *config);
void gate_config__free(struct gate_config *config);

/*
 * One setting by its key (a flag's name), as text. 0; -ENOENT: no such key; -EINVAL, and ret_why
 * says what is wrong: lower case, no full stop; -ENOMEM.
 */
#define GATE_CONFIG_WHY 192
int gate_config__set(struct gate_config *config, const char *key, const char *text,
		     char ret_why[static GATE_CONFIG_WHY]);

/*
 * All that a file says. today: "2026-01-31", against which rules expire. CMD_DONE, CMD_USAGE or
 * CMD_FILE, and what is wrong has been said with file and line.
 */
int gate_config__read(struct gate_config *config, const char *path, const char *today);

/* RBPROF_LIMIT and the like. CMD_DONE or CMD_USAGE. */
int gate_config__environment(struct gate_config *config);

/* The first rule that a function's name fits; NULL: none. */
const struct gate_rule *gate_config__rule(const struct gate_config *config, const char *name);

#endif
