/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is told of a regression beside its figures: the callers through which a function grew, what
 * it calls that grew, and of which other finding it is only a part (a method's callers grow with
 * it). And both sides as profiles that can be compared function by function.
 */
#ifndef RBPROF_GATE_FINDINGS_H
#define RBPROF_GATE_FINDINGS_H

#include "verdict.h"

#define GATE_NEIGHBOURS 3 /* told at most */

/* A function beside another one on stacks; times in the unit of the rows, mean of the runs. */
struct gate_neighbour {
	const char *name; /* one line, escaped */
	const char *file;
	double before, after;
};

struct gate_finding {
	const struct gate_verdict *verdict;
	/* Those that grew, most first; of a metric none. */
	struct gate_neighbour callers[GATE_NEIGHBOURS], callees[GATE_NEIGHBOURS];
	size_t caller_count, callee_count;
};

struct gate_findings {
	struct gate_finding *items; /* regressions: own ones first, then by size of the change */
	size_t count;
	/* The mean run of either side; base's functions are named as head's. */
	struct profile *base, *head;
	char **texts;
	size_t text_count;
};

/* Sets `through` in the verdicts. 0 and *ret_findings, which the caller frees; -ENOMEM. */
int gate_findings__new(struct gate_result *result, const struct gate_side *base,
		       const struct gate_side *head, struct gate_findings *ret_findings);
void gate_findings__free(struct gate_findings *findings);

#endif
