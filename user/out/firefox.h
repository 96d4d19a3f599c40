/* SPDX-License-Identifier: BSD-2-Clause */
/* Between the parts of the Firefox writer (firefox*.c); nobody else's. */
#ifndef RBPROF_FIREFOX_H
#define RBPROF_FIREFOX_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "../agg/profile.h"
#include "out.h"
#include "stack_order.h"
#include "threads.h"

#define FIREFOX_NS_PER_MS 1000000

/* Indexes into meta.categories, see firefox_meta.c. */
enum firefox_category {
	FIREFOX_OTHER = 0,
	FIREFOX_RUBY,
	FIREFOX_C,
	FIREFOX_GC,
	FIREFOX_WAIT,
};

/* What values are to the profiler: a time, a number of samples, bytes. */
enum firefox_weight {
	FIREFOX_SAMPLES = 0,
	FIREFOX_TIME,
	FIREFOX_BYTES,
};

struct firefox {
	struct profile *profile;
	const struct out_options *options;
	FILE *stream;
	struct stack_order order;
	struct out_threads threads;
	enum firefox_weight weight;
	int wall_type, cpu_type; /* -1: not in the profile */
	int64_t origin_ns;	 /* time 0 of the file, since the Unix epoch */
	int64_t period_ns;
	uint32_t *nodes; /* by stack id: its node in the stack table */
	/* Of the thread that is written: when each of its rows starts, as it is shown. */
	int64_t *starts_ns;
};

/*
 * The file's strings are those of the profile, with their ids, and then these.
 */
enum firefox_text {
	FIREFOX_TEXT_NO_STACK = 0,
	FIREFOX_TEXT_GC,
	FIREFOX_TEXT_GVL_WAIT,
	FIREFOX_TEXT_WAIT,
	FIREFOX_TEXT_COUNT,
};

uint32_t firefox__text(const struct firefox *firefox, enum firefox_text text);

/* "meta":{...}: what the file is, the categories, what markers say. */
void firefox__write_meta(const struct firefox *firefox);

/* "shared":{...}: strings, functions, frames and the tree of stacks. 0 or -ENOMEM. */
int firefox__write_shared(struct firefox *firefox);

/* A thread's samples and markers. */
void firefox__write_thread(struct firefox *firefox, const struct out_thread *thread);

#endif
