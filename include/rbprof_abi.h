/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Everything that crosses the kernel boundary: what user space writes into the maps, and what
 * the BPF programs write into the ring buffer. Fixed-width types, explicit padding; every size
 * and every offset that matters is asserted at the end.
 */
#ifndef RBPROF_ABI_H
#define RBPROF_ABI_H

#ifndef __bpf__
#include <stddef.h>
#include <linux/types.h>
#endif

#include "ruby_layout.h"

#define RBPROF_MAX_FRAMES	4000 /* frames of one sample, markers not counted */
#define RBPROF_DEFAULT_FRAMES	1000
#define RBPROF_ROOT_FRAMES	32 /* root-most frames kept of a deeper stack */
#define RBPROF_MAX_PROCESSES	16384
#define RBPROF_MAX_RUNTIMES	64
#define RBPROF_MAX_KNOWN_STACKS 65536
#define RBPROF_MAX_IVARS	16384
#define RBPROF_MAX_RECEIVERS	4096
#define RBPROF_RECEIVERS	4 /* of one sample: those of the outermost frames, a power of two */
#define RBPROF_ENV_DEPTH	24 /* nested environments followed to find a method entry */
/* A reader that was woken is not woken again so soon: what it sees is much the same. */
#define RBPROF_WAKE_PAUSE_NS 4000000
#define RBPROF_COMM_LEN	     16
/* Part of the ring that only events of processes and threads may use, not samples: 1/8. */
#define RBPROF_RING_RESERVE_SHIFT 3

enum rbprof_error {
	RBPROF_OK = 0,
#define RBPROF_ERROR(code, text, label) RBPROF_E_##code,
#include "errors.def"
#undef RBPROF_ERROR
	RBPROF_E_COUNT,
};

/* ---- maps: from user space to BPF ---- */

/* How the programs find the execution context of the current native thread. */
enum rbprof_ec_source {
	RBPROF_EC_NONE = 0,    /* not at all: the process is only accounted for */
	RBPROF_EC_TLS_DYNAMIC, /* dtv[module id] + offset, both read from a GOT pair */
	RBPROF_EC_TLS_STATIC,  /* a fixed distance from the thread pointer */
	RBPROF_EC_GLOBAL,      /* a global variable: the GVL holder's */
};

/* Map "runtimes", by index: what all processes of one Ruby build share. */
struct rbprof_runtime {
	struct ruby_layout layout;
};

enum rbprof_process_flags {
	RBPROF_PROCESS_REFUSED = 1 << 0, /* Ruby, but not readable: accounted for only */
};

/*
 * How labels of traces are found in a process; all 0: it has no tracer that we know of. Kept by
 * user space; a fork copies it.
 */
struct rbprof_tracer {
	/* Fiber-local that holds dd-trace-rb's context: its id; from 3.0 on the id's serial. */
	__u64 datadog_key;
	__u64 datadog_class;  /* VALUE of Datadog::Tracing::Context */
	__u64 datadog_symbol; /* where it is a variable of the thread: VALUE of its name */
	/* The same for the stack of contexts of OpenTelemetry's API. */
	__u64 otel_key;
	/* For variables of the Fiber or the thread: address of generic_iv_tbl_ (variable.c). */
	__u64 generic_ivars;
	__u64 current_span; /* VALUE of OpenTelemetry's CURRENT_SPAN_KEY, 0: not known */
	/* Of the count of ids that the VM gave out (rb_symbols_t.last_id), and what it was when all
	   fiber-locals were last looked through. */
	__u64 ids_address;
	__u32 ids;
	__u32 has_older; /* there were other tracers before: fibers may work for these */
};

/* Instance variables by which labels of traces are found. */
/* clang-format off */
#define RBPROF_IVARS(V) \
	/* dd-trace-rb */ \
	V(ACTIVE_TRACE, "@active_trace") V(ROOT_SPAN, "@root_span") V(ACTIVE_SPAN, "@active_span") \
	V(ID, "@id") V(RESOURCE, "@resource") V(TYPE, "@type") \
	V(OTEL_VALUES, "@otel_values") V(PARENT_SPAN_ID, "@parent_span_id") \
	V(DATADOG_TRACE, "@datadog_trace") V(LOCALS, "locals") \
	/* OpenTelemetry */ \
	V(ENTRIES, "@entries") V(CONTEXT, "@context") V(TRACE_ID, "@trace_id") V(SPAN_ID, "@span_id") \
	V(NAME, "@name") V(KIND, "@kind") V(OTEL_STACK, "@opentelemetry_context")
