/* SPDX-License-Identifier: BSD-2-Clause */
#include "gc_sites_passage.h"

#include "gc_sites_flag.h"

#define MAX_STEPS_TO_CALL 24
#define MAX_STEPS_TO_TEST 16
#define MAX_STEPS_BACK	  16 /* from the constant to the guard */
#define MAX_FLAGS_STEPS	  6  /* from a conditional jump to the test, from a test to the load */
#define MAX_JUMPS	  4  /* followed on the way to a guard */

/* A test of one bit of memory, and the conditional jump behind it. */
struct bit_test {
	unsigned int base; /* register */
	int64_t offset;	   /* of the byte, from the register */
	unsigned int bit;  /* from the byte's bit 0 on */
	bool jumps_if_set;
};

bool gc_passage__read(struct gc_code *code, uint64_t address, uint32_t event,
		      struct gc_passage *ret_passage)
{
	const cs_insn *instruction = gc_code__decode(code, address);
	struct gc_passage passage = { .constant = address, .event = event, .is_straight = true };
	const cs_x86 *x86;

	if (!instruction || instruction->id != X86_INS_MOV)
		return false;
	x86 = &instruction->detail->x86;
	if (x86->op_count != 2 || x86->operands[0].type != X86_OP_REG ||
	    x86->operands[1].type != X86_OP_IMM || (uint64_t)x86->operands[1].imm != event)
		return false;
	passage.reg = x86->operands[0].reg;
	address += instruction->size;
	for (int i = 0; i < MAX_STEPS_TO_CALL; i++) {
		instruction = gc_code__decode(code, address);
		if (!instruction || instruction->id == X86_INS_RET)
			return false;
		x86 = &instruction->detail->x86;
		if (instruction->id == X86_INS_CALL || instruction->id == X86_INS_JMP) {
			uint64_t target = (uint64_t)x86->operands[0].imm;
			bool is_call = instruction->id == X86_INS_CALL;

			if (x86->operands[0].type != X86_OP_IMM)
				return false;
			/* Decoding the target makes the instruction at hand invalid. */
			if (is_call || gc_code__is_function(code, target)) {
				passage.call = address;
				passage.target = target;
				*ret_passage = passage;
				return true;
			}
			passage.is_straight = false;
			address = target;
			continue;
		}
		for (int j = 0; j < instruction->detail->groups_count; j++)
			if (instruction->detail->groups[j] == X86_GRP_JUMP)
				return false;
		if (gc_code__writes(code, instruction, passage.reg))
			return false;
		address += instruction->size;
	}
	return false;
}

static uint16_t register_bit(const cs_x86_op *operand)
{
	int number = operand->type == X86_OP_REG ? gc_code__register(operand->reg) : GC_CODE_NONE;

	return number == GC_CODE_NONE ? 0 : (uint16_t)(1U << number);
}

bool gc_passage__tests_event(struct gc_code *code, uint64_t function, unsigned int reg)
{
	int number = gc_code__register(reg);
	uint16_t holders = number == GC_CODE_NONE ? 0 : (uint16_t)(1U << number);

	for (int i = 0; i < MAX_STEPS_TO_TEST && holders; i++) {
		const cs_insn *instruction = gc_code__decode(code, function);
		const cs_x86_op *operands = instruction ? instruction->detail->x86.operands : NULL;
		bool is_copy;

		if (!instruction || instruction->id == X86_INS_CALL ||
		    instruction->id == X86_INS_JMP || instruction->id == X86_INS_RET)
			return false;
		if ((instruction->id == X86_INS_TEST || instruction->id == X86_INS_AND) &&
		    (register_bit(&operands[0]) | register_bit(&operands[1])) & holders)
			return true;
		is_copy = instruction->id == X86_INS_MOV && register_bit(&operands[1]) & holders;
		holders &= (uint16_t)~gc_code__written(code, instruction);
		if (is_copy)
			holders |= register_bit(&operands[0]);
		function += instruction->size;
	}
	return false;
}

/* The plain memory operand of a base register and an offset. */
static bool is_field(const cs_x86_op *operand)
{
	return operand->type == X86_OP_MEM && operand->mem.index == X86_REG_INVALID &&
	       operand->mem.segment == X86_REG_INVALID && operand->mem.base != X86_REG_INVALID &&
	       operand->mem.base != X86_REG_RIP;
}

