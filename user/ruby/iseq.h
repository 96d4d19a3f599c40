/* SPDX-License-Identifier: BSD-2-Clause */
/* Instruction sequences: what they are called, where they come from, which line a pc is on. */
#ifndef RBPROF_ISEQ_H
#define RBPROF_ISEQ_H

#include "object.h"

/* iseq.h, vm_core.h: enum iseq_type, the ones with a meaning of their own here */
#define ISEQ_TYPE_TOP	 0
#define ISEQ_TYPE_CLASS	 3
#define ISEQ_TYPE_RESCUE 4
#define ISEQ_TYPE_ENSURE 5
#define ISEQ_TYPE_EVAL	 6
#define ISEQ_TYPE_MAIN	 7

#define ISEQ_MAX_INSTRUCTIONS (1u << 20) /* words of code; a longer sequence is refused */
#define ISEQ_WORD	      8		 /* bytes an instruction word */

struct iseq {
	uint64_t address;
	uint32_t type;
	uint32_t size; /* words of code */
	uint64_t code; /* address of the first word */
	uint64_t path; /* VALUEs */
	uint64_t label;
	uint64_t base_label;
	uint64_t parent; /* addresses of iseqs, 0: none */
	uint64_t local;
	int64_t first_line;
	uint64_t lines; /* line table: entries, positions of entries, packed positions */
	uint64_t line_positions;
	uint64_t line_index;
	uint32_t line_count;
};

/*
 * Reads and checks the sequence at address. 0, -EINVAL (not an instruction sequence), or
 * -errno.
 */
int iseq__read(struct reader *reader, uint64_t address, struct iseq *ret_iseq);

/* True if pc lies in the code: from its begin (not started) to its end (last word passed). */
bool iseq__contains(const struct iseq *iseq, uint64_t pc);

/*
 * Adds to text the absolute path of the file (realpath), or the path as it was given where there
 * is no file (eval). as_given: always the latter. 0 or -errno.
 */
int iseq__path(struct reader *reader, const struct iseq *iseq, bool as_given, struct text *text);

/* The lines of a sequence: runs of code words, in order. */
struct iseq_lines {
	struct iseq_run {
		uint32_t position; /* first word of the run */
		int32_t line;
	} *runs;
	uint32_t count;
};

/* Reads the line table. The caller frees *ret_lines. 0, -EINVAL (contradicts itself), -errno. */
int iseq__lines(struct reader *reader, const struct iseq *iseq, struct iseq_lines *ret_lines);
void iseq_lines__free(struct iseq_lines *lines);

/*
 * Line of a frame whose pc stands `offset` bytes into the code: that of the word before, since
 * the VM moves the pc on before it executes. 0: none.
 */
int64_t iseq_lines__find(const struct iseq_lines *lines, uint64_t offset);

#endif
