/* SPDX-License-Identifier: BSD-2-Clause */
/* The rows of a profile by thread and time, for formats that have threads. */
#ifndef RBPROF_OUT_THREADS_H
#define RBPROF_OUT_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../agg/profile.h"

/* A row without a time. */
#define OUT_NO_TIME INT64_MIN

struct out_row {
	uint32_t row;	 /* index in the profile */
	uint32_t thread; /* index of its thread */
	int64_t end_ns;	 /* end_timestamp_ns, or OUT_NO_TIME */
};

struct out_thread {
	uint32_t id;	  /* string ids of the labels: thread id, */
	uint32_t name;	  /* thread name: the last one that is known, */
	uint32_t process; /* process; each may be PROFILE_NONE */
	uint32_t labels;  /* a label set of the thread */
	int64_t pid;	  /* 0: no such label */
	int64_t tid;	  /* native id; of what has none (GC): a number that no other has */
	size_t first;	  /* of its rows */
	size_t count;
};

struct out_threads {
	struct out_thread *threads; /* in the order of their first rows */
	size_t count;
	struct out_row *rows; /* by thread; then by time, those without one last */
	bool has_times;	      /* of any row */
};

/* 0 or -ENOMEM. Free it with out_threads__free(). */
int out_threads__init(struct out_threads *threads, const struct profile *profile);
void out_threads__free(struct out_threads *threads);

/* Whether any row of the profile has a time. */
bool out_threads__has_times(const struct profile *profile);

/* The label with this key, or NULL. */
const struct profile_label *out_label(const struct profile *profile, uint32_t label_set,
				      const char *key);
/* The text of a label; PROFILE_NONE: none, or it is a number. */
uint32_t out_label_text(const struct profile *profile, uint32_t label_set, const char *key);

#endif
