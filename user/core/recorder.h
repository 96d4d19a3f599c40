/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A session and what runs beside it, the same for every command that profiles: the COMMAND that
 * it may be of, the socket for `rbprof-bpf state`, a look at our privileges now and then. What is
 * done with what it records is the command's own business.
 *
 *	recorder__check -> recorder__start -> recorder__turn ... -> session__stop
 */
#ifndef RBPROF_RECORDER_H
#define RBPROF_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "control.h"
#include "launch.h"
#include "options.h"
#include "session.h"

struct recorder {
	const struct options *options;
	int epoll_fd;	     /* the caller's own descriptors may be in it, too */
	bool hides_terminal; /* from COMMAND; set before the start */
	bool has_output;     /* COMMAND's streams: see launch__set_output() */
	int output_fd;
	struct session *session;
	struct launch *launch;	 /* NULL: there is no COMMAND */
	struct control *control; /* NULL: there is no socket */
	uint64_t started_ns;	 /* CLOCK_MONOTONIC */
	uint64_t went_ns;	 /* when COMMAND was let go, likewise */
	uint64_t checked_ns, capabilities;
	int status; /* of a recording that ended early: an exit status */
};

/* Whether we may profile at all. An exit status; what is missing has been said. */
int recorder__check(void);

/*
 * Starts the session and COMMAND. The options must outlive the recorder. An exit status; what
 * went wrong has been said. To be freed in any case.
 */
int recorder__start(struct recorder *recorder, const struct options *options);
void recorder__free(struct recorder *recorder);

/* Has the caller's descriptor wake recorder__wait(). 0 or -errno. */
int recorder__watch(struct recorder *recorder, int fd);

/*
 * Waits for events, at most at_most_ms, and lets the session handle what is its own. Each of the
 * caller's descriptors that is readable is handed to `ready`.
 */
void recorder__turn(struct recorder *recorder, int at_most_ms, void (*ready)(int fd, void *context),
		    void *context);

/*
 * Whether there is nothing left to record: the time asked for is over, the processes or the
 * COMMAND have ended, or privileges were lost (then `status` says so). now: of clock__now_ns().
 */
bool recorder__is_over(struct recorder *recorder, uint64_t now);

/* How long to wait at most, so that neither the session nor the end comes too late. */
int recorder__wait_ms(const struct recorder *recorder, uint64_t now);

#endif
