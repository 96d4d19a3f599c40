/* SPDX-License-Identifier: BSD-2-Clause */
/* `record`: profiles, writes one file, says where. */
#include "cmd.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/log.h"
#include "core/options.h"
#include "core/recorder.h"
#include "core/session.h"
#include "core/stats_text.h"
#include "out/out.h"
#include "util/clock.h"
#include "util/output.h"

#define POLL_MS	    100
#define PROGRESS_NS 1000000000ULL

struct record {
	struct options options;
	const struct out_format *format;
	char path[512];
	struct recorder recorder;
	char command_line[400];
	int signal_fd, write_fd; /* write_fd: SIGUSR1 */
	unsigned int signals;	 /* SIGINT and SIGTERM so far */
	uint64_t progress_ns;
};

/* ---- before anything starts: all that can be wrong with what was asked for ---- */

/* Without -o the name tells the time: for each file anew. */
static void choose_default_output(struct record *record)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	options__default_output((uint64_t)now.tv_sec * 1000000000, record->path,
				sizeof(record->path));
}

static int choose_format(struct record *record)
{
	const struct options *options = &record->options;

	if (!options->output)
		choose_default_output(record);
	else if (snprintf(record->path, sizeof(record->path), "%s", options->output) >=
		 (int)sizeof(record->path)) {
		log__error("the output's name is too long");
		return CMD_USAGE;
	}
	record->format = options->format ? out__format_by_name(options->format)
					 : out__format_by_path(record->path);
	if (!record->format) {
		log__error("unknown format '%s'", options->format);
		return CMD_USAGE;
	}
	if (record->format->needs_times && !options->timeline) {
		log__error("format '%s' needs the time of each sample: give --timeline",
			   record->format->name);
		return CMD_USAGE;
	}
	if (!options->cpu && !options->wall && !options->gc) {
		log__error("nothing to collect: give one of --cpu, --wall and --gc");
		return CMD_USAGE;
	}
	if (options->value && !session__collects(options, options->value)) {
		log__error("value '%s' is not recorded with these options", options->value);
		return CMD_USAGE;
	}
	return CMD_DONE;
}

/* A pipe or a device: it takes one profile, and who reads there takes a trial for the end. */
static bool is_stream(const struct record *record)
{
	struct stat stat_of;

	return !strcmp(record->path, "-") ||
	       (!stat(record->path, &stat_of) && !S_ISREG(stat_of.st_mode) &&
		!S_ISDIR(stat_of.st_mode));
}

/* A recording of minutes must not find out at its end that it cannot be written. */
static int try_output(const struct record *record)
{
	struct output *output;
	int error;

	if (is_stream(record))
		return CMD_DONE;
	error = output__open(record->path, &output);
	if (error) {
		log__error("cannot write %s: %s", record->path, strerror(-error));
		return CMD_FILE;
	}
	output__abort(output);
	return CMD_DONE;
}

/* ---- signals ---- */

static int catch_signals(struct record *record)
{
	sigset_t ends, writes, both;
	int error;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigemptyset(&writes);
	sigaddset(&writes, SIGUSR1);
	sigorset(&both, &ends, &writes);
	if (sigprocmask(SIG_BLOCK, &both, NULL))
		return -errno;
	signal(SIGPIPE, SIG_IGN);
	/* Apart: the first kind cancels what is being written. */
	record->signal_fd = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
	record->write_fd = signalfd(-1, &writes, SFD_CLOEXEC | SFD_NONBLOCK);
	record->recorder.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (record->signal_fd < 0 || record->write_fd < 0 || record->recorder.epoll_fd < 0)
		return -errno;
	error = recorder__watch(&record->recorder, record->signal_fd);
	return error ? error : recorder__watch(&record->recorder, record->write_fd);
}

/* ---- writing ---- */

/* How many signals there were. */
static unsigned int drain(int signal_fd)
{
	struct signalfd_siginfo info;
	unsigned int count = 0;

	while (read(signal_fd, &info, sizeof(info)) == sizeof(info))
		count++;
	return count;
}

