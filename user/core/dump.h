/* SPDX-License-Identifier: BSD-2-Clause */
/* What all threads of one Ruby process do, once: stacks, states, who waits for whom. */
#ifndef RBPROF_DUMP_H
#define RBPROF_DUMP_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "../agg/profile.h"
#include "../discover/kernel_wait.h"
#include "../discover/ruby_process.h"
#include "../discover/thread_states.h"
#include "../ruby/threads.h"
#include "../ruby/waits.h"

#define DUMP_NONE UINT32_MAX

struct dump_thread {
	struct thread_state state; /* tid -1: no native thread of its own, or not found */
	struct ruby_thread ruby;   /* address 0: a native thread that the VM does not know */
	uint32_t name;		   /* string id, PROFILE_NONE: not readable */
	int64_t object_id;	   /* -1: it has none, or it cannot be read */
	uint32_t *frames;	   /* frame ids, leaf first */
	uint32_t frame_count;
	uint32_t frame_endpoint; /* by its frames: string id or PROFILE_NONE */
	uint32_t omitted;
	bool is_instant; /* stack and wait are of one instant, and every frame is proved */
	struct wait wait;
	struct kernel_wait kernel;
	struct rbprof_trace trace;
	uint32_t endpoint; /* string id of the trace's, PROFILE_NONE */
	uint32_t owner;	   /* index of wait.owner, DUMP_NONE */
};

struct dump_deadlock {
	uint32_t *members; /* indices of threads; each waits for the next, the last for the first */
	size_t count;
};

struct dump {
	struct ruby_process process;
	struct profile *profile; /* owns strings and frames */
	struct dump_thread *threads;
	size_t count;
	struct dump_deadlock *deadlocks;
	size_t deadlock_count;
};

/*
 * Reads a process that was found and proved. It goes on meanwhile. 0; then the caller frees
 * *ret_dump. -ESRCH, -EPERM, -ENOMEM; -EAGAIN: its list of threads does not stand still.
 */
int dump__read(const struct ruby_process *process, uint32_t max_frames, struct dump **ret_dump);
void dump__free(struct dump *dump);

/* ---- one thread (dump_thread.c) ---- */

struct names;
struct dump_trace;

struct dump_source {
	struct dump *dump;
	struct memory *memory;
	struct names *names;
	const struct ruby_layout *layout;
	uint32_t max_frames;
	struct dump_trace *trace; /* NULL: the process has no tracer */
};

/*
 * Reads stack, name, state and wait. 0; -ESRCH: it ended; -ESTALE: for the VM it did, its native
 * thread may do something else by now; -ENOMEM; -errno.
 */
int dump_thread__read(const struct dump_source *source, struct dump_thread *thread);

/* Whether the thread stands where it stood when it was read, waiting for the same. */
bool dump_thread__still_waits(const struct dump_source *source, const struct dump_thread *thread);

/* ---- traces (dump_trace.c) ---- */

struct trace_reading;

/* Looks for a tracer. NULL: there is none, or no memory. The caller closes it. */
struct dump_trace *dump_trace__open(const struct dump_source *source);
void dump_trace__close(struct dump_trace *trace);
/* The trace that the thread's fiber works for now; reading is all 0 if there is none. */
void dump_trace__read(const struct dump_source *source, const struct dump_thread *thread,
		      struct trace_reading *ret_reading);
/* Keeps a trace that was read before and after all else, if it was the same. */
void dump_trace__keep(const struct dump_source *source, const struct trace_reading *before,
		      const struct trace_reading *after, struct dump_thread *thread);
/* Adds its labels to the JSON object. */
void dump_trace__labels(const struct dump *dump, const struct dump_thread *thread, json_t *labels);

/* ---- words (dump_wait.c) ---- */

/* `state` of spec/samples.md section 4. */
const char *dump_thread__state(const struct dump_thread *thread);

/* "mutex", "fd"; NULL: it waits for nothing. */
const char *dump_thread__kind(const struct dump_thread *thread);

/* The same as a sentence, into text: "a mutex that \"worker\" (tid 12) has". */
void dump_thread__words(const struct dump *dump, const struct dump_thread *thread, char *text,
			size_t size);

/* Its name, or what stands in its place. */
const char *dump_thread__name(const struct dump *dump, const struct dump_thread *thread);

/* ---- output (dump_json.c, dump_text.c) ---- */

/* One object of `processes`. NULL: out of memory. */
json_t *dump__json(const struct dump *dump);

/* For people. 0 or -ENOMEM. */
int dump__print(const struct dump *dump, FILE *stream);

#endif
