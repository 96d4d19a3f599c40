/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a session knows about the processes it profiles: their threads, and what each thread's
 * samples add up to. A process here is one image, from fork or exec to exec or exit.
 */
#ifndef RBPROF_TRACKED_H
#define RBPROF_TRACKED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uthash.h>

#include "../../include/rbprof_abi.h"
#include "../agg/profile.h"
#include "../discover/container.h"
#include "../discover/ruby_process.h"
#include "../ruby/names.h"
#include "../util/memory.h"
#include "tracked_ruby.h"

enum tracked_kind {
	TRACKED_CPU = 0,
	TRACKED_WAIT,
	TRACKED_GC, /* of the thread whose step gave the stack */
	TRACKED_OVERHEAD,
};

/* What one thread did on one stack under one name. */
struct tracked_row_key {
	uint32_t kind; /* enum tracked_kind */
	uint32_t stack;
	uint32_t name; /* string id; PROFILE_NONE: the one last known */
	uint32_t omitted;
	uint32_t ractor;     /* id; 0: the main one, or none */
	uint32_t state;	     /* WAIT: string id */
	uint32_t holder;     /* WAIT: string id of the GVL holder's name, or PROFILE_NONE */
	uint32_t gc_info;    /* GC: see ../ruby/gc_info.h */
	uint32_t gc_source;  /* GC: string id */
	uint32_t endpoint;   /* string id of what its frames say it works for, or PROFILE_NONE */
	uint32_t trace_kind; /* enum rbprof_trace_kind */
	uint32_t reserved;
	uint64_t root, span; /* of the trace, as in struct rbprof_trace */
	uint64_t trace[2];
	struct tracked_ruby *ruby; /* its Ruby thread; NULL: the one last known */
	uint64_t time_ns;	   /* of the timeline: CLOCK_MONOTONIC; 0: there is none */
};

struct tracked_values {
	int64_t samples;
	int64_t cpu_ns;
	int64_t wall_ns;
	uint64_t ticks; /* WAIT: shares in the thread's time off the CPU */
};

struct tracked_row {
	struct tracked_row_key key;
	struct tracked_values values;
	UT_hash_handle hh;
};

/* A stack that user space read while the thread slept: for that sleep alone. */
struct tracked_read {
	bool is_valid;
	uint64_t switches; /* rbprof_wait.switches */
	struct tracked_row_key key;
};

struct tracked_thread {
	struct tracked_rubies rubies;
	uint32_t tid;
	uint32_t tid_inside; /* in its own pid namespace, 0: not known */
	uint64_t thread_pointer;
	char comm[RBPROF_COMM_LEN];
	bool has_ended;
	bool is_ruby;	     /* a sample found it in the VM */
	uint32_t last_name;  /* string id of its last known name, or PROFILE_NONE */
	uint32_t last_stack; /* PROFILE_NONE: never sampled */
	uint32_t last_omitted, last_endpoint;
	struct tracked_row *rows;

	/* The name at the last sample, and what it was read from. */
	uint64_t name_thread, name_value, name_epoch;

	/* Time off the CPU that rows do not carry yet, and the sum of their ticks. */
	uint64_t off_ns, off_ticks;
	struct tracked_read read;

	/* Balance: the kernel's figures are those of its own clock of the thread. */
	uint64_t samples;
	uint64_t samples_cpu_ns; /* without the next two */
	uint64_t gc_cpu_ns;	 /* its steps of the collector, however they were found */
	int64_t gc_moved_ns;	 /* of these what was taken out of its samples here */
	uint64_t overhead_ns;
	uint64_t wall_ns;	    /* told, on and off the CPU */
	uint64_t start_ns, last_ns; /* CLOCK_MONOTONIC; start 0: not known */
	uint64_t kernel_start_ns, kernel_total_ns;
	bool has_kernel_cpu;
	UT_hash_handle hh;
};

