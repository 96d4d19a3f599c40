/* SPDX-License-Identifier: BSD-2-Clause */
#include "options_table.h"

#include "../../include/rbprof_abi.h"

#define RECORD (1u << OPTIONS_RECORD)
#define TOP    (1u << OPTIONS_TOP)
#define DUMP   (1u << OPTIONS_DUMP)
#define PS     (1u << OPTIONS_PS)
#define REPORT (1u << OPTIONS_REPORT)
#define STATE  (1u << OPTIONS_STATE)
#define DOCTOR (1u << OPTIONS_DOCTOR)
#define DIFF   (1u << OPTIONS_DIFF)
#define GATE   (1u << OPTIONS_GATE)
#define EVERY  (RECORD | TOP | DUMP | PS | REPORT | STATE | DOCTOR | DIFF | GATE)

#define TEXT_OF(number)	 #number
#define NUMBER(constant) TEXT_OF(constant)

/* A switch, an option with an argument, one whose argument may be left out. */
#define SWITCH(commands, group, letter, key, name, text) \
	{ { name, letter, NULL, false, true, text }, commands, key, OPTION_GROUP_##group }
#define OPTION(commands, group, letter, key, name, argument, text) \
	{ { name, letter, argument, false, true, text }, commands, key, OPTION_GROUP_##group }
#define OPTIONAL(commands, group, letter, key, name, argument, text) \
	{ { name, letter, argument, true, true, text }, commands, key, OPTION_GROUP_##group }
/* Known, refused. Its argument may be left out, so that the refusal comes first. */
#define NOT_YET(commands, name)                       \
	{ { name, 0, "ARGUMENT", true, false, NULL }, \
	  commands,                                   \
	  OPTION_KEY_NOT_YET,                         \
	  OPTION_GROUP_NONE }

/* clang-format off */
const struct option_entry option_entries[] = {
	SWITCH(RECORD | TOP | DUMP, TARGET, 'a', 'a', "all",
	       "every Ruby process of the host, those that start later too (default)"),
	OPTION(RECORD | TOP | DUMP, TARGET, 'p', 'p', "pid", "PID[,PID...]",
	       "these processes; can be given more than once"),
	OPTION(RECORD | TOP | DUMP, TARGET, 0, OPTION_KEY_COMM, "comm", "GLOB",
	       "processes whose name (comm) fits the pattern; can be given more than once"),
	OPTION(RECORD | TOP | DUMP, TARGET, 0, OPTION_KEY_CGROUP, "cgroup", "PATH",
	       "processes in this cgroup or below it; can be given more than once"),
	OPTION(RECORD | TOP | DUMP, TARGET, 0, OPTION_KEY_CONTAINER, "container", "ID",
	       "processes of this container; the beginning of its id is enough"),

	OPTION(GATE, RUN, 'n', 'n', "runs", "RUNS",
	       "runs that are kept (of each command), 1 to " NUMBER(OPTIONS_MAX_RUNS) " (default "
	       NUMBER(OPTIONS_DEFAULT_RUNS) ")"),
	OPTION(GATE, RUN, 0, OPTION_KEY_WARMUP, "warmup", "K",
	       "runs before these that are not kept, 0 to " NUMBER(OPTIONS_MAX_WARMUPS)
	       " (default 1)"),
	OPTION(GATE, RUN, 0, OPTION_KEY_INTERLEAVE, "interleave", "BASE",
	       "run this command, too, in pairs with COMMAND: what changes on the machine "
	       "meanwhile is the same for both"),
	OPTION(GATE, RUN, 0, OPTION_KEY_WORK, "work", "N",
	       "units of work that each run does (default: what COMMAND writes into the file that "
	       "RBPROF_WORK names)"),

	OPTION(RECORD | TOP | GATE, COLLECT, 'F', 'F', "frequency", "HZ",
	       "samples a second on each CPU, 1 to " NUMBER(OPTIONS_MAX_HZ) " (default "
	       NUMBER(OPTIONS_DEFAULT_HZ) ")"),
	OPTION(RECORD | TOP, COLLECT, 'd', 'd', "duration", "TIME",
	       "for how long: 10, 10s, 500ms, 5m, 1h30m (default until Ctrl-C, or until COMMAND "
	       "ends)"),
	SWITCH(RECORD, COLLECT, 0, OPTION_KEY_CPU, "cpu", "CPU time (on by default)"),
	SWITCH(RECORD, COLLECT, 0, OPTION_KEY_NO_CPU, "no-cpu", "no CPU time"),
	SWITCH(RECORD, COLLECT, 0, OPTION_KEY_WALL, "wall",
	       "time of every thread, running or waiting, with its state (on by default)"),
	SWITCH(RECORD | GATE, COLLECT, 0, OPTION_KEY_NO_WALL, "no-wall", "running threads only"),
	SWITCH(RECORD, COLLECT, 0, OPTION_KEY_GC, "gc",
	       "garbage collection on its own (on by default)"),
	SWITCH(RECORD, COLLECT, 0, OPTION_KEY_NO_GC, "no-gc",
	       "leave its CPU time in the threads' samples"),
	SWITCH(RECORD, COLLECT, 0, OPTION_KEY_NO_GC_STACK, "no-gc-stack",
	       "without the stack that set the collection off"),
	SWITCH(RECORD | TOP | GATE, COLLECT, 0, OPTION_KEY_NO_UPROBES, "no-uprobes",
	       "put no probe into any process: garbage collection by the VM's clock, or sampled"),
	SWITCH(RECORD, COLLECT, 0, OPTION_KEY_NO_FRAME_ENDPOINT, "no-frame-endpoint",
	       "do not tell endpoints (action, job, route) from the stacks' frames"),
	SWITCH(RECORD, COLLECT, 0, OPTION_KEY_NO_TRACE, "no-trace",
	       "nothing of tracers: no ids of spans, no endpoints from them"),
	SWITCH(RECORD, COLLECT, 0, OPTION_KEY_NO_ENDPOINT, "no-endpoint",
	       "no endpoints, neither from tracers nor from frames"),
	SWITCH(RECORD, COLLECT, 0, OPTION_KEY_TIMELINE, "timeline",
	       "each sample on its own, with its time (end_timestamp_ns)"),
	OPTION(RECORD, COLLECT, 0, OPTION_KEY_RING, "ring", "TIME",
	       "keep only the last TIME, in bounded memory: written on SIGUSR1 and at the end"),
	OPTION(RECORD | GATE, COLLECT, 0, OPTION_KEY_MAX_FRAMES, "max-frames", "N",
	       "frames kept of a stack, 0 to " NUMBER(RBPROF_MAX_FRAMES) " (default "
	       NUMBER(RBPROF_DEFAULT_FRAMES) "); of a deeper one the root-most "
	       NUMBER(RBPROF_ROOT_FRAMES) " and the innermost; 0: no stacks, only totals"),

	OPTION(RECORD, OUTPUT, 'o', 'o', "output", "FILE",
	       "where to write the profile, - for stdout (default "
	       "rbprof-HOST-YYYYmmddTHHMMSS.pb.gz)"),
	OPTION(RECORD, OUTPUT, 'f', 'f', "format", "FORMAT",
	       "pprof, folded, speedscope, firefox, chrome, html, json or text (default by the "
	       "suffix of FILE: .pb.gz .pb .folded .speedscope.json .firefox.json .trace.json "
	       ".html .json .txt, else pprof)"),
	OPTION(REPORT, OUTPUT, 'o', 'o', "output", "FILE", "where to write (default stdout)"),
	OPTION(REPORT, OUTPUT, 'f', 'f', "format", "FORMAT",
	       "pprof, folded, speedscope, firefox, chrome, html, json or text (default by the "
	       "suffix of -o's FILE: .pb.gz .pb .folded .speedscope.json .firefox.json "
	       ".trace.json .html .json .txt, else text)"),
	OPTION(DIFF, OUTPUT, 'o', 'o', "output", "FILE", "where to write (default stdout)"),
	OPTION(DIFF, OUTPUT, 'f', 'f', "format", "FORMAT",
	       "text, json, html or folded (stack, value before and after; for difffolded tools); "
	       "default by the suffix of -o's FILE: .txt .json .html .folded, else text"),
	OPTION(GATE, JUDGE, 0, OPTION_KEY_CONFIG, "config", "FILE",
	       "settings and rules (default .rbprof.yml, if it is there)"),
	OPTION(GATE, JUDGE, 0, OPTION_KEY_BASELINE, "baseline", "FILE",
	       "what check compares with and baseline update writes (default "
	       ".rbprof-baseline.json.gz)"),
	OPTION(GATE, JUDGE, 0, OPTION_KEY_HEAD, "head", "DIR", "the runs that check judges"),
	OPTION(GATE, JUDGE, 0, OPTION_KEY_METRICS, "metrics", "LIST",
	       "what is judged, of cpu, wall, gc, gc-count, allocated and functions (default "
	       "cpu,gc-count,allocated,functions)"),
	OPTION(GATE, JUDGE, 0, OPTION_KEY_LIMIT, "limit", "PERCENT",
	       "growth of a time that is no regression, however certain (default 5%)"),
	OPTION(GATE, JUDGE, 0, OPTION_KEY_ALPHA, "alpha", "P",
	       "probability of a false alarm, of all tests of times together (default 0.01)"),
	OPTION(GATE, JUDGE, 0, OPTION_KEY_MIN_SHARE, "min-share", "PERCENT",
	       "functions below this share of the CPU of all runs are not looked at "
	       "(default 1%)"),
	OPTION(GATE, OUTPUT, 'o', 'o', "output", "PATH",
	       "run: a new or empty folder; else where to write (default stdout)"),
	OPTION(GATE, OUTPUT, 'f', 'f', "format", "REPORT",
	       "text, markdown, junit, sarif, github, json or html (default by the suffix of -o's "
	       "FILE: .txt .md .xml .sarif .json .html, else text)"),
	OPTION(REPORT | DIFF, SELECT, 0, OPTION_KEY_FOCUS, "focus", "LABEL=GLOB",
	       "only samples whose label fits the pattern: thread, endpoint, state, process, "
	       "container, or any label of the file; can be given more than once"),
	OPTION(REPORT | DIFF, SELECT, 0, OPTION_KEY_IGNORE, "ignore", "LABEL=GLOB",
	       "without samples whose label fits; can be given more than once"),
	OPTION(REPORT | DIFF, SELECT, 0, OPTION_KEY_BY, "by", "LABEL",
	       "sums by a label, or by gem, instead of by method"),
	SWITCH(REPORT | DIFF, SELECT, 0, OPTION_KEY_LINES, "lines",
	       "sums by method and line"),
	SWITCH(DIFF, SELECT, 0, OPTION_KEY_NORMALIZE, "normalize",
	       "scale HEAD to the total of BASE: compares shares, not amounts"),
	OPTION(RECORD | REPORT | DIFF, OUTPUT, 0, OPTION_KEY_VALUE, "value", "TYPE",
	       "sample type for formats with one value: cpu-time (default), cpu-samples, "
	       "wall-time or timeline"),
	OPTION(TOP, OUTPUT, 0, OPTION_KEY_VALUE, "value", "TYPE",
	       "what is shown first: cpu-time (default), cpu-samples, wall-time or timeline, "
	       "which is garbage collection"),
	OPTION(TOP, OUTPUT, 0, OPTION_KEY_BY, "by", "LABEL",
	       "a row for each value of a label: process, thread, endpoint, state or any other "
	       "(default: method)"),
	OPTION(TOP, OUTPUT, 0, OPTION_KEY_FOCUS, "focus", "LABEL=GLOB",
	       "only what has such a label; can be given more than once"),
	OPTION(TOP, OUTPUT, 0, OPTION_KEY_IGNORE, "ignore", "LABEL=GLOB",
	       "leave out what has such a label; can be given more than once"),
	SWITCH(TOP, OUTPUT, 0, OPTION_KEY_LINES, "lines", "a row for each line of a method"),
	OPTION(TOP, OUTPUT, 0, OPTION_KEY_INTERVAL, "interval", "TIME",
	       "from one table to the next, 100ms to 1h (default 1s)"),
	OPTIONAL(RECORD, OUTPUT, 0, OPTION_KEY_STATS, "stats", "json",
		 "at the end print the balance sheet and every counter; =json: as one JSON object "
		 "on stderr"),
	SWITCH(DUMP | PS | STATE | DOCTOR, OUTPUT, 0, OPTION_KEY_JSON, "json",
	       "print JSON instead of text"),

	SWITCH(EVERY, OUTPUT, 'q', 'q', "quiet", "say nothing but errors and warnings"),
	SWITCH(EVERY, OUTPUT, 'v', 'v', "verbose", "say more"),
	OPTIONAL(EVERY, OUTPUT, 0, OPTION_KEY_COLOR, "color", "WHEN",
		 "auto (default: on a terminal, unless NO_COLOR is set), always or never"),

	SWITCH(EVERY, OTHER, 'h', 'h', "help", "print this list"),
	SWITCH(EVERY, OTHER, 0, OPTION_KEY_USAGE, "usage", "print a short usage message"),
	SWITCH(EVERY, OTHER, 'V', 'V', "version", "print the version"),

	NOT_YET(RECORD, "alloc"),
	NOT_YET(RECORD, "no-alloc"),
	NOT_YET(RECORD, "no-alloc-class"),
	NOT_YET(RECORD, "heap"),
	NOT_YET(RECORD, "no-heap"),
	NOT_YET(RECORD, "native"),
	NOT_YET(RECORD, "kernel"),
};
/* clang-format on */

const size_t option_entry_count = sizeof(option_entries) / sizeof(option_entries[0]);

const struct option_command option_commands[OPTIONS_COMMAND_COUNT] = {
	[OPTIONS_RECORD] = {
		"record", "profile Ruby processes and write a file", "[-- COMMAND ARGS...]",
		"Profile Ruby processes and write the profile to a file.\v"
		"COMMAND is started, under sudo as the user who called it, and profiled with its "
		"descendants; the exit status is then its own. The first Ctrl-C writes the "
		"profile, a second one aborts.",
	},
	[OPTIONS_TOP] = {
		"top", "watch which methods use the time", "[-- COMMAND ARGS...]",
		"Watch which methods use the time, now. Keys: h tells them, q ends.\v"
		"Where the output is no terminal, a table is printed every second. COMMAND is "
		"started as by record.",
	},
	[OPTIONS_DUMP] = {
		"dump", "print every thread's stack, once", NULL,
		"Print the stack of every thread, running or asleep, once.",
	},
	[OPTIONS_PS] = {
		"ps", "list Ruby processes and how they are read", NULL,
		"List the Ruby processes of the host: pid, version, how it is read, or why not.",
	},
	[OPTIONS_REPORT] = {
		"report", "print or convert a saved profile", "FILE",
		"Print the methods of a saved profile by the CPU they used, or convert it.",
	},
	[OPTIONS_STATE] = {
		"state", "show the inner state of a running record", "[PID]",
		"Show the inner state of a running record: options, processes, threads and all "
		"counters.\v"
		"PID is that of the record; without it the only one running.",
	},
	[OPTIONS_DOCTOR] = {
		"doctor", "tell whether this host can be profiled", NULL,
		"Tell whether this host can be profiled, and if not what is missing.",
	},
	[OPTIONS_DIFF] = {
		"diff", "tell what changed between two profiles", "BASE HEAD",
		"Tell what changed between two saved profiles, by method, largest change first.",
	},
	[OPTIONS_GATE] = {
		"gate", "keep slower code from shipping",
		"run -o DIR -- COMMAND ARGS...\ncompare BASE HEAD\ncheck [HEAD]\nbaseline update [RUNS]",
		"Run a command several times, and judge whether runs cost more than others: a gate "
		"for CI.\v"
		"COMMAND is started as by record, its output shown only if it fails, or with -v. "
		"BASE, HEAD and RUNS are folders of runs, or baselines. Exit status 1: a "
		"regression; 3: a run failed; 4: the runs cannot tell.",
	},
};

const char *option_group__title(enum option_group group)
{
	switch (group) {
	case OPTION_GROUP_TARGET:
		return "Target:";
	case OPTION_GROUP_RUN:
		return "Run:";
	case OPTION_GROUP_COLLECT:
		return "Collect:";
	case OPTION_GROUP_JUDGE:
		return "Judge:";
	case OPTION_GROUP_SELECT:
		return "Select:";
	case OPTION_GROUP_OUTPUT:
		return "Output:";
	default:
		return NULL;
	}
}
