/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files that make up a session: session*.c, balance.c. */
#ifndef RBPROF_SESSION_INTERNAL_H
#define RBPROF_SESSION_INTERNAL_H

#include "../discover/runtimes.h"
#include "../discover/sideband.h"
#include "../util/clock.h"
#include "gc_probes.h"
#include "late_ids.h"
#include "programs.h"
#include "session.h"
#include "session_ring.h"
#include "tracked.h"

/* A stack that the kernel side sends by its hash alone from now on. */
struct session_stack {
	uint64_t hash;
	uint64_t epoch;	 /* for which `stack` was proved; RBPROF_GC_STATE_UNKNOWN: for none */
	bool is_lasting; /* proved for all */
	uint32_t stack;	 /* id in the profile */
	uint32_t count, root_frames, omitted, error;
	uint32_t endpoint;	 /* by its frames: string id or PROFILE_NONE */
	uint32_t endpoint_frame; /* which names a class that has no subclass, as far as is known */
	uint32_t receiver_count;
	bool lacks_receiver;  /* with the class of one more there would be an endpoint */
	uint64_t endpoint_ns; /* when that was last seen */
	struct rbprof_receiver receivers[RBPROF_RECEIVERS];
	UT_hash_handle hh;
	struct rbprof_frame frames[];
};

/* Sums of processes that ended so long ago that the balance sheet no longer lists them. */
struct session_forgotten {
	uint64_t processes, fired, taken, samples_cpu_ns, kernel_cpu_ns;
	uint64_t errors[RBPROF_E_COUNT];
	struct session_sums sums;
};

/* The values of a row, in the order of spec/cli.md; those not collected are not in the profile. */
enum session_type {
	SESSION_SAMPLES = 0,
	SESSION_CPU,
	SESSION_WALL,
	SESSION_TIMELINE,
	SESSION_TYPES,
};

/* A thread that the kernel side wants to be read: it sleeps since before we saw it. */
struct session_ask {
	uint64_t serial;
	uint32_t tid;
	uint64_t switches;
};

/* A process of the tree that is followed, known to be Ruby or not. */
struct session_member {
	pid_t pid;
	UT_hash_handle hh;
};

struct session_vm_probe;
struct trace_kinds;
struct trace_reading;
struct tracer_source;

struct session {
	const struct options *options;
	struct programs *programs;
	uint32_t gc_trap_ns;	     /* what a probe costs, beside its program */
	struct gc_probes *gc_probes; /* NULL: none are used */
	struct session_vm_probe *vm_probes;
	struct runtimes *runtimes;
	struct sideband *sideband;
	struct profile *profile;
	struct ring *ring;	   /* NULL: all that is recorded is kept */
	struct late_ids *late_ids; /* with a ring */
	int epoll_fd;
	size_t runtimes_told;	  /* how many builds the kernel side knows */
	uint64_t runtimes_seen;	  /* of which there were processes, a bit each */
	uint64_t runtimes_proven; /* likewise, whose layout proved right in one of them */

	struct tracked_process *processes; /* by serial */
	struct session_stack *stacks;
	size_t stack_bytes;
	struct session_member *tree;	 /* with targets that are followed: pids and COMMAND */
	struct session_member *departed; /* ended, and their last mappings are not read yet */
	uint32_t missed;		 /* Rubies that ended before they were found */
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

	int types[SESSION_TYPES]; /* index of each in the profile, -1: not collected */

	struct session_ask *asks;
	size_t ask_count, ask_room;
	uint64_t asked_ns; /* when the kernel side was last asked for such threads */

	/* Frames and stacks without a Ruby name, as ids of the profile. */
	uint32_t stack_none, stack_no_ruby, stack_not_sampled, stack_not_known, stack_unreadable;
	uint32_t stack_not_read, stack_gc, stack_overhead;
	uint32_t frame_truncated, frame_unreadable, frame_gc;
	uint32_t scratch[RBPROF_MAX_FRAMES + 8];
};

/* A new profile with the frames and stacks below. 0 or -ENOMEM. */
int session__make_profile(struct session *session);
/* Has all threads tell their times so far. */
void session__read_clocks(struct session *session);
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
/* A member ended that was not known to be Ruby: records of what it mapped may still come. */
void session__depart(struct session *session, pid_t pid);
void session__forget_departed(struct session *session);
/* Lets the layout prove itself, if it has not; true if names may be read. */
bool session__proved(struct session *session, struct tracked_process *process);
extern const struct sideband_handler session_sideband_handler;