/* A thread's name as the VM's list of threads gave it, for threads that no sample named. */
struct tracked_name {
	uint64_t native;   /* its tid as the VM knows it; its pthread_t where the VM knows no tid */
	uint32_t name;	   /* string id, or PROFILE_NONE */
	int64_t object_id; /* or THREAD_ID_NONE */
	UT_hash_handle hh;
};

enum tracked_proof {
	TRACKED_UNPROVEN = 0, /* the VM is not up yet */
	TRACKED_PROVEN,
	TRACKED_REFUSED, /* found.error says why; accounted for only */
};

/* Who was seen to hold the GVL lately, and when: a ring, by time. */
#define TRACKED_HOLDERS 256
struct tracked_holders {
	struct {
		uint64_t time_ns;
		uint32_t tid;
	} seen[TRACKED_HOLDERS];
	uint32_t count; /* ever */
};

/* The collector of one process: steps that are added up to one sample. */
struct tracked_gc {
	uint64_t cpu_ns, wall_ns; /* since the last flush */
	uint64_t probed_ns;	  /* CPU of all steps that probes told of */
	uint64_t samples, steps;
	uint32_t info;
	uint32_t removed_sites;	     /* whose probes were taken out */
	uint64_t looked_ns;	     /* when it was last looked for more of them */
	struct tracked_row_key kept; /* whose stack it is going to be */
	bool has_kept;
	bool is_probed;	 /* there are probes on its runtime */
	bool is_partial; /* ... but not all of them in this process */

	/* The VM's own clock: what it says from its first reading on is told by us. */
	bool has_clock;
	uint64_t clock_first_ns, clock_last_ns;
	uint64_t told_before_ns; /* what was told when it was first read */
	uint64_t moved_ns;	 /* out of samples, by the clock or by ticks */
	uint64_t excess_ns;	 /* what was told too much by the clock's last reading */
	uint64_t returned_ns;	 /* to our overhead: the clock does not count it */
	bool is_inside;		 /* the last sample was inside of a step that no probe saw */
	uint64_t inside_ns;	 /* ... and what the clock said */

	struct tracked_thread *rows; /* all its rows */
};

/*
 * The second witness of the balance: the kernel's CPU clock of the whole process. Its threads'
 * clocks are read somewhere between these two readings of it, which may be some time apart on a
 * busy machine.
 */
struct tracked_witness {
	bool is_known;
	uint64_t before_ns, after_ns;
};

struct tracked_process {
	uint64_t serial;
	struct ruby_process found;
	struct container container;
	bool is_placeholder; /* our COMMAND before its exec: not in the profile */
	bool is_forked;
	bool is_found_late;  /* maybe a fork of one that was not known yet */
	uint32_t forked_tid; /* the thread that made it by fork: its main thread */
	enum tracked_proof proof;
	bool is_exiting, has_ended;
	bool has_shared_threads; /* native threads that run several Ruby threads: M:N */
	uint64_t exiting_since_ns;

	struct memory *memory; /* opened when first needed */
	struct names *names;

	struct tracked_thread *threads; /* by tid: the living */
	struct tracked_thread *ended;	/* those kept for the balance sheet, in a list by hh.next */
	uint32_t ended_count;
	struct tracked_name *vm_names;
	struct tracked_gc gc;
	struct tracked_holders *holders; /* NULL: none was seen */
	struct tracked_trace *trace;	 /* NULL: nothing is known of traces */
	struct tracked_root *roots;	 /* local root spans with an endpoint, by id */

	/* Sums of threads that are no longer kept. */
	uint64_t forgotten_samples_cpu_ns, forgotten_kernel_cpu_ns, forgotten_threads;
	uint64_t forgotten_overhead_ns, forgotten_wall_ns;

	struct tracked_witness cpu_at_start, cpu_at_end;
	uint64_t first_ns, last_ns; /* CLOCK_MONOTONIC: life within the recording */
	uint64_t threads_started_seen;

