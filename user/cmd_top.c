/* SPDX-License-Identifier: BSD-2-Clause */
/* `top`: a live table of methods; one table after the other where there is no terminal. */
#include "cmd.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "core/log.h"
#include "core/options.h"
#include "core/recorder.h"
#include "top/model.h"
#include "top/plain.h"
#include "top/screen.h"
#include "util/clock.h"

#define INTERVAL_NS 1000000000ULL
#define POLL_MS	    100

struct top {
	struct options options;
	struct recorder recorder;
	struct top_model model;
	struct screen *screen; /* NULL: there is no terminal to show it on */
	int signal_fd;
	unsigned int ends; /* signals and keys that ask for the end, so far */
	uint64_t printed_ns;
	int error; /* of printing: -errno */
};

/* ---- start ---- */

/* On a screen also those that the terminal's driver sends; else they do what they always do. */
static int catch_signals(struct top *top, bool has_screen)
{
	sigset_t caught;

	sigemptyset(&caught);
	sigaddset(&caught, SIGINT);
	sigaddset(&caught, SIGTERM);
	sigaddset(&caught, SIGHUP);
	if (has_screen) {
		sigaddset(&caught, SIGQUIT);
		sigaddset(&caught, SIGTSTP);
		sigaddset(&caught, SIGCONT);
		sigaddset(&caught, SIGWINCH);
	}
	if (sigprocmask(SIG_BLOCK, &caught, NULL))
		return -errno;
	signal(SIGPIPE, SIG_IGN);
	top->signal_fd = signalfd(-1, &caught, SFD_CLOEXEC | SFD_NONBLOCK);
	top->recorder.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (top->signal_fd < 0 || top->recorder.epoll_fd < 0)
		return -errno;
	return recorder__watch(&top->recorder, top->signal_fd);
}

static int open_screen(struct top *top)
{
	int error = screen__open(&top->model, log__wants_color(STDOUT_FILENO), &top->screen);

	if (!error)
		error = recorder__watch(&top->recorder,
					terminal__fd(screen__terminal(top->screen)));
	if (error == -ENOENT) {
		log__warn("no terminal '%s' is known here: set TERM to one like xterm",
			  getenv("TERM"));
		return CMD_DONE;
	}
	if (!error)
		return CMD_DONE;
	log__error("cannot use the terminal: %s", strerror(-error));
	return CMD_UNABLE;
}

static int start(struct top *top)
{
	bool has_screen = terminal__is_usable();
	int status = recorder__check();

	if (!status && catch_signals(top, has_screen))
		status = CMD_UNABLE;
	top->recorder.hides_terminal = has_screen;
	if (!status)
		status = recorder__start(&top->recorder, &top->options);
	if (!status && top_model__init(&top->model, &top->options, &top->recorder)) {
		log__error("out of memory");
		status = CMD_UNABLE;
	}
	return status || !has_screen ? status : open_screen(top);
}

/* ---- while it runs ---- */

static void on_signal(struct top *top, uint32_t number)
{
	struct terminal *terminal = top->screen ? screen__terminal(top->screen) : NULL;

	switch (number) {
	case SIGTSTP:
		if (terminal)
			terminal__suspend(terminal);
		else
			kill(getpid(), SIGSTOP);
		break;
	case SIGWINCH:
		if (terminal)
			terminal__resize(terminal);
		break;
	case SIGCONT:
		if (terminal)
			terminal__restore(terminal);
		break;
	default:
		top->ends++;
	}
	if (top->screen)
		screen__touch(top->screen);
}

static void take_signals(struct top *top)
{
	struct signalfd_siginfo info;

	while (read(top->signal_fd, &info, sizeof(info)) == sizeof(info))
		on_signal(top, info.ssi_signo);
}

static void on_ready(int fd, void *context)
{
	struct top *top = context;

	if (fd == top->signal_fd)
		take_signals(top);
	else if (!screen__keys(top->screen) || terminal__is_gone(screen__terminal(top->screen)))
		top->ends++;
}

