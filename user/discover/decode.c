/* SPDX-License-Identifier: BSD-2-Clause */
#include "decode.h"

#include <capstone/capstone.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_INSTRUCTIONS 1024
#define MAX_BRANCHES	 64
#define CODE_BYTES	 256 /* read at a time */
#define INSTRUCTION_MAX	 15

enum { REG_COUNT = 16, REG_RAX = 0, REG_RDI = 7 };

struct state {
	uint64_t address;
	uint64_t returns[DECODE_MAX_CALLS];
	struct decode_value registers[REG_COUNT];
	uint8_t calls;
};

struct walk {
	const struct elf_file *file;
	decode_visitor visitor;
	void *context;
	unsigned int call_depth;
	csh capstone;
	cs_insn *instruction;
	unsigned char code[CODE_BYTES];
	uint64_t code_address;
	size_t code_size;
	struct state branches[MAX_BRANCHES];
	size_t branch_count;
	uint64_t visited[MAX_INSTRUCTIONS];
	size_t visited_count;
	bool is_over;
};

/* Register number in the order of the encoding, or -1; the parts of a register count as it. */
static int register_number(unsigned int reg)
{
	static const unsigned short names[REG_COUNT][4] = {
		{ X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL },
		{ X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL },
		{ X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL },
		{ X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL },
		{ X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL },
		{ X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL },
		{ X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL },
		{ X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL },
		{ X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B },
		{ X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B },
		{ X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B },
		{ X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B },
		{ X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B },
		{ X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B },
		{ X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B },
		{ X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B },
	};

	for (int i = 0; i < REG_COUNT; i++)
		for (int j = 0; j < 4; j++)
			if (names[i][j] == reg)
				return i;
	return -1;
}

static void set_register(struct state *state, unsigned int reg, const struct decode_value *value)
{
	int number = register_number(reg);

	if (number >= 0)
		state->registers[number] = *value;
}

static void forget_register(struct state *state, unsigned int reg)
{
	struct decode_value unknown = { .root = DECODE_UNKNOWN };

	set_register(state, reg, &unknown);
}

/* The registers that a call may change. */
static void forget_volatile(struct state *state)
{
	static const unsigned int volatile_registers[] = {
		X86_REG_RAX, X86_REG_RCX, X86_REG_RDX, X86_REG_RSI, X86_REG_RDI,
		X86_REG_R8,  X86_REG_R9,  X86_REG_R10, X86_REG_R11,
	};

	for (size_t i = 0; i < sizeof(volatile_registers) / sizeof(volatile_registers[0]); i++)
		forget_register(state, volatile_registers[i]);
}

static void emit(struct walk *walk, const struct decode_event *event)
{
	if (!walk->is_over && !walk->visitor(event, walk->context))
		walk->is_over = true;
}

static void add_to_value(struct decode_value *value, int64_t offset)
{
	bool is_plain = value->root == DECODE_ADDRESS || value->root == DECODE_TP;

	if (is_plain && !value->load_count)
		value->base += (uint64_t)offset;
	else
		value->pending = (int64_t)((uint64_t)value->pending + (uint64_t)offset);
}

/* The address that a memory operand names, as a value. Unknown for sums of two registers. */
static struct decode_value operand_address(const struct walk *walk, const struct state *state,
					   const x86_op_mem *operand)
{
	struct decode_value value = { .root = DECODE_UNKNOWN };
	int number;

	if (operand->index != X86_REG_INVALID)
		return value;
	if (operand->segment == X86_REG_FS) {
		if (operand->base == X86_REG_INVALID) {
			value.root = DECODE_TP;
			value.base = (uint64_t)operand->disp;
		}
		return value;
	}
	if (operand->base == X86_REG_RIP || operand->base == X86_REG_INVALID) {
		value.root = DECODE_ADDRESS;
		value.base = (uint64_t)operand->disp;
		if (operand->base == X86_REG_RIP)
			value.base += walk->instruction->address + walk->instruction->size;
		return value;
	}
	number = register_number(operand->base);
	if (number < 0 || state->registers[number].root == DECODE_UNKNOWN ||
	    state->registers[number].shift)
		return value;
	value = state->registers[number];
	add_to_value(&value, operand->disp);
	return value;
}