	struct rbprof_counters counters; /* of the kernel side, last read */
	uint64_t lost_told_ns;		 /* CPU of lost events that is in the profile */
	uint64_t errors[RBPROF_E_COUNT]; /* of user space; those of names at their end */
	UT_hash_handle hh;
};

struct tracked_process *tracked_process__new(uint64_t serial, const struct ruby_process *found);
/* Frees the process and its threads; rows must have been flushed. */
void tracked_process__free(struct tracked_process *process);

/* Memory and names are kept only while the process lives. */
void tracked_process__close_names(struct tracked_process *process);

/* What is known of traces (session_trace.c) while the process lives. */
struct tracked_trace;
void tracked_trace__close(struct tracked_trace *trace);
void tracked_trace__free(struct tracked_trace *trace);
/* Endpoints (session_endpoints.c): they last as long as rows. */
struct tracked_root;
void tracked_roots__free(struct tracked_root *roots);
/* The endpoint last seen of a local root span, clean UTF-8; NULL: none. */
const char *tracked_process__endpoint(const struct tracked_process *process, uint64_t root);
/* Fills what a row tells of the trace. */
void tracked_row_key__set_trace(struct tracked_row_key *key, const struct rbprof_trace *trace);

/* All errors of the process by reason: kernel side, names, user space. RBPROF_E_COUNT entries. */
void tracked_process__errors(const struct tracked_process *process, uint64_t *ret_errors);

/* Sums over its threads. */
uint64_t tracked_process__samples_cpu_ns(const struct tracked_process *process);
uint64_t tracked_process__gc_ns(const struct tracked_process *process);
uint64_t tracked_process__overhead_ns(const struct tracked_process *process);
uint64_t tracked_process__wall_ns(const struct tracked_process *process);
uint64_t tracked_process__kernel_cpu_ns(const struct tracked_process *process);

/* The thread, made if it is new; NULL if memory ran out. */
struct tracked_thread *tracked_process__thread(struct tracked_process *process, uint32_t tid);

/* Keeps what the VM's list of threads gave, or forgets it all. */
void tracked_process__keep_name(struct tracked_process *process, uint64_t native, uint32_t name,
				int64_t object_id);
void tracked_process__forget_names(struct tracked_process *process);
/* The name last known of a thread, from its samples or the VM's list; or PROFILE_NONE. */
uint32_t tracked_process__thread_name(const struct tracked_process *process,
				      const struct tracked_thread *thread);
/* The object id that the VM's list gave for the thread; or THREAD_ID_NONE. */
int64_t tracked_process__object_id(const struct tracked_process *process,
				   const struct tracked_thread *thread);

/* Puts a key aside, with what it holds on to; a NULL key empties the place. */
void tracked_row_key__keep(struct tracked_row_key *place, const struct tracked_row_key *key);

/* Adds to the thread's row. 0 or -ENOMEM. */
int tracked_thread__add(struct tracked_thread *thread, const struct tracked_row_key *key,
			const struct tracked_values *values);
/*
 * Shares the time off the CPU among the thread's waits in proportion to their ticks; unread: the
 * row for what no tick fell into. 0 or -ENOMEM.
 */
int tracked_thread__share_waits(struct tracked_thread *thread,
				const struct tracked_row_key *unread);
/*
 * Takes back what samples carry beyond the kernel's final figure (an estimate that overshot and
 * was never paid back), from the row of the last stack first. Returns the ns taken back.
 */
uint64_t tracked_thread__settle(struct tracked_thread *thread);
/* Takes a row out and frees it. */
void tracked_thread__drop_row(struct tracked_thread *thread, struct tracked_row *row);
/* Frees its rows, and what it knows of its Ruby threads. */
void tracked_thread__clear(struct tracked_thread *thread);
uint64_t tracked_thread__kernel_cpu_ns(const struct tracked_thread *thread);

/* Takes an ended thread out of the living; keeps it for the balance sheet while there is room. */
void tracked_process__end_thread(struct tracked_process *process, struct tracked_thread *thread);

#endif