/* clang-format on */

enum rbprof_ivar {
#define V(code, name) RBPROF_IVAR_##code,
	RBPROF_IVARS(V)
#undef V
		RBPROF_IVAR_COUNT,
};

#define RBPROF_IVAR_NONE 0xff /* objects of the kind do not have it */

/* What tells where an object has its instance variables. */
struct rbprof_ivars_key {
	__u64 serial; /* of the process image */
	__u64 table;  /* id of its shape; up to 3.1 the address of its class's iv_index_tbl */
};

/* Map "ivars": the number of each variable, learned by user space. */
struct rbprof_ivars {
	__u8 index[RBPROF_IVAR_COUNT];
	__u8 is_complex; /* they are in a table of the object's own: not read */
	__u8 first;	 /* the least of the numbers, */
	__u8 span;	 /* and how many there are from it to the greatest: read at once; 0: none */
	__u32 known;	 /* entries of iv_index_tbl: with more, what it had not it may have */
};

/* Map "processes", by tgid: one process image (from exec, or fork, to exec or exit). */
struct rbprof_process {
	__u64 serial;		/* names this process image for ever; never reused */
	__u64 ec_address;	/* ec_source: address of the GOT pair, or of the variable */
	__s64 ec_tp_offset;	/* RBPROF_EC_TLS_STATIC: distance from the thread pointer */
	__u64 vm_ptr_address;	/* address of ruby_current_vm_ptr, 0 if unknown */
	__u64 cpu_at_attach_ns; /* CPU clock of the main thread when we got to know the runtime */
	__u32 runtime;		/* index into "runtimes" */
	__u32 ec_source;
	__u32 flags;
	__u32 receivers; /* how many methods were put into "receivers"; 0: none */
	struct rbprof_tracer tracer;
};

/* Map "receivers": methods of which it matters on what object they were called. */
struct rbprof_receiver_key {
	__u64 serial;	     /* of the process image */
	__u64 method_serial; /* as in struct rbprof_frame */
};

/* Of one build: entries from 0 on, exits from RBPROF_GC_EXITS on. Cookies of the probes. */
#define RBPROF_GC_SITES 32
#define RBPROF_GC_EXITS 16

/* Steps of the collector between its entry and its exit, seen by probes. */
struct rbprof_gc_sums {
	__u64 cpu_ns;	    /* not yet told by an event */
	__u64 wall_ns;	    /* likewise */
	__u64 flush_cpu_ns; /* since the last flush: the weight of the kept stack */
	__u64 flushed_ns;   /* when it was, CLOCK_MONOTONIC; 0: never */
	__u64 steps;	    /* of the process so far */
	__u64 told_steps;   /* ... of those, told by events */
	__u64 total_cpu_ns; /* likewise */
	__u64 window_ns;    /* since when hits are counted, CLOCK_MONOTONIC */
	__u32 window_hits;
	__s32 credit;	     /* hits that it may have beyond those of the window */
	__u32 removed_sites; /* a bit each: no longer probed in this process, they were hit too
				often */
	__u32 reserved;
	__u32 hits[RBPROF_GC_SITES]; /* in this window */
};

enum rbprof_vm_flags {
	RBPROF_VM_BASE_READ = 1 << 0, /* a fork: what it began with is known */
	RBPROF_VM_READ = 1 << 1,      /* the figures at the end of the image were read */
	RBPROF_VM_ENDED = 1 << 2,     /* ... when the VM was taken down: no later reading counts */
	RBPROF_VM_UNREADABLE = 1 << 3,
};

/* What the VM itself has counted (GC.stat), read when its process image ends. */
struct rbprof_vm_figures {
	__u64 allocated; /* total_allocated_objects; meaningless where the layout has no such */
	__u64 gc_count;	 /* GC.count */
};