/* What lies at an address, size bytes of it. */
static struct decode_value load_value(const struct walk *walk, struct decode_value address,
				      uint8_t size)
{
	struct decode_value unknown = { .root = DECODE_UNKNOWN };
	uint64_t target;

	if (address.root == DECODE_UNKNOWN || address.load_count == DECODE_MAX_LOADS ||
	    (address.load_count && address.last_size != sizeof(uint64_t)))
		return unknown;
	/* The thread pointer points to itself. */
	if (address.root == DECODE_TP && !address.load_count && address.base == 0)
		return address;
	/* The GOT is a detour of the linker: what it holds is as good as a constant. */
	if (address.root == DECODE_ADDRESS && !address.load_count && size == sizeof(uint64_t) &&
	    elf_file__constant_pointer(walk->file, address.base, &target) == 0) {
		address.base = target;
		return address;
	}
	address.loads[address.load_count++] = address.pending;
	address.pending = 0;
	address.last_size = size;
	return address;
}

static void do_move(struct walk *walk, struct state *state, const cs_x86 *x86)
{
	const cs_x86_op *into = &x86->operands[0], *from = &x86->operands[1];
	struct decode_event event = { .kind = DECODE_LOAD };
	struct decode_value value = { .root = DECODE_UNKNOWN };
	int number;

	if (into->type != X86_OP_REG)
		return;
	if (from->type == X86_OP_MEM) {
		struct decode_value address = operand_address(walk, state, &from->mem);

		value = load_value(walk, address, from->size);
		if (value.root != DECODE_UNKNOWN && value.load_count > address.load_count) {
			event.value = value;
			emit(walk, &event);
		}
	} else if (from->type == X86_OP_REG) {
		number = register_number(from->reg);
		if (number >= 0)
			value = state->registers[number];
		if (from->size < (value.load_count ? value.last_size : sizeof(uint64_t)))
			value.root = DECODE_UNKNOWN;
	} else if (from->type == X86_OP_IMM &&
		   elf_file__segment_at(walk->file, (uint64_t)from->imm)) {
		/* mov $variable, %edi of code that is not position-independent */
		value.root = DECODE_ADDRESS;
		value.base = (uint64_t)from->imm;
	}
	set_register(state, into->reg, &value);
}

static void do_compare(struct walk *walk, struct state *state, const cs_x86 *x86)
{
	struct decode_event event = { .kind = DECODE_LOAD };

	for (int i = 0; i < 2; i++) {
		const cs_x86_op *operand = &x86->operands[i];

		if (operand->type != X86_OP_MEM)
			continue;
		event.value = load_value(walk, operand_address(walk, state, &operand->mem),
					 operand->size);
		if (event.value.root == DECODE_UNKNOWN || !event.value.load_count)
			continue;
		emit(walk, &event);
		if (x86->operands[!i].type == X86_OP_IMM && walk->instruction->id == X86_INS_TEST) {
			event.kind = DECODE_TEST;
			event.constant = (uint64_t)x86->operands[!i].imm;
			emit(walk, &event);
			event.kind = DECODE_LOAD;
		}
	}
}

/* Arithmetic on a register that keeps it known: shifts of a loaded word, sums on an address. */
static bool do_arithmetic(struct state *state, unsigned int id, const cs_x86 *x86)
{
	struct decode_value *value;
	int number;

	if (x86->op_count != 2 || x86->operands[0].type != X86_OP_REG ||
	    x86->operands[1].type != X86_OP_IMM)
		return false;
	number = register_number(x86->operands[0].reg);
	if (number < 0)
		return false;
	value = &state->registers[number];
	if (value->root == DECODE_UNKNOWN)
		return true;
	if (id == X86_INS_SHR && value->load_count && x86->operands[1].imm < 64) {
		value->shift = (uint8_t)(value->shift + x86->operands[1].imm);
		return true;
	}
	if (id == X86_INS_AND && value->load_count && x86->operands[1].imm == 1)
		return true;
	if (id == X86_INS_ADD && x86->operands[0].size == sizeof(uint64_t) && !value->shift) {
		add_to_value(value, x86->operands[1].imm);
		return true;
	}
	return false;
}

static bool was_visited(struct walk *walk, uint64_t address)
{
	for (size_t i = 0; i < walk->visited_count; i++)
		if (walk->visited[i] == address)
			return true;
	return false;
}

static void push_branch(struct walk *walk, const struct state *state, uint64_t address)
{
	if (walk->branch_count == MAX_BRANCHES || was_visited(walk, address))
		return;
	walk->branches[walk->branch_count] = *state;
	walk->branches[walk->branch_count++].address = address;
}

