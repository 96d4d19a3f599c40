/* SPDX-License-Identifier: BSD-2-Clause */
#include "names_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int names__new(struct memory *memory, const struct ruby_layout *layout,
	       const struct names_roots *roots, struct profile *profile, struct names **ret_names)
{
	struct names *names = calloc(1, sizeof(*names));
	int err = -ENOMEM;

	if (!names)
		return -ENOMEM;
	names->memory = memory;
	names->layout = *layout;
	names->profile = profile;
	err = prover__new(memory, layout, roots->vm_ptr_address, &names->prover);
	if (!err)
		err = symbols__new(memory, layout, roots->symbols_address, &names->symbols);
	if (err) {
		names__free(names);
		return err;
	}
	*ret_names = names;
	return 0;
}

/* What an entry holds of the heap, roughly. */
static size_t frame_bytes(const struct frame_name *name)
{
	return sizeof(*name) + name->proof.count * sizeof(*name->proof.ranges) +
	       name->lines.count * sizeof(*name->lines.runs);
}

size_t names__thread_bytes(const struct thread_name *name)
{
	return sizeof(*name) + name->proof.count * sizeof(*name->proof.ranges);
}

static void names_hold(struct names *names, struct frame_name *name)
{
	names->bytes -= name->held;
	name->held = frame_bytes(name);
	names->bytes += name->held;
}

static void names_drop_frame(struct names *names, struct frame_name *name)
{
	names->bytes -= name->held;
	HASH_DEL(names->frames, name);
	frame_name__clear(name);
	free(name);
}

static void names_drop_thread(struct names *names, struct thread_name *name)
{
	names->bytes -= name->held;
	HASH_DEL(names->threads, name);
	proof__free(&name->proof);
	free(name);
}

/* Drops all that was not used since the call `since`. */
static void names_drop(struct names *names, uint64_t since)
{
	struct frame_name *frame, *next_frame;
	struct thread_name *thread, *next_thread;

	HASH_ITER (hh, names->frames, frame, next_frame) {
		if (frame->used < since)
			names_drop_frame(names, frame);
	}
	HASH_ITER (hh, names->threads, thread, next_thread) {
		if (thread->used < since)
			names_drop_thread(names, thread);
	}
	names__drop_receivers(names, since);
}

void names__trim(struct names *names)
{
	uint64_t span = NAMES_IDLE_CALLS;

	if (names->calls % NAMES_IDLE_CALLS == 0)
		names_drop(names, names->calls > span ? names->calls - span : 0);
	while (names->bytes > NAMES_MAX_BYTES && span) {
		span /= 4;
		names_drop(names, names->calls > span ? names->calls - span : 0);
	}
}

void names__free(struct names *names)
{
	if (!names)
		return;
	names_drop(names, UINT64_MAX);
	symbols__free(names->symbols);
	prover__free(names->prover);
	free(names);
}

void names__move(struct names *names, struct profile *profile, struct profile_import *import)
{
	struct receiver_name *receiver;
	struct frame_name *frame;
	struct thread_name *thread;

	for (receiver = names->receivers; receiver; receiver = receiver->hh.next)
		receiver->text = profile_import__string(import, receiver->text);
	for (frame = names->frames; frame; frame = frame->hh.next) {
		frame->function = profile_import__function(import, frame->function);
		frame->last_frame = PROFILE_NONE;
	}
	for (thread = names->threads; thread; thread = thread->hh.next)
		thread->text = profile_import__string(import, thread->text);
	names->profile = profile;
}

const uint64_t *names__errors(const struct names *names)
{
	return names->errors;
}

int names__gc_state(struct names *names, struct rbprof_gc_state *ret_state)
{
	return prover__state(names->prover, ret_state);
}

uint32_t names__special(struct profile *profile, const char *name)
{
	const struct profile_function function = {
		.name = profile__cstring(profile, name),
		.system_name = profile__cstring(profile, ""),
		.file = profile__cstring(profile, "<rbprof>"),
	};
	const uint32_t id = profile__function(profile, &function);

	return id == PROFILE_NONE ? PROFILE_NONE : profile__frame(profile, id, 0);
}