static void take_signals(struct record *record)
{
	record->signals += drain(record->signal_fd);
}

static void join_command_line(int argc, char **argv, char *text, size_t size)
{
	size_t length = 0;
	int i;

	text[0] = '\0';
	for (i = 0; i < argc && length < size; i++)
		length += (size_t)snprintf(text + length, size - length, "%s%s", i ? " " : "",
					   argv[i]);
}

static int write_profile(struct record *record, int64_t *ret_duration_ns)
{
	struct out_options options = { .path = record->path };
	struct profile *profile;
	struct output *output;
	int error;

	profile = session__profile(record->recorder.session, record->command_line);
	if (!profile) {
		log__error("no memory for the profile");
		return CMD_FILE;
	}
	*ret_duration_ns = profile__info(profile)->duration_ns;
	if (record->options.value)
		options.type = (size_t)profile__type_index(profile, record->options.value);
	else
		options.type = out__default_type(profile);
	error = output__open(record->path, &output);
	if (!error) {
		options.color = output__is_terminal(output) && log__wants_color(STDOUT_FILENO);
		output__cancel_on(output, record->signal_fd);
		error = out__write(record->format, profile, &options, output__stream(output));
		take_signals(record);
		if (error || record->signals > 1)
			output__abort(output);
		else
			error = output__commit(output);
	}
	if (record->signals > 1 || error == -ECANCELED)
		return CMD_ABORTED;
	if (error) {
		log__error("cannot write %s: %s", record->path, strerror(-error));
		return CMD_FILE;
	}
	return CMD_DONE;
}

/* SIGUSR1: what is kept is written, and the recording goes on, whatever becomes of the file. */
static void write_on_signal(struct record *record)
{
	int64_t duration_ns;

	drain(record->write_fd);
	log__progress_clear();
	if (!record->options.ring_ns) {
		log__warn("SIGUSR1 is ignored: without --ring the profile is written at the end");
		return;
	}
	if (is_stream(record)) {
		log__warn("SIGUSR1 is ignored: %s takes one profile, at the end",
			  strcmp(record->path, "-") ? record->path : "standard output");
		return;
	}
	if (!record->options.output)
		choose_default_output(record);
	if (!write_profile(record, &duration_ns))
		log__info("%s: the last %.1f s; look at it with: rbprof-bpf report %s",
			  record->path, (double)duration_ns / 1e9, record->path);
}

/* ---- while it runs ---- */

static void show_progress(struct record *record, uint64_t now)
{
	struct session_summary summary;

	if (now - record->progress_ns < PROGRESS_NS || !log__has_progress())
		return;
	record->progress_ns = now;
	session__summary(record->recorder.session, &summary);
	log__progress("%" PRIu64 " s, %" PRIu64 " samples, %u processes, %" PRIu64 " lost, %" PRIu64
		      " errors",
		      (now - record->recorder.started_ns) / 1000000000, summary.samples,
		      summary.processes, summary.lost, summary.errors);
}

static void on_ready(int fd, void *context)
{
	struct record *record = context;

	if (fd == record->signal_fd)
		take_signals(record);
	else if (fd == record->write_fd)
		write_on_signal(record);
}

/* Who waits for figures must know that there is nothing to count yet. */
static void say_if_nothing_runs(struct record *record)
{
	const struct options *options = &record->options;
	struct session_summary summary;

	session__summary(record->recorder.session, &summary);
	if (options->command || summary.processes || summary.refused)
		return;
	log__info("no ruby process %s yet: one that starts is recorded, until %s",
		  options->all ? "is running" : "fits",
		  options->duration_ns ? "the time is over or Ctrl-C" : "Ctrl-C");
}

