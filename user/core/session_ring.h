/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The flight recorder: rows of the last time only, in bounded memory.
 *
 * Rows are put aside a slice at a time, and slices are dropped when they are too old. Strings and
 * stacks cannot be dropped one by one: once they take up too much, the recording goes on with a
 * new profile, into which only what is still in use is brought. Slices hold on to the profile
 * that their ids are of, and are brought together in one when they are written.
 */
#ifndef RBPROF_SESSION_RING_H
#define RBPROF_SESSION_RING_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "../agg/profile.h"
#include "session.h"

struct ring;

/* Keeps the last length_ns, in slices of at least slice_ns. 0 or -ENOMEM. */
int ring__new(uint64_t length_ns, uint64_t slice_ns, struct ring **ret_ring);
void ring__free(struct ring *ring, const struct profile *current);

/* Ends the slice if it is long enough. */
void ring__poll(struct ring *ring, struct session *session);

/*
 * Everything kept, up to now, in a profile that stays the ring's until the next call of one of
 * these two; ret_begin_ns, ret_end_ns (CLOCK_MONOTONIC): the time it is of. NULL: no memory.
 */
struct profile *ring__profile(struct ring *ring, struct session *session, uint64_t *ret_begin_ns,
			      uint64_t *ret_end_ns);

/* For `rbprof-bpf state`. New reference. */
json_t *ring__state(const struct ring *ring, const struct profile *current);

/* What is kept, the oldest first; NULL: nothing yet. Valid until the next call of any of these. */
const struct session_slice *ring__slices(const struct ring *ring);

/* How long a slice is if nothing else is asked for. */
uint64_t ring__slice_ns(uint64_t length_ns);

#endif
