/* SPDX-License-Identifier: BSD-2-Clause */
/* rbprof-bpf gate: runs become a table, the table a verdict, the verdict findings and a report. */
#include "cmd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/log.h"
#include "core/options.h"
#include "gate/baseline.h"
#include "gate/config.h"
#include "gate/gate_run.h"
#include "gate/report.h"
#include "util/output.h"

static int out_of_memory(void)
{
	log__error("out of memory");
	return CMD_FILE;
}

/* ---- settings ---- */

static int read_config(struct gate_config *config, const struct options *options)
{
	time_t now = time(NULL);
	char today[16];
	struct tm tm;

	/* The day of the machine: in CI that is UTC. */
	if (!localtime_r(&now, &tm) || !strftime(today, sizeof(today), "%Y-%m-%d", &tm))
		return out_of_memory();
	if (options->config)
		return gate_config__read(config, options->config, today);
	if (access(GATE_CONFIG_FILE, F_OK))
		return CMD_DONE;
	return gate_config__read(config, GATE_CONFIG_FILE, today);
}

static int apply_flags(struct gate_config *config, const struct options *options)
{
	char why[GATE_CONFIG_WHY];

	for (size_t i = 0; i < options->setting_names.count; i++) {
		const char *name = options->setting_names.items[i];
		int error = gate_config__set(config, name, options->setting_texts.items[i], why);

		if (error == -ENOMEM)
			return out_of_memory();
		if (error) {
			log__error("--%s: %s", name, why);
			return CMD_USAGE;
		}
	}
	if (options->output && gate_config__set(config, "output", options->output, why))
		return out_of_memory();
	return CMD_DONE;
}

static int choose_format(struct gate_config *config, gate_write *ret_write)
{
	const char *name = config->format;

	if (!name && config->output)
		name = gate_output__by_suffix(config->output);
	*ret_write = gate_output__find(name ? name : "text");
	if (*ret_write)
		return CMD_DONE;
	log__error("unknown format '%s': choose one of " GATE_OUTPUT_NAMES, name);
	return CMD_USAGE;
}

/* Flags beat the environment, which beats the file. */
static int configure(struct gate_config *config, const struct options *options)
{
	int status;

	gate_config__init(config);
	status = read_config(config, options);
	if (!status)
		status = gate_config__environment(config);
	return status ? status : apply_flags(config, options);
}

/* ---- what is compared ---- */

struct sides {
	struct gate_side base, head;
	char *owned[2]; /* paths of an interleaved folder */
	bool are_pairs;
};

static void sides__free(struct sides *sides)
{
	gate_side__free(&sides->base);
	gate_side__free(&sides->head);
	free(sides->owned[0]);
	free(sides->owned[1]);
}

/* Whether these are base/ and head/ of one folder, so that equal numbers are a pair. */
static bool are_of_one_folder(const char *base, const char *head)
{
	char *paths[2] = { realpath(base, NULL), realpath(head, NULL) };
	bool are = false;

	if (paths[0] && paths[1]) {
		char *names[2] = { strrchr(paths[0], '/'), strrchr(paths[1], '/') };

		are = !strcmp(names[0], "/" GATE_RUN_BASE) && !strcmp(names[1], "/" GATE_RUN_HEAD);
		*names[0] = *names[1] = '\0';
		are = are && !strcmp(paths[0], paths[1]);
	}
	free(paths[0]);
	free(paths[1]);
	return are;
}

/* base NULL: head is an interleaved folder. */
static int read_sides(struct sides *sides, const char *base, const char *head)
{
	int status;

	if (!base) {
		if (asprintf(&sides->owned[0], "%s/" GATE_RUN_BASE, head) < 0)
			sides->owned[0] = NULL;
		if (asprintf(&sides->owned[1], "%s/" GATE_RUN_HEAD, head) < 0)
			sides->owned[1] = NULL;
		if (!sides->owned[0] || !sides->owned[1])
			return out_of_memory();
		base = sides->owned[0];
		head = sides->owned[1];
	}
	status = gate_side__read(base, &sides->base);
	if (!status)
		status = gate_side__read(head, &sides->head);
	if (!status)
		sides->are_pairs = sides->base.runs[0].pair != GATE_RUN_UNKNOWN &&
				   are_of_one_folder(base, head);
	return status;
}

