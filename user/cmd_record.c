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
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/control.h"
#include "core/launch.h"
#include "core/log.h"
#include "core/options.h"
#include "core/privilege.h"
#include "core/session.h"
#include "core/stats_text.h"
#include "out/out.h"
#include "util/output.h"

#define POLL_MS	    100
#define PROGRESS_NS 1000000000ULL
#define CHECK_NS    1000000000ULL
#define PRIORITY    (-20)

struct record {
	struct options options;
	const struct out_format *format;
	char path[512];
	struct session *session;
	struct launch *launch;
	struct control *control;
	char command_line[400];
	int epoll_fd, signal_fd, write_fd; /* write_fd: SIGUSR1 */
	unsigned int signals;		   /* SIGINT and SIGTERM so far */
	uint64_t started_ns, progress_ns, checked_ns;
	uint64_t capabilities;
	int status; /* of a recording that ended early */
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

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

static int check_privilege(void)
{
	char why[512];

	if (!privilege__check(why, sizeof(why))) {
		privilege__raise_memlock();
		return CMD_DONE;
	}
	log__error("%s", why);
	return CMD_UNABLE;
}

/* ---- start ---- */

static int watch(struct record *record, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	return fd >= 0 && epoll_ctl(record->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

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
	record->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (record->signal_fd < 0 || record->write_fd < 0 || record->epoll_fd < 0)
		return -errno;
	error = watch(record, record->signal_fd);
	return error ? error : watch(record, record->write_fd);
}

static int start_command(struct record *record)
{
	char *interpreter = NULL;
	int error;

	error = launch__new(record->options.command, &record->launch);
	if (error == -ENOENT || error == -EACCES) {
		log__error("cannot run %s: %s", record->options.command[0],
			   error == -ENOENT ? "not found" : "not executable");
		return launch__exit_status(error);
	}
	if (error) {
		log__error("cannot start %s: %s", record->options.command[0], strerror(-error));
		return CMD_UNABLE;
	}
	if (launch__interpreter(record->options.command, &interpreter))
		interpreter = NULL;
	error = session__follow_command(record->session, launch__pid(record->launch), interpreter);
	free(interpreter);
	return error ? CMD_UNABLE : CMD_DONE;
}

static int let_command_go(struct record *record)
{
	int error = launch__go(record->launch);

	if (!error)
		return watch(record, launch__pidfd(record->launch)) ? CMD_UNABLE : CMD_DONE;
	log__error("cannot run %s: %s", record->options.command[0], strerror(-error));
	return launch__exit_status(error);
}

static int start(struct record *record)
{
	int status = CMD_DONE, error;

	if (session__new(&record->options, &record->session))
		return CMD_UNABLE;
	if (record->options.command)
		status = start_command(record);
	if (status)
		return status;
	if (session__start(record->session))
		return CMD_UNABLE;
	record->started_ns = now_ns();
	privilege__capabilities(&record->capabilities);
	/* A name is best read at once, before its code may be freed: we need little, but soon. */
	if (setpriority(PRIO_PROCESS, 0, PRIORITY))
		log__debug("cannot raise our priority: %s", strerror(errno));
	if (control__new(&record->control))
		log__debug("no state socket: `rbprof-bpf state` will not find this recording");
	error = watch(record, session__fd(record->session));
	if (!error && record->control)
		error = watch(record, control__fd(record->control));
	if (error) {
		log__error("cannot wait for events: %s", strerror(-error));
		return CMD_UNABLE;
	}
	return record->launch ? let_command_go(record) : CMD_DONE;
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

	profile = session__profile(record->session, record->command_line);
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

/* Privileges may be taken from us; what can no longer be read must not look like the program. */
static bool has_lost_privilege(struct record *record, uint64_t now)
{
	char why[512];
	uint64_t set;

	if (now - record->checked_ns < CHECK_NS)
		return false;
	record->checked_ns = now;
	if (privilege__capabilities(&set) || set == record->capabilities)
		return false;
	record->capabilities = set;
	if (!privilege__check(why, sizeof(why)))
		return false;
	log__error("privileges were lost while recording: %s", why);
	record->status = CMD_UNABLE;
	return true;
}

static void show_progress(struct record *record, uint64_t now)
{
	struct session_summary summary;

	if (now - record->progress_ns < PROGRESS_NS || !log__has_progress())
		return;
	record->progress_ns = now;
	session__summary(record->session, &summary);
	log__progress("%" PRIu64 " s, %" PRIu64 " samples, %u processes, %" PRIu64 " lost, %" PRIu64
		      " errors",
		      (now - record->started_ns) / 1000000000, summary.samples, summary.processes,
		      summary.lost, summary.errors);
}

static json_t *state_for_control(void *context)
{
	return session__state(context);
}

static bool has_time_left(const struct record *record, uint64_t now)
{
	return !record->options.duration_ns ||
	       now - record->started_ns < record->options.duration_ns;
}

/* Whether the command, and what it started, has ended. */
static bool has_command_ended(struct record *record)
{
	int status;

	return record->launch && launch__poll(record->launch, &status) != -EBUSY;
}

static int wait_ms(const struct record *record, uint64_t now)
{
	int at_most = session__wait_ms(record->session);
	uint64_t left;

	if (!record->options.duration_ns)
		return at_most;
	left = (record->options.duration_ns - (now - record->started_ns)) / 1000000 + 1;
	return left < (uint64_t)at_most ? (int)left : at_most;
}

static void run(struct record *record)
{
	struct epoll_event events[4];
	uint64_t now = now_ns();
	int count, i;

	while (!record->signals && has_time_left(record, now)) {
		count = epoll_wait(record->epoll_fd, events, 4, wait_ms(record, now));
		for (i = 0; i < count; i++) {
			if (events[i].data.fd == record->signal_fd)
				take_signals(record);
			else if (events[i].data.fd == record->write_fd)
				write_on_signal(record);
			else if (record->control &&
				 events[i].data.fd == control__fd(record->control))
				control__answer(record->control, state_for_control,
						record->session);
		}
		session__poll(record->session);
		if (has_command_ended(record) || session__has_ended(record->session))
			break;
		now = now_ns();
		if (has_lost_privilege(record, now))
			break;
		show_progress(record, now);
	}
	session__stop(record->session);
}

/* ---- the end ---- */

static void say_end(struct record *record, int64_t duration_ns)
{
	bool is_stdout = !strcmp(record->path, "-");
	struct session_summary summary;
	char of_all[64] = "";

	if (record->options.ring_ns)
		snprintf(of_all, sizeof(of_all), "the last %.1f s of ", (double)duration_ns / 1e9);
	session__summary(record->session, &summary);
	session__warn(record->session);
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
	stats = session__stats(record->session);
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

	while (launch__poll(record->launch, &status) == -EBUSY) {
		unsigned int before = record->signals;

		epoll_wait(record->epoll_fd, events, 4, POLL_MS);
		take_signals(record);
		drain(record->write_fd);
		if (record->signals > before && before)
			return CMD_ABORTED;
	}
	return launch__poll(record->launch, &status) ? CMD_UNABLE : status;
}

static int record_all(struct record *record)
{
	int status = choose_format(record);
	int64_t duration_ns = 0;

	if (!status)
		status = check_privilege();
	if (!status)
		status = try_output(record);
	if (!status && catch_signals(record))
		status = CMD_UNABLE;
	if (!status)
		status = start(record);
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
	if (record->status)
		return record->status;
	return record->launch ? wait_for_command(record) : CMD_DONE;
}

int cmd_record(int argc, char **argv)
{
	struct record record = { .epoll_fd = -1, .signal_fd = -1, .write_fd = -1 };
	int status;

	if (options__parse(OPTIONS_RECORD, argc, argv, &record.options))
		return CMD_USAGE;
	join_command_line(argc, argv, record.command_line, sizeof(record.command_line));
	status = record_all(&record);
	control__free(record.control);
	session__free(record.session);
	launch__free(record.launch);
	if (record.signal_fd >= 0)
		close(record.signal_fd);
	if (record.write_fd >= 0)
		close(record.write_fd);
	if (record.epoll_fd >= 0)
		close(record.epoll_fd);
	options__free(&record.options);
	return status;
}
