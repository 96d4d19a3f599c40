/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Points in the life of a process's objects.
 *
 * A period is the time between the ends of two markings; its number is how many markings have
 * been completed before it. What was on a stack, or reachable from there, at any instant of a
 * period was alive when the period began to be marked out, so it is not freed before the marking
 * that ends the period is complete: only the sweep of a later period can free it. Two reads in
 * one period see the same object at an address that was on a stack at the first. (gc.c,
 * gc_start(), gc_marks_finish(), gc_sweep(); 2.7 to 4.0.)
 */
#ifndef RBPROF_GC_POINT_H
#define RBPROF_GC_POINT_H

#include <stdbool.h>
#include <stdint.h>

#include "../../include/rbprof_abi.h"
#include "../util/memory.h"

struct gc_point {
	uint64_t period;
	uint64_t majors; /* full markings begun; only where it was read by gc_reader__add() */
	bool known;	 /* false: nothing can be said */
	bool marking;
	bool compacting; /* the cycle under way compacts */
	bool moving;	 /* ... and may move objects before the period ends */
	bool edge;	 /* at the begin of a cycle or at its very end: period is the earlier one */
};

/* What a state means. Never fails: a state that cannot be is not known. */
struct gc_point gc_point__of(const struct rbprof_gc_state *state);

/* Reads the state as part of a list of ranges; the words must stay in place until it is read. */
#define GC_READER_RANGES 4
struct gc_reader {
	uint32_t flags, flags_again;
	uint64_t count, majors;
};

/* Adds the ranges of the reader to ranges (room for GC_READER_RANGES). Returns their number. */
size_t gc_reader__add(struct gc_reader *reader, const struct ruby_layout *layout, uint64_t objspace,
		      struct memory_range *ranges);

/* After the ranges were read: the state, or false if it changed during the read. */
bool gc_reader__state(const struct gc_reader *reader, struct rbprof_gc_state *ret_state);
struct gc_point gc_reader__point(const struct gc_reader *reader);

#endif
