/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is known of one side of a comparison: its runs, what each function cost in each of them,
 * and their mean as one profile. It comes out of a directory of runs or of a baseline file.
 */
#ifndef RBPROF_GATE_SIDE_H
#define RBPROF_GATE_SIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../agg/profile.h"
#include "run_json.h"

/* CPU in ns, an entry a run. */
struct gate_function {
	int64_t line; /* first line, 0: unknown */
	double *self;
	double *total; /* with all that it called */
};

struct gate_side {
	const char *path; /* not owned */
	bool is_baseline;
	bool has_cpu; /* all profiles have CPU times */
	struct gate_run *runs;
	size_t run_count;
	struct gate_function *functions; /* by function id of profile */
	size_t function_count;
	/* The mean run: cpu-time alone, no labels, a function is a name and a file. */
	struct profile *profile;
};

/*
 * A directory of runs, or a baseline file. CMD_DONE, and the caller frees *ret_side with
 * gate_side__free(); CMD_FILE: missing, without a run, corrupt; CMD_INCOMPATIBLE: of a format that
 * this version does not know. What is wrong has been said. Runs that did not end are left out
 * with a warning. path must outlive the side.
 */
int gate_side__read(const char *path, struct gate_side *ret_side);
void gate_side__free(struct gate_side *side);

/* Whether a directory holds interleaved runs: base/ and head/. */
bool gate_side__is_interleaved(const char *path);

/* For readers of a side. An empty one for so many runs; 0 or -ENOMEM. */
int gate_side__init(struct gate_side *side, const char *path, size_t run_count);

/*
 * The id of a function in side->profile, with room for its figures. PROFILE_NONE: out of memory.
 * Texts are valid UTF-8.
 */
uint32_t gate_side__function(struct gate_side *side, const char *name, size_t name_length,
			     const char *file, size_t file_length);

/* What stands for no code of the program: our own cost, what could not be read. */
bool gate_side__is_special(const struct gate_side *side, uint32_t function);

#endif