struct rbprof_vm_counters {
	struct rbprof_vm_figures base; /* of the parent when it forked */
	struct rbprof_vm_figures end;
	__u32 flags; /* enum rbprof_vm_flags */
	__u32 reserved;
};

/* Map "counters", by serial; counted by BPF, made and removed by user space (forks: made by BPF).
 */
struct rbprof_counters {
	__u64 fired;	   /* entries of the timer program */
	__u64 taken;	   /* samples put into the ring */
	__u64 lost_cpu_ns; /* CPU of thread events that found no room in the ring */
	__u64 threads_started;
	struct rbprof_vm_counters vm;
	struct rbprof_gc_sums gc;
	__u64 errors[RBPROF_E_COUNT];
};

/* Map "cpus", one entry a CPU; written by BPF only. */
struct rbprof_cpu {
	__s64 offset_ns;     /* CLOCK_MONOTONIC minus the run queue's clock: may be negative */
	__s64 smallest_ns;   /* of the switches that offset_ns will be taken from next */
	__u64 ticks;	     /* entries of the timer program, but those that hit the idle task */
	__u64 idle_ns;	     /* time without a task, up to idle_since_ns */
	__u64 idle_since_ns; /* CLOCK_MONOTONIC; 0: not idle */
	__u64 switches;	     /* 0: offset_ns is not known yet */
	__u64 woken_ns;	     /* when a sample last woke the reader, CLOCK_MONOTONIC */
};

/* Read-only options of the programs. */
struct rbprof_config {
	__u32 max_frames;
	__u32 follow_execs; /* enum rbprof_follow */
	__u32 period_ns;    /* of the timers, and of each thread's wall ticks */
	__u32 flags;	    /* enum rbprof_config_flags */
	/* Hits of probes in 100 ms that one process may have, or some are taken out of it. */
	__u32 gc_window_hits;
	__u32 gc_trap_ns;	/* what a probe costs beside our program, as measured at start */
	__u32 in_pid_namespace; /* we run in one of our own: ids are those that it gives */
};

enum rbprof_config_flags {
	RBPROF_COLLECT_WALL = 1 << 0, /* waits are sampled */
	RBPROF_COLLECT_GC = 1 << 1,
	RBPROF_PROBE_GC = 1 << 2,	  /* the programs of its entries and exits are loaded */
	RBPROF_COLLECT_ENDPOINT = 1 << 3, /* that of the trace */
	RBPROF_COLLECT_VM = 1 << 4,	  /* what VMs have counted, at their end */
};

/* Whose exec starts the clocks of a process that may turn out to be Ruby. */
enum rbprof_follow {
	RBPROF_FOLLOW_TREE = 0, /* only descendants of processes whose clocks run */
	RBPROF_FOLLOW_ALL,	/* every process of the host */
};

/* ---- ring buffer: from BPF to user space ---- */

enum rbprof_event_kind {
	RBPROF_EVENT_SAMPLE = 1, /* struct rbprof_sample: a tick hit a running thread */
	RBPROF_EVENT_WAIT,	 /* the same struct: wall ticks fell into a time off the CPU */
	RBPROF_EVENT_STACK,	 /* the same: a stack that a WAIT event may name by its hash */
	RBPROF_EVENT_GC,	 /* the same: steps of the collector */
	RBPROF_EVENT_ASK,	 /* the same, without a stack: one that user space should read */
	RBPROF_EVENT_CLOCK,
	RBPROF_EVENT_FORK,
	RBPROF_EVENT_EXEC,
	RBPROF_EVENT_EXIT,
	RBPROF_EVENT_ENDPOINT, /* struct rbprof_endpoint: that of a root span, when it changed */
	RBPROF_EVENT_IVARS,    /* struct rbprof_unknown: an object of a kind that is not known */
};

struct rbprof_event {
	__u32 kind;
	__u32 size;    /* of the whole event, frames included */
	__u64 serial;  /* of the process image */
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u32 pid;     /* tgid, as user space sees it: the host's, or those of its namespace */
	__u32 tid;
};

