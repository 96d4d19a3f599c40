/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One thread that is asleep, read from outside: what the kernel side takes of a thread at its
 * switch, for those that have been asleep since before the recording began.
 *
 *	wait_reader__open -> wait_reader__read ... -> wait_reader__close
 *
 * A reader knows the VM's threads as they were when it was opened: it is for one round, not to be
 * kept.
 */
#ifndef RBPROF_WAIT_READ_H
#define RBPROF_WAIT_READ_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../include/rbprof_abi.h"
#include "../agg/profile.h"
#include "../ruby/names.h"
#include "../ruby/trace_read.h"
#include "../util/memory.h"

struct wait_reader;

/* A process that is profiled. All must outlive the reader. */
struct wait_source {
	struct memory *memory;
	struct names *names;
	struct profile *profile; /* that of names */
	const struct ruby_layout *layout;
	uint64_t vm_ptr_address;
	pid_t pid;
	uint32_t max_frames; /* 0: no stacks, `stack` is not set */
	bool has_endpoints;  /* they are looked for */
	/* Of traces; tracer NULL: the process has none, or they are not asked for. */
	const struct rbprof_tracer *tracer;
	const struct tracer_source *trace_source;
	struct trace_kinds *trace_kinds;
	bool wants_endpoint;
};

struct wait_reading {
	uint32_t stack; /* id in the profile, with the same markers as a sample's */
	uint32_t omitted;
	uint32_t endpoint; /* by its frames: string id or PROFILE_NONE */
	bool is_proved;	   /* every frame has its name: else a later read may give more */
	/* As in rbprof_sample; thread is 0 for one that the VM does not know. */
	uint64_t thread, thread_name, thread_object;
	struct rbprof_gc_state gc; /* for which thread_name holds */
	uint32_t flags;		   /* NO_EC, CUT, HAS_GVL */
	struct rbprof_wait wait;   /* since_ns and ticks: 0 */
	char letter;		   /* of its state, as in proc_pid_status(5) */
	struct trace_reading trace;
};

/* 0; then the caller closes *ret_reader. -EAGAIN: the VM's list did not hold still; -errno. */
int wait_reader__open(const struct wait_source *source, struct wait_reader **ret_reader);
void wait_reader__close(struct wait_reader *reader);

/*
 * Reads the thread, tid as the host sees it. 0: all of it is of one instant, in the sleep that
 * wait.switches names. -EAGAIN: it runs, or ran meanwhile. -ESRCH: it ended. -ENOMEM, -errno of
 * the memory.
 */
int wait_reader__read(struct wait_reader *reader, pid_t tid, struct wait_reading *ret_reading);

#endif
