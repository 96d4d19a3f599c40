/* SPDX-License-Identifier: BSD-2-Clause */
#include "proof.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_RANGES 8192
#define BATCH_BYTES  (1u << 20)
#define TRIES	     4	/* of a read in which the state of the collector changed */
#define OBSERVATIONS 32 /* periods for which we know how many full markings had begun */

struct prover {
	struct memory *memory;
	struct ruby_layout layout;
	uint64_t vm_ptr_address;
	uint64_t vm, objspace; /* 0: not known yet */
	struct {
		uint64_t period, majors;
		bool set;
	} observations[OBSERVATIONS];
	struct memory_range *ranges;
	char *bytes;
	size_t bytes_size;
};

/* One read of some proofs: where the bytes of each lie, and the state after it. */
struct batch {
	struct gc_reader gc;
	struct gc_point after;
	size_t first, count; /* of the proofs */
};

void proof__init(struct proof *proof, struct reader *reader)
{
	*proof = (struct proof){
		.count = reader->count,
		.bytes = (uint32_t)reader->bytes,
		.fingerprint = reader->fingerprint,
		.first = 1,
		.last = 0,
	};
	proof->ranges = realloc(reader->ranges, reader->count * sizeof(*reader->ranges));
	if (!proof->ranges)
		proof->ranges = reader->ranges;
	reader->ranges = NULL;
	reader->count = reader->capacity = 0;
}

void proof__free(struct proof *proof)
{
	free(proof->ranges);
	proof->ranges = NULL;
	proof->count = 0;
}

static bool proof_empty(const struct proof *proof)
{
	return proof->first > proof->last;
}

bool proof__holds(const struct proof *proof, const struct gc_point *sample)
{
	return sample->known && !sample->moving && sample->period >= proof->first &&
	       sample->period + sample->edge <= proof->last;
}

int prover__new(struct memory *memory, const struct ruby_layout *layout, uint64_t vm_ptr_address,
		struct prover **ret_prover)
{
	struct prover *prover = calloc(1, sizeof(*prover));
	struct rbprof_gc_state state;

	if (!prover)
		return -ENOMEM;
	prover->memory = memory;
	prover->layout = *layout;
	prover->vm_ptr_address = vm_ptr_address;
	prover->ranges = calloc(BATCH_RANGES + GC_READER_RANGES, sizeof(*prover->ranges));
	if (!prover->ranges) {
		free(prover);
		return -ENOMEM;
	}
	/* The first observation: how often there has been a full marking before any sample. */
	(void)prover__state(prover, &state);
	*ret_prover = prover;
	return 0;
}

void prover__free(struct prover *prover)
{
	if (!prover)
		return;
	free(prover->ranges);
	free(prover->bytes);
	free(prover);
}

int prover__vm(struct prover *prover, uint64_t *ret_vm)
{
	uint64_t vm, objspace;
	int err = 0;

	if (!prover->objspace) {
		if (!prover->vm_ptr_address)
			return -EAGAIN;
		err = memory__read_u64(prover->memory, prover->vm_ptr_address, &vm);
		if (err)
			return err;
		if (!vm)
			return -EAGAIN;
		err = memory__read_u64(prover->memory, vm + prover->layout.vm__objspace, &objspace);
		if (err)
			return err;
		if (!objspace)
			return -EAGAIN;
		prover->vm = vm;
		prover->objspace = objspace;
	}
	*ret_vm = prover->vm;
	return 0;
}

/* The latest period that the point may lie in. */
static uint64_t point_latest(const struct gc_point *point)
{
	return point->period + point->edge;
}

static void prover_observe(struct prover *prover, const struct gc_point *point)
{
	const uint64_t period = point_latest(point);
	const size_t slot = period % OBSERVATIONS;

	/* A compaction under way was counted already, and would look like none. */
	if (!point->known || point->compacting)
		return;
	if (prover->observations[slot].set && prover->observations[slot].period == period)
		return;
	prover->observations[slot].set = true;
	prover->observations[slot].period = period;
	prover->observations[slot].majors = point->majors;
}

/* True if no compaction can have begun between a sample and now: it needs a full marking. */
static bool prover_unmoved(const struct prover *prover, uint64_t sample_period, uint64_t majors)
{
	size_t i;

	for (i = 0; i < OBSERVATIONS; i++)
		if (prover->observations[i].set &&
		    prover->observations[i].period <= sample_period &&
		    prover->observations[i].majors == majors)
			return true;
	return false;
}