/* ---- judging ---- */

static void warn_about_losses(const struct gate_side *side)
{
	for (size_t i = 0; i < side->run_count; i++) {
		const struct gate_run *run = &side->runs[i];

		/* Their CPU is in the sums, but not at its function. */
		if (run->lost > 0 && run->lost > run->samples / 100)
			log__warn("run %zu of '%s' lost %lld of %lld samples: figures of functions "
				  "are too small",
				  i + 1, side->path, (long long)run->lost,
				  (long long)(run->samples + run->lost));
	}
}

static int write_report(const struct gate_report *report, const struct gate_config *config,
			gate_write write)
{
	struct gate_report shown = *report;
	const char *path = config->output ? config->output : "-";
	struct output *output;
	int error = output__open(path, &output);

	if (!error) {
		shown.color = !strcmp(path, "-") && log__wants_color(STDOUT_FILENO);
		error = write(&shown, output__stream(output));
		if (error)
			output__abort(output);
		else
			error = output__commit(output);
	}
	if (!error)
		return CMD_DONE;
	log__error("cannot write '%s': %s", strcmp(path, "-") ? path : "stdout", strerror(-error));
	return CMD_FILE;
}

static int judge(const struct sides *sides, const struct gate_config *config, gate_write write)
{
	struct gate_table table = { 0 };
	struct gate_result result = { 0 };
	struct gate_findings findings = { 0 };
	int status = CMD_FILE;

	warn_about_losses(&sides->base);
	warn_about_losses(&sides->head);
	if (gate_table__new(&sides->base, &sides->head, sides->are_pairs, config, &table) ||
	    gate_result__new(&table, config, &result) ||
	    gate_findings__new(&result, &sides->base, &sides->head, &findings)) {
		out_of_memory();
	} else {
		const struct gate_report report = {
			.result = &result,
			.findings = &findings,
			.base = &sides->base,
			.head = &sides->head,
		};

		if (table.base_left || table.head_left)
			log__warn("%zu runs of base and %zu of head are of no pair: left out",
				  table.base_left, table.head_left);
		status = write_report(&report, config, write);
		if (!status)
			status = gate_result__status(&result);
	}
	gate_findings__free(&findings);
	gate_result__free(&result);
	gate_table__free(&table);
	return status;
}

/* ---- the commands ---- */

static int wrong_arguments(const char *usage)
{
	log__error("usage: rbprof-bpf gate %s", usage);
	return CMD_USAGE;
}

static int compare_paths(const char *base, const char *head, const struct gate_config *config,
			 gate_write write)
{
	struct sides sides = { 0 };
	int status = read_sides(&sides, base, head);

	if (!status)
		status = judge(&sides, config, write);
	sides__free(&sides);
	return status;
}

static int compare(const struct options *options, struct gate_config *config)
{
	const struct options_list *arguments = &options->arguments;
	gate_write write;
	int status = choose_format(config, &write);

	if (status)
		return status;
	if (arguments->count == 2)
		return compare_paths(arguments->items[0], arguments->items[1], config, write);
	if (arguments->count == 1 && gate_side__is_interleaved(arguments->items[0]))
		return compare_paths(NULL, arguments->items[0], config, write);
	return wrong_arguments("compare BASE HEAD, or one folder of interleaved runs");
}

static const char *baseline_of(const struct gate_config *config)
{
	return config->baseline ? config->baseline : GATE_BASELINE_FILE;
}

/* As somebody would type it. */
static int run_command(const struct gate_config *config, const char *into)
{
	char *names[GATE_RUN_OPTIONS] = { NULL };
	size_t argc = 0, words = config->command_count;
	char **argv = calloc(GATE_RUN_OPTIONS + words + 5, sizeof(*argv));
	int status = CMD_DONE;

	if (!argv)
		return out_of_memory();
	argv[argc++] = (char[]){ "run" };
	argv[argc++] = (char[]){ "-o" };
	argv[argc++] = (char *)into;
	for (int i = 0; !status && i < GATE_RUN_OPTIONS; i++) {
		if (!config->run_options[i])
			continue;
		if (asprintf(&names[i], "--%s=%s", gate_run_option__name(i),
			     config->run_options[i]) < 0) {
			names[i] = NULL;
			status = out_of_memory();
		} else {
			argv[argc++] = names[i];
		}
	}
	argv[argc++] = (char[]){ "--" };
	memcpy(argv + argc, config->command, words * sizeof(*argv));
	if (!status)
		status = gate_run__main((int)(argc + words), argv);
	for (int i = 0; i < GATE_RUN_OPTIONS; i++)
		free(names[i]);
	free(argv);
	return status;
}

