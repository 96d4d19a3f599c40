/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files that make up a session: session*.c, balance.c. */
#ifndef RBPROF_SESSION_INTERNAL_H
#define RBPROF_SESSION_INTERNAL_H

#include "../discover/runtimes.h"
#include "../discover/sideband.h"
#include "programs.h"
#include "session.h"
#include "tracked.h"

/* A stack that the kernel side sends by its hash alone from now on. */
struct session_stack {
	uint64_t hash;
	uint64_t epoch;	 /* for which `stack` was proved; RBPROF_GC_STATE_UNKNOWN: for none */
	bool is_lasting; /* proved for all */
	uint32_t stack;	 /* id in the profile */
	uint32_t count, root_frames, omitted, error;
	UT_hash_handle hh;
	struct rbprof_frame frames[];
};

/* Sums of processes that ended so long ago that the balance sheet no longer lists them. */
struct session_forgotten {
	uint64_t processes, fired, taken, samples_cpu_ns, kernel_cpu_ns;
	uint64_t errors[RBPROF_E_COUNT];
};

/* A process of the tree that is followed, known to be Ruby or not. */
struct session_member {
	pid_t pid;
	UT_hash_handle hh;
};

struct session {
	const struct options *options;
	struct programs *programs;
	struct runtimes *runtimes;
	struct sideband *sideband;
	struct profile *profile;
	int epoll_fd;
	size_t runtimes_told;	/* how many builds the kernel side knows */
	uint64_t runtimes_seen; /* of which there were processes, a bit each */

	struct tracked_process *processes; /* by serial */
	struct session_stack *stacks;
	size_t stack_bytes;
	struct session_member *tree; /* with targets that are followed: pids and COMMAND */
	bool follows_tree;
	bool has_unproven;   /* a process whose VM was not up yet: see prepare_names() */
	bool must_scan;	     /* mapping records were lost */
	bool sideband_rests; /* its descriptor is not watched: see read_sideband() */
	int rest_ms;
	uint64_t attached_ns; /* when a process was last found to be Ruby */
	uint64_t exec_ns;     /* when a process that is followed last ran a new program */

	uint64_t boot_offset_ns;    /* CLOCK_REALTIME minus CLOCK_MONOTONIC, read once */
	uint64_t start_ns, stop_ns; /* CLOCK_MONOTONIC */
	uint64_t first_sample_ns;   /* 0: none yet */
	uint64_t swept_ns;
	uint64_t next_scan_ns; /* not before, however many records are lost */
	uint64_t lost_sideband;
	uint32_t processes_seen;
	uint32_t ended_count;		    /* ended processes still kept */
	struct session_forgotten forgotten; /* those no longer kept */
	char executable[256];

	/* Frames and stacks without a Ruby name, as ids of the profile. */
	uint32_t stack_none, stack_no_ruby, stack_not_sampled, stack_not_known, stack_unreadable;
	uint32_t frame_truncated, frame_unreadable;
	uint32_t scratch[RBPROF_MAX_FRAMES + 8];
};

uint64_t session__now_ns(void);
/* Counts by reason over all processes, those that ended too; RBPROF_E_COUNT entries. */
void session__errors(const struct session *session, uint64_t *ret_errors);

/* session_attach.c: from pids to tracked processes. */
struct tracked_process *session__find(const struct session *session, uint64_t serial);
/* The living image of a pid, or NULL. */
struct tracked_process *session__find_pid(const struct session *session, pid_t pid);
/* Attaches if the pid is Ruby, wanted and new. 0, a positive enum rbprof_error, or -errno. */
int session__attach(struct session *session, pid_t pid);
/* Looks at every process of the host. */
void session__scan(struct session *session);
void session__forked(struct session *session, const struct rbprof_lifecycle *event);
bool session__add_member(struct session *session, pid_t pid);
void session__remove_member(struct session *session, pid_t pid);
/* Lets the layout prove itself, if it has not; true if names may be read. */
bool session__proved(struct session *session, struct tracked_process *process);
extern const struct sideband_handler session_sideband_handler;

/* session_events.c: from events to rows. */
/* Gets ready to name frames of the process, if its VM is up. True once nothing is left to do. */
bool session__prepare(struct session *session, struct tracked_process *process);
void session__on_event(void *context, const struct rbprof_event *event, size_t size);
void session__end_process(struct session *session, struct tracked_process *process);
/* Drops the oldest ended processes when there are many. */
void session__forget_ended(struct session *session);
/* Names of threads that no sample named, from the VM's own list of threads. */
void session__name_threads(struct session *session, struct tracked_process *process);

/* session_labels.c: from rows to the profile. */
void session__flush_thread(struct session *session, struct tracked_process *process,
			   struct tracked_thread *thread);
/* Puts CPU of lost events into the profile; once a process, when its counters are final. */
void session__flush_lost(struct session *session, struct tracked_process *process);
void session__flush(struct session *session);

#endif