static int decode_at(struct walk *walk, uint64_t address)
{
	const uint8_t *code;
	uint64_t at = address;
	size_t size;

	if (address < walk->code_address || address - walk->code_address >= walk->code_size ||
	    walk->code_size - (address - walk->code_address) < INSTRUCTION_MAX) {
		const Elf64_Phdr *segment = elf_file__segment_at(walk->file, address);
		ssize_t got;

		if (!segment || !(segment->p_flags & PF_X))
			return -EFAULT;
		got = elf_file__read_some(walk->file, address, walk->code, sizeof(walk->code));
		if (got <= 0)
			return -EFAULT;
		walk->code_address = address;
		walk->code_size = (size_t)got;
	}
	code = walk->code + (address - walk->code_address);
	size = walk->code_size - (address - walk->code_address);
	if (!cs_disasm_iter(walk->capstone, &code, &size, &at, walk->instruction))
		return -EFAULT;
	return 0;
}

/*
 * Where a stub of the procedure linkage table leads: *ret_slot is its word in the GOT.
 * 0, or -ENOENT if this is no such stub.
 */
static int plt_slot(struct walk *walk, uint64_t address, uint64_t *ret_slot)
{
	for (int i = 0; i < 2; i++) {
		const cs_x86 *x86;

		if (decode_at(walk, address))
			return -ENOENT;
		x86 = &walk->instruction->detail->x86;
		if (walk->instruction->id == X86_INS_ENDBR64) {
			address += walk->instruction->size;
			continue;
		}
		if (walk->instruction->id != X86_INS_JMP || x86->op_count != 1 ||
		    x86->operands[0].type != X86_OP_MEM ||
		    x86->operands[0].mem.base != X86_REG_RIP ||
		    x86->operands[0].mem.index != X86_REG_INVALID)
			return -ENOENT;
		*ret_slot = walk->instruction->address + walk->instruction->size +
			    (uint64_t)x86->operands[0].mem.disp;
		return 0;
	}
	return -ENOENT;
}

static bool slot_is_tls_get_addr(const struct walk *walk, uint64_t slot)
{
	const Elf64_Rela *relocation = elf_file__relocation_at(walk->file, slot);

	return relocation &&
	       elf_file__symbol_is_named(walk->file, (uint32_t)ELF64_R_SYM(relocation->r_info),
					 "__tls_get_addr");
}

static void after_tls_get_addr(struct state *state)
{
	struct decode_value value = state->registers[REG_RDI];

	forget_volatile(state);
	if (value.root != DECODE_ADDRESS || value.load_count)
		return;
	value.root = DECODE_TLS_PAIR;
	state->registers[REG_RAX] = value;
}

/* Goes on behind the call, or inside the function that is called. */
static void do_call(struct walk *walk, struct state *state, const cs_x86 *x86)
{
	uint64_t next = walk->instruction->address + walk->instruction->size;
	const cs_x86_op *operand = &x86->operands[0];
	uint64_t target = 0, slot = 0;
	bool has_slot = false;

	state->address = next;
	if (x86->op_count == 1 && operand->type == X86_OP_IMM) {
		target = (uint64_t)operand->imm;
		has_slot = plt_slot(walk, target, &slot) == 0;
	} else if (x86->op_count == 1 && operand->type == X86_OP_MEM &&
		   operand->mem.base == X86_REG_RIP && operand->mem.index == X86_REG_INVALID) {
		slot = next + (uint64_t)operand->mem.disp;
		has_slot = true;
	}
	if (has_slot && slot_is_tls_get_addr(walk, slot)) {
		after_tls_get_addr(state);
		return;
	}
	if (has_slot && elf_file__constant_pointer(walk->file, slot, &target))
		target = 0;
	if (target && state->calls < walk->call_depth && !was_visited(walk, target)) {
		state->returns[state->calls++] = next;
		state->address = target;
		return;
	}
	forget_volatile(state);
}

static bool do_return(struct walk *walk, struct state *state)
{
	struct decode_event event = { .kind = DECODE_RETURN };

	if (state->calls) {
		struct decode_value result = state->registers[REG_RAX];

		forget_volatile(state);
		state->registers[REG_RAX] = result;
		state->address = state->returns[--state->calls];
		return true;
	}
	event.value = state->registers[REG_RAX];
	emit(walk, &event);
	return false;
}

