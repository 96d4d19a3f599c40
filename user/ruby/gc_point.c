/* SPDX-License-Identifier: BSD-2-Clause */
#include "gc_point.h"

/* gc.c: enum gc_mode, of 3.2 and later */
#define GC_MODE_NONE	   0
#define GC_MODE_COMPACTING 3

struct gc_point gc_point__of(const struct rbprof_gc_state *state)
{
	struct gc_point point = { .known = false };
	uint32_t mode = state->flags & RUBY_GC_MODE_MASK;

	if (state->count == RBPROF_GC_STATE_UNKNOWN)
		return point;
	point.period = state->count;
	point.marking = mode == RUBY_GC_MODE_MARKING;
	point.compacting = mode == GC_MODE_COMPACTING || (state->flags & RUBY_GC_DURING_COMPACTING);
	/*
	 * A cycle counts itself before it starts to mark, and its mode is back to none before it
	 * has ended. Both ends look alike, so the earlier period is taken. A compaction, if there
	 * is one, comes later or is over.
	 */
	point.edge = mode == GC_MODE_NONE && (state->flags & RUBY_GC_DURING_GC);
	if (point.marking || (point.edge && point.period)) {
		if (!point.period)
			return point; /* a marking that was not counted */
		point.period--;
	} else {
		point.moving = point.compacting;
	}
	point.known = true;
	return point;
}

size_t gc_reader__add(struct gc_reader *reader, const struct ruby_layout *layout, uint64_t objspace,
		      struct memory_range *ranges)
{
	const uint64_t flags = objspace + layout->objspace__flags;

	ranges[0] = (struct memory_range){ flags, &reader->flags, sizeof(reader->flags) };
	ranges[1] = (struct memory_range){ objspace + layout->objspace__profile_count,
					   &reader->count, sizeof(reader->count) };
	ranges[2] = (struct memory_range){ objspace + layout->objspace__profile_major_gc_count,
					   &reader->majors, sizeof(reader->majors) };
	ranges[3] =
		(struct memory_range){ flags, &reader->flags_again, sizeof(reader->flags_again) };
	return GC_READER_RANGES;
}

bool gc_reader__state(const struct gc_reader *reader, struct rbprof_gc_state *ret_state)
{
	if ((reader->flags ^ reader->flags_again) & RUBY_GC_STATE_MASK)
		return false;
	*ret_state = (struct rbprof_gc_state){ .count = reader->count, .flags = reader->flags };
	return true;
}

struct gc_point gc_reader__point(const struct gc_reader *reader)
{
	struct gc_point point = { .known = false };
	struct rbprof_gc_state state;

	if (!gc_reader__state(reader, &state))
		return point;
	point = gc_point__of(&state);
	point.majors = reader->majors;
	return point;
}