static int prover_point(struct prover *prover, struct gc_reader *gc)
{
	struct memory_range ranges[GC_READER_RANGES];
	struct rbprof_gc_state state;
	struct gc_point point;
	uint64_t vm;
	int tries, err;

	err = prover__vm(prover, &vm);
	if (err)
		return err;
	for (tries = 0; tries < TRIES; tries++) {
		size_t count = gc_reader__add(gc, &prover->layout, prover->objspace, ranges);

		err = memory__read_ranges(prover->memory, ranges, count);
		if (err)
			return err;
		if (!gc_reader__state(gc, &state))
			continue;
		point = gc_reader__point(gc);
		prover_observe(prover, &point);
		return 0;
	}
	return -EBUSY;
}

int prover__state(struct prover *prover, struct rbprof_gc_state *ret_state)
{
	struct gc_reader gc;
	int err = prover_point(prover, &gc);

	if (err == -EAGAIN) {
		*ret_state = (struct rbprof_gc_state){ .count = RBPROF_GC_STATE_UNKNOWN };
		return 0;
	}
	if (!err)
		(void)gc_reader__state(&gc, ret_state);
	return err;
}

bool prover__same_period(struct prover *prover, const struct gc_point *sample)
{
	struct gc_reader gc;
	struct gc_point now;

	if (sample->moving || prover_point(prover, &gc))
		return false;
	now = gc_reader__point(&gc);
	return now.known && !now.moving && point_latest(&now) <= sample->period;
}

/* Puts as many proofs as fit into one read. Always at least one. */
static int batch_fill(struct prover *prover, struct proof **proofs, size_t count,
		      struct batch *batch)
{
	size_t n = 0, used = 0, bytes = 0, i;
	uint32_t k;

	for (i = batch->first; i < count; i++) {
		if (i > batch->first && (used + proofs[i]->count > BATCH_RANGES ||
					 bytes + proofs[i]->bytes > BATCH_BYTES))
			break;
		used += proofs[i]->count;
		bytes += proofs[i]->bytes;
	}
	batch->count = i - batch->first;
	if (bytes > prover->bytes_size) {
		char *room = realloc(prover->bytes, bytes);

		if (!room)
			return -ENOMEM;
		prover->bytes = room;
		prover->bytes_size = bytes;
	}
	for (bytes = 0, i = batch->first; i < batch->first + batch->count; i++) {
		for (k = 0; k < proofs[i]->count; k++) {
			const struct reader_range *range = &proofs[i]->ranges[k];

			prover->ranges[n++] =
				(struct memory_range){ range->address, prover->bytes + bytes,
						       range->size };
			bytes += range->size;
		}
	}
	n += gc_reader__add(&batch->gc, &prover->layout, prover->objspace, prover->ranges + n);
	return memory__read_ranges(prover->memory, prover->ranges, n);
}

/* What the bytes of one proof say; *ret_bytes is moved behind them. */
static bool proof_same(const struct proof *proof, const char **bytes, bool *ret_survived)
{
	uint64_t fingerprint = 0, word;
	bool survived = true;
	uint32_t k;

	for (k = 0; k < proof->count; k++) {
		const struct reader_range *range = &proof->ranges[k];

		fingerprint = reader__fingerprint(fingerprint, range, *bytes);
		if (range->object) {
			memcpy(&word, *bytes, sizeof(word));
			survived = survived && reader__survived(word);
		}
		*bytes += range->size;
	}
	*ret_survived = survived;
	return fingerprint == proof->fingerprint;
}

static void proof_extend(struct proof *proof, uint64_t period)
{
	if (proof_empty(proof)) {
		proof->first = proof->last = period;
	} else if (period > proof->last) {
		/* A gap is covered only by what lives without one. */
		if (period > proof->last + 1 && !proof->continuous)
			proof->first = period;
		proof->last = period;
	}
}

/* Judges one proof whose bytes are the same after the read. *ret_again: read once more. */
static enum proof_result proof_judge(const struct prover *prover, struct proof *proof,
				     const struct gc_point *sample, const struct gc_point *after,
				     bool survived, bool *ret_again)
{
	const uint64_t latest = point_latest(after);

	*ret_again = false;
	if (!after->known)
		return PROOF_GONE;
	if (latest <= sample->period && (sample->moving == after->moving || !proof->movable)) {
		if (sample->known && !sample->moving && !after->moving)
			proof_extend(proof, sample->period);
		return PROOF_RIGHT;
	}
	if (after->moving && proof->movable)
		return PROOF_GONE;
	if (sample->known && proof->continuous && !proof_empty(proof) &&
	    sample->period >= proof->first && after->period >= sample->period) {
		if (!sample->moving)
			proof_extend(proof, sample->period);
		return PROOF_RIGHT;
	}
	if (!sample->moving && latest == sample->period + 1 && !after->marking && survived &&
	    reader__has_ages(&prover->layout) &&
	    (!proof->movable || prover_unmoved(prover, sample->period, after->majors))) {
		*ret_again = true;
		return PROOF_RIGHT;
	}
	return PROOF_GONE;
}