static int check(const struct options *options, struct gate_config *config)
{
	const struct options_list *arguments = &options->arguments;
	const char *head = arguments->count ? arguments->items[0] : config->head;
	gate_write write;
	int status = choose_format(config, &write);

	if (status)
		return status;
	if (arguments->count > 1 || (!head && !config->command))
		return wrong_arguments("check HEAD, or `head: DIR` or `command: [...]` in the "
				       "configuration");
	if (!head)
		head = GATE_CONFIG_RUNS;
	if (!arguments->count && config->command)
		status = run_command(config, head);
	if (status)
		return status;
	return compare_paths(gate_side__is_interleaved(head) ? NULL : baseline_of(config), head,
			     config, write);
}

/* What cannot be compared with itself can be compared with nothing. */
static int refuse_mixed(const struct gate_side *side, const struct gate_config *config)
{
	struct gate_table table;
	int status = CMD_DONE;

	if (gate_table__new(side, side, false, config, &table))
		return out_of_memory();
	if (table.obstacle_count) {
		log__error("no baseline of '%s': %s", side->path, table.obstacles[0].text);
		status = CMD_INCOMPATIBLE;
	}
	gate_table__free(&table);
	return status;
}

static int update(const char *runs, const struct gate_config *config)
{
	const char *path = config->output ? config->output : baseline_of(config);
	struct gate_side side = { 0 };
	int status = gate_side__read(runs, &side);

	if (!status)
		status = refuse_mixed(&side, config);
	if (!status)
		status = gate_baseline__write(&side, path);
	if (!status)
		log__info("wrote '%s': %zu runs, %zu functions", path, side.run_count,
			  side.function_count);
	gate_side__free(&side);
	return status;
}

static int baseline(const struct options *options, struct gate_config *config)
{
	const struct options_list *arguments = &options->arguments;
	const char *runs = arguments->count > 1 ? arguments->items[1] : config->head;
	char *head;
	int status;

	if (!arguments->count || strcmp(arguments->items[0], "update") || arguments->count > 2 ||
	    !runs)
		return wrong_arguments("baseline update RUNS [-o FILE]");
	if (!gate_side__is_interleaved(runs))
		return update(runs, config);
	/* What is head now is base of what comes. */
	if (asprintf(&head, "%s/" GATE_RUN_HEAD, runs) < 0)
		return out_of_memory();
	status = update(head, config);
	free(head);
	return status;
}

static const struct {
	const char *name;
	int (*run)(const struct options *options, struct gate_config *config);
} judges[] = {
	{ "compare", compare },
	{ "check", check },
	{ "baseline", baseline },
};

static int run_judge(size_t judge, int argc, char **argv)
{
	struct options options;
	struct gate_config config;
	int status, error = options__parse(OPTIONS_GATE, argc, argv, &options);

	if (error)
		return error == -ENOMEM ? out_of_memory() : CMD_USAGE;
	status = configure(&config, &options);
	if (!status)
		status = judges[judge].run(&options, &config);
	gate_config__free(&config);
	options__free(&options);
	return status;
}

int cmd_gate(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "";
	struct options options;

	if (!strcmp(word, "run"))
		return gate_run__main(argc - 1, argv + 1);
	for (size_t i = 0; i < sizeof(judges) / sizeof(*judges); i++)
		if (!strcmp(word, judges[i].name))
			return run_judge(i, argc - 1, argv + 1);
	/* --help and the like end here. */
	if (*word == '-' && options__parse(OPTIONS_GATE, argc, argv, &options))
		return CMD_USAGE;
	log__error("%s%s%s: choose one of run, compare, check, baseline; see rbprof-bpf gate "
		   "--help",
		   *word ? "unknown gate command '" : "no gate command", word, *word ? "'" : "");
	return CMD_USAGE;
}
