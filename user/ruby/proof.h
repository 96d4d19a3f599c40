/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Proofs that a name belongs to what was sampled.
 *
 * A name is a function of bytes (reader.h). Reading them again tells that the name is still the
 * right one for the address, now. What has to be shown is that the object at the address now is
 * the one that was there at the sample, though addresses are used again and code that is loaded
 * again can have every byte in common with code that was freed. There are three ways (periods:
 * see gc_point.h):
 *
 *  1. The read ended in the period of the sample. Nothing that was on a stack then is freed yet.
 *  2. The read ended in the next period, between markings, and every object that was read has
 *     survived a marking (its age in its flags, up to 3.2). It was there before the last marking
 *     ended, so before anything of the sample's could be freed. Read twice, because a sweep may
 *     be under way.
 *  3. The bytes name something that lives as long as what it is part of, and that cannot come
 *     again: a method definition (its serial number is never given twice) with the code that it
 *     owns, or the one main script. If they were proved for an earlier sample and are the same
 *     now, they were there all the time, and a pc inside the code can only belong to it.
 *
 * A compaction moves objects within a period, into slots that were free; a slot that it leaves
 * is marked as left until it has ended. Code that is alive does not overlap, so a pc tells which
 * one it belongs to, wherever that lies now (the caller checks it). Where there is no pc, no
 * compaction may have taken place between sample and read; both may lie within one.
 *
 * A sample whose state is unknown can be proved only while the VM has not finished a second
 * marking: it is treated as one of period 0.
 */
#ifndef RBPROF_PROOF_H
#define RBPROF_PROOF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gc_point.h"
#include "reader.h"

/*
 * What is continuous is read in full until it is proved once. From then on the ranges that tell
 * who it is are enough: all else of it cannot change as long as it lives.
 */
struct proof {
	struct reader_range *ranges;
	uint32_t count;
	uint32_t bytes;
	uint64_t fingerprint;
	uint64_t first, last; /* periods for which it is known right; first > last: none */
	bool continuous;      /* the third way is open */
	bool movable;	      /* no pc tells it apart from what a compaction puts in its place */
	bool settled;	      /* only what tells who it is, is read */
	bool intact;	      /* the last check found its bytes the same, and none of them freed */
	bool aged;	      /* scratch of prover__check() */
};

enum proof_result {
	PROOF_RIGHT,
	PROOF_CHANGED, /* other bytes: read the name anew */
	PROOF_GONE,    /* cannot be shown for this sample */
};

/* Takes over what the reader recorded. */
void proof__init(struct proof *proof, struct reader *reader);
void proof__free(struct proof *proof);

/* True if the proof is known right for a sample at this point, without reading. */
bool proof__holds(const struct proof *proof, const struct gc_point *sample);

/* Reads proofs of one process. */
struct prover;

/* Nothing given is owned. 0 or -ENOMEM; the caller frees it. */
int prover__new(struct memory *memory, const struct ruby_layout *layout, uint64_t vm_ptr_address,
		struct prover **ret_prover);
void prover__free(struct prover *prover);

/* Address of the VM. 0, -EAGAIN (not there yet) or -errno. */
int prover__vm(struct prover *prover, uint64_t *ret_vm);

/* State of the collector now; its count is unknown if the VM is not up. 0 or -errno. */
int prover__state(struct prover *prover, struct rbprof_gc_state *ret_state);

/* True if what is read now is what was there at the sample, as long as it was reachable. */
bool prover__same_period(struct prover *prover, const struct gc_point *sample);

/*
 * Proves all of them for a sample, in as few calls as possible, and fills results. 0; -ESRCH if
 * the process is gone (all results are PROOF_GONE then).
 */
int prover__check(struct prover *prover, struct proof **proofs, size_t count,
		  const struct gc_point *sample, enum proof_result *results);

#endif