/*
 * What has survived a marking counts only when it is found so twice in a row: a sweep may have
 * been at work among the things that were read once, but what it frees is new afterwards.
 * by_age: the result depends on it.
 */
static void prover_twice(const struct prover *prover, struct proof *proof,
			 const struct gc_point *sample, const struct gc_point *after, bool by_age,
			 bool survived, enum proof_result *result)
{
	const bool aged = survived && after->known && !after->marking && !after->moving &&
			  reader__has_ages(&prover->layout);

	if (*result == PROOF_RIGHT && !by_age) {
		proof->intact = true;
	} else if (aged && proof->aged) {
		proof->intact = true;
		if (by_age && sample->known)
			proof_extend(proof, sample->period);
	} else if (by_age) {
		*result = PROOF_GONE; /* once does not count */
	}
	proof->aged = aged;
}

/* Keeps the ranges that tell who it is; bytes are those of all of them, found to be right. */
static void proof_settle(struct proof *proof, const char *bytes)
{
	uint64_t fingerprint = 0;
	uint32_t k, kept = 0, size = 0;
	void *ranges;

	if (proof->settled || !proof->continuous || proof_empty(proof))
		return;
	for (k = 0; k < proof->count; k++) {
		const struct reader_range range = proof->ranges[k];

		if (range.key) {
			fingerprint = reader__fingerprint(fingerprint, &range, bytes);
			proof->ranges[kept++] = range;
			size += range.size;
		}
		bytes += range.size;
	}
	ranges = realloc(proof->ranges, (kept ? kept : 1) * sizeof(*proof->ranges));
	if (ranges)
		proof->ranges = ranges;
	proof->settled = true;
	proof->count = kept;
	proof->bytes = size;
	proof->fingerprint = fingerprint;
}

/* Reads and judges one batch. 0 or -errno; then nothing was judged. */
static int prover_batch(struct prover *prover, struct proof **proofs, size_t count,
			const struct gc_point *sample, struct batch *batch,
			enum proof_result *results)
{
	const char *bytes;
	bool survived, again = false, first = true;
	int tries, err;
	size_t i;

	for (tries = 0; tries < TRIES; tries++) {
		err = batch_fill(prover, proofs, count, batch);
		if (err)
			return err;
		batch->after = gc_reader__point(&batch->gc);
		if (!batch->after.known && tries < TRIES - 1)
			continue;
		prover_observe(prover, &batch->after);
		bytes = prover->bytes;
		again = false;
		for (i = batch->first; i < batch->first + batch->count; i++) {
			const char *begin = bytes;
			bool more = false;

			results[i] = PROOF_CHANGED;
			if (proof_same(proofs[i], &bytes, &survived)) {
				results[i] = proof_judge(prover, proofs[i], sample, &batch->after,
							 survived, &more);
				prover_twice(prover, proofs[i], sample, &batch->after, more,
					     survived, &results[i]);
			} else {
				proofs[i]->aged = false;
			}
			again |= proofs[i]->aged && !proofs[i]->intact;
			if (results[i] == PROOF_RIGHT)
				proof_settle(proofs[i], begin);
		}
		if (!again || !first)
			break;
		first = false;
	}
	return 0;
}

int prover__check(struct prover *prover, struct proof **proofs, size_t count,
		  const struct gc_point *sample, enum proof_result *results)
{
	struct batch batch = { .first = 0 };
	uint64_t vm;
	size_t i;
	int err;

	for (i = 0; i < count; i++) {
		results[i] = PROOF_GONE;
		proofs[i]->intact = proofs[i]->aged = false;
	}
	err = prover__vm(prover, &vm);
	while (!err && batch.first < count) {
		err = prover_batch(prover, proofs, count, sample, &batch, results);
		if (err == -EFAULT && batch.count > 1) {
			/* One of them is not there any more: find out which. */
			const size_t end = batch.first + batch.count;

			for (err = 0; !err && batch.first < end; batch.first++) {
				err = prover_batch(prover, proofs, batch.first + 1, sample, &batch,
						   results);
				if (err == -EFAULT) {
					results[batch.first] = PROOF_CHANGED;
					err = 0;
				}
			}
			continue;
		}
		if (err == -EFAULT) {
			results[batch.first] = PROOF_CHANGED;
			err = 0;
		}
		batch.first += batch.count;
	}
	if (prover->bytes_size > BATCH_BYTES) {
		free(prover->bytes);
		prover->bytes = NULL;
		prover->bytes_size = 0;
	}
	return err == -ESRCH ? -ESRCH : 0;
}