/* The instruction before, if nothing else leads to this one. */
static int only_previous(struct gc_code *code, int index)
{
	if (gc_code__jump_to(code, gc_code__at(code, index)->address, 0) != GC_CODE_NONE)
		return GC_CODE_NONE;
	return gc_code__previous(code, index);
}

/* Where the register that is tested was loaded from. */
static bool read_load(struct gc_code *code, int index, unsigned int reg, struct bit_test *test)
{
	for (int i = 0; i < MAX_FLAGS_STEPS; i++) {
		const cs_insn *instruction;

		index = only_previous(code, index);
		if (index == GC_CODE_NONE || gc_code__at(code, index)->kind != GC_CODE_PLAIN)
			return false;
		instruction = gc_code__decode(code, gc_code__at(code, index)->address);
		if (!instruction)
			return false;
		if (!gc_code__writes(code, instruction, reg))
			continue;
		if ((instruction->id != X86_INS_MOV && instruction->id != X86_INS_MOVZX) ||
		    !is_field(&instruction->detail->x86.operands[1]))
			return false;
		test->base = instruction->detail->x86.operands[1].mem.base;
		test->offset = instruction->detail->x86.operands[1].mem.disp;
		return true;
	}
	return false;
}

/* The operands of the instruction that set the flags. */
static bool read_tested(struct gc_code *code, int index, const cs_insn *instruction,
			struct bit_test *test)
{
	const cs_x86 *x86 = &instruction->detail->x86;
	bool is_bit_number = instruction->id == X86_INS_BT;
	const cs_x86_op tested = x86->operands[0];
	uint64_t constant;

	if ((instruction->id != X86_INS_TEST && instruction->id != X86_INS_AND && !is_bit_number) ||
	    x86->op_count != 2 || x86->operands[1].type != X86_OP_IMM || tested.size > 8)
		return false;
	constant = (uint64_t)x86->operands[1].imm;
	if (!is_bit_number) {
		if (tested.size < 8)
			constant &= (1ULL << tested.size * 8) - 1;
		if (__builtin_popcountll(constant) != 1)
			return false;
		constant = (uint64_t)__builtin_ctzll(constant);
	}
	if (constant >= 8U * tested.size)
		return false;
	test->bit = (unsigned int)constant;
	if (tested.type == X86_OP_REG)
		return read_load(code, index, tested.reg, test);
	if (!is_field(&tested))
		return false;
	test->base = tested.mem.base;
	test->offset = tested.mem.disp;
	return true;
}

/* What a conditional jump tests. */
static bool read_test(struct gc_code *code, int branch, struct bit_test *ret_test)
{
	const cs_insn *instruction = gc_code__decode(code, gc_code__at(code, branch)->address);
	struct bit_test test = { .jumps_if_set = false };
	unsigned int condition = instruction ? instruction->id : 0;
	bool is_carry = condition == X86_INS_JB || condition == X86_INS_JAE;
	int index = branch;

	if (!is_carry && condition != X86_INS_JE && condition != X86_INS_JNE)
		return false;
	test.jumps_if_set = condition == X86_INS_JB || condition == X86_INS_JNE;
	for (int i = 0; i < MAX_FLAGS_STEPS; i++) {
		index = only_previous(code, index);
		if (index == GC_CODE_NONE || gc_code__at(code, index)->kind != GC_CODE_PLAIN)
			return false;
		instruction = gc_code__decode(code, gc_code__at(code, index)->address);
		if (!instruction)
			return false;
		if (!gc_code__writes(code, instruction, X86_REG_EFLAGS))
			continue;
		if ((instruction->id == X86_INS_BT) != is_carry ||
		    !read_tested(code, index, instruction, &test))
			return false;
		*ret_test = test;
		return true;
	}
	return false;
}

struct guards {
	struct gc_code *code;
	const struct gc_passage *passage;
	struct gc_places *places;
	unsigned int bases[GC_PASSAGE_MAX_PLACES];
	unsigned int jumps;
};

