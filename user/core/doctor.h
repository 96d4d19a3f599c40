/* SPDX-License-Identifier: BSD-2-Clause */
/* Judges facts about the host: one check each, with what to do where it fails. */
#ifndef RBPROF_DOCTOR_H
#define RBPROF_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host.h"

/* All that the checks look at; results of tries are 0 or -errno. */
struct doctor_facts {
	struct host host;
	uint64_t capabilities; /* see privilege__capabilities() */
	bool is_root;
	uint64_t memlock_bytes; /* UINT64_MAX: unlimited */
	int memlock_raise;	/* of raising it */
	int memory_read;
	int tracing;
	int perf_program;
	int clock;
	int counters;
	bool has_loop;
	enum host_pids pids;
};

#define DOCTOR_MAX_CHECKS 32

struct doctor_check {
	const char *name;
	bool is_ok;
	char found[512];
	char remedy[256]; /* one line; empty where is_ok */
};

struct doctor_report {
	bool is_ok; /* every check is */
	size_t count;
	struct doctor_check checks[DOCTOR_MAX_CHECKS];
};

/* Collects the facts of this host: loads small programs, opens events, forks once. 0, -errno. */
int doctor__collect(struct doctor_facts *ret_facts);

/* Touches nothing but its arguments. */
void doctor__judge(const struct doctor_facts *facts, struct doctor_report *ret_report);

#endif