/* The frame in place of one whose name failed, which is counted. */
static uint32_t names_failed(struct names *names, int error)
{
	if (error <= 0 || error >= RBPROF_E_COUNT)
		error = RBPROF_E_NAME_GONE;
	names->errors[error]++;
	return names__special(names->profile,
			      error == RBPROF_E_NAME_GONE ? "(gone)" : "(unreadable)");
}

/*
 * Why a name could not be read. What is no code now may well have been at the sample, unless
 * nothing can have been freed since.
 */
static uint32_t names_unread(struct names *names, int err, const struct gc_point *sample)
{
	if (err > 0 && !prover__same_period(names->prover, sample))
		err = RBPROF_E_NAME_GONE;
	return names_failed(names, err);
}

static struct frame_name *names_add_frame(struct names *names, const struct frame_key *key,
					  int *ret_err)
{
	struct frame_name *name = calloc(1, sizeof(*name));

	*ret_err = -ENOMEM;
	if (!name)
		return NULL;
	name->key = *key;
	name->last_frame = PROFILE_NONE;
	*ret_err = frame_name__read(names, key, name);
	if (*ret_err) {
		free(name);
		return NULL;
	}
	HASH_ADD(hh, names->frames, key, sizeof(name->key), name);
	if (!name->hh.tbl) {
		*ret_err = -ENOMEM;
		frame_name__clear(name);
		free(name);
		return NULL;
	}
	names_hold(names, name);
	return name;
}

/* Reads an entry anew. What it says now is not known for any sample. 0 or as frame_name__read. */
static int names_reread(struct names *names, struct frame_name *name)
{
	struct frame_name fresh = { .key = name->key };
	int err = frame_name__read(names, &name->key, &fresh);

	if (err)
		return err;
	frame_name__clear(name);
	name->proof = fresh.proof;
	name->serial = fresh.serial;
	name->method_serials[0] = fresh.method_serials[0];
	name->method_serials[1] = fresh.method_serials[1];
	name->passing = fresh.passing;
	name->whole = false;
	name->function = fresh.function;
	name->code = fresh.code;
	name->code_bytes = fresh.code_bytes;
	name->lines = fresh.lines;
	name->last_frame = PROFILE_NONE;
	names_hold(names, name);
	return 0;
}

/* Whether the frame had another method than the entry. */
static bool names_other_method(const struct frame_name *name, const struct rbprof_frame *frame)
{
	return frame->method_serial && frame->method_serial != name->method_serials[0] &&
	       frame->method_serial != name->method_serials[1];
}

/*
 * Whether the entry is right for the frame whatever happened in between: it is part of a method
 * definition, and the frame's has the same serial number; or of the main script, of which there
 * is one. That the frame's pc lies in its code is seen later.
 */
static bool names_same_method(const struct frame_name *name, const struct rbprof_frame *frame)
{
	if (name->passing)
		return false;
	if (name->serial)
		return frame->method_serial && !names_other_method(name, frame);
	return name->proof.continuous && !name->proof.movable && name->key.iseq &&
	       name->proof.settled;
}

/* The entries of the frames, as far as they can be read. */
static void names_look_up(struct names *names, const struct rbprof_frame *frames, size_t count,
			  const struct gc_point *sample)
{
	size_t i;
	int err;

	for (i = 0; i < count; i++) {
		const struct frame_key key = { frames[i].iseq, frames[i].method_entry };
		struct frame_name *name = NULL;

		HASH_FIND(hh, names->frames, &key, sizeof(key), name);
		if (!name) {
			name = names_add_frame(names, &key, &err);
			if (!name)
				names->failures[i] = names_unread(names, err, sample);
		}
		if (name) {
			name->used = names->calls;
			name->verdict = VERDICT_OPEN;
			if (!names_other_method(name, &frames[i]) &&
			    (proof__holds(&name->proof, sample) ||
			     (name->whole && names_same_method(name, &frames[i]))))
				name->verdict = VERDICT_RIGHT;
		}
		names->batch[i] = name;
	}
}