static void print(struct top *top)
{
	top->printed_ns = clock__now_ns();
	top->error = plain__print(&top->model, stdout);
}

static void run(struct top *top)
{
	struct recorder *recorder = &top->recorder;
	uint64_t now = clock__now_ns();

	do {
		if (top->screen)
			screen__draw(top->screen);
		recorder__turn(recorder, recorder__wait_ms(recorder, now), on_ready, top);
		now = clock__now_ns();
		if (!top_model__poll(&top->model))
			continue;
		if (top->screen)
			screen__update(top->screen);
		else
			print(top);
	} while (!top->ends && !top->error && !recorder__is_over(recorder, now));
}

/* ---- the end ---- */

/* COMMAND's status is ours, whenever it ends; a further Ctrl-C no longer waits for it. */
static int wait_for_command(struct top *top)
{
	struct launch *launch = top->recorder.launch;
	unsigned int before = top->ends;
	struct epoll_event event;
	int status;

	if (launch__poll(launch, &status) == -EBUSY)
		log__info("waiting for %s to end; Ctrl-C leaves it", top->options.command[0]);
	while (launch__poll(launch, &status) == -EBUSY) {
		epoll_wait(top->recorder.epoll_fd, &event, 1, POLL_MS);
		take_signals(top);
		if (top->ends > before)
			return CMD_ABORTED;
	}
	return launch__poll(launch, &status) ? CMD_UNABLE : status;
}

/* Who reads has gone, as `head` does: we end as others do then, by the signal. */
static int say_broken_output(int error)
{
	sigset_t pipe;

	if (error == -EPIPE) {
		sigemptyset(&pipe);
		sigaddset(&pipe, SIGPIPE);
		signal(SIGPIPE, SIG_DFL);
		sigprocmask(SIG_UNBLOCK, &pipe, NULL);
		raise(SIGPIPE);
	}
	log__error("cannot write to stdout: %s", strerror(-error));
	return CMD_FILE;
}

/* What came since the last table is one more, if it is not too little to tell anything. */
static void print_rest(struct top *top)
{
	uint64_t since = top->printed_ns ? top->printed_ns : top->recorder.started_ns;

	if (top->error || clock__now_ns() - since < top->options.interval_ns / 2)
		return;
	if (top_model__poll(&top->model))
		print(top);
}

static int watch(struct top *top)
{
	bool has_screen;
	int status = start(top);

	if (status)
		return status;
	run(top);
	has_screen = top->screen;
	screen__close(top->screen);
	top->screen = NULL;
	session__stop(top->recorder.session);
	/* Makes a last slice, and closes the balance that is looked at below. */
	session__profile(top->recorder.session, "top");
	if (!has_screen)
		print_rest(top);
	if (top->error)
		return say_broken_output(top->error);
	session__warn(top->recorder.session);
	if (top->recorder.status)
		return top->recorder.status;
	return top->recorder.launch ? wait_for_command(top) : CMD_DONE;
}

int cmd_top(int argc, char **argv)
{
	struct top top = { .recorder.epoll_fd = -1, .signal_fd = -1 };
	int status;

	if (options__parse(OPTIONS_TOP, argc, argv, &top.options))
		return CMD_USAGE;
	if (!top.options.interval_ns)
		top.options.interval_ns = INTERVAL_NS;
	top.options.ring_ns =
		top.options.interval_ns > TOP_RING_NS ? top.options.interval_ns : TOP_RING_NS;
	status = watch(&top);
	screen__close(top.screen);
	top_model__free(&top.model);
	recorder__free(&top.recorder);
	if (top.signal_fd >= 0)
		close(top.signal_fd);
	if (top.recorder.epoll_fd >= 0)
		close(top.recorder.epoll_fd);
	options__free(&top.options);
	return status;
}
