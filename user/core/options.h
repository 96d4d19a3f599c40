/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The command line of every subcommand, parsed from one table: the parser, --help and the test
 * that compares it with the man pages all read the same rows.
 */
#ifndef RBPROF_OPTIONS_H
#define RBPROF_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "log.h"

#define OPTIONS_DEFAULT_HZ   99
#define OPTIONS_MAX_HZ	     10000
#define OPTIONS_MAX_PIDS     4096
#define OPTIONS_DEFAULT_RUNS 10
#define OPTIONS_MAX_RUNS     1000
#define OPTIONS_MAX_WARMUPS  100

enum options_command {
	OPTIONS_RECORD = 0,
	OPTIONS_TOP,
	OPTIONS_DUMP,
	OPTIONS_PS,
	OPTIONS_REPORT,
	OPTIONS_STATE,
	OPTIONS_DOCTOR,
	OPTIONS_DIFF,
	OPTIONS_GATE,
	OPTIONS_COMMAND_COUNT,
};

enum options_stats {
	OPTIONS_STATS_NONE = 0,
	OPTIONS_STATS_TEXT,
	OPTIONS_STATS_JSON,
};

/* What can be given more than once. */
struct options_list {
	const char **items;
	size_t count;
};

/*
 * Strings point into argv, which must outlive the options. What a subcommand does not take has
 * its default.
 */
struct options {
	/*
	 * Target (record, top, dump): exactly one of all, command, or any of the others together.
	 * all is set when none was named, too.
	 */
	bool all;
	pid_t *pids; /* no pid twice, in the order given */
	size_t pid_count;
	struct options_list comms;	/* globs */
	struct options_list cgroups;	/* paths */
	struct options_list containers; /* ids, or their beginnings */
	char **command;			/* argv of COMMAND, ends in NULL; NULL: none */

	uint32_t frequency_hz;
	uint64_t duration_ns; /* 0: until Ctrl-C, or until COMMAND ends */
	const char *output;   /* NULL: not given; "-": stdout */
	const char *format;   /* NULL: by the suffix of output */
	const char *value;    /* --value, NULL: not given */
	uint32_t max_frames;  /* 0: no stacks, only totals */
	bool cpu, wall, gc;   /* what is collected */
	bool no_gc_stack, no_uprobes, timeline;
	bool no_trace, no_endpoint; /* of what tracers say */
	bool no_frame_endpoint;
	bool vm_counters;     /* what VMs have counted is read at their end; gate run */
	uint64_t ring_ns;     /* --ring: only the last so many are kept; 0: all */
	uint64_t interval_ns; /* --interval: of the table; 0: not given */
	enum options_stats stats;

	const char *by;		     /* --by: a label, or "gem"; NULL: methods */
	struct options_list focuses; /* --focus: LABEL=GLOB */
	struct options_list ignores; /* --ignore: LABEL=GLOB */
	bool by_line;		     /* --lines */
	bool normalize;

	/* gate run */
	uint32_t runs, warmups;
	const char *interleave; /* BASE COMMAND; NULL: not given */
	int64_t work;		/* --work; 0: not given */
	/* gate compare, check, baseline: names and texts of settings in the order given */
	struct options_list setting_names, setting_texts;
	struct options_list arguments; /* BASE, HEAD */
	const char *config;	       /* --config; NULL: not given */

	bool json;	  /* --json */
	const char *file; /* report: FILE; diff: BASE */
	const char *head; /* diff: HEAD */
	pid_t pid;	  /* state: PID, 0: not given */

	int verbosity; /* -q: -1; -v: 1, -vv: 2 */
	enum log_color color;
};

/*
 * Parses argv (argv[0] is the subcommand's name) and calls log__setup(). --help and --version
 * print and exit with 0. 0: *ret_options is filled, free it with options__free(). -EINVAL:
 * wrong usage, already said on stderr: exit with CMD_USAGE. -ENOMEM.
 */
int options__parse(enum options_command command, int argc, char **argv,
		   struct options *ret_options);
void options__free(struct options *options);

/* Whether processes are chosen by what they are, not by pid: others may come at any time. */
bool options__selects_by_kind(const struct options *options);

/*
 * Whether the targets select a process that exists on its own (not COMMAND's tree, which the
 * caller follows): all, one of the pids, a glob that fits its comm, its cgroup or one above it,
 * or its container.
 */
bool options__selects(const struct options *options, pid_t pid, const char *comm);

/*
 * "10", "10s", "500ms", "1.5m", "1h30m" to ns. 0; -EINVAL: not a time; -ERANGE: zero, less than
 * a nanosecond, or more than OPTIONS_MAX_DURATION_NS. *ret_ns is untouched on failure.
 */
#define OPTIONS_MAX_DURATION_NS (3650ULL * 86400 * 1000000000)
int options__duration(const char *text, uint64_t *ret_ns);

/* A whole decimal number from minimum to maximum. 0, -EINVAL (not a number) or -ERANGE. */
int options__number(const char *text, uint64_t minimum, uint64_t maximum, uint64_t *ret_value);

/*
 * The default of -o: "rbprof-HOST-YYYYmmddTHHMMSS.pb.gz", local time of realtime_ns. 0, or
 * -ENAMETOOLONG.
 */
int options__default_output(uint64_t realtime_ns, char *text, size_t size);

/* For tests and documents: the rows of a subcommand, in the order of the table. */
struct options_row {
	const char *name;     /* long name, without dashes */
	char letter;	      /* 0: none */
	const char *argument; /* "HZ"; NULL: none */
	bool is_optional;     /* the argument */
	bool is_landed;	      /* false: refused as `not in this version` */
	const char *text;     /* help; NULL where not landed */
};

/* NULL after the last one. */
const struct options_row *options__row(enum options_command command, size_t index);
/* "record"; NULL: no such command. */
const char *options__command_name(enum options_command command);
/* One line about the command, for lists. */
const char *options__command_summary(enum options_command command);

#endif
