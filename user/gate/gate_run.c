/* SPDX-License-Identifier: BSD-2-Clause */
#include "gate_run.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "../cmd.h"
#include "../core/log.h"
#include "../core/options.h"
#include "../core/recorder.h"
#include "calibrate.h"
#include "captured.h"
#include "run_dir.h"
#include "run_json.h"
#include "run_record.h"
#include "words.h"
#include "work_file.h"

#define WORK_TEXT 64

struct gate {
	struct options options;
	char **base; /* command; NULL: runs are not interleaved */
	struct captured *captured;
	struct work_file *work;
	int signal_fd, priority;
	int64_t calibration_ns; /* the last; GATE_RUN_UNKNOWN: none yet */
};

/* One of the runs: which command, which of its runs. */
struct step {
	const char *side; /* NULL: there is one command */
	char **command;
	unsigned int number;
	bool is_warmup;
};

/* ---- before anything starts ---- */

static int check_options(struct gate *gate)
{
	const struct options *options = &gate->options;
	int error;

	if (!options->command) {
		log__error("no COMMAND: rbprof-bpf gate run -o DIR -- COMMAND");
		return CMD_USAGE;
	}
	if (!options->output || !strcmp(options->output, "-")) {
		log__error("no folder for the runs: give -o DIR");
		return CMD_USAGE;
	}
	if (!options->interleave)
		return CMD_DONE;
	error = words__split(options->interleave, &gate->base);
	if (error == -ENOMEM) {
		log__error("out of memory");
		return CMD_UNABLE;
	}
	if (!error)
		return CMD_DONE;
	log__error("bad --interleave '%s': give a command, its words as for a shell",
		   options->interleave);
	return CMD_USAGE;
}

static int catch_signals(struct gate *gate)
{
	sigset_t ends;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	if (sigprocmask(SIG_BLOCK, &ends, NULL))
		return -errno;
	signal(SIGPIPE, SIG_IGN);
	gate->signal_fd = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
	return gate->signal_fd < 0 ? -errno : 0;
}

static int prepare(struct gate *gate)
{
	int error = catch_signals(gate);

	gate->priority = getpriority(PRIO_PROCESS, 0);
	if (!error && gate->options.verbosity <= 0)
		error = captured__new(&gate->captured);
	if (!error && !gate->options.work)
		error = work_file__new(&gate->work);
	if (!error)
		return CMD_DONE;
	log__error("cannot prepare the runs: %s", strerror(-error));
	return CMD_FILE;
}

/* ---- between runs ---- */

static bool was_signalled(const struct gate *gate)
{
	struct signalfd_siginfo info;

	return read(gate->signal_fd, &info, sizeof(info)) == sizeof(info);
}

static void calibrate(struct gate *gate)
{
	/* As the command has it: a recording leaves it raised. */
	setpriority(PRIO_PROCESS, 0, gate->priority);
	gate->calibration_ns = calibrate__ns();
}

static int take_work(struct gate *gate, const char *name, struct gate_run *run)
{
	char text[WORK_TEXT];
	int error;

	if (gate->options.work) {
		run->work = gate->options.work;
		return CMD_DONE;
	}
	error = work_file__take(gate->work, &run->work, text, sizeof(text));
	if (!error || error == -ENOENT)
		return CMD_DONE;
	if (error == -EINVAL)
		log__error("run %s: '%s' in the file that " WORK_FILE_VARIABLE
			   " names is no whole number of units above 0",
			   name, text);
	else
		log__error("run %s: cannot read the file that " WORK_FILE_VARIABLE " names: %s",
			   name, strerror(-error));
	return CMD_FILE;
}

static int check_status(const struct gate *gate, const char *name, const struct gate_run *run)
{
	const int status = (int)run->status, number = status - 128;

	if (!status)
		return CMD_DONE;
	if (gate->captured)
		captured__show(gate->captured, name);
	if (number > 0 && number < NSIG)
		log__error("run %s failed: %s ended with status %d (killed by signal %d: %s)", name,
			   run->command[0], status, number, strsignal(number));
	else
		log__error("run %s failed: %s ended with status %d", name, run->command[0], status);
	return CMD_UNABLE;
}

/* ---- one run ---- */

static void say(const char *name, const struct gate_run *run)
{
	char allocated[48] = "", cpu[48] = "";

	if (run->cpu_ns >= 0)
		snprintf(cpu, sizeof(cpu), "%.3f s cpu, ", (double)run->cpu_ns / 1e9);
	if (run->allocated >= 0)
		snprintf(allocated, sizeof(allocated), ", %" PRId64 " objects", run->allocated);
	log__info("%s: %s%.3f s, %" PRId64 " samples%s", name, cpu, (double)run->wall_ns / 1e9,
		  run->samples, allocated);
}

