/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../cmd.h"
#include "../util/clock.h"
#include "log.h"
#include "privilege.h"

#define CHECK_NS 1000000000ULL
#define PRIORITY (-20)

int recorder__check(void)
{
	char why[512];

	if (!privilege__check(why, sizeof(why))) {
		privilege__raise_memlock();
		return CMD_DONE;
	}
	log__error("%s", why);
	return CMD_UNABLE;
}

int recorder__watch(struct recorder *recorder, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	return fd >= 0 && epoll_ctl(recorder->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

/* ---- start ---- */

static int start_command(struct recorder *recorder)
{
	char **command = recorder->options->command;
	char *interpreter = NULL;
	int error;

	error = launch__new(command, &recorder->launch);
	if (error == -ENOENT || error == -EACCES) {
		log__error("cannot run %s: %s", command[0],
			   error == -ENOENT ? "not found" : "not executable");
		return launch__exit_status(error);
	}
	if (error) {
		log__error("cannot start %s: %s", command[0], strerror(-error));
		return CMD_UNABLE;
	}
	if (recorder->hides_terminal)
		launch__hide_terminal(recorder->launch);
	if (recorder->has_output)
		launch__set_output(recorder->launch, recorder->output_fd);
	if (launch__interpreter(command, &interpreter))
		interpreter = NULL;
	error = session__follow_command(recorder->session, launch__pid(recorder->launch),
					interpreter);
	free(interpreter);
	return error ? CMD_UNABLE : CMD_DONE;
}

static int let_command_go(struct recorder *recorder)
{
	int error;

	recorder->went_ns = clock__now_ns();
	error = launch__go(recorder->launch);
	if (!error)
		return recorder__watch(recorder, launch__pidfd(recorder->launch)) ? CMD_UNABLE
										  : CMD_DONE;
	log__error("cannot run %s: %s", recorder->options->command[0], strerror(-error));
	return launch__exit_status(error);
}

int recorder__start(struct recorder *recorder, const struct options *options)
{
	int status = CMD_DONE, error;

	recorder->options = options;
	if (session__new(options, &recorder->session))
		return CMD_UNABLE;
	if (options->command)
		status = start_command(recorder);
	if (status)
		return status;
	if (session__start(recorder->session))
		return CMD_UNABLE;
	recorder->started_ns = clock__now_ns();
	privilege__capabilities(&recorder->capabilities);
	/* A name is best read at once, before its code may be freed: we need little, but soon. */
	if (setpriority(PRIO_PROCESS, 0, PRIORITY))
		log__debug("cannot raise our priority: %s", strerror(errno));
	if (control__new(&recorder->control))
		log__debug("no state socket: `rbprof-bpf state` will not find this recording");
	error = recorder__watch(recorder, session__fd(recorder->session));
	if (!error && recorder->control)
		error = recorder__watch(recorder, control__fd(recorder->control));
	if (error) {
		log__error("cannot wait for events: %s", strerror(-error));
		return CMD_UNABLE;
	}
	return recorder->launch ? let_command_go(recorder) : CMD_DONE;
}

void recorder__free(struct recorder *recorder)
{
	control__free(recorder->control);
	session__free(recorder->session);
	launch__free(recorder->launch);
	recorder->control = NULL;
	recorder->session = NULL;
	recorder->launch = NULL;
}

/* ---- while it runs ---- */

static json_t *state_for_control(void *context)
{
	return session__state(context);
}

/* Of ours the session looks at its own, and the end of COMMAND is asked for in any case. */
static bool is_ours(const struct recorder *recorder, int fd)
{
	return fd == session__fd(recorder->session) ||
	       (recorder->launch && fd == launch__pidfd(recorder->launch));
}

void recorder__turn(struct recorder *recorder, int at_most_ms, void (*ready)(int fd, void *context),
		    void *context)
{
	struct epoll_event events[8];
	int count, i;

	count = epoll_wait(recorder->epoll_fd, events, 8, at_most_ms);
	for (i = 0; i < count; i++) {
		int fd = events[i].data.fd;

		if (recorder->control && fd == control__fd(recorder->control))
			control__answer(recorder->control, state_for_control, recorder->session);
		else if (!is_ours(recorder, fd))
			ready(fd, context);
	}
	session__poll(recorder->session);
}

/* Privileges may be taken from us; what can no longer be read must not look like the program. */
static bool has_lost_privilege(struct recorder *recorder, uint64_t now)
{
	char why[512];
	uint64_t set;

	if (now - recorder->checked_ns < CHECK_NS)
		return false;
	recorder->checked_ns = now;
	if (privilege__capabilities(&set) || set == recorder->capabilities)
		return false;
	recorder->capabilities = set;
	if (!privilege__check(why, sizeof(why)))
		return false;
	log__error("privileges were lost while recording: %s", why);
	recorder->status = CMD_UNABLE;
	return true;
}

/* Whether the command, and what it started, has ended. */
static bool has_command_ended(struct recorder *recorder)
{
	int status;

	return recorder->launch && launch__poll(recorder->launch, &status) != -EBUSY;
}

static bool has_time_left(const struct recorder *recorder, uint64_t now)
{
	uint64_t asked_ns = recorder->options->duration_ns;

	return !asked_ns || now - recorder->started_ns < asked_ns;
}

bool recorder__is_over(struct recorder *recorder, uint64_t now)
{
	return has_command_ended(recorder) || session__has_ended(recorder->session) ||
	       has_lost_privilege(recorder, now) || !has_time_left(recorder, now);
}

int recorder__wait_ms(const struct recorder *recorder, uint64_t now)
{
	int at_most = session__wait_ms(recorder->session);
	uint64_t asked_ns = recorder->options->duration_ns, left;

	if (!asked_ns)
		return at_most;
	if (!has_time_left(recorder, now))
		return 0;
	left = (asked_ns - (now - recorder->started_ns)) / 1000000 + 1;
	return left < (uint64_t)at_most ? (int)left : at_most;
}
