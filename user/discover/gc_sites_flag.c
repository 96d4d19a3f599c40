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

/* The registers that hold the objspace at some point, a bit each. */
typedef uint16_t registers_t;
#define ANY_REGISTER UINT16_MAX

enum effect {
	EFFECT_NONE = 0,
	EFFECT_SET,
	EFFECT_CLEARED,
	EFFECT_UNKNOWN, /* the flag becomes something else */
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

static registers_t bit_of(unsigned int reg)
{
	int number = gc_code__register(reg);

	return number == GC_CODE_NONE ? 0 : (registers_t)(1U << number);
}

static bool is_flag(const struct gc_flag *flag, registers_t holders, const cs_x86_op *operand)
{
	return operand->type == X86_OP_MEM && operand->mem.index == X86_REG_INVALID &&
	       operand->mem.disp == flag->offset && operand->mem.base != X86_REG_RSP &&
	       bit_of(operand->mem.base) & holders;
}

static enum effect effect_of(const struct search *search, int index, const cs_insn *instruction,
			     registers_t holders)
{
	const cs_x86_op *operands = instruction->detail->x86.operands;

	if (instruction->detail->x86.op_count != 2 || !is_flag(search->flag, holders, &operands[0]))
		return EFFECT_NONE;
	switch (instruction->id) {
	case X86_INS_TEST:
	case X86_INS_CMP:
	case X86_INS_BT:
		return EFFECT_NONE;
	case X86_INS_OR:
		if (operands[1].type != X86_OP_IMM)
			return EFFECT_UNKNOWN;
		return operands[1].imm & DURING_GC ? EFFECT_SET : EFFECT_NONE;
	case X86_INS_AND:
		if (operands[1].type != X86_OP_IMM)
			return EFFECT_UNKNOWN;
		return operands[1].imm & DURING_GC ? EFFECT_NONE : EFFECT_CLEARED;
	case X86_INS_MOV:
		if (operands[1].type != X86_OP_REG)
			return EFFECT_UNKNOWN;
		return register_effect(search->code, index, operands[1].reg);
	default:
		return EFFECT_UNKNOWN;
	}
}

/* A copy from one register to another, both of 64 bits. */
static bool is_copy(const cs_insn *instruction, registers_t *ret_into, registers_t *ret_from)
{
	const cs_x86_op *operands = instruction->detail->x86.operands;

	if (instruction->id != X86_INS_MOV || operands[0].type != X86_OP_REG ||
	    operands[1].type != X86_OP_REG || operands[0].size != sizeof(uint64_t))
		return false;
	*ret_into = bit_of(operands[0].reg);
	*ret_from = bit_of(operands[1].reg);
	return true;
}

/* Of the holders behind an instruction, those before it. */
static registers_t holders_before(const struct search *search, const cs_insn *instruction,
				  registers_t holders)
{
	registers_t into, from;

	if (holders == ANY_REGISTER)
		return holders;
	if (is_copy(instruction, &into, &from))
		return (registers_t)((holders & into ? from : 0) | (holders & ~into));
	return holders & (registers_t)~gc_code__written(search->code, instruction);
}

/* Of the holders before an instruction, those behind it. */
static registers_t holders_behind(const struct search *search, const cs_insn *instruction,
				  registers_t holders)
{
	registers_t into, from;

	if (holders == ANY_REGISTER)
		return holders;
	if (is_copy(instruction, &into, &from))
		return (registers_t)((holders & from ? into : 0) | (holders & ~into));
	return holders & (registers_t)~gc_code__written(search->code, instruction);
}

/* Registers that were copied from or to the base shortly before the place. */
static registers_t holders_at(const struct search *search, int index)
{
	registers_t holders = bit_of(search->flag->base), changed = 0, into, from;

	if (search->flag->base == X86_REG_INVALID)
		return ANY_REGISTER;
	for (int i = 0; i < MAX_STORE_WAY; i++) {
		const cs_insn *instruction;
		registers_t written;

		if (gc_code__jump_to(search->code, gc_code__at(search->code, index)->address, 0) !=
		    GC_CODE_NONE)
			break;
		index = gc_code__from_above(search->code, index);
		if (index == GC_CODE_NONE)
			break;
		instruction =
			gc_code__decode(search->code, gc_code__at(search->code, index)->address);
		if (!instruction)
			break;
		written = gc_code__written(search->code, instruction);
		/* The base itself must still be the one that the place sees. */
		if (is_copy(instruction, &into, &from) && !(changed & (into | from)) &&
		    holders & (into | from))
			holders |= into | from;
		else if (holders & written)
			break;
		changed |= written;
	}
	return holders;
}

static bool set_before(struct search *search, int index, registers_t holders, int depth);

static bool set_at_or_before(struct search *search, int index, registers_t holders, int depth)
{
	const cs_insn *instruction =
		gc_code__decode(search->code, gc_code__at(search->code, index)->address);
	enum effect effect;

	if (!instruction)
		return false;
	holders = holders_before(search, instruction, holders);
	effect = effect_of(search, index, instruction, holders);
	if (effect != EFFECT_NONE)
		return effect == EFFECT_SET;
	return holders && set_before(search, index, holders, depth + 1);
}

static bool set_before(struct search *search, int index, registers_t holders, int depth)
{
	struct gc_code *code = search->code;
	uint64_t address = gc_code__at(code, index)->address;
	int from = gc_code__jump_to(code, address, 0), previous = gc_code__from_above(code, index);
	bool is_reached = from != GC_CODE_NONE;

	if (depth == MAX_DEPTH || search->steps++ == MAX_STEPS)
		return false;
	for (; from != GC_CODE_NONE; from = gc_code__jump_to(code, address, from + 1))
		if (!set_at_or_before(search, from, holders, depth))
			return false;
	if (previous == GC_CODE_NONE)
		return is_reached;
	return set_at_or_before(search, previous, holders, depth);
}

bool gc_flag__is_set_before(struct gc_code *code, const struct gc_flag *flag, int index)
{
	struct search search = { .code = code, .flag = flag };

	return set_before(&search, index, holders_at(&search, index), 0);
}

static bool cleared_from(struct search *search, uint64_t address, registers_t holders, int depth)
{
	struct gc_code *code = search->code;

	for (; holders && depth < MAX_DEPTH && search->steps++ < MAX_STEPS; depth++) {
		int index = gc_code__find(code, address);
		const struct gc_code_instruction *instruction;
		const cs_insn *decoded;
		enum effect effect;

		/* The other part of a function that the compiler has split. */
		if (index == GC_CODE_NONE && gc_code__load(code, address) == 0)
			index = gc_code__find(code, address);
		decoded = index == GC_CODE_NONE ? NULL : gc_code__decode(code, address);
		if (!decoded)
			return false;
		effect = effect_of(search, index, decoded, holders);
		if (effect != EFFECT_NONE)
			return effect == EFFECT_CLEARED;
		holders = holders_behind(search, decoded, holders);
		instruction = gc_code__at(code, index);
		if (instruction->kind == GC_CODE_END)
			return false;
		if (instruction->kind == GC_CODE_BRANCH &&
		    !cleared_from(search, instruction->target, holders, depth + 1))
			return false;
		address = instruction->kind == GC_CODE_JUMP
				  ? instruction->target
				  : instruction->address + instruction->size;
	}
	return false;
}

bool gc_flag__is_cleared_behind(struct gc_code *code, const struct gc_flag *flag, int index)
{
	struct search search = { .code = code, .flag = flag };
	const struct gc_code_instruction place = *gc_code__at(code, index);
	registers_t holders = holders_at(&search, index);

	if (place.kind == GC_CODE_BRANCH && !cleared_from(&search, place.target, holders, 0))
		return false;
	return cleared_from(&search, place.address + place.size, holders, 0);
}