/*
 * One frame. Ruby: iseq and pc are set, method_entry where the frame has one. C function:
 * iseq is 0. Frame types that have no name of their own are not sent.
 */
struct rbprof_frame {
	__u64 iseq;
	__u64 pc;
	__u64 method_entry; /* or RBPROF_METHOD_UNREADABLE */
	/*
	 * Of the method's definition, 0 where there is none. The VM never gives a serial twice
	 * (vm_method.c: rb_method_definition_create), so it tells for ever which method this was.
	 */
	__u64 method_serial;
};

/* The object that a frame's method was called on, where that matters. */
struct rbprof_receiver {
	__u64 klass; /* its class or singleton class: VALUE; 0: it is no object of the heap */
	__u32 frame; /* index of the frame */
	__u32 reserved;
};

#define RBPROF_METHOD_UNREADABLE 1 /* never an address: objects are 8-aligned */

enum rbprof_sample_flags {
	RBPROF_SAMPLE_STACK_KNOWN = 1 << 0, /* no frames follow, stack_hash names them */
	RBPROF_SAMPLE_NO_EC = 1 << 1,	    /* thread in no Ruby frame */
	RBPROF_SAMPLE_CUT = 1 << 2,	    /* walk ended early: error says why */
	RBPROF_SAMPLE_NOT_READ = 1 << 3,    /* WAIT: its stack was not taken here */
	RBPROF_SAMPLE_RUNNABLE = 1 << 4,    /* WAIT: it was preempted, it waits for a CPU */
	RBPROF_SAMPLE_THROTTLED = 1 << 5,   /* WAIT: likewise, by its cgroup's limit */
	RBPROF_SAMPLE_GC_STACK = 1 << 6,    /* GC: this stack replaces the kept one */
	RBPROF_SAMPLE_GC_FLUSH = 1 << 7,    /* GC: what was added up is one sample now */
	RBPROF_SAMPLE_IN_STEP = 1 << 9,	    /* in a step of the collector that probes saw begin */
	RBPROF_SAMPLE_GC_PARTIAL = 1 << 10, /* some probes were taken out of this process */
	RBPROF_SAMPLE_HAS_GVL = 1 << 8,	    /* the thread holds the GVL (where wait.vm was read) */
};

/*
 * State of the garbage collector at one instant. Between two reads with equal state no
 * object that was on a stack at the first was freed or moved: what is found at its address
 * at the second is the same object.
 */
struct rbprof_gc_state {
	__u64 count; /* profile.count, or RBPROF_GC_STATE_UNKNOWN */
	__u32 flags; /* the objspace's flags word */
	__u32 reserved;
};

#define RBPROF_GC_STATE_UNKNOWN (~0ULL)
/* In "known_stacks": the names hold whatever is collected. */
#define RBPROF_EPOCH_ANY (~0ULL - 1)

/*
 * A number for the state, equal only for two samples between which nothing that was on a stack
 * at the first can have been freed or moved. A collection begins with marking; what it found
 * dead is freed after that. (gc.c: gc_start counts, then sets the mode; an object on a stack at
 * the end of marking survives the sweep.) Inside a step of a collection there is no such number.
 */
static inline __u64 rbprof_gc_epoch(const struct rbprof_gc_state *gc)
{
	if (gc->count == RBPROF_GC_STATE_UNKNOWN || gc->flags & RUBY_GC_DURING_GC)
		return RBPROF_GC_STATE_UNKNOWN;
	return gc->count * 2 + ((gc->flags & RUBY_GC_MODE_MASK) != RUBY_GC_MODE_MARKING);
}

/* What a thread that leaves its CPU does, as the VM and the kernel keep it. */
enum rbprof_wait_flags {
	RBPROF_WAIT_VM_READ = 1 << 0, /* those that follow, and gvl_owner, were read */
	RBPROF_WAIT_CAN_BE_WOKEN = 1
				   << 1, /* unblock function set: it waits for more than the GVL */
	RBPROF_WAIT_LOCKS_MUTEX = 1 << 2,
	RBPROF_WAIT_IN_REGION = 1 << 3, /* blocking region: native code without the GVL */
	/* Of the kernel, whether the VM was read or not. */
	RBPROF_WAIT_STOPPED = 1 << 4,	      /* by a signal or a debugger */
	RBPROF_WAIT_UNINTERRUPTIBLE = 1 << 5, /* a disk, a page of memory */
};

