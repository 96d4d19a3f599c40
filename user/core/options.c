/* SPDX-License-Identifier: BSD-2-Clause */
#include "options.h"

#include <argp.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../include/rbprof_abi.h"
#include "../cmd.h"
#include "../discover/container.h"
#include "options_table.h"
#include "version.h"

#define PROGRAM	      "rbprof-bpf"
#define MIN_CONTAINER 6

struct parse {
	enum options_command command;
	struct options *options;
	char **argv;
	const char *word; /* argv[0] */
	bool is_said;	  /* what is wrong */
};

/* ---- values ---- */

static int parse_pid(const char *text, pid_t *ret_pid)
{
	uint64_t pid;

	if (options__number(text, 1, INT_MAX, &pid)) {
		log__error("bad pid '%s': give the number of a process, see " PROGRAM " ps", text);
		return EINVAL;
	}
	*ret_pid = (pid_t)pid;
	return 0;
}

static int add_pid(struct options *options, pid_t pid)
{
	pid_t *pids;

	for (size_t i = 0; i < options->pid_count; i++)
		if (options->pids[i] == pid)
			return 0;
	if (options->pid_count == OPTIONS_MAX_PIDS) {
		log__error("more than %d pids: leave -p away to profile every process",
			   OPTIONS_MAX_PIDS);
		return EINVAL;
	}
	pids = realloc(options->pids, (options->pid_count + 1) * sizeof(*pids));
	if (!pids)
		return ENOMEM;
	pids[options->pid_count++] = pid;
	options->pids = pids;
	return 0;
}

static int parse_pids(struct options *options, const char *text)
{
	char *copy = strdup(text), *rest = copy, *item;
	int error = copy ? 0 : ENOMEM;
	pid_t pid;

	while (!error && (item = strsep(&rest, ","))) {
		error = parse_pid(item, &pid);
		if (!error)
			error = add_pid(options, pid);
	}
	free(copy);
	return error;
}

static int parse_comm(struct options *options, const char *text)
{
	if (!*text) {
		log__error("empty --comm: give the name of a process, or a pattern like 'puma*'");
		return EINVAL;
	}
	if (!strpbrk(text, "*?[\\") && strlen(text) >= RBPROF_COMM_LEN)
		log__warn("--comm '%s' never fits: the kernel keeps %d bytes of a name", text,
			  RBPROF_COMM_LEN - 1);
	return options__add_to_list(&options->comms, "comm", text);
}

static int parse_cgroup(struct options *options, const char *text)
{
	if (*text != '/' || !text[1]) {
		log__error("--cgroup '%s' is no path of a cgroup: give one like "
			   "/system.slice/puma.service",
			   text);
		return EINVAL;
	}
	return options__add_to_list(&options->cgroups, "cgroup", text);
}

static int parse_container(struct options *options, const char *text)
{
	if (strlen(text) < MIN_CONTAINER || strchr(text, '/')) {
		log__error("--container '%s' is no container id: give at least its first %d "
			   "characters",
			   text, MIN_CONTAINER);
		return EINVAL;
	}
	return options__add_to_list(&options->containers, "container", text);
}

static int parse_value(struct parse *parse, const char *text)
{
	static const char *const landed[] = { "cpu-time", "cpu-samples", "wall-time", "timeline" };
	static const char *const later[] = { "alloc-samples", "heap-live-samples",
					     "heap-live-size" };

	parse->options->value = text;
	/* A saved profile may have any type: report and diff look for it there. */
	if ((parse->command == OPTIONS_REPORT || parse->command == OPTIONS_DIFF) && *text)
		return 0;
	for (size_t i = 0; i < sizeof(landed) / sizeof(landed[0]); i++)
		if (!strcmp(landed[i], text))
			return 0;
	for (size_t i = 0; i < sizeof(later) / sizeof(later[0]); i++) {
		if (strcmp(later[i], text))
			continue;
		log__error("--value %s: not in this version", text);
		return EINVAL;
	}
	log__error("unknown sample type '%s': give cpu-time, cpu-samples, wall-time or timeline",
		   text);
	return EINVAL;
}

static int parse_output(struct options *options, const char *text)
{
	if (!*text) {
		log__error("empty file name for -o: give a path, or - for stdout");
		return EINVAL;
	}
	options->output = text;
	return 0;
}

