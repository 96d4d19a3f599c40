/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A recording: finds the processes, keeps the kernel side fed with what it has to know, turns
 * its events into rows of a profile, and closes the balance.
 *
 *	session__new -> session__start -> session__poll ... -> session__stop -> session__profile
 */
#ifndef RBPROF_SESSION_H
#define RBPROF_SESSION_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../agg/profile.h"
#include "options.h"

struct session;

/* What the progress line and the last line say. */
struct session_summary {
	uint64_t samples;     /* taken */
	uint64_t fired, lost; /* entries of the timer program, and those without a sample */
	uint64_t cpu_ns;      /* in the profile so far */
	uint64_t errors;      /* of all reasons but the lost ones */
	uint32_t processes;   /* alive, profiled */
	uint32_t threads;     /* of these */
	uint32_t processes_seen;
	uint32_t refused; /* Ruby that cannot be read */
};

/* Whether a recording with these options has this sample type ("wall-time"). */
bool session__collects(const struct options *options, const char *type);

/*
 * Loads the kernel side. The options must outlive the session. 0, or -errno after a message on
 * stderr. The caller frees *ret_session.
 */
int session__new(const struct options *options, struct session **ret_session);
void session__free(struct session *session);

/*
 * Follows a child of ours that has not yet run its exec, and what it starts. interpreter: the
 * executable that will run, or NULL. To be called before session__start(). 0 or -errno.
 */
int session__follow_command(struct session *session, pid_t pid, const char *interpreter);

/*
 * Attaches to the processes that the options name, and starts the timers. 0; -ESRCH after
 * messages: none of the pids that were asked for can be profiled; -errno after a message.
 */
int session__start(struct session *session);

/* An epoll descriptor, readable when session__poll() has something to do soon. */
int session__fd(const struct session *session);

/* Handles what has come; to be called when session__fd() is readable, and after session__wait_ms().
 */
void session__poll(struct session *session);

/* How long to wait for session__fd() at most, in milliseconds. */
int session__wait_ms(const struct session *session);

/* Whether every process that was asked for has ended (never true for targets -a and --comm). */
bool session__has_ended(const struct session *session);

/* Ends the recording: stops the timers, reads every clock a last time. */
void session__stop(struct session *session);

void session__summary(struct session *session, struct session_summary *ret_summary);

/*
 * The finished profile, owned by the session; after session__stop(). command_line: for its
 * comments. NULL if memory ran out. Where only the last time is kept (options->ring_ns), also
 * while the recording goes on: then what is kept up to now, until the next session__poll().
 */
struct profile *session__profile(struct session *session, const char *command_line);

#define SESSION_MAX_VERSIONS 8

/*
 * What the Ruby processes of a recording add up to, those that ended too. What the VMs counted
 * themselves is only there with options->vm_counters: of a fork without what it began with.
 */
struct session_sums {
	uint64_t processes;
	uint64_t missed; /* ended before they were found: not in any of the sums */
	uint64_t cpu_ns; /* as the kernel counts */
	uint64_t gc_ns;	 /* of it the collectors' */
	uint64_t gc_count, allocated;
	bool lacks_gc, lacks_gc_count, lacks_allocated; /* of some process: no sum */
	const char *gc_source;				/* static; NULL: there was no process */
	char why[256];					/* the first figure that lacks */
	char versions[SESSION_MAX_VERSIONS][16];	/* sorted */
	size_t version_count;
};

/* After session__stop(). */
void session__sums(const struct session *session, struct session_sums *ret_sums);

/* Rows of a part of the last time. Ids of different profiles have nothing to do with each other. */
struct session_slice {
	struct session_slice *next; /* what came after it */
	uint64_t begin_ns, end_ns;  /* CLOCK_MONOTONIC */
	struct profile *profile;    /* that the ids are of; to be read only */
	struct profile_row *rows;
	size_t count;
};

/*
 * Where only the last time is kept: its slices, the oldest first; NULL: none yet. Valid until the
 * next session__poll(), which ends a slice when options->interval_ns have passed. A row that
 * comes in several slices is in each of them.
 */
const struct session_slice *session__slices(const struct session *session);

/* The balance sheet, and every counter (spec/cli.md: --stats=json). New reference, or NULL. */
json_t *session__stats(struct session *session);
/* The inner state (`rbprof-bpf state`). New reference, or NULL. */
json_t *session__state(struct session *session);

/* Warns on stderr of what readers of the profile must know: losses, refusals, open balances. */
void session__warn(struct session *session);

#endif
