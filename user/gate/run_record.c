/* SPDX-License-Identifier: BSD-2-Clause */
#include "run_record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "../cmd.h"
#include "../core/log.h"
#include "../core/recorder.h"
#include "../out/out.h"
#include "../util/clock.h"
#include "../util/output.h"
#include "version.h"

#define LIMIT_MS 1000
#define PAUSE_MS 100

struct running {
	const struct run_record *record;
	struct options options;
	struct recorder recorder;
	unsigned int signals;
	uint64_t ended_ns; /* as of clock__now_ns() */
};

static void take_signals(int fd, void *context)
{
	struct running *running = context;
	struct signalfd_siginfo info;

	if (fd != running->record->signal_fd)
		return;
	while (read(fd, &info, sizeof(info)) == sizeof(info))
		running->signals++;
}

static int start(struct running *running)
{
	const struct run_record *record = running->record;
	struct recorder *recorder = &running->recorder;

	running->options = *record->options;
	running->options.command = record->command;
	running->options.vm_counters = true;
	recorder->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (recorder->epoll_fd < 0 || recorder__watch(recorder, record->signal_fd)) {
		log__error("cannot wait for events: %s", strerror(errno));
		return CMD_UNABLE;
	}
	recorder->has_output = record->captured;
	if (record->captured)
		recorder->output_fd = captured__fd(record->captured);
	/* The recorder has raised ours: the command must not begin with it. */
	if (setpriority(PRIO_PROCESS, 0, record->priority))
		log__debug("cannot set our priority back: %s", strerror(errno));
	return recorder__start(recorder, &running->options);
}

static void record(struct running *running)
{
	struct recorder *recorder = &running->recorder;
	uint64_t now = clock__now_ns(), limited_ns = now;

	do {
		recorder__turn(recorder, recorder__wait_ms(recorder, now), take_signals, running);
		now = clock__now_ns();
		if (running->record->captured && now - limited_ns > LIMIT_MS * 1000000ULL) {
			limited_ns = now;
			captured__limit(running->record->captured);
		}
	} while (!running->signals && !recorder__is_over(recorder, now));
	/* A Ctrl-C that ended the command is ours, too. */
	take_signals(running->record->signal_fd, running);
	running->ended_ns = now;
	session__stop(recorder->session);
}

/* The command goes on after the signal, or ends by the same; a further one no longer waits. */
static void wait_for_command(struct running *running)
{
	struct epoll_event events[4];
	int status;

	while (running->signals < 2 && launch__poll(running->recorder.launch, &status) == -EBUSY) {
		epoll_wait(running->recorder.epoll_fd, events, 4, PAUSE_MS);
		take_signals(running->record->signal_fd, running);
	}
}

/* ---- what is written ---- */

static void join(char *const *words, char *text, size_t size)
{
	size_t length = (size_t)snprintf(text, size, "gate run --");

	for (; *words && length < size; words++)
		length += (size_t)snprintf(text + length, size - length, " %s", *words);
}

static int write_profile(struct running *running)
{
	struct out_options options = { .path = running->record->profile };
	char command_line[400];
	struct profile *profile;
	struct output *output;
	int error;

	join(running->record->command, command_line, sizeof(command_line));
	profile = session__profile(running->recorder.session, command_line);
	if (!profile) {
		log__error("no memory for the profile");
		return CMD_FILE;
	}
	options.type = out__default_type(profile);
	error = output__open(options.path, &output);
	if (!error) {
		error = out__write(out__format_by_name("pprof"), profile, &options,
				   output__stream(output));
		if (error)
			output__abort(output);
		else
			error = output__commit(output);
	}
	if (!error)
		return CMD_DONE;
	log__error("cannot write %s: %s", options.path, strerror(-error));
	return CMD_FILE;
}

/* "AMD EPYC 7763 64-Core Processor, 2 CPUs"; NULL: not known. */
static char *describe_cpu(void)
{
	FILE *file = fopen("/proc/cpuinfo", "re");
	char line[256], model[128] = "", *text;

	while (file && !model[0] && fgets(line, sizeof(line), file))
		sscanf(line, "model name : %127[^\n]", model);
	if (file)
		fclose(file);
	if (!model[0] || asprintf(&text, "%s, %ld CPUs", model, sysconf(_SC_NPROCESSORS_ONLN)) < 0)
		return NULL;
	return text;
}