static bool do_jump(struct walk *walk, struct state *state, const cs_x86 *x86)
{
	uint64_t slot;

	if (x86->op_count != 1 || x86->operands[0].type != X86_OP_IMM)
		return false;
	state->address = (uint64_t)x86->operands[0].imm;
	if (walk->instruction->id == X86_INS_JMP && plt_slot(walk, state->address, &slot) == 0)
		return elf_file__constant_pointer(walk->file, slot, &state->address) == 0;
	return true;
}

/* A register that is written in a way not understood here is not known any more. */
static void forget_written(struct walk *walk, struct state *state)
{
	cs_regs read, write;
	uint8_t read_count, write_count;

	if (cs_regs_access(walk->capstone, walk->instruction, read, &read_count, write,
			   &write_count)) {
		forget_volatile(state);
		return;
	}
	for (int i = 0; i < write_count; i++)
		forget_register(state, write[i]);
}

/* Carries one instruction out. False: this branch ends here. */
static bool step(struct walk *walk, struct state *state)
{
	const cs_x86 *x86 = &walk->instruction->detail->x86;
	struct decode_value value;
	unsigned int id = walk->instruction->id;

	state->address = walk->instruction->address + walk->instruction->size;
	if (id == X86_INS_CALL) {
		do_call(walk, state, x86);
		return true;
	}
	if (id == X86_INS_RET)
		return do_return(walk, state);
	if (id == X86_INS_JMP)
		return do_jump(walk, state, x86);
	if (id == X86_INS_HLT || id == X86_INS_UD2 || id == X86_INS_INT3)
		return false;
	if (cs_insn_group(walk->capstone, walk->instruction, X86_GRP_JUMP)) {
		if (x86->op_count == 1 && x86->operands[0].type == X86_OP_IMM)
			push_branch(walk, state, (uint64_t)x86->operands[0].imm);
		return true;
	}
	switch (id) {
	case X86_INS_MOV:
	case X86_INS_MOVABS:
	case X86_INS_MOVZX:
		do_move(walk, state, x86);
		return true;
	case X86_INS_LEA:
		value = operand_address(walk, state, &x86->operands[1].mem);
		set_register(state, x86->operands[0].reg, &value);
		return true;
	case X86_INS_CMP:
	case X86_INS_TEST:
		do_compare(walk, state, x86);
		return true;
	case X86_INS_SHR:
	case X86_INS_AND:
	case X86_INS_ADD:
		if (do_arithmetic(state, id, x86))
			return true;
		break;
	default:
		break;
	}
	forget_written(walk, state);
	return true;
}

static int run(struct walk *walk)
{
	bool is_first = true;

	while (walk->branch_count && !walk->is_over) {
		struct state state = walk->branches[--walk->branch_count];

		while (!walk->is_over) {
			if (was_visited(walk, state.address) ||
			    walk->visited_count == MAX_INSTRUCTIONS)
				break;
			if (decode_at(walk, state.address)) {
				if (is_first)
					return -EFAULT;
				break;
			}
			is_first = false;
			walk->visited[walk->visited_count++] = state.address;
			if (!step(walk, &state))
				break;
		}
	}
	return 0;
}

int decode__walk(const struct elf_file *file, uint64_t address, unsigned int call_depth,
		 decode_visitor visitor, void *context)
{
	struct walk *walk = calloc(1, sizeof(*walk));
	int error = -EINVAL;

	if (!walk)
		return -ENOMEM;
	walk->file = file;
	walk->visitor = visitor;
	walk->context = context;
	walk->call_depth = call_depth < DECODE_MAX_CALLS ? call_depth : DECODE_MAX_CALLS;
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &walk->capstone) != CS_ERR_OK) {
		free(walk);
		return -EINVAL;
	}
	if (cs_option(walk->capstone, CS_OPT_DETAIL, CS_OPT_ON) != CS_ERR_OK)
		goto out;
	error = -ENOMEM;
	walk->instruction = cs_malloc(walk->capstone);
	if (!walk->instruction)
		goto out;
	walk->branch_count = 1;
	walk->branches[0].address = address;
	error = run(walk);
out:
	if (walk->instruction)
		cs_free(walk->instruction, 1);
	cs_close(&walk->capstone);
	free(walk);
	return error;
}