static int parse_stats(struct options *options, const char *text)
{
	if (text && strcmp(text, "json")) {
		log__error("unknown --stats=%s: give --stats or --stats=json", text);
		return EINVAL;
	}
	options->stats = text ? OPTIONS_STATS_JSON : OPTIONS_STATS_TEXT;
	return 0;
}

/* ---- arguments that are not options ---- */

static int parse_argument(struct parse *parse, char *text, struct argp_state *state)
{
	struct options *options = parse->options;
	const char *command = option_commands[parse->command].name;
	uint64_t number;

	if (options__judges(parse->command, parse->word))
		return options__add_to_list(&options->arguments, "argument", text);
	switch (parse->command) {
	case OPTIONS_RECORD:
	case OPTIONS_TOP:
	case OPTIONS_GATE:
		/* Everything from here on is COMMAND's own. */
		options->command = &parse->argv[state->next - 1];
		state->next = state->argc;
		return 0;
	case OPTIONS_REPORT:
		if (options->file) {
			log__error("more than one file: '%s' and '%s'", options->file, text);
			return EINVAL;
		}
		options->file = text;
		return 0;
	case OPTIONS_DIFF:
		if (options->head) {
			log__error("more than two files: '%s', '%s' and '%s'", options->file,
				   options->head, text);
			return EINVAL;
		}
		*(options->file ? &options->head : &options->file) = text;
		return 0;
	case OPTIONS_STATE:
		if (options->pid) {
			log__error("more than one pid: %d and '%s'", options->pid, text);
			return EINVAL;
		}
		return parse_pid(text, &options->pid);
	default:
		if (parse->command == OPTIONS_DUMP && !options__number(text, 1, INT_MAX, &number))
			log__error("%s takes no argument '%s': give a process as -p %s", command,
				   text, text);
		else
			log__error("%s takes no argument '%s'", command, text);
		return EINVAL;
	}
}

static bool takes_command(enum options_command command)
{
	return command == OPTIONS_RECORD || command == OPTIONS_TOP || command == OPTIONS_GATE;
}

static int check_end(struct parse *parse, const struct argp_state *state)
{
	struct options *options = parse->options;
	bool has_others = options->pid_count || options->comms.count || options->cgroups.count ||
			  options->containers.count;

	if (parse->command == OPTIONS_REPORT && !options->file) {
		log__error("no file given: " PROGRAM " report FILE, as record has written it");
		return EINVAL;
	}
	if (parse->command == OPTIONS_DIFF && !options->head) {
		log__error("%s: " PROGRAM " diff BASE HEAD, as record has written them",
			   options->file ? "one file is no comparison" : "no files given");
		return EINVAL;
	}
	if (state->quoted && !options->command && takes_command(parse->command)) {
		log__error("no COMMAND after --");
		return EINVAL;
	}
	if (options->all && has_others) {
		log__error("-a is every Ruby process: it goes with no other target");
		return EINVAL;
	}
	if (options->command && (options->all || has_others)) {
		log__error("COMMAND '%s' is the target: it goes with no other one",
			   options->command[0]);
		return EINVAL;
	}
	if (!options->command && !has_others)
		options->all = true;
	return 0;
}

/* ---- argp ---- */

