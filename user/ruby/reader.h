/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading that remembers what it rests on. A reader records every range that a name was made
 * from, with a fingerprint of the bytes. Reading those ranges again and finding the same
 * fingerprint gives the same name, without walking any pointer.
 *
 * Bits that the VM changes in a living object (its age, its id, whether it is frozen) are not
 * part of it: flag words are recorded with a mask.
 */
#ifndef RBPROF_READER_H
#define RBPROF_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../include/rbprof_abi.h"
#include "../util/memory.h"

#define READER_MAX_RANGES 512
#define READER_MAX_BYTES  (32u << 20)

struct reader_range {
	uint64_t address;
	uint32_t mask;	     /* not 0: one word, of which these bits count */
	uint32_t size : 30;  /* bytes */
	uint32_t object : 1; /* the word is the flags of an object */
	uint32_t key : 1;    /* tells who it is, not only what it is called: see proof.h */
};

struct reader {
	struct memory *memory;
	const struct ruby_layout *layout;
	struct reader_range *ranges;
	uint32_t count;
	uint32_t capacity;
	uint64_t bytes;
	uint64_t fingerprint;
	uint64_t vm; /* address of the VM, 0: not told; what needs it then fails */
};

/* A reader with nothing recorded. The ranges are the caller's to free: reader__free(). */
void reader__init(struct reader *reader, struct memory *memory, const struct ruby_layout *layout);
void reader__free(struct reader *reader);

/* Reads and records. 0, -errno of the memory, -ENOMEM, -E2BIG (more than a name can need). */
int reader__read(struct reader *reader, uint64_t address, void *into, size_t size);
int reader__word(struct reader *reader, uint64_t address, uint64_t *ret_word);

/* The same for one word of which only the bits of mask are recorded (and returned). */
int reader__masked(struct reader *reader, uint64_t address, uint32_t mask, uint64_t *ret_word);

/*
 * The flags of the object at value, masked; its type bits are always in. -EINVAL if value
 * cannot be an object's address.
 */
int reader__object(struct reader *reader, uint64_t value, uint32_t mask, uint64_t *ret_flags);

/* Marks all that was recorded since there were `since` ranges as telling who it is. */
void reader__mark_key(struct reader *reader, uint32_t since);

/* Reads without recording: what is found there is recorded otherwise, or never changes. */
int reader__peek(struct reader *reader, uint64_t address, void *into, size_t size);

/* One step of the fingerprint: that of bytes after what came before. */
uint64_t reader__fingerprint(uint64_t fingerprint, const struct reader_range *range,
			     const void *bytes);

/* True if the word is the flags of an object that has survived a marking (2.7 to 3.2). */
bool reader__survived(uint64_t flags);

/* True if the release keeps the age of an object in its flags. */
bool reader__has_ages(const struct ruby_layout *layout);

#endif
