/* SPDX-License-Identifier: BSD-2-Clause */
/* `dump`: every thread's stack, state and what it waits for, once. */
#include "cmd.h"

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/dump.h"
#include "core/error_names.h"
#include "core/log.h"
#include "core/options.h"
#include "core/privilege.h"

#define STARTING_TRIES	  50
#define STARTING_PAUSE_US 20000

struct run {
	struct options options;
	struct runtimes *runtimes;
	json_t *processes; /* --json */
	size_t dumped;
	size_t failed;
	bool out_of_memory;
};

/* A pid that was asked for is an error, one that was only found is not. */
static void say_failed(struct run *run, const struct ruby_process *process, bool is_asked,
		       int error)
{
	const char *text =
		error > 0	  ? rbprof_error__text(error)
		: error == -ESRCH ? rbprof_error__text(RBPROF_E_NO_SUCH_PROCESS)
		: error == -EPERM ? rbprof_error__text(RBPROF_E_NO_PERMISSION)
		: error == -EAGAIN
			? "its ruby is still starting, or its threads change too fast: try again"
			: strerror(-error);
	const char *why = error > 0 && process->why ? process->why : "";

	run->failed++;
	run->out_of_memory |= error == -ENOMEM;
	if (is_asked)
		log__error("cannot dump process %d: %s%s%s", process->pid, text, *why ? ": " : "",
			   why);
	else if (error != -ESRCH)
		log__warn("cannot dump process %d (%s): %s%s%s", process->pid, process->comm, text,
			  *why ? ": " : "", why);
}

/* 0, enum rbprof_error or -errno. */
static int prove(struct ruby_process *process, bool is_asked)
{
	int tries, result = process->error;

	if (result)
		return result;
	for (tries = 0; tries < STARTING_TRIES; tries++) {
		result = ruby_process__prove(process);
		if (result != -EAGAIN || !is_asked)
			break;
		usleep(STARTING_PAUSE_US);
	}
	return result;
}

static void dump_process(struct run *run, const struct ruby_process *found, bool is_asked)
{
	struct ruby_process process = *found;
	struct dump *dump = NULL;
	json_t *object;
	int error;

	error = prove(&process, is_asked);
	if (!error)
		error = dump__read(&process, run->options.max_frames, &dump);
	if (!error && run->processes) {
		object = dump__json(dump);
		if (!object || json_array_append_new(run->processes, object))
			error = -ENOMEM;
	} else if (!error) {
		if (run->dumped)
			putchar('\n');
		error = dump__print(dump, stdout);
	}
	dump__free(dump);
	if (error)
		say_failed(run, &process, is_asked, error);
	else
		run->dumped++;
}

static bool is_named(const struct options *options, pid_t pid)
{
	for (size_t i = 0; i < options->pid_count; i++)
		if (options->pids[i] == pid)
			return true;
	return false;
}

static int on_scanned(const struct ruby_process *process, void *context)
{
	struct run *run = context;

	if (!is_named(&run->options, process->pid) &&
	    options__selects(&run->options, process->pid, process->comm))
		dump_process(run, process, false);
	return run->out_of_memory ? -ENOMEM : 0;
}

static int dump_all(struct run *run)
{
	const struct options *options = &run->options;
	struct ruby_process process;
	int error = 0;

	for (size_t i = 0; i < options->pid_count && !run->out_of_memory; i++) {
		process = (struct ruby_process){ .pid = options->pids[i] };
		error = ruby_process__find(run->runtimes, options->pids[i], &process);
		if (error)
			say_failed(run, &process, true, error);
		else
			dump_process(run, &process, true);
	}
	if (run->out_of_memory)
		return -ENOMEM;
	if (!options__selects_by_kind(options))
		return 0;
	return ruby_process__scan(run->runtimes, on_scanned, run);
}

static int print_json(json_t *processes)
{
	json_t *document = json_pack("{s:i, s:O}", "schema", 1, "processes", processes);
	char *text = document ? json_dumps(document, JSON_INDENT(2)) : NULL;

	json_decref(document);
	if (!text)
		return -ENOMEM;
	puts(text);
	free(text);
	return 0;
}

int cmd_dump(int argc, char **argv)
{
	struct run run = { .dumped = 0 };
	int status = CMD_DONE, error;
	char why[256];

	if (options__parse(OPTIONS_DUMP, argc, argv, &run.options))
		return CMD_USAGE;
	/* A reader that goes away is an error of writing. */
	signal(SIGPIPE, SIG_IGN);
	if (privilege__check_pids(why, sizeof(why))) {
		log__error("%s", why);
		options__free(&run.options);
		return CMD_UNABLE;
	}
	error = runtimes__new(&run.runtimes);
	if (!error && run.options.json) {
		run.processes = json_array();
		error = run.processes ? 0 : -ENOMEM;
	}
	if (!error)
		error = dump_all(&run);
	if (!error && run.processes && (run.dumped || !run.failed))
		error = print_json(run.processes);
	if (error) {
		log__error("cannot dump: %s", strerror(-error));
		status = CMD_UNABLE;
	} else if (!run.dumped && run.failed) {
		status = CMD_UNABLE;
	} else if (!run.dumped) {
		log__info("no ruby process %s", run.options.all ? "is running" : "fits");
	}
	json_decref(run.processes);
	runtimes__free(run.runtimes);
	options__free(&run.options);
	if (status == CMD_DONE && (fflush(stdout) || ferror(stdout))) {
		log__error("cannot write to stdout: %s", strerror(errno));
		status = CMD_FILE;
	}
	return status;
}