/* session_stacks.c: from frames to stacks of the profile. */
/* Gets ready to name frames of the process, if its VM is up. True once nothing is left to do. */
bool session__prepare(struct session *session, struct tracked_process *process);
/*
 * Fills the profile's stack of a sample into the key, its names proved for the sample's instant,
 * with the number of frames left out of it and the endpoint that they tell.
 */
void session__stack(struct session *session, struct tracked_process *process,
		    const struct rbprof_sample *sample, struct tracked_row_key *key);
/* Opens what names are read through; once a process. False: there are none. */
bool session__has_names(struct session *session, struct tracked_process *process);

/* session_events.c: from events to rows. */
/* Brings the thread's name and ractor up to date, and fills them into the key. */
void session__name(struct session *session, struct tracked_process *process,
		   struct tracked_thread *thread, const struct rbprof_sample *sample,
		   struct tracked_row_key *key);
/* Counts CPU of a thread as our own programs'. */
void session__add_overhead(struct session *session, struct tracked_thread *thread, uint64_t ns);
/* The event's time where samples have one. */
uint64_t session__time(const struct session *session, uint64_t time_ns);
void session__on_event(void *context, const struct rbprof_event *event, size_t size);
void session__end_process(struct session *session, struct tracked_process *process);
/* Drops the oldest ended processes when there are many. */
void session__forget_ended(struct session *session);
/* Names of threads that no sample named, from the VM's own list of threads. */
void session__name_threads(struct session *session, struct tracked_process *process);

/* session_thread_ids.c: which Ruby threads samples are of, and their object ids. */
/* The Ruby thread of a sample; its id is read when it is time. NULL: out of memory. */
struct tracked_ruby *session__ruby(struct session *session, struct tracked_process *process,
				   struct tracked_thread *thread,
				   const struct rbprof_sample *sample);
/* Reads the ids of a thread's, or of a process's Ruby threads, while they can be read. */
void session__read_thread_id(struct session *session, struct tracked_process *process,
			     struct tracked_thread *thread);
void session__read_thread_ids(struct session *session, struct tracked_process *process);
/* Lets go of threads that ran on native threads which run very many; at the end of events. */
void session__trim_rubies(struct session *session, struct tracked_process *process);
/* That of one thread of the VM's list, or THREAD_ID_NONE. */
int64_t session__object_id(const struct tracked_process *process, uint64_t thread, uint64_t object);
/* The `thread id` label as a string id; ruby NULL: that of the one last known. */
uint32_t session__thread_id(struct session *session, const struct tracked_process *process,
			    const struct tracked_thread *thread, struct tracked_ruby *ruby);
uint32_t session__ruby_id(struct session *session, struct tracked_ruby *ruby);

/* session_waits.c: threads off their CPU. */
void session__on_stack(struct session *session, struct tracked_process *process,
		       struct tracked_thread *thread, const struct rbprof_sample *sample);
void session__on_wait(struct session *session, struct tracked_process *process,
		      struct tracked_thread *thread, const struct rbprof_sample *sample);
void session__on_ask(struct session *session, const struct rbprof_sample *sample);
/* Asks for and reads threads that sleep since before they were seen. */
void session__read_waits(struct session *session);
/* A tick found the thread with the GVL. */
void session__note_holder(struct tracked_process *process, const struct tracked_thread *thread,
			  uint64_t time_ns);
/* Time off the CPU of a thread whose process was not known to be Ruby. */
void session__add_unknown(struct session *session, struct tracked_thread *thread,
			  const struct rbprof_clock *clock);
/* Gives rows to the time off the CPU that the thread was told of. */
void session__share_waits(struct session *session, struct tracked_thread *thread);

/* session_gc.c: the collector. */
void session__on_gc(struct session *session, struct tracked_process *process,
		    struct tracked_thread *thread, const struct rbprof_sample *sample);
/* Takes the collector's part, found without probes, out of a sample's CPU; returns the rest. */
uint64_t session__gc_of_sample(struct session *session, struct tracked_process *process,
			       struct tracked_thread *thread, const struct rbprof_sample *sample,
			       const struct tracked_row_key *of);
