/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Permutation tests of many quantities at once, over runs. Pure: no input, no output, the same
 * answer for the same question.
 *
 * A quantity has one value a run: the logarithm of what the run cost. Under the null hypothesis
 * the two sides of a pair could be exchanged (paired: the signs of the differences are flipped),
 * or the runs' labels base and head (unpaired). Every way to do so is an arrangement; all are
 * gone through where they are few, else a seeded random choice of them.
 *
 * The statistic is Student's t, so that a noisy quantity does not hide a quiet one, times a weight
 * by which some quantities are looked at harder than others (it must not depend on which side is
 * which). p values are
 * adjusted for all quantities by the step-down maximum of Westfall and Young (1993, algorithm
 * 4.1), which keeps the family-wise error and makes use of what quantities have in common.
 */
#ifndef RBPROF_GATE_STATS_H
#define RBPROF_GATE_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* At most so many arrangements are looked at; more than all of 14 pairs. */
#define GATE_STATS_ARRANGEMENTS 20000

struct gate_design {
	bool is_paired;		       /* base[i] and head[i] are a pair; counts are equal */
	size_t base_count, head_count; /* runs */
	double alpha;		       /* of a test that looks in one direction */
	uint64_t seed;		       /* of random arrangements */
};

/* Values of one quantity: logarithms, base_count and head_count of them. */
struct gate_quantity {
	const double *base, *head;
	double weight; /* above 0 */
};

struct gate_effect {
	double mean; /* of head less base: the logarithm of the ratio */
	/*
	 * All effects that a test of this quantity alone would not reject: it is below low, or
	 * above high, with probability alpha each at most. -INFINITY, INFINITY where the runs are
	 * too few to say.
	 */
	double low, high;
	double p_more, p_less; /* adjusted; that head is not above, not below base */
};

/* 0 or -ENOMEM. effects has an entry a quantity. */
int gate_stats__test(const struct gate_design *design, const struct gate_quantity *quantities,
		     size_t count, struct gate_effect *effects);

/*
 * Takes out of a quantity what goes with another one: base and head less `by`, times the factor
 * between 0 and 1 that leaves least of it. The factor is the same in every arrangement (it is
 * fitted to squares about 0 of pairs' differences, about the common mean of unpaired runs), so the
 * test of what is left is exact. Returns Student's t of the other one's own change, 0 where it has
 * none: far from 0 what is left no longer tells of the quantity alone.
 */
double gate_stats__take_out(const struct gate_design *design, const struct gate_quantity *by,
			    double *base, double *head);

/* The smallest p that so many runs can reach, whatever they cost; 1 where a side has none. */
double gate_stats__smallest_p(const struct gate_design *design);

/* Pairs, or runs of each side, with which alpha can be reached. */
size_t gate_stats__runs_needed(bool is_paired, double alpha);

#endif
