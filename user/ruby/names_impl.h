/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the names share; nobody else includes it. */
#ifndef RBPROF_NAMES_IMPL_H
#define RBPROF_NAMES_IMPL_H

#include "names.h"

#include "iseq.h"
#include "proof.h"
#include "symbols.h"

#include "../util/hash.h"

#define HASH_NONFATAL_OOM		  1
#define HASH_FUNCTION(key, length, value) ((value) = hash__bytes(key, length))
#include <uthash.h>

#define NAMES_BATCH	 512	     /* frames that are proved together */
#define NAMES_MAX_BYTES	 (12u << 20) /* kept for one process; what was not used lately goes */
#define NAMES_IDLE_CALLS 20000	     /* calls after which what was not used goes anyway */

struct frame_key {
	uint64_t iseq;
	uint64_t method_entry;
};

/* What became of an entry in one batch. */
enum verdict {
	VERDICT_OPEN = 0,
	VERDICT_RIGHT,
	VERDICT_GONE,
};

/* A frame's function, and how to get from a pc to a line. */
struct frame_name {
	UT_hash_handle hh;
	struct frame_key key;
	struct proof proof;
	/*
	 * Of what is part of a method's definition: its serial number. A sample that has it too
	 * was of this method, whenever its name was read.
	 */
	uint64_t serial;
	uint64_t method_serials[2]; /* of the method entry, and what a refinement hides in it */
	bool passing;		    /* the class has no name, and may get one */
	bool whole;		    /* it was found intact: the name is that of the code */
	uint32_t function;	    /* id in the profile */
	uint32_t code_bytes;
	uint64_t code;
	struct iseq_lines lines;
	size_t held;	  /* bytes of it that names->bytes counts */
	uint64_t used;	  /* names->calls when it was last looked up */
	uint64_t last_pc; /* the last line that was looked up, and its frame id */
	uint32_t last_frame;
	enum verdict verdict;
};

struct thread_key {
	uint64_t thread;
	uint64_t name; /* VALUE */
	uint64_t forked_main;
};

struct thread_name {
	UT_hash_handle hh;
	struct thread_key key;
	struct proof proof;
	bool permanent; /* right for every sample */
	bool attached;	/* the thread still had this name when it was read */
	uint32_t text;	/* id in the profile */
	size_t held;
	uint64_t used;
};

/* The class of objects by their RBasic.klass. */
struct receiver_name {
	UT_hash_handle hh;
	uint64_t klass;
	struct proof proof;
	uint32_t text; /* id in the profile */
	size_t held;
	uint64_t used;
};

struct names {
	struct memory *memory;
	struct ruby_layout layout;
	struct profile *profile;
	struct prover *prover;
	struct symbols *symbols;
	struct frame_name *frames;
	struct thread_name *threads;
	struct receiver_name *receivers;
	size_t bytes; /* that the tables hold, roughly */
	uint64_t calls;
	uint64_t errors[RBPROF_E_COUNT];
	/* Scratch of one batch. */
	struct frame_name *batch[NAMES_BATCH];
	uint32_t failures[NAMES_BATCH]; /* special frames in place of names */
	struct proof *proofs[NAMES_BATCH];
	enum proof_result results[NAMES_BATCH];
};

/*
 * Reads the name of a frame: fills *name but its key and handle; the proof holds for nothing
 * yet. 0, a positive enum rbprof_error, or -errno (-ESRCH, -ENOMEM).
 */
int frame_name__read(struct names *names, const struct frame_key *key, struct frame_name *name);
void frame_name__clear(struct frame_name *name);

/* What an entry holds of the heap, roughly. */
size_t names__thread_bytes(const struct thread_name *name);

/* Drops classes of receivers that were not used since this call. */
void names__drop_receivers(struct names *names, uint64_t since);

/* Drops what was not used lately, if there is too much. What this call uses stays. */
void names__trim(struct names *names);

#endif
