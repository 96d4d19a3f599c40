/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is to be said of each row of a table, and of all together.
 *
 * Times are tested (stats.h): a regression is significant (p of all tests together at most alpha)
 * and at least as large as the limit. The VM's counters hardly vary from run to run: head's median
 * lies outside the range of base by more than a thousandth and twice that range. What cannot be
 * judged is inconclusive, never a pass.
 */
#ifndef RBPROF_GATE_VERDICT_H
#define RBPROF_GATE_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config.h"
#include "table.h"

#define GATE_COUNTER_RUNS 3 /* with which counters can be judged */

enum gate_state {
	GATE_PASS = 0,
	GATE_REGRESSION,
	GATE_IMPROVEMENT,
	GATE_INCONCLUSIVE,
	GATE_IGNORED,	   /* by a rule */
	GATE_NEW,	   /* in head only: what it costs shows in what calls it */
	GATE_GONE,	   /* in base only */
	GATE_MOVED,	   /* into the function, from what it called: no more in all */
	GATE_NOT_MEASURED, /* on neither side, and nobody asked for it by name */
	GATE_STATES,
};

/* "regression" */
const char *gate_state__name(enum gate_state state);

struct gate_verdict {
	const struct gate_row *row;
	enum gate_state state;
	double before, after;		    /* mean of the runs, in the unit of the row */
	double change;			    /* a share: 0.2 is a fifth more */
	double low, high;		    /* of the change, see stats.h; NAN: not known */
	double p;			    /* in the direction of the change; NAN: not tested */
	double limit;			    /* of the change */
	const struct gate_rule *rule;	    /* that fits; NULL: none */
	const struct gate_verdict *through; /* one that this growth is a part of; NULL: its own */
};

struct gate_result {
	const struct gate_table *table;
	const struct gate_config *config;
	struct gate_verdict *verdicts; /* by row */
	size_t count;
	char **reasons; /* why it is inconclusive: one line each */
	size_t reason_count;
	size_t runs_needed; /* pairs, or runs of each side; 0: there are enough */
	double smallest_p;
};

/* 0 and *ret_result, which the caller frees and which points into the table and configuration. */
int gate_result__new(const struct gate_table *table, const struct gate_config *config,
		     struct gate_result *ret_result);
void gate_result__free(struct gate_result *result);

size_t gate_result__count(const struct gate_result *result, enum gate_state state);

/* CMD_DONE, CMD_REGRESSION or CMD_INCOMPATIBLE: what the gate exits with. */
int gate_result__status(const struct gate_result *result);
/* "pass", "regression", "inconclusive" */
const char *gate_result__name(const struct gate_result *result);

#endif