/* Reads the VM's own clock of its collector, if it has one and the VM's memory is open. */
void session__read_gc_clock(struct tracked_process *process);
/* How collections of the process are found, in words: "probe", "probe and vm clock", "none". */
const char *session__gc_source(const struct session *session,
			       const struct tracked_process *process);
/* Makes samples of what is added up; at the end of a period. */
void session__flush_gc(struct session *session, struct tracked_process *process);
/* The same when the counters of the process are final: what was not told is in them. */
void session__end_gc(struct session *session, struct tracked_process *process);

/* session_endpoints.c: endpoints of local root spans. */
/*
 * A number label that rows with a trace of OpenTelemetry have until they are written: the id of the
 * root span, which no other label of theirs says.
 */
#define SESSION_ROOT_MARK "\x1froot"
/* The endpoint (clean UTF-8) last seen of the root span; the oldest of very many is forgotten. */
void session__keep_endpoint(struct tracked_process *process, uint64_t root, const char *endpoint);
/* Puts the endpoint last seen of each local root span on all rows of a profile to be written. */
void session__set_endpoints(const struct session *session, struct profile *profile);

/* session_trace.c: labels of traces. */
/* Looks for tracers where there may be new ones; called often. */
void session__look_for_tracers(struct session *session);
/* Adds the process's tracers to the JSON object of its state. */
void session__describe_tracer(struct session *session, struct tracked_process *process,
			      json_t *object);
/* Whether the process has a tracer whose contexts cannot be read: each sample then counts one. */
bool session__is_out_of_reach(const struct tracked_process *process);
void session__on_unknown(struct session *session, const struct rbprof_unknown *unknown);
void session__on_endpoint(struct session *session, const struct rbprof_endpoint *event);
/*
 * What traces of the process are read through from outside, and the tracer; NULL: it has none that
 * we know of.
 */
const struct rbprof_tracer *session__tracer(struct session *session,
					    struct tracked_process *process,
					    struct rbprof_tracer *ret_tracer,
					    struct tracer_source *ret_source,
					    struct trace_kinds **ret_kinds);
/* Keeps the endpoint, and counts what was missing. */
void session__on_trace_reading(struct session *session, struct tracked_process *process,
			       const struct trace_reading *reading);
/* The child, forked then, has what its parent had. */
void session__fork_trace(struct session *session, const struct tracked_process *parent,
			 struct tracked_process *child, uint64_t time_ns);

/* session_vm.c: what VMs have counted. */
/* Puts a probe on the end of VMs of the process's build, once a file. */
void session__probe_vm(struct session *session, const struct tracked_process *process);
void session__free_vm_probes(struct session *session);
void session__add_sums(const struct session *session, const struct tracked_process *process,
		       struct session_sums *sums);

/* session_types.c: which values there are. */
size_t session__types(struct session *session, struct profile_type *types);
/* The values of a row that are collected; false: all of them are 0. */
bool session__values(const struct session *session, const struct tracked_row *row,
		     int64_t *ret_values);

/* session_labels.c: from rows to the profile. */
void session__flush_rows(struct session *session, struct tracked_process *process,
			 struct tracked_thread *thread);
/* With all the time it spent off its CPU. */
void session__flush_thread(struct session *session, struct tracked_process *process,
			   struct tracked_thread *thread);
/* Puts CPU of lost events, as far as the counters have been read, into the profile. */
void session__flush_lost(struct session *session, struct tracked_process *process);
void session__flush(struct session *session);

/* session_probes.c: probes on garbage collectors, before and after the programs are loaded. */
void session__measure_probes(struct session *session, struct rbprof_config *config);
int session__open_probes(struct session *session, const struct rbprof_config *config);
/* A process that the kernel side knows now. */
void session__probe(struct session *session, struct tracked_process *process);
/* Its counters were read: takes out what it has given up. */
void session__watch_probes(struct session *session, struct tracked_process *process);
/* A sample says that it has given up some. */
void session__gave_up(struct session *session, struct tracked_process *process, uint64_t now);
/* It has ended. */
void session__unprobe(struct session *session, struct tracked_process *process);

#endif