/* What a file descriptor that a system call waits for is. */
enum rbprof_fd_kind {
	RBPROF_FD_NONE = 0, /* the call waits for none, or it is not known */
	RBPROF_FD_OTHER,
	RBPROF_FD_SOCKET,
};

struct rbprof_wait {
	__u64 gvl_owner;  /* rb_thread_t, 0: nobody */
	__u32 vm;	  /* enum rbprof_wait_flags */
	__u32 vm_status;  /* enum rb_thread_status */
	__s32 call;	  /* number of the system call, -1: in none */
	__u32 fd_kind;	  /* enum rbprof_fd_kind */
	__u64 switches;	  /* nvcsw + nivcsw of the task: which time off the CPU this is */
	__u64 since_ns;	  /* when it began, CLOCK_MONOTONIC */
	__u32 ticks;	  /* wall ticks that fell into it, since it was last told of */
	__u32 late_ticks; /* of a thread that was woken but did not run yet */
};

enum rbprof_trace_kind {
	RBPROF_TRACE_NONE = 0,
	RBPROF_TRACE_DATADOG,
	RBPROF_TRACE_OTEL,
};

/* The trace that the thread's fiber worked for. */
struct rbprof_trace {
	__u64 root; /* id of the local root span */
	__u64 span;
	__u64 id[2]; /* OTEL: of the trace; ids there are bytes, in this order */
	__u32 kind;  /* enum rbprof_trace_kind */
	__u32 error; /* enum rbprof_error: why there is none though there may be one */
};

struct rbprof_sample {
	struct rbprof_event event;
	__u64 cpu_delta_ns;	 /* SAMPLE: CPU since the thread's last; GC: of the steps */
	__u64 wall_delta_ns;	 /* SAMPLE: time on a CPU; WAIT: off it; GC: of the steps */
	__u64 overhead_delta_ns; /* SAMPLE: our own programs' part of the thread's CPU */
	__u64 stack_hash;	 /* of frames, flags and omitted */
	struct rbprof_gc_state gc;
	__u64 ec;
	__u64 thread;	     /* rb_thread_t */
	__u64 thread_name;   /* VALUE of its name */
	__u64 thread_object; /* VALUE of its Thread object */
	__u32 flags;
	__u32 error; /* enum rbprof_error, why frames are missing */
	__u32 frame_count;
	__u32 omitted;	   /* frames left out between the innermost and the root-most ones */
	__u32 root_frames; /* how many frames at the end follow the omitted ones */
	__u32 cpu;
	__u32 gc_info;	/* objspace.profile.latest_gc_info: GPR_FLAG_* of the latest collection */
	__u32 gc_steps; /* GC: how many this event tells of */
	__u64 vm_gc_ns; /* the VM's own clock of its collector, 0: it has none */
	__u64 gc_untold_ns; /* SAMPLE: CPU of steps of the process that no event told yet */
	struct rbprof_wait wait;
	struct rbprof_trace trace;
	__u32 receiver_count; /* of frames whose methods are in "receivers", in no order */
	__u32 reserved;
	struct rbprof_receiver receivers[RBPROF_RECEIVERS];
	/* frame_count frames follow, leaf first, unless the stack is known */
};

enum rbprof_clock_reason {
	RBPROF_CLOCK_ATTACHED = 1, /* CPU used before the runtime was known */
	RBPROF_CLOCK_THREAD_EXIT,
	RBPROF_CLOCK_EXEC, /* of the image that ends */
	RBPROF_CLOCK_READ, /* user space asked: end of a period */
};

