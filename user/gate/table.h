/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two sides as one table: a row a metric or function, a column a run. Here it is decided which
 * runs are compared (pairs, or all of both), in which unit, and what keeps them from being
 * compared at all.
 */
#ifndef RBPROF_GATE_TABLE_H
#define RBPROF_GATE_TABLE_H

#include "config.h"
#include "side.h"

enum gate_row_kind {
	GATE_ROW_METRIC = 0,
	GATE_ROW_SELF,	/* CPU of a function itself */
	GATE_ROW_TOTAL, /* and of all that it called */
};

struct gate_row {
	enum gate_row_kind kind;
	enum gate_metric metric;       /* of a function: GATE_FUNCTIONS */
	const char *name;	       /* of the metric or function; one line, escaped */
	const char *file;	       /* of a function, escaped; "" */
	int64_t line;		       /* its first, 0: unknown */
	double *base, *head;	       /* a run each; NULL: missing is set */
	double base_share, head_share; /* functions: of the profiles' CPU */
	double share;		       /* the same of all runs together */
	uint32_t base_id, head_id;     /* of the sides' profiles; PROFILE_NONE: not there */
	const char *missing;	       /* why there are no figures; NULL: there are */
	bool is_missing_on_both;
};

/* What differs or is wrong, so that something cannot be judged. */
struct gate_obstacle {
	char *text;
	bool of_counts; /* of the VM's counters, too, not of times alone */
};

struct gate_table {
	bool is_paired, is_per_work, is_calibrated;
	size_t base_count, head_count;
	struct gate_row *rows; /* metrics first */
	size_t row_count;
	struct gate_obstacle *obstacles;
	size_t obstacle_count;
	double one;	 /* in the unit of counts: 1, or 1 over the work of a run */
	double tick_ns;	 /* half a tick, in the unit of times: added before logarithms are taken */
	uint32_t *moved; /* by function id of base's profile: head's, or PROFILE_NONE */
	char **texts;	 /* of the rows */
	size_t text_count;
	size_t base_left, head_left; /* runs left out: of no pair */
};

/*
 * are_pairs: the sides are of one interleaved directory. Rows are those that the configuration
 * asks for, functions those above its share. 0 and *ret_table, which the caller frees; -ENOMEM.
 */
int gate_table__new(const struct gate_side *base, const struct gate_side *head, bool are_pairs,
		    const struct gate_config *config, struct gate_table *ret_table);
void gate_table__free(struct gate_table *table);

static inline bool gate_row__is_count(const struct gate_row *row)
{
	return row->metric == GATE_GC_COUNT || row->metric == GATE_ALLOCATED;
}

double gate_table__mean(const double *values, size_t count);

#endif
