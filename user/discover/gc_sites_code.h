/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The machine code (x86-64) of some functions of an ELF file as a graph: which instruction follows
 * which, and which jumps lead to one. Functions are found by the table that unwinders use
 * (.eh_frame_hdr), which stripped files have too; so decoding starts where instructions start.
 * Everything is bounded, nothing in the file is trusted.
 */
#ifndef RBPROF_GC_SITES_CODE_H
#define RBPROF_GC_SITES_CODE_H

#include <capstone/capstone.h>
#include <stdbool.h>
#include <stdint.h>

#include "elf_file.h"

#define GC_CODE_NONE (-1)

enum gc_code_kind {
	GC_CODE_PLAIN = 0,
	GC_CODE_BRANCH, /* a conditional jump to a fixed target */
	GC_CODE_JUMP,	/* an unconditional one */
	GC_CODE_CALL,	/* target is 0 if it is not fixed */
	GC_CODE_END,	/* return, indirect jump, trap, or nothing that can be decoded */
};

struct gc_code_instruction {
	uint64_t address;
	uint64_t target;
	uint8_t size;
	uint8_t kind; /* enum gc_code_kind */
};

struct gc_code;

/*
 * Takes the executable segment that the address is in. 0, -ENOENT (no such segment, no usable
 * table of functions, more than can be handled), -ENOMEM or another -errno.
 */
int gc_code__open(const struct elf_file *file, uint64_t address, struct gc_code **ret_code);
void gc_code__close(struct gc_code *code);

/* The bytes of the segment; they live as long as the code. */
const unsigned char *gc_code__bytes(const struct gc_code *code, uint64_t *ret_address,
				    size_t *ret_size);

/* A transfer of control to a fixed target by a distance of 32 bits, seen anywhere in the bytes. */
struct gc_code_transfer {
	size_t offset; /* of the instruction in the bytes */
	uint64_t target;
	uint8_t kind; /* GC_CODE_BRANCH, GC_CODE_JUMP or GC_CODE_CALL */
};

/*
 * The next call, jump or conditional jump at or after the offset. What looks like one may be part
 * of another instruction. False: no more.
 */
bool gc_code__next_transfer(const struct gc_code *code, size_t offset,
			    struct gc_code_transfer *ret_transfer);

/*
 * Decodes the function (or part of one) that the address is in, unless it is there already. 0, or
 * -ENOENT: no such function, or more code than is looked at.
 */
int gc_code__load(struct gc_code *code, uint64_t address);

/*
 * Loads the function that jumps into the middle of one of the first `count` functions loaded, if
 * the transfer is such a jump: parts of a function that the compiler has split do. As
 * gc_code__load().
 */
int gc_code__load_jumper(struct gc_code *code, const struct gc_code_transfer *transfer, int count);
int gc_code__function_count(const struct gc_code *code);

/* Index of the instruction that starts at the address, or GC_CODE_NONE. */
int gc_code__find(const struct gc_code *code, uint64_t address);

/* An instruction by its index, which must be one. Valid until more is loaded. */
const struct gc_code_instruction *gc_code__at(const struct gc_code *code, int index);

/* The instruction behind or before it in the file, of the same function; or GC_CODE_NONE. */
int gc_code__next(const struct gc_code *code, int index);
int gc_code__previous(const struct gc_code *code, int index);

/*
 * The instruction that runs into it from above: none behind a jump, a return or a call of a
 * function known not to return, with or without padding between them.
 */
int gc_code__from_above(struct gc_code *code, int index);

/* The first jump at or after the index `from` that leads to the address, or GC_CODE_NONE. */
int gc_code__jump_to(struct gc_code *code, uint64_t address, int from);

/* The instruction with its operands, valid until the next call of this; NULL if undecodable. */
const cs_insn *gc_code__decode(struct gc_code *code, uint64_t address);

/* Whether the decoded instruction changes a register, any part of it. */
bool gc_code__writes(const struct gc_code *code, const cs_insn *instruction, unsigned int reg);

/* The general register, 0 to 15, that a name is all or part of; or GC_CODE_NONE. */
int gc_code__register(unsigned int reg);

/* The general registers that the instruction changes, a bit each; a call: all it may change. */
uint16_t gc_code__written(const struct gc_code *code, const cs_insn *instruction);

/* Whether a function, or a split-off part of one, or a stub of an imported one starts there. */
bool gc_code__is_function(struct gc_code *code, uint64_t address);

/* Whether the target of a call is the stub of an imported function of this name, or itself. */
bool gc_code__target_is(struct gc_code *code, uint64_t target, const char *name);

#endif