/* Takes a conditional jump as a guard, the call being where it leads to or does not. */
static bool take_guard(struct guards *guards, int branch, bool is_taken)
{
	unsigned int event_bit = (unsigned int)__builtin_ctz(guards->passage->event);
	struct gc_places *places = guards->places;
	struct bit_test test;
	int64_t offset;

	if (places->count == GC_PASSAGE_MAX_PLACES || !read_test(guards->code, branch, &test) ||
	    test.jumps_if_set != is_taken || test.bit > event_bit || (event_bit - test.bit) % 8)
		return false;
	offset = test.offset - (event_bit - test.bit) / 8;
	if (places->count && places->hooks_offset != offset)
		return false;
	places->hooks_offset = offset;
	guards->bases[places->count] = test.base;
	places->addresses[places->count++] = gc_code__at(guards->code, branch)->address;
	return true;
}

static bool is_other_call(struct gc_code *code, int index)
{
	const struct gc_code_instruction *instruction = gc_code__at(code, index);

	return instruction->kind == GC_CODE_CALL &&
	       !(instruction->target &&
		 gc_code__target_is(code, instruction->target, "__tls_get_addr"));
}

/* Every way to an instruction must come from a guard. */
static bool collect_guards(struct guards *guards, int index)
{
	struct gc_code *code = guards->code;

	for (int i = 0; i < MAX_STEPS_BACK; i++) {
		uint64_t address = gc_code__at(code, index)->address;
		int from = gc_code__jump_to(code, address, 0);
		int previous = gc_code__from_above(code, index);
		bool is_reached = from != GC_CODE_NONE;

		for (; from != GC_CODE_NONE; from = gc_code__jump_to(code, address, from + 1)) {
			if (gc_code__at(code, from)->kind == GC_CODE_BRANCH) {
				if (!take_guard(guards, from, true))
					return false;
			} else if (guards->jumps++ == MAX_JUMPS || !collect_guards(guards, from)) {
				return false;
			}
		}
		if (previous == GC_CODE_NONE)
			return is_reached;
		if (gc_code__at(code, previous)->kind == GC_CODE_BRANCH)
			return take_guard(guards, previous, false);
		if (is_other_call(code, previous))
			return false;
		index = previous;
	}
	return false;
}

/* Whether code jumps in between the constant and the call. */
static bool is_entered(struct gc_code *code, const struct gc_passage *passage)
{
	int index = gc_code__find(code, passage->constant),
	    last = gc_code__find(code, passage->call);

	while (index != GC_CODE_NONE && index < last) {
		index = gc_code__next(code, index);
		if (index != GC_CODE_NONE &&
		    gc_code__jump_to(code, gc_code__at(code, index)->address, 0) != GC_CODE_NONE)
			return true;
	}
	return index == GC_CODE_NONE || index != last;
}

static const char *check_flag(struct gc_code *code, const struct gc_passage *passage, int index,
			      int64_t flags_offset, unsigned int base)
{
	struct gc_flag flag = { .offset = flags_offset, .base = base };

	if (passage->event == GC_EVENT_ENTER)
		return gc_flag__is_set_before(code, &flag, index)
			       ? NULL
			       : "an entry that does not set during_gc";
	return gc_flag__is_cleared_behind(code, &flag, index)
		       ? NULL
		       : "an exit that does not clear during_gc";
}

static const char *unguarded_place(struct gc_code *code, const struct gc_passage *passage,
				   int64_t flags_offset, struct gc_places *places)
{
	int call = gc_code__find(code, passage->call);

	if (call == GC_CODE_NONE || !passage->is_straight || is_entered(code, passage))
		return "a call of the hooks that several ways lead to";
	places->is_guarded = false;
	places->count = 1;
	places->addresses[0] = passage->call;
	return check_flag(code, passage, call, flags_offset, X86_REG_INVALID);
}

const char *gc_passage__places(struct gc_code *code, const struct gc_passage *passage,
			       int64_t flags_offset, bool may_be_unguarded,
			       struct gc_places *ret_places)
{
	int constant = gc_code__find(code, passage->constant);
	struct gc_places places = { .is_guarded = true };
	struct guards guards = { .code = code, .passage = passage, .places = &places };
	const char *why = NULL;

	if (constant == GC_CODE_NONE)
		return "an event outside known instructions";
	if (collect_guards(&guards, constant) && places.count) {
		for (unsigned int i = 0; i < places.count && !why; i++)
			why = check_flag(code, passage, gc_code__find(code, places.addresses[i]),
					 flags_offset, guards.bases[i]);
	} else if (may_be_unguarded) {
		why = unguarded_place(code, passage, flags_offset, &places);
	} else {
		why = "a call of the hooks without the known test before it";
	}
	if (!why)
		*ret_places = places;
	return why;
}