static int keep(struct gate *gate, const struct step *step, const char *name, struct gate_run *run)
{
	char *path = run_dir__file(gate->options.output, name, GATE_RUN_FILE);
	const int64_t before = gate->calibration_ns;
	int error;

	calibrate(gate);
	if (before > 0 && gate->calibration_ns > 0)
		run->calibration_ns = (before + gate->calibration_ns) / 2;
	if (step->side)
		run->pair = step->number;
	error = path ? gate_run__write(run, path) : -ENOMEM;
	if (error)
		log__error("cannot write %s: %s", path ? path : GATE_RUN_FILE, strerror(-error));
	else
		say(name, run);
	free(path);
	return error ? CMD_FILE : CMD_DONE;
}

static int go(struct gate *gate, const struct step *step, const char *name, const char *profile)
{
	const struct run_record record = {
		.options = &gate->options,
		.command = step->command,
		.name = name,
		.profile = profile,
		.captured = gate->captured,
		.signal_fd = gate->signal_fd,
		.priority = gate->priority,
	};
	struct gate_run run;
	int status;

	if (gate->captured)
		captured__forget(gate->captured);
	log__progress("run %s of %u", name, gate->options.runs);
	status = run_record__go(&record, &run);
	log__progress_clear();
	if (status)
		return status;
	status = check_status(gate, name, &run);
	if (!status)
		status = take_work(gate, name, &run);
	if (!status && was_signalled(gate))
		status = CMD_ABORTED;
	if (!status && !step->is_warmup)
		status = keep(gate, step, name, &run);
	gate_run__free(&run);
	return status;
}

static int run_kept(struct gate *gate, const struct step *step)
{
	const char *folder = gate->options.output;
	char name[32], *profile;
	int status, error;

	run_dir__name(step->side, step->number, name, sizeof(name));
	profile = run_dir__file(folder, name, GATE_RUN_PROFILE);
	error = profile ? run_dir__make(folder, name) : -ENOMEM;
	if (error) {
		log__error("cannot make %s/%s: %s", folder, name, strerror(-error));
		free(profile);
		return CMD_FILE;
	}
	if (gate->calibration_ns < 0)
		calibrate(gate);
	status = go(gate, step, name, profile);
	if (status)
		run_dir__remove(folder, name);
	free(profile);
	return status;
}

static int run_step(struct gate *gate, const struct step *step)
{
	char name[48];

	if (was_signalled(gate))
		return CMD_ABORTED;
	if (!step->is_warmup)
		return run_kept(gate, step);
	snprintf(name, sizeof(name), "warm-up %s%s%u", step->side ? step->side : "",
		 step->side ? "/" : "", step->number);
	return go(gate, step, name, NULL);
}

/* ---- all of them ---- */

/* Who runs first changes from pair to pair, so that neither has the better place. */
static int run_pair(struct gate *gate, unsigned int number, bool is_warmup)
{
	struct step base = { GATE_RUN_BASE, gate->base, number, is_warmup };
	struct step head = { GATE_RUN_HEAD, gate->options.command, number, is_warmup };
	bool is_base_first = number % 2;
	int status;

	if (!gate->base) {
		head.side = NULL;
		return run_step(gate, &head);
	}
	status = run_step(gate, is_base_first ? &base : &head);
	return status ? status : run_step(gate, is_base_first ? &head : &base);
}

static int run_all(struct gate *gate)
{
	const struct options *options = &gate->options;
	int status = CMD_DONE;
	unsigned int i;

	for (i = 1; i <= options->warmups && !status; i++)
		status = run_pair(gate, i, true);
	for (i = 1; i <= options->runs && !status; i++)
		status = run_pair(gate, i, false);
	return status;
}

static void say_end(const struct gate *gate)
{
	const char *folder = gate->options.output;

	if (gate->base)
		log__info("%s: %u pair%s of runs; compare them with: rbprof-bpf gate compare "
			  "%s/" GATE_RUN_BASE " %s/" GATE_RUN_HEAD,
			  folder, gate->options.runs, gate->options.runs == 1 ? "" : "s", folder,
			  folder);
	else
		log__info("%s: %u run%s; compare with others: rbprof-bpf gate compare BASE %s",
			  folder, gate->options.runs, gate->options.runs == 1 ? "" : "s", folder);
}

int gate_run__main(int argc, char **argv)
{
	struct gate gate = { .signal_fd = -1, .calibration_ns = GATE_RUN_UNKNOWN };
	int status;

	if (options__parse(OPTIONS_GATE, argc, argv, &gate.options))
		return CMD_USAGE;
	status = check_options(&gate);
	if (!status)
		status = recorder__check();
	if (!status)
		status = run_dir__prepare(gate.options.output, gate.base);
	if (!status)
		status = prepare(&gate);
	if (!status)
		status = run_all(&gate);
	if (!status)
		say_end(&gate);
	else if (status == CMD_ABORTED)
		log__error("aborted: %s holds the runs that had ended", gate.options.output);
	captured__free(gate.captured);
	work_file__free(gate.work);
	words__free(gate.base);
	if (gate.signal_fd >= 0)
		close(gate.signal_fd);
	options__free(&gate.options);
	return status;
}