static char *describe_kernel(void)
{
	struct utsname name;

	return uname(&name) ? NULL : strdup(name.release);
}

static char *describe_time(time_t when)
{
	char text[32];
	struct tm parts;

	if (!gmtime_r(&when, &parts) || !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts))
		return NULL;
	return strdup(text);
}

static char *describe_rubies(const struct session_sums *sums)
{
	char text[SESSION_MAX_VERSIONS * 18] = "";
	size_t i, length = 0;

	for (i = 0; i < sums->version_count; i++)
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s",
					   i ? ", " : "", sums->versions[i]);
	return length ? strdup(text) : NULL;
}

static int copy_command(char *const *command, struct gate_run *run)
{
	size_t count = 0;

	while (command[count])
		count++;
	run->command = calloc(count + 1, sizeof(*run->command));
	if (!run->command)
		return -ENOMEM;
	for (; run->command_count < count; run->command_count++) {
		run->command[run->command_count] = strdup(command[run->command_count]);
		if (!run->command[run->command_count])
			return -ENOMEM;
	}
	return 0;
}

static int describe(const struct running *running, struct gate_run *run)
{
	const uint64_t took_ns = running->ended_ns - running->recorder.went_ns;

	run->kernel = describe_kernel();
	run->cpu = describe_cpu();
	run->started = describe_time(time(NULL) - (time_t)(took_ns / 1000000000));
	run->version = strdup(RBPROF_VERSION);
	run->hz = running->options.frequency_hz;
	run->wall_ns = (int64_t)took_ns;
	return copy_command(running->record->command, run);
}

static void take_figures(const struct running *running, struct gate_run *run)
{
	struct session *session = running->recorder.session;
	struct session_summary summary;
	struct session_sums sums;

	session__summary(session, &summary);
	session__sums(session, &sums);
	run->samples = (int64_t)summary.samples;
	run->lost = (int64_t)summary.lost;
	if (!sums.processes) {
		log__warn("run %s: no ruby process ran, there are no figures of one",
			  running->record->name);
		return;
	}
	run->ruby = describe_rubies(&sums);
	run->cpu_ns = (int64_t)sums.cpu_ns;
	run->gc_source = strdup(sums.gc_source);
	if (!sums.lacks_gc)
		run->gc_ns = (int64_t)sums.gc_ns;
	if (!sums.lacks_gc_count)
		run->gc_count = (int64_t)sums.gc_count;
	if (!sums.lacks_allocated)
		run->allocated = (int64_t)sums.allocated;
	if (sums.why[0])
		log__warn("run %s: no %s: %s", running->record->name,
			  sums.lacks_gc_count ? "allocated and gc_count" : "allocated", sums.why);
}

static int finish(struct running *running, struct gate_run *run)
{
	int status = CMD_DONE, command_status;

	if (running->recorder.status)
		return running->recorder.status;
	if (launch__wait(running->recorder.launch, &command_status)) {
		log__error("cannot wait for %s", running->record->command[0]);
		return CMD_UNABLE;
	}
	run->status = command_status;
	take_figures(running, run);
	if (describe(running, run)) {
		log__error("out of memory");
		return CMD_UNABLE;
	}
	if (running->record->profile && !command_status) {
		session__warn(running->recorder.session);
		status = write_profile(running);
	}
	return status;
}

int run_record__go(const struct run_record *run_record, struct gate_run *ret_run)
{
	struct running running = { .record = run_record, .recorder.epoll_fd = -1 };
	struct gate_run run;
	int status;

	gate_run__init(&run);
	status = start(&running);
	if (!status) {
		record(&running);
		if (running.signals) {
			wait_for_command(&running);
			status = CMD_ABORTED;
		} else {
			status = finish(&running, &run);
		}
	}
	recorder__free(&running.recorder);
	if (running.recorder.epoll_fd >= 0)
		close(running.recorder.epoll_fd);
	if (status)
		gate_run__free(&run);
	else
		*ret_run = run;
	return status;
}
