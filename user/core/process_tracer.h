/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tracer of one process is found and read through; and what people are told of it. */
#ifndef RBPROF_PROCESS_TRACER_H
#define RBPROF_PROCESS_TRACER_H

#include <jansson.h>

#include "../discover/ruby_process.h"
#include "../ruby/tracer.h"
#include "../ruby/tracer_info.h"

/* `source` points into it: it must not be moved while it is open. */
struct process_tracer {
	struct tracer_source source;
	struct symbols *symbols; /* NULL: it is not open */
	uint64_t ivar_ids[RBPROF_IVAR_COUNT], current_span_at;
};

/*
 * Opens one that is all 0, for a process whose layout was proved; the memory is not owned. 0;
 * -ENOTSUP: objects of the release cannot be read as it needs; -ENOMEM.
 */
int process_tracer__open(struct process_tracer *tracer, const struct ruby_process *process,
			 struct memory *memory);
/* Also one that was never opened. What was met of ids is forgotten. */
void process_tracer__close(struct process_tracer *tracer);

/* Whether anything is known by which labels are found. */
bool process_tracer__any(const struct rbprof_tracer *tracer);

/*
 * Adds to the JSON object `tracer` (a line for people: "dd-trace-rb 2.47.0", "none") and `tracers`,
 * an array with an object for each library.
 */
void process_tracer__describe(json_t *object, const struct tracer_info *info);
/* The same where nothing can be said: "not yet known: " and why. */
void process_tracer__not_known(json_t *object, const char *why);

/* The same for a process that nobody watches yet; error: why it cannot be read, or 0. */
void process_tracer__describe_process(json_t *object, const struct ruby_process *process,
				      int error);

#endif
