/* SPDX-License-Identifier: BSD-2-Clause */
#include "session_ring.h"

#include <errno.h>
#include <stdlib.h>

#include "../agg/profile_import.h"
#include "log.h"
#include "session_internal.h"

#define SLICES	     20
#define MIN_SLICE_NS 100000000ULL
#define RENEW_BYTES  (16u << 20)

struct ring {
	uint64_t length_ns, slice_ns;
	uint64_t begin_ns; /* of the slice that is being filled; 0: the first */
	struct session_slice *oldest, *newest;
	size_t renew_bytes; /* the profile's size at which it is renewed */
	uint64_t renewals;
	struct profile *written;
};

uint64_t ring__slice_ns(uint64_t length_ns)
{
	return length_ns / SLICES > MIN_SLICE_NS ? length_ns / SLICES : MIN_SLICE_NS;
}

int ring__new(uint64_t length_ns, uint64_t slice_ns, struct ring **ret_ring)
{
	struct ring *ring = calloc(1, sizeof(*ring));

	if (!ring)
		return -ENOMEM;
	ring->length_ns = length_ns;
	ring->slice_ns = slice_ns;
	ring->renew_bytes = RENEW_BYTES;
	*ret_ring = ring;
	return 0;
}

/* Slices of one profile follow each other: it goes with the last of them, or lives on. */
static void drop_oldest(struct ring *ring, const struct profile *current)
{
	struct session_slice *slice = ring->oldest;

	ring->oldest = slice->next;
	if (!ring->oldest)
		ring->newest = NULL;
	if (slice->profile != current && (!ring->oldest || ring->oldest->profile != slice->profile))
		profile__free(slice->profile);
	free(slice->rows);
	free(slice);
}

void ring__free(struct ring *ring, const struct profile *current)
{
	if (!ring)
		return;
	while (ring->oldest)
		drop_oldest(ring, current);
	profile__free(ring->written);
	free(ring);
}

static void drop_old(struct ring *ring, const struct profile *current, uint64_t now)
{
	while (ring->oldest && now - ring->oldest->end_ns >= ring->length_ns)
		drop_oldest(ring, current);
}

/* ---- slices ---- */

/* Rows of all that has been told so far. What the kernel side holds back comes later. */
static void flush(struct session *session)
{
	struct tracked_process *process;
	struct tracked_thread *thread;

	for (process = session->processes; process; process = process->hh.next) {
		if (process->is_placeholder)
			continue;
		session__read_thread_ids(session, process);
		for (thread = process->threads; thread; thread = thread->hh.next) {
			/* A wait without a tick yet: its time goes where the next one falls. */
			if (thread->off_ticks)
				session__share_waits(session, thread);
			session__flush_rows(session, process, thread);
		}
		session__flush_gc(session, process);
		session__flush_lost(session, process);
	}
}

static void append(struct ring *ring, struct session_slice *slice)
{
	if (ring->newest)
		ring->newest->next = slice;
	else
		ring->oldest = slice;
	ring->newest = slice;
}

static uint64_t begin_ns(const struct ring *ring, const struct session *session)
{
	return ring->begin_ns ? ring->begin_ns : session->start_ns;
}

/* Puts aside what has come since the last slice. False: no memory, the rows stay where they are. */
static bool end_slice(struct ring *ring, struct session *session)
{
	struct session_slice *slice = calloc(1, sizeof(*slice));

	if (!slice)
		return false;
	if (!session->stop_ns) {
		session__read_clocks(session);
		flush(session);
	} else {
		session__flush(session);
	}
	if (profile__take_rows(session->profile, &slice->rows, &slice->count)) {
		free(slice);
		return false;
	}
	slice->profile = session->profile;
	slice->begin_ns = begin_ns(ring, session);
	slice->end_ns = session->stop_ns ? session->stop_ns : clock__now_ns();
	ring->begin_ns = slice->end_ns;
	append(ring, slice);
	drop_old(ring, session->profile, slice->end_ns);
	return true;
}

const struct session_slice *ring__slices(const struct ring *ring)
{
	return ring->oldest;
}

/* ---- a new profile ---- */

static void move_key(struct profile_import *import, struct tracked_row_key *key)
{
	key->stack = profile_import__stack(import, key->stack);
	key->name = profile_import__string(import, key->name);
	key->holder = profile_import__string(import, key->holder);
	key->endpoint = profile_import__string(import, key->endpoint);
	key->state = profile_import__string(import, key->state);
	key->gc_source = profile_import__string(import, key->gc_source);
}

static void move_thread(struct profile_import *import, struct tracked_thread *thread)
{
	struct tracked_row *rows = thread->rows, *row, *next;

	thread->last_name = profile_import__string(import, thread->last_name);
	thread->last_stack = profile_import__stack(import, thread->last_stack);
	thread->last_endpoint = profile_import__string(import, thread->last_endpoint);
	if (thread->read.is_valid)
		move_key(import, &thread->read.key);
	thread->rows = NULL;
	HASH_ITER (hh, rows, row, next) {
		HASH_DEL(rows, row);
		move_key(import, &row->key);
		HASH_ADD(hh, thread->rows, key, sizeof(row->key), row);
	}
}