static void run(struct record *record)
{
	struct recorder *recorder = &record->recorder;
	uint64_t now = clock__now_ns();

	say_if_nothing_runs(record);
	do {
		recorder__turn(recorder, recorder__wait_ms(recorder, now), on_ready, record);
		now = clock__now_ns();
		show_progress(record, now);
	} while (!record->signals && !recorder__is_over(recorder, now));
	session__stop(recorder->session);
}

/* ---- the end ---- */

static void say_end(struct record *record, int64_t duration_ns)
{
	bool is_stdout = !strcmp(record->path, "-");
	struct session_summary summary;
	char of_all[64] = "";

	if (record->options.ring_ns)
		snprintf(of_all, sizeof(of_all), "the last %.1f s of ", (double)duration_ns / 1e9);
	session__summary(record->recorder.session, &summary);
	session__warn(record->recorder.session);
	if (!summary.processes_seen)
		log__info("no ruby process ran meanwhile: the profile is empty");
	log__info("%s: %s%" PRIu64 " samples, %.3f s cpu of %u processes, %.1f %% lost%s%s",
		  is_stdout ? "standard output" : record->path, of_all, summary.samples,
		  (double)summary.cpu_ns / 1e9, summary.processes_seen,
		  summary.fired ? 100.0 * (double)summary.lost / (double)summary.fired : 0.0,
		  is_stdout ? "" : "; look at it with: rbprof-bpf report ",
		  is_stdout ? "" : record->path);
}

static void print_stats(struct record *record)
{
	json_t *stats;

	if (record->options.stats == OPTIONS_STATS_NONE)
		return;
	log__progress_clear();
	stats = session__stats(record->recorder.session);
	if (record->options.stats == OPTIONS_STATS_JSON) {
		json_dumpf(stats, stderr, JSON_COMPACT);
		fputc('\n', stderr);
	} else {
		stats_text__print(stats, stderr);
	}
	json_decref(stats);
}

/* COMMAND's status is ours, whenever it ends; a further Ctrl-C no longer waits for it. */
static int wait_for_command(struct record *record)
{
	struct epoll_event events[4];
	int status;

	while (launch__poll(record->recorder.launch, &status) == -EBUSY) {
		unsigned int before = record->signals;

		epoll_wait(record->recorder.epoll_fd, events, 4, POLL_MS);
		take_signals(record);
		drain(record->write_fd);
		if (record->signals > before && before)
			return CMD_ABORTED;
	}
	return launch__poll(record->recorder.launch, &status) ? CMD_UNABLE : status;
}

static int record_all(struct record *record)
{
	int status = choose_format(record);
	int64_t duration_ns = 0;

	if (!status)
		status = recorder__check();
	if (!status)
		status = try_output(record);
	if (!status && catch_signals(record))
		status = CMD_UNABLE;
	if (!status)
		status = recorder__start(&record->recorder, &record->options);
	if (status)
		return status;
	run(record);
	log__progress_clear();
	if (record->signals > 1)
		return CMD_ABORTED;
	if (record->options.ring_ns && !record->options.output)
		choose_default_output(record);
	status = write_profile(record, &duration_ns);
	if (status)
		return status;
	print_stats(record);
	say_end(record, duration_ns);
	if (record->recorder.status)
		return record->recorder.status;
	return record->recorder.launch ? wait_for_command(record) : CMD_DONE;
}

int cmd_record(int argc, char **argv)
{
	struct record record = { .recorder.epoll_fd = -1, .signal_fd = -1, .write_fd = -1 };
	int status;

	if (options__parse(OPTIONS_RECORD, argc, argv, &record.options))
		return CMD_USAGE;
	join_command_line(argc, argv, record.command_line, sizeof(record.command_line));
	status = record_all(&record);
	recorder__free(&record.recorder);
	if (record.signal_fd >= 0)
		close(record.signal_fd);
	if (record.write_fd >= 0)
		close(record.write_fd);
	if (record.recorder.epoll_fd >= 0)
		close(record.recorder.epoll_fd);
	options__free(&record.options);
	return status;
}
