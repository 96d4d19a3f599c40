/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The maps: what user space tells us, what we keep about threads, what we send. */
#ifndef RBPROF_BPF_MAPS_H
#define RBPROF_BPF_MAPS_H

/* One Ruby build, by index; written by user space before any process points to it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RBPROF_MAX_RUNTIMES);
	__type(key, u32);
	__type(value, struct rbprof_runtime);
} runtimes SEC(".maps");

/* Processes that are profiled, by tgid (task_tgid()). */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, RBPROF_MAX_PROCESSES);
	__type(key, u32);
	__type(value, struct rbprof_process);
} processes SEC(".maps");

/* What happened to each process image, by serial; outlives the process until user space read it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, RBPROF_MAX_PROCESSES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u64);
	__type(value, struct rbprof_counters);
} counters SEC(".maps");

#define WALL_CLASSES 8 /* kinds of waits whose lengths are told apart: see wait_class() */

/*
 * What we keep about a thread from its creation (or our start) to its end. Its clock is the
 * kernel's CPU clock of it without what is excluded: see thread_clock().
 */
struct thread_state {
	u64 reported_ns; /* already carried by events, on the thread's clock */
	u64 started_ns;	 /* the kernel's clock, when we began to count */
	u64 excluded_ns; /* of the kernel's clock: steps of the collector, and our programs */
	u64 overhead_ns; /* our programs, not yet told */
	u64 serial;	 /* process image this was set up for; 0: not known to be Ruby (yet) */
	u64 ec_slot;	 /* address of its thread-local ruby_current_ec, once found */
	u64 objspace;	 /* of its VM, once found */
	u32 tid_inside;	 /* in its own pid namespace */
	u32 has_ended;	 /* it said its last word */
	u32 tgid, tid;	 /* see bpf/pid.h */
	u64 is_taken;	 /* by who sets it up: several may find it missing at once */
	u64 is_started;	 /* it is set up */

	/* A step of the collector that it is in (gc.h). */
	u32 in_gc;
	u32 gc_site;	      /* probe that was hit last */
	u64 gc_seen_ns;	      /* when it had been dealt with, CLOCK_MONOTONIC */
	u64 gc_enter_ns;      /* the thread's clock at the entry */
	u64 gc_enter_wall_ns; /* CLOCK_MONOTONIC */
	u64 gc_total_ns;      /* of all its steps so far */

	/* Time on and off the CPU (wall.h). Either on_since or off_since is 0. */
	u64 start_ns; /* CLOCK_MONOTONIC, as the next two */
	u64 on_since_ns, off_since_ns;
	s64 on_ns;	      /* not yet told, up to there; negative: told too much */
	u64 off_ns;	      /* the same off the CPU */
	u64 tick_ns, cell_ns; /* next wall tick, and begin of the period that it is in */
	u64 left_ns;	      /* when it last left a CPU */
	u64 run_delay_ns;     /* sched_info.run_delay when it left its CPU */
	/* What it last told of traces (sample_trace.h). */
	u64 endpoint_root, endpoint_hash, endpoint_ns;
	u64 unknown_table, unknown_ns;
	u64 asked;		      /* wait.switches for which user space was asked to read it */
	u32 lengths_us[WALL_CLASSES]; /* of the last sleeps of each kind: a decaying maximum */
	u32 wait_class;		      /* of this time off the CPU */
	u32 reads;		      /* stacks that may still be read in this period */
	u32 off_flags;		      /* of this time: RBPROF_SAMPLE_RUNNABLE, THROTTLED */
	u32 has_stack;		      /* `wait` is of this time */
	struct rbprof_sample wait;    /* without frames */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_state);
} threads SEC(".maps");

/* What a thread begins with: where the kernel uses memory again, it does not clear it. */
static const volatile struct thread_state no_state = {};

/* The thread's state; NULL if its clocks do not run (yet). */
static __always_inline struct thread_state *thread_of(struct task_struct *task)
{
	struct thread_state *state = bpf_task_storage_get(&threads, task, NULL, 0);

	return state && state->is_started ? state : NULL;
}

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 * 1024 * 1024);
} events SEC(".maps");

/*
 * Stacks that user space holds, by hash, with the GC epoch in which it last proved their names:
 * a known stack is sent as its hash alone, and wakes the reader only in another epoch.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, RBPROF_MAX_KNOWN_STACKS);
	__type(key, u64);
	__type(value, u64);
} known_stacks SEC(".maps");

/* Where a sample is put together; one a CPU (max_entries is set at load). */
struct scratch {
	struct walk_state walk;
	struct walk_methods methods;
	struct trace_state trace;
	struct rbprof_sample sample;
	struct rbprof_frame frames[RBPROF_MAX_FRAMES]; /* continues sample.frames */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct rbprof_cpu);
} cpus SEC(".maps");

const volatile struct rbprof_config config = {
	.max_frames = RBPROF_DEFAULT_FRAMES,
};

/* What the counters of a new process start with. */
const struct rbprof_counters no_counts = {};

/* Last serial given out, here and by user space. */
__u64 last_serial = 0;
/* Events of processes that found no room, when there was no process to count them for. */
__u64 lost_lifecycle = 0;

static __always_inline void count_error(struct rbprof_counters *c, u32 error)
{
	if (c && error < RBPROF_E_COUNT)
		__sync_fetch_and_add(&c->errors[error], 1);
}

#endif