/* Clocks of one thread since its last event, without a stack. */
struct rbprof_clock {
	struct rbprof_event event;
	__u64 cpu_delta_ns;
	__u64 on_delta_ns;	 /* time on a CPU */
	__u64 off_delta_ns;	 /* time off it */
	__u64 overhead_delta_ns; /* of the CPU, ours: not in cpu_delta_ns */
	__u64 gc_total_ns;	 /* of the thread so far, by probes: not in cpu_delta_ns */
	__u64 cpu_total_ns;	 /* the thread's whole CPU time, the kernel's figure */
	__u64 cpu_start_ns;	 /* the same, when the thread's clock was started */
	__u64 start_ns;		 /* when that was, CLOCK_MONOTONIC */
	__u64 ran_ns;		 /* until when it was on a CPU, CLOCK_MONOTONIC */
	__u64 thread_pointer;	 /* pthread_t, on x86-64 */
	__u32 reason;
	__u32 tid_inside; /* tid in the thread's own pid namespace: as the VM knows it */
	char comm[RBPROF_COMM_LEN];
};

/* FORK: serial and pid are the child's. EXEC, EXIT: those of the image that ended. */
struct rbprof_lifecycle {
	struct rbprof_event event;
	__u64 parent_serial;
	__u32 parent_pid;
	__u32 known; /* the process has an entry in "processes" */
	char comm[RBPROF_COMM_LEN];
};

#define RBPROF_ENDPOINT_BYTES 256 /* one more than is shown, so that cutting it is seen */

/* The endpoint of a local root span, as it was last seen. */
struct rbprof_endpoint {
	struct rbprof_event event;
	__u64 root;
	__u64 kind;   /* OTEL: VALUE of the root span's kind */
	__u32 length; /* of the text, bytes; may be cut */
	__u32 trace_kind;
	char text[RBPROF_ENDPOINT_BYTES];
};

/* An object whose instance variables are not known: user space is to look. */
struct rbprof_unknown {
	struct rbprof_event event;
	__u64 object; /* VALUE */
	__u64 table;  /* as in struct rbprof_ivars_key; 0: it is not an object as expected */
};

_Static_assert(sizeof(struct rbprof_tracer) == 64, "abi");
_Static_assert(sizeof(struct rbprof_ivars) == 24, "abi");
_Static_assert(sizeof(struct rbprof_trace) == 40, "abi");
_Static_assert(sizeof(struct rbprof_endpoint) == 56 + RBPROF_ENDPOINT_BYTES, "abi");
_Static_assert(sizeof(struct rbprof_process) == 120, "abi");
_Static_assert(sizeof(struct rbprof_cpu) == 56, "abi");
_Static_assert(sizeof(struct rbprof_event) == 32, "abi");
_Static_assert(sizeof(struct rbprof_frame) == 32, "abi");
_Static_assert(sizeof(struct rbprof_gc_state) == 16, "abi");
_Static_assert(sizeof(struct rbprof_wait) == 48, "abi");
_Static_assert(sizeof(struct rbprof_gc_sums) == 80 + 4 * RBPROF_GC_SITES, "abi");
_Static_assert(sizeof(struct rbprof_vm_counters) == 40, "abi");
_Static_assert(sizeof(struct rbprof_sample) == 256 + 16 * RBPROF_RECEIVERS, "abi");
_Static_assert(offsetof(struct rbprof_sample, stack_hash) == 56, "abi");
_Static_assert(offsetof(struct rbprof_sample, gc) == 64, "abi");
_Static_assert(offsetof(struct rbprof_sample, ec) == 80, "abi");
_Static_assert(offsetof(struct rbprof_sample, flags) == 112, "abi");
_Static_assert(offsetof(struct rbprof_sample, wait) == 160, "abi");
_Static_assert(sizeof(struct rbprof_clock) == 136, "abi");
_Static_assert(offsetof(struct rbprof_clock, comm) == 120, "abi");
_Static_assert(sizeof(struct rbprof_lifecycle) == 64, "abi");
_Static_assert(sizeof(struct ruby_layout) % 2 == 0, "abi");
_Static_assert(sizeof(struct rbprof_counters) == 32 + sizeof(struct rbprof_vm_counters) +
							 sizeof(struct rbprof_gc_sums) +
							 8 * RBPROF_E_COUNT,
	       "abi");

#endif