static int parse_option(int key, char *text, struct argp_state *state)
{
	struct parse *parse = state->input;
	struct options *options = parse->options;

	if (parse->command == OPTIONS_GATE && options__refuse(key, parse->word))
		return EINVAL;

	switch (key) {
	case 'a':
		options->all = true;
		return 0;
	case 'p':
		return parse_pids(options, text);
	case OPTION_KEY_COMM:
		return parse_comm(options, text);
	case OPTION_KEY_CGROUP:
		return parse_cgroup(options, text);
	case OPTION_KEY_CONTAINER:
		return parse_container(options, text);
	case 'F':
		return options__count("frequency", text, 1, OPTIONS_MAX_HZ, &options->frequency_hz);
	case 'd':
		return options__time("duration", text, &options->duration_ns);
	case OPTION_KEY_RING:
		return options__time("--ring", text, &options->ring_ns);
	case OPTION_KEY_CPU:
	case OPTION_KEY_NO_CPU:
		options->cpu = key == OPTION_KEY_CPU;
		return 0;
	case OPTION_KEY_WALL:
	case OPTION_KEY_NO_WALL:
		options->wall = key == OPTION_KEY_WALL;
		return 0;
	case OPTION_KEY_GC:
	case OPTION_KEY_NO_GC:
		options->gc = key == OPTION_KEY_GC;
		return 0;
	case OPTION_KEY_NO_GC_STACK:
		options->no_gc_stack = true;
		return 0;
	case OPTION_KEY_NO_UPROBES:
		options->no_uprobes = true;
		return 0;
	case OPTION_KEY_NO_FRAME_ENDPOINT:
		options->no_frame_endpoint = true;
		return 0;
	case OPTION_KEY_NO_TRACE:
		options->no_trace = true;
		return 0;
	case OPTION_KEY_NO_ENDPOINT:
		options->no_endpoint = true;
		options->no_frame_endpoint = true;
		return 0;
	case OPTION_KEY_TIMELINE:
		options->timeline = true;
		return 0;
	case OPTION_KEY_MAX_FRAMES:
		return options__count("--max-frames", text, 0, RBPROF_MAX_FRAMES,
				      &options->max_frames);
	case 'o':
		return parse_output(options, text);
	case 'f':
		return parse->command == OPTIONS_GATE ? options__setting(options, key, text)
						      : options__format(options, text);
	case OPTION_KEY_VALUE:
		return parse_value(parse, text);
	case OPTION_KEY_BY:
		return options__by(options, text);
	case OPTION_KEY_FOCUS:
		return options__label_glob(&options->focuses, "focus", text);
	case OPTION_KEY_IGNORE:
		return options__label_glob(&options->ignores, "ignore", text);
	case OPTION_KEY_LINES:
		options->by_line = true;
		return 0;
	case OPTION_KEY_NORMALIZE:
		options->normalize = true;
		return 0;
	case OPTION_KEY_INTERVAL:
		return options__interval(options, text);
	case OPTION_KEY_STATS:
		return parse_stats(options, text);
	case OPTION_KEY_JSON:
		options->json = true;
		return 0;
	case 'q':
		options->verbosity = -1;
		return 0;
	case 'v':
		options->verbosity = options->verbosity < 0 ? 1 : options->verbosity + 1;
		return 0;
	case OPTION_KEY_COLOR:
		return options__color(options, text);
	default:
		return options__gate(options, key, text);
	}
}

/* Under the full name, which argp does not know. */
static _Noreturn void print_help(struct argp_state *state, unsigned int flags)
{
	const struct parse *parse = state->input;
	char name[32];

	snprintf(name, sizeof(name), PROGRAM " %s", option_commands[parse->command].name);
	state->name = name;
	argp_state_help(state, stdout, flags);
	exit(CMD_DONE);
}

static int parse_known(int key, char *text, struct argp_state *state)
{
	struct parse *parse = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		return parse_argument(parse, text, state);
	case ARGP_KEY_END:
		return check_end(parse, state);
	case 'h':
		print_help(state, ARGP_HELP_STD_HELP);
	case OPTION_KEY_USAGE:
		print_help(state, ARGP_HELP_USAGE | ARGP_HELP_EXIT_OK);
	case 'V':
		puts(PROGRAM " " RBPROF_VERSION);
		exit(CMD_DONE);
	}
	if (key >= OPTION_KEY_NOT_YET && key < OPTION_KEY_NOT_YET + (int)option_entry_count) {
		log__error("--%s: not in this version",
			   option_entries[key - OPTION_KEY_NOT_YET].row.name);
		return EINVAL;
	}
	return parse_option(key, text, state);
}

static error_t parse_key(int key, char *text, struct argp_state *state)
{
	struct parse *parse = state->input;
	error_t error;

	if (key == ARGP_KEY_INIT) {
		/* Keeps argp's own hint away, which names the program only, and its exit. */
		state->err_stream = NULL;
		return 0;
	}
	if (key == ARGP_KEY_ERROR) {
		/* getopt has said what is wrong with an option. */
		if (!parse->is_said)
			log__error("see " PROGRAM " %s --help",
				   option_commands[parse->command].name);
		return 0;
	}
	error = parse_known(key, text, state);
	parse->is_said |= error && error != ARGP_ERR_UNKNOWN;
	return error;
}

/* Rows of a subcommand, headings and the end; one array holds those of any subcommand. */
struct argp_rows {
	struct argp_option rows[128];
	size_t count;
};

static void add_row(struct argp_rows *rows, const struct argp_option *row)
{
	/* The last row stays empty: it is the end. */
	if (rows->count < sizeof(rows->rows) / sizeof(rows->rows[0]) - 1)
		rows->rows[rows->count++] = *row;
}

