/* SPDX-License-Identifier: BSD-2-Clause */
/* One call of the event hooks for an entry or exit of the collector, and what must run with it. */
#ifndef RBPROF_GC_SITES_PASSAGE_H
#define RBPROF_GC_SITES_PASSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "gc_sites_code.h"

#define GC_PASSAGE_MAX_PLACES 8

/* include/ruby/internal/event.h, 2.7 to 4.0 */
#define GC_EVENT_ENTER 0x2000000U
#define GC_EVENT_EXIT  0x4000000U

struct gc_passage {
	uint64_t constant; /* the instruction that loads the event */
	uint64_t call;
	uint64_t target; /* of the call */
	uint32_t event;
	unsigned int reg; /* that the event is passed in */
	bool is_straight; /* nothing but plain instructions from the constant to the call */
};

struct gc_places {
	uint64_t addresses[GC_PASSAGE_MAX_PLACES];
	unsigned int count;
	/* Of the word that the guards test, from the objspace; where there are no guards: unset. */
	bool is_guarded;
	int64_t hooks_offset;
};

/*
 * The call that the event loaded at an address goes to. False: no such load, or not surely a call
 * with this event.
 */
bool gc_passage__read(struct gc_code *code, uint64_t address, uint32_t event,
		      struct gc_passage *ret_passage);

/* Whether a function soon tests the bits of the register that it gets the event in. */
bool gc_passage__tests_event(struct gc_code *code, uint64_t function, unsigned int reg);

/*
 * The places that one passage executes exactly one of, once. flags_offset: of the byte with
 * during_gc, which must be set before an entry and cleared after an exit. may_be_unguarded: the
 * target of the call is known to test the event itself. NULL, or what is not understood.
 */
const char *gc_passage__places(struct gc_code *code, const struct gc_passage *passage,
			       int64_t flags_offset, bool may_be_unguarded,
			       struct gc_places *ret_places);

#endif