/* Proves the entries of a batch that are not known right for the sample. */
static void names_prove(struct names *names, const struct rbprof_frame *frames, size_t count,
			const struct gc_point *sample)
{
	const struct rbprof_frame *open_frames[NAMES_BATCH];
	struct frame_name *open[NAMES_BATCH];
	size_t n, i, round;

	for (round = 0; round < 2; round++) {
		for (n = 0, i = 0; i < count; i++) {
			struct frame_name *name = names->batch[i];

			if (!name || name->verdict != VERDICT_OPEN)
				continue;
			name->verdict = VERDICT_GONE;
			names->proofs[n] = &name->proof;
			open_frames[n] = &frames[i];
			open[n++] = name;
		}
		if (!n)
			return;
		(void)prover__check(names->prover, names->proofs, n, sample, names->results);
		for (i = 0; i < n; i++) {
			names_hold(names, open[i]); /* a proof may need less from now on */
			open[i]->whole |= open[i]->proof.intact;
			if (names->results[i] == PROOF_RIGHT ||
			    (open[i]->proof.intact && names_same_method(open[i], open_frames[i])))
				open[i]->verdict = VERDICT_RIGHT;
			/* Something else by now, or what it hangs on was replaced: look again. */
			else if (names->results[i] == PROOF_CHANGED && !round &&
				 !names_reread(names, open[i]))
				open[i]->verdict = VERDICT_OPEN;
		}
	}
}

/* The frame id of a frame whose entry was judged. */
static uint32_t names_frame_id(struct names *names, struct frame_name *name,
			       const struct rbprof_frame *frame, const struct gc_point *sample)
{
	const uint64_t pc = frame->pc;
	int64_t line = 0;

	if (name->verdict != VERDICT_RIGHT || names_other_method(name, frame))
		return names_failed(names, RBPROF_E_NAME_GONE);
	if (name->key.iseq) {
		if (pc < name->code || pc - name->code > name->code_bytes || pc % ISEQ_WORD)
			return names_unread(names, RBPROF_E_PC_OUTSIDE, sample);
		if (name->last_frame != PROFILE_NONE && name->last_pc == pc)
			return name->last_frame;
		line = iseq_lines__find(&name->lines, pc - name->code);
		line = line > 0 ? line : 0;
	}
	name->last_pc = pc;
	name->last_frame = profile__frame(names->profile, name->function, line);
	return name->last_frame;
}

static size_t names_batch(struct names *names, const struct rbprof_frame *frames, size_t count,
			  const struct gc_point *sample, uint32_t *ret_frames, bool *lasting)
{
	size_t named = 0, i;

	names_look_up(names, frames, count, sample);
	names_prove(names, frames, count, sample);
	for (i = 0; i < count; i++) {
		struct frame_name *name = names->batch[i];

		ret_frames[i] =
			name ? names_frame_id(names, name, &frames[i], sample) : names->failures[i];
		named += name && ret_frames[i] == name->last_frame;
		*lasting &= name && name->whole && ret_frames[i] == name->last_frame &&
			    names_same_method(name, &frames[i]);
	}
	return named;
}

/*
 * The frames of one kind, batch by batch: those with a method's serial number, or those without.
 */
static size_t names_kind(struct names *names, const struct rbprof_frame *frames, size_t count,
			 bool has_serial, const struct gc_point *sample, uint32_t *ret_frames,
			 bool *lasting)
{
	struct rbprof_frame batch[NAMES_BATCH];
	uint32_t ids[NAMES_BATCH];
	size_t at[NAMES_BATCH], named = 0, i = 0, n, k;

	while (i < count) {
		for (n = 0; i < count && n < NAMES_BATCH; i++) {
			if ((frames[i].method_serial != 0) != has_serial)
				continue;
			at[n] = i;
			batch[n++] = frames[i];
		}
		named += names_batch(names, batch, n, sample, ids, lasting);
		for (k = 0; k < n; k++)
			ret_frames[at[k]] = ids[k];
	}
	return named;
}

size_t names__frames(struct names *names, const struct rbprof_frame *frames, size_t count,
		     const struct rbprof_gc_state *gc, uint32_t *ret_frames, bool *ret_lasting)
{
	const struct gc_point sample = gc_point__of(gc);
	bool lasting = true;
	size_t named;

	names->calls++;
	names__trim(names);
	/* First what may soon be freed: a serial number tells the others whenever they are read. */
	named = names_kind(names, frames, count, false, &sample, ret_frames, &lasting);
	named += names_kind(names, frames, count, true, &sample, ret_frames, &lasting);
	if (ret_lasting)
		*ret_lasting = lasting;
	return named;
}