static void fill_rows(enum options_command command, struct argp_rows *rows)
{
	int group = OPTION_GROUP_NONE;

	for (size_t i = 0; i < option_entry_count; i++) {
		const struct option_entry *entry = &option_entries[i];
		const struct options_row *row = &entry->row;

		if (!(entry->commands & 1u << command))
			continue;
		if (row->is_landed && (int)entry->group != group) {
			const char *title = option_group__title(entry->group);

			group = (int)entry->group;
			if (title)
				add_row(rows,
					&(struct argp_option){ .doc = title, .group = group });
		}
		add_row(rows,
			&(struct argp_option){
				.name = row->name,
				.key = row->is_landed ? entry->key : OPTION_KEY_NOT_YET + (int)i,
				.arg = row->argument,
				.flags = (row->is_optional ? OPTION_ARG_OPTIONAL : 0) |
					 (row->is_landed ? 0 : OPTION_HIDDEN),
				.doc = row->text,
				.group = row->is_landed ? group : OPTION_GROUP_NONE,
			});
	}
}

int options__parse(enum options_command command, int argc, char **argv, struct options *ret_options)
{
	struct options options = {
		.frequency_hz = OPTIONS_DEFAULT_HZ,
		.max_frames = RBPROF_DEFAULT_FRAMES,
		.cpu = true,
		.wall = true,
		.gc = true,
		.runs = OPTIONS_DEFAULT_RUNS,
		.warmups = 1,
	};
	struct parse parse = {
		.command = command,
		.options = &options,
		.argv = argv,
		.word = argv[0],
	};
	struct argp_rows rows = { 0 };
	struct argp argp = {
		.options = rows.rows,
		.parser = parse_key,
		.args_doc = option_commands[command].arguments,
		.doc = option_commands[command].text,
	};
	char *name = argv[0];
	int error;

	fill_rows(command, &rows);
	/* getopt begins its own messages with it. */
	argv[0] = (char[]){ PROGRAM };
	/* Without argp's own --help, which brings undocumented options along. */
	error = argp_parse(&argp, argc, argv, ARGP_IN_ORDER | ARGP_NO_HELP, NULL, &parse);
	argv[0] = name;
	if (error) {
		options__free(&options);
		if (error == ENOMEM)
			log__error("out of memory");
		return -error;
	}
	log__setup(options.verbosity, options.color);
	*ret_options = options;
	return 0;
}

void options__free(struct options *options)
{
	free(options->pids);
	free(options->comms.items);
	free(options->cgroups.items);
	free(options->containers.items);
	free(options->focuses.items);
	free(options->ignores.items);
	free(options->setting_names.items);
	free(options->setting_texts.items);
	free(options->arguments.items);
	memset(options, 0, sizeof(*options));
}

bool options__selects_by_kind(const struct options *options)
{
	return options->all || options->comms.count || options->cgroups.count ||
	       options->containers.count;
}

static bool is_in_container(const struct options *options, pid_t pid)
{
	struct container container;
	size_t i;

	if (!options->containers.count || container__of(pid, &container) || !container.id[0])
		return false;
	for (i = 0; i < options->containers.count; i++) {
		const char *wanted = options->containers.items[i];

		if (!strncmp(container.id, wanted, strlen(wanted)))
			return true;
	}
	return false;
}

bool options__selects(const struct options *options, pid_t pid, const char *comm)
{
	size_t i;

	if (options->all)
		return true;
	for (i = 0; i < options->pid_count; i++)
		if (options->pids[i] == pid)
			return true;
	for (i = 0; i < options->comms.count; i++)
		if (!fnmatch(options->comms.items[i], comm, 0))
			return true;
	for (i = 0; i < options->cgroups.count; i++)
		if (container__is_in_cgroup(pid, options->cgroups.items[i]))
			return true;
	return is_in_container(options, pid);
}

const struct options_row *options__row(enum options_command command, size_t index)
{
	for (size_t i = 0; i < option_entry_count; i++)
		if (option_entries[i].commands & 1u << command && !index--)
			return &option_entries[i].row;
	return NULL;
}

const char *options__command_name(enum options_command command)
{
	return command < OPTIONS_COMMAND_COUNT ? option_commands[command].name : NULL;
}

const char *options__command_summary(enum options_command command)
{
	return command < OPTIONS_COMMAND_COUNT ? option_commands[command].summary : NULL;
}
