/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the machine code (x86-64) of a small function of an ELF file and tells which addresses
 * and fields it uses: "the word at ADDRESS, then the word at +0x450 of what it points to".
 *
 * A walk follows each branch of the function once, jumps to other functions and, a few levels
 * deep, calls; registers carry what is known of their value. Instructions that are not
 * understood make their results unknown, so an answer is exact or absent. Work is bounded by a
 * number of instructions.
 */
#ifndef RBPROF_DECODE_H
#define RBPROF_DECODE_H

#include <stdbool.h>
#include <stdint.h>

#include "elf_file.h"

#define DECODE_MAX_LOADS 8
#define DECODE_MAX_CALLS 3

enum decode_root {
	DECODE_UNKNOWN = 0,
	DECODE_ADDRESS,	 /* base is a virtual address of the file */
	DECODE_TLS_PAIR, /* base is the address of a GOT pair handed to __tls_get_addr */
	DECODE_TP,	 /* base is a distance from the thread pointer */
};

/*
 * A value: the root, then for each load the offset that was added before it. Without loads it
 * is the root's address itself.
 */
struct decode_value {
	enum decode_root root;
	uint64_t base;
	int64_t loads[DECODE_MAX_LOADS];
	int64_t pending; /* added since the last load */
	uint8_t load_count;
	uint8_t last_size; /* of the last load, bytes */
	uint8_t shift;	   /* bits that were shifted out to the right after it */
};

enum decode_event_kind {
	DECODE_LOAD = 1, /* value: what was read, its last load included */
	DECODE_TEST,	 /* bits of something in memory: value and constant */
	DECODE_RETURN,	 /* value: rax */
};

struct decode_event {
	enum decode_event_kind kind;
	struct decode_value value;
	uint64_t constant;
};

/* Called for each event in the order of the walk. Returns false to end the walk. */
typedef bool (*decode_visitor)(const struct decode_event *event, void *context);

/*
 * Walks the function at address, and those it calls up to call_depth (at most DECODE_MAX_CALLS)
 * deep; the procedure linkage table counts as nothing. The relocations of the file must have been
 * loaded. 0 (also if the code ends in nothing useful), -ENOMEM, -EFAULT (no code there), or -EINVAL
 * (the decoder does not start).
 */
int decode__walk(const struct elf_file *file, uint64_t address, unsigned int call_depth,
		 decode_visitor visitor, void *context);

#endif