static void move_process(struct profile_import *import, struct profile *profile,
			 struct tracked_process *process)
{
	struct tracked_thread *thread;
	struct tracked_name *name;

	for (thread = process->threads; thread; thread = thread->hh.next)
		move_thread(import, thread);
	for (thread = process->ended; thread; thread = thread->hh.next)
		move_thread(import, thread);
	for (name = process->vm_names; name; name = name->hh.next)
		name->name = profile_import__string(import, name->name);
	if (process->gc.has_kept)
		move_key(import, &process->gc.kept);
	if (process->gc.rows)
		move_thread(import, process->gc.rows);
	if (process->names)
		names__move(process->names, profile, import);
}

static void move_session(struct session *session, struct profile_import *import)
{
	struct tracked_process *process;
	struct session_stack *stack;

	for (process = session->processes; process; process = process->hh.next)
		move_process(import, session->profile, process);
	for (stack = session->stacks; stack; stack = stack->hh.next) {
		stack->stack = profile_import__stack(import, stack->stack);
		stack->endpoint = profile_import__string(import, stack->endpoint);
	}
}

/* To be called when a slice has just been put aside: it holds on to the profile so far. */
static void renew(struct ring *ring, struct session *session)
{
	struct profile *before = session->profile;
	struct profile_import *import;

	if (session__make_profile(session) ||
	    profile_import__new(before, session->profile, &import)) {
		/* The names that each profile begins with have the same ids in all of them. */
		if (session->profile != before)
			profile__free(session->profile);
		session->profile = before;
		return;
	}
	move_session(session, import);
	profile_import__free(import);
	ring->renewals++;
	/* What is in use may be much: then it is not worth while that soon. */
	ring->renew_bytes = 2 * profile__bytes(session->profile);
	if (ring->renew_bytes < RENEW_BYTES)
		ring->renew_bytes = RENEW_BYTES;
	log__debug("the profile was renewed: %zu bytes of %zu are still in use",
		   profile__bytes(session->profile), profile__bytes(before));
}

void ring__poll(struct ring *ring, struct session *session)
{
	profile__free(ring->written);
	ring->written = NULL;
	if (!session->start_ns || clock__now_ns() - begin_ns(ring, session) < ring->slice_ns)
		return;
	if (end_slice(ring, session) && profile__bytes(session->profile) > ring->renew_bytes)
		renew(ring, session);
}

/* ---- writing ---- */

/* Adds the rows of a run of slices that have one profile. The first that has another, or NULL. */
static const struct session_slice *add_run(const struct session_slice *slice,
					   struct profile *written, struct late_ids *late_ids,
					   int *error)
{
	const struct profile *from = slice->profile;
	struct profile_import *import;
	size_t i;

	*error = profile__failed(from) ? -ENOMEM : profile_import__new(from, written, &import);
	if (*error)
		return NULL;
	profile_import__rename(import, late_ids__resolve, late_ids);
	for (; slice && slice->profile == from; slice = slice->next) {
		for (i = 0; i < slice->count; i++)
			profile_import__row(import, &slice->rows[i]);
	}
	profile_import__free(import);
	return slice;
}

struct profile *ring__profile(struct ring *ring, struct session *session, uint64_t *ret_begin_ns,
			      uint64_t *ret_end_ns)
{
	struct profile_type types[PROFILE_MAX_TYPES];
	size_t count = session__types(session, types);
	const struct session_slice *slice;
	int error;

	profile__free(ring->written);
	ring->written = NULL;
	if (!end_slice(ring, session) || profile__new(types, count, &ring->written))
		return NULL;
	*ret_begin_ns = ring->oldest->begin_ns;
	*ret_end_ns = ring->newest->end_ns;
	for (slice = ring->oldest, error = 0; slice && !error;)
		slice = add_run(slice, ring->written, session->late_ids, &error);
	return error || profile__failed(ring->written) ? NULL : ring->written;
}

json_t *ring__state(const struct ring *ring, const struct profile *current)
{
	uint64_t slices = 0, rows = 0, bytes = profile__bytes(current);
	const struct profile *last = current;
	const struct session_slice *slice;

	for (slice = ring->oldest; slice; slice = slice->next) {
		slices++;
		rows += slice->count;
		if (slice->profile != current && slice->profile != last)
			bytes += profile__bytes(slice->profile);
		last = slice->profile;
	}
	return json_pack("{s:I, s:I, s:I, s:I, s:I}", "length_ns", (json_int_t)ring->length_ns,
			 "slices", (json_int_t)slices, "rows", (json_int_t)rows, "bytes",
			 (json_int_t)(bytes + rows * sizeof(struct profile_row)), "renewals",
			 (json_int_t)ring->renewals);
}
