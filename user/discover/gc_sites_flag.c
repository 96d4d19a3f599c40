/* SPDX-License-Identifier: BSD-2-Clause */
#include "gc_sites_flag.h"

#define DURING_GC     0x20U /* of the byte of the flags; gc.c, 2.7 to 4.0 */
#define MAX_DEPTH     40    /* instructions on one way */
#define MAX_STEPS     400   /* on all ways */
#define MAX_STORE_WAY 12    /* from the store of a register back to what it was made of */

struct search {
	struct gc_code *code;
	const struct gc_flag *flag;
	int steps;
};

enum effect {
	EFFECT_NONE = 0,
	EFFECT_SET,
	EFFECT_CLEARED,
	EFFECT_UNKNOWN, /* the flag, or the register of the objspace, becomes something else */
};

/* What was done to the register before it is stored. */
static enum effect register_effect(struct gc_code *code, int index, unsigned int reg)
{
	for (int i = 0; i < MAX_STORE_WAY; i++) {
		const cs_insn *instruction;
		const cs_x86_op *operands;

		index = gc_code__previous(code, index);
		if (index == GC_CODE_NONE || gc_code__at(code, index)->kind != GC_CODE_PLAIN)
			return EFFECT_UNKNOWN;
		instruction = gc_code__decode(code, gc_code__at(code, index)->address);
		if (!instruction)
			return EFFECT_UNKNOWN;
		if (!gc_code__writes(code, instruction, reg))
			continue;
		operands = instruction->detail->x86.operands;
		if (instruction->detail->x86.op_count != 2 || operands[1].type != X86_OP_IMM)
			return EFFECT_UNKNOWN;
		if (instruction->id == X86_INS_OR && operands[1].imm & DURING_GC)
			return EFFECT_SET;
		if (instruction->id == X86_INS_AND && !(operands[1].imm & DURING_GC))
			return EFFECT_CLEARED;
		return EFFECT_UNKNOWN;
	}
	return EFFECT_UNKNOWN;
}

static bool is_volatile(unsigned int reg)
{
	static const unsigned int registers[] = {
		X86_REG_RAX, X86_REG_RCX, X86_REG_RDX, X86_REG_RSI, X86_REG_RDI,
		X86_REG_R8,  X86_REG_R9,  X86_REG_R10, X86_REG_R11,
	};

	for (size_t i = 0; i < sizeof(registers) / sizeof(registers[0]); i++)
		if (reg == registers[i])
			return true;
	return false;
}

static bool is_flag(const struct gc_flag *flag, const cs_x86_op *operand)
{
	return operand->type == X86_OP_MEM && operand->mem.index == X86_REG_INVALID &&
	       operand->mem.disp == flag->offset && operand->mem.base != X86_REG_INVALID &&
	       operand->mem.base != X86_REG_RIP && operand->mem.base != X86_REG_RSP &&
	       (flag->base == X86_REG_INVALID || operand->mem.base == flag->base);
}

static enum effect effect_of(const struct search *search, int index)
{
	const struct gc_flag *flag = search->flag;
	const cs_insn *instruction =
		gc_code__decode(search->code, gc_code__at(search->code, index)->address);
	const cs_x86 *x86;

	if (!instruction)
		return EFFECT_UNKNOWN;
	if (flag->base != X86_REG_INVALID &&
	    (gc_code__writes(search->code, instruction, flag->base) ||
	     (instruction->id == X86_INS_CALL && is_volatile(flag->base))))
		return EFFECT_UNKNOWN;
	x86 = &instruction->detail->x86;
	if (x86->op_count != 2 || !is_flag(flag, &x86->operands[0]))
		return EFFECT_NONE;
	switch (instruction->id) {
	case X86_INS_OR:
		if (x86->operands[1].type != X86_OP_IMM)
			return EFFECT_UNKNOWN;
		return x86->operands[1].imm & DURING_GC ? EFFECT_SET : EFFECT_NONE;
	case X86_INS_AND:
		if (x86->operands[1].type != X86_OP_IMM)
			return EFFECT_UNKNOWN;
		return x86->operands[1].imm & DURING_GC ? EFFECT_NONE : EFFECT_CLEARED;
	case X86_INS_TEST:
	case X86_INS_CMP:
	case X86_INS_BT:
		return EFFECT_NONE;
	case X86_INS_MOV:
		if (x86->operands[1].type != X86_OP_REG)
			return EFFECT_UNKNOWN;
		return register_effect(search->code, index, x86->operands[1].reg);
	default:
		return EFFECT_UNKNOWN;
	}
}

static bool set_before(struct search *search, int index, int depth);

static bool set_at_or_before(struct search *search, int index, int depth)
{
	enum effect effect = effect_of(search, index);

	if (effect != EFFECT_NONE)
		return effect == EFFECT_SET;
	return set_before(search, index, depth + 1);
}

static bool set_before(struct search *search, int index, int depth)
{
	struct gc_code *code = search->code;
	uint64_t address = gc_code__at(code, index)->address;
	int from = gc_code__jump_to(code, address, 0), previous = gc_code__from_above(code, index);
	bool is_reached = from != GC_CODE_NONE;

	if (depth == MAX_DEPTH || search->steps++ == MAX_STEPS)
		return false;
	for (; from != GC_CODE_NONE; from = gc_code__jump_to(code, address, from + 1))
		if (!set_at_or_before(search, from, depth))
			return false;
	if (previous == GC_CODE_NONE)
		return is_reached;
	return set_at_or_before(search, previous, depth);
}

bool gc_flag__is_set_before(struct gc_code *code, const struct gc_flag *flag, int index)
{
	struct search search = { .code = code, .flag = flag };

	return set_before(&search, index, 0);
}

static bool cleared_from(struct search *search, uint64_t address, int depth)
{
	struct gc_code *code = search->code;

	for (; depth < MAX_DEPTH && search->steps++ < MAX_STEPS; depth++) {
		const struct gc_code_instruction *instruction;
		enum effect effect;
		int index = gc_code__find(code, address);

		/* The other part of a function that the compiler has split. */
		if (index == GC_CODE_NONE && gc_code__load(code, address) == 0)
			index = gc_code__find(code, address);
		if (index == GC_CODE_NONE)
			return false;
		effect = effect_of(search, index);
		if (effect != EFFECT_NONE)
			return effect == EFFECT_CLEARED;
		instruction = gc_code__at(code, index);
		if (instruction->kind == GC_CODE_END)
			return false;
		if (instruction->kind == GC_CODE_BRANCH &&
		    !cleared_from(search, instruction->target, depth + 1))
			return false;
		address = instruction->kind == GC_CODE_JUMP
				  ? instruction->target
				  : instruction->address + instruction->size;
	}
	return false;
}

bool gc_flag__is_cleared_from(struct gc_code *code, const struct gc_flag *flag, uint64_t address)
{
	struct search search = { .code = code, .flag = flag };

	return cleared_from(&search, address, 0);
}
