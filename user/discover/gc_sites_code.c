/* SPDX-License-Identifier: BSD-2-Clause */
#include "gc_sites_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MAX_INSTRUCTIONS   32768
#define MAX_FUNCTIONS	   64
#define MAX_FUNCTION_BYTES (128UL << 10)
#define MAX_FUNCTION_TABLE (1UL << 20) /* entries */
#define INSTRUCTION_MAX	   15
#define MAX_NAME_LOOKUPS   512
#define TRANSFER_BYTES	   6 /* the longest of them */

#define OPCODE_CALL 0xe8
#define OPCODE_JUMP 0xe9
#define OPCODE_JCC  0x0f /* 0x0f 0x8x */

/* Encodings of .eh_frame_hdr, Linux Standard Base: 4 bytes, unsigned, and signed from its start. */
#define EH_UDATA4	  0x03
#define EH_SIZE_MASK	  0x0f
#define EH_SDATA4	  0x0b
#define EH_DATAREL_SDATA4 0x3b

struct function_entry {
	int32_t start; /* from the table's header */
	int32_t description;
};

struct function {
	uint64_t start, end;
	int first, count; /* instructions */
};

struct gc_code {
	const struct elf_file *file;
	csh capstone;
	cs_insn *scratch;
	unsigned char *bytes;
	uint64_t address;
	size_t size, mapped_size;
	struct function_entry *table;
	uint64_t table_address;
	size_t table_count;
	struct function functions[MAX_FUNCTIONS];
	int function_count;
	struct gc_code_instruction *instructions;
	int instruction_count;
	/* Indexes of all jumps by target, then by index; sorted when they are asked for. */
	int *jumps;
	int jump_count;
	unsigned int name_lookups;
	int sorted_count; /* of the instructions that have been looked at for it */
};

static int load_segment(struct gc_code *code, uint64_t address)
{
	const Elf64_Phdr *segment = elf_file__segment_at(code->file, address);
	ssize_t got;

	if (!segment || !(segment->p_flags & PF_X) || segment->p_filesz > ELF_FILE_TABLE_MAX ||
	    segment->p_filesz > code->file->size || !segment->p_filesz)
		return -ENOENT;
	/* All of it is read once: large pages save most of the faults, where there are any. */
	code->bytes = mmap(NULL, segment->p_filesz, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (code->bytes == MAP_FAILED) {
		code->bytes = NULL;
		return -ENOMEM;
	}
	code->mapped_size = segment->p_filesz;
	madvise(code->bytes, code->mapped_size, MADV_HUGEPAGE);
	got = elf_file__read_some(code->file, segment->p_vaddr, code->bytes, segment->p_filesz);
	if (got <= 0)
		return got < 0 && got != -EFAULT ? (int)got : -ENOENT;
	code->address = segment->p_vaddr;
	code->size = (size_t)got;
	return 0;
}

static int load_table(struct gc_code *code)
{
	const Elf64_Phdr *segment = elf_file__segment(code->file, PT_GNU_EH_FRAME);
	struct {
		uint8_t version, pointer_encoding, count_encoding, table_encoding;
		int32_t pointer;
		uint32_t count;
	} header;
	size_t size;

	if (!segment || elf_file__read(code->file, segment->p_vaddr, &header, sizeof(header)))
		return -ENOENT;
	if (header.version != 1 || header.count_encoding != EH_UDATA4 ||
	    header.table_encoding != EH_DATAREL_SDATA4 ||
	    (header.pointer_encoding & EH_SIZE_MASK) != EH_SDATA4 || !header.count ||
	    header.count > MAX_FUNCTION_TABLE)
		return -ENOENT;
	size = header.count * sizeof(*code->table);
	if (size > code->file->size)
		return -ENOENT;
	code->table = malloc(size);
	if (!code->table)
		return -ENOMEM;
	if (elf_file__read(code->file, segment->p_vaddr + sizeof(header), code->table, size))
		return -ENOENT;
	code->table_address = segment->p_vaddr;
	code->table_count = header.count;
	return 0;
}

int gc_code__open(const struct elf_file *file, uint64_t address, struct gc_code **ret_code)
{
	struct gc_code *code = calloc(1, sizeof(*code));
	int error = -ENOMEM;

	if (!code)
		return -ENOMEM;
	code->file = file;
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &code->capstone) != CS_ERR_OK ||
	    cs_option(code->capstone, CS_OPT_DETAIL, CS_OPT_ON) != CS_ERR_OK)
		goto out;
	code->scratch = cs_malloc(code->capstone);
	code->instructions = calloc(MAX_INSTRUCTIONS, sizeof(*code->instructions));
	code->jumps = calloc(MAX_INSTRUCTIONS, sizeof(*code->jumps));
	if (!code->scratch || !code->instructions || !code->jumps)
		goto out;
	error = load_segment(code, address);
	if (!error)
		error = load_table(code);
	if (error)
		goto out;
	*ret_code = code;
	code = NULL;
out:
	gc_code__close(code);
	return error;
}

void gc_code__close(struct gc_code *code)
{
	if (!code)
		return;
	if (code->scratch)
		cs_free(code->scratch, 1);
	if (code->capstone)
		cs_close(&code->capstone);
	free(code->jumps);
	free(code->instructions);
	free(code->table);
	if (code->bytes)
		munmap(code->bytes, code->mapped_size);
	free(code);
}

const unsigned char *gc_code__bytes(const struct gc_code *code, uint64_t *ret_address,
				    size_t *ret_size)
{
	*ret_address = code->address;
	*ret_size = code->size;
	return code->bytes;
}

static uint64_t entry_start(const struct gc_code *code, size_t index)
{
	return code->table_address + (uint64_t)(int64_t)code->table[index].start;
}

static bool contains(const struct gc_code *code, uint64_t address)
{
	return address >= code->address && address - code->address < code->size;
}

/* From the last start at or before the address to the next one; the linker sorts the table. */
static int find_bounds(const struct gc_code *code, uint64_t address, struct function *ret_function)
{
	size_t low = 0, high = code->table_count;
	uint64_t start, end = code->address + code->size;

	if (!contains(code, address))
		return -ENOENT;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (entry_start(code, middle) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return -ENOENT;
	start = entry_start(code, low - 1);
	if (low < code->table_count && entry_start(code, low) < end)
		end = entry_start(code, low);
	/* What an unsorted table says is not believed. */
	if (!contains(code, start) || start > address || end <= address ||
	    end - start > MAX_FUNCTION_BYTES)
		return -ENOENT;
	ret_function->start = start;
	ret_function->end = end;
	return 0;
}

static void classify(const struct gc_code *code, const cs_insn *decoded,
		     struct gc_code_instruction *ret_instruction)
{
	const cs_x86 *x86 = &decoded->detail->x86;
	bool is_fixed = x86->op_count == 1 && x86->operands[0].type == X86_OP_IMM;

	ret_instruction->address = decoded->address;
	ret_instruction->size = (uint8_t)decoded->size;
	ret_instruction->kind = GC_CODE_PLAIN;
	ret_instruction->target = is_fixed ? (uint64_t)x86->operands[0].imm : 0;
	switch (decoded->id) {
	case X86_INS_CALL:
		ret_instruction->kind = GC_CODE_CALL;
		break;
	case X86_INS_JMP:
		ret_instruction->kind = is_fixed ? GC_CODE_JUMP : GC_CODE_END;
		break;
	case X86_INS_RET:
	case X86_INS_HLT:
	case X86_INS_UD2:
	case X86_INS_INT3:
		ret_instruction->kind = GC_CODE_END;
		break;
	default:
		if (cs_insn_group(code->capstone, decoded, X86_GRP_JUMP))
			ret_instruction->kind = GC_CODE_BRANCH;
		break;
	}
}

int gc_code__load(struct gc_code *code, uint64_t address)
{
	struct function *function = &code->functions[code->function_count];
	const unsigned char *bytes;
	uint64_t at;
	size_t left;

	for (int i = 0; i < code->function_count; i++)
		if (address >= code->functions[i].start && address < code->functions[i].end)
			return 0;
	if (code->function_count == MAX_FUNCTIONS || find_bounds(code, address, function))
		return -ENOENT;
	at = function->start;
	bytes = code->bytes + (at - code->address);
	left = function->end - at;
	function->first = code->instruction_count;
	while (left && code->instruction_count < MAX_INSTRUCTIONS &&
	       cs_disasm_iter(code->capstone, &bytes, &left, &at, code->scratch))
		classify(code, code->scratch, &code->instructions[code->instruction_count++]);
	function->count = code->instruction_count - function->first;
	code->function_count++;
	return code->instruction_count < MAX_INSTRUCTIONS ? 0 : -ENOENT;
}

/* The function among those loaded that an address is in, or NULL. */
static const struct function *function_of(const struct gc_code *code, uint64_t address, int count)
{
	for (int i = 0; i < count; i++)
		if (address >= code->functions[i].start && address < code->functions[i].end)
			return &code->functions[i];
	return NULL;
}

bool gc_code__next_transfer(const struct gc_code *code, size_t offset,
			    struct gc_code_transfer *ret_transfer)
{
	/* Distances come last in the instruction; the opcode of jcc has two bytes. */
	static const uint8_t kinds[256] = {
		[OPCODE_CALL] = GC_CODE_CALL,
		[OPCODE_JUMP] = GC_CODE_JUMP,
		[OPCODE_JCC] = GC_CODE_BRANCH,
	};
	const unsigned char *bytes = code->bytes;

	for (; offset + TRANSFER_BYTES <= code->size; offset++) {
		uint8_t kind = kinds[bytes[offset]];
		size_t distance_at = offset + (kind == GC_CODE_BRANCH ? 2 : 1);
		int32_t distance;

		if (kind == GC_CODE_PLAIN ||
		    (kind == GC_CODE_BRANCH && (bytes[offset + 1] & 0xf0) != 0x80))
			continue;
		memcpy(&distance, bytes + distance_at, sizeof(distance));
		ret_transfer->offset = offset;
		ret_transfer->target = code->address + distance_at + sizeof(distance) +
				       (uint64_t)(int64_t)distance;
		ret_transfer->kind = kind;
		return true;
	}
	return false;
}

int gc_code__load_jumper(struct gc_code *code, const struct gc_code_transfer *transfer, int count)
{
	const struct function *into = function_of(code, transfer->target, count);
	uint64_t from = code->address + transfer->offset;

	/* To the start of a function: a call in disguise, of no interest. */
	if (!into || transfer->target == into->start || transfer->kind == GC_CODE_CALL ||
	    (from >= into->start && from < into->end))
		return 0;
	return gc_code__load(code, from);
}

int gc_code__function_count(const struct gc_code *code)
{
	return code->function_count;
}

int gc_code__find(const struct gc_code *code, uint64_t address)
{
	const struct function *function = function_of(code, address, code->function_count);
	int low, high;

	if (!function)
		return GC_CODE_NONE;
	low = function->first;
	high = function->first + function->count;
	while (low < high) {
		int middle = low + (high - low) / 2;

		if (code->instructions[middle].address == address)
			return middle;
		if (code->instructions[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return GC_CODE_NONE;
}

const struct gc_code_instruction *gc_code__at(const struct gc_code *code, int index)
{
	return &code->instructions[index];
}

static bool are_neighbours(const struct gc_code *code, int first, int second)
{
	if (first < 0 || second >= code->instruction_count)
		return false;
	return code->instructions[first].address + code->instructions[first].size ==
		       code->instructions[second].address &&
	       function_of(code, code->instructions[first].address, code->function_count) ==
		       function_of(code, code->instructions[second].address, code->function_count);
}

int gc_code__next(const struct gc_code *code, int index)
{
	return are_neighbours(code, index, index + 1) ? index + 1 : GC_CODE_NONE;
}

int gc_code__previous(const struct gc_code *code, int index)
{
	return are_neighbours(code, index - 1, index) ? index - 1 : GC_CODE_NONE;
}

static int compare_jumps(const void *first, const void *second, void *context)
{
	const struct gc_code *code = context;
	int a = *(const int *)first, b = *(const int *)second;

	if (code->instructions[a].target != code->instructions[b].target)
		return code->instructions[a].target < code->instructions[b].target ? -1 : 1;
	return a < b ? -1 : a > b;
}

static void sort_jumps(struct gc_code *code)
{
	if (code->sorted_count == code->instruction_count)
		return;
	for (; code->sorted_count < code->instruction_count; code->sorted_count++) {
		uint8_t kind = code->instructions[code->sorted_count].kind;

		if (kind == GC_CODE_BRANCH || kind == GC_CODE_JUMP)
			code->jumps[code->jump_count++] = code->sorted_count;
	}
	qsort_r(code->jumps, (size_t)code->jump_count, sizeof(*code->jumps), compare_jumps, code);
}

int gc_code__jump_to(struct gc_code *code, uint64_t address, int from)
{
	int low = 0, high;

	sort_jumps(code);
	high = code->jump_count;
	while (low < high) {
		int middle = low + (high - low) / 2, jump = code->jumps[middle];
		uint64_t target = code->instructions[jump].target;

		if (target < address || (target == address && jump < from))
			low = middle + 1;
		else
			high = middle;
	}
	if (low == code->jump_count || code->instructions[code->jumps[low]].target != address)
		return GC_CODE_NONE;
	return code->jumps[low];
}

const cs_insn *gc_code__decode(struct gc_code *code, uint64_t address)
{
	const unsigned char *bytes;
	size_t left;

	if (!contains(code, address))
		return NULL;
	bytes = code->bytes + (address - code->address);
	left = code->size - (address - code->address);
	if (left > INSTRUCTION_MAX)
		left = INSTRUCTION_MAX;
	if (!cs_disasm_iter(code->capstone, &bytes, &left, &address, code->scratch))
		return NULL;
	return code->scratch;
}

int gc_code__register(unsigned int reg)
{
	static const unsigned short parts[][4] = {
		{ X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL },
		{ X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL },
		{ X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL },
		{ X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL },
		{ X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL },
		{ X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL },
		{ X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL },
		{ X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL },
		{ X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B },
		{ X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B },
		{ X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B },
		{ X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B },
		{ X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B },
		{ X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B },
		{ X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B },
		{ X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B },
	};

	for (int i = 0; i < (int)(sizeof(parts) / sizeof(parts[0])); i++)
		for (int j = 0; j < 4; j++)
			if (parts[i][j] == reg)
				return i;
	return GC_CODE_NONE;
}

bool gc_code__writes(const struct gc_code *code, const cs_insn *instruction, unsigned int reg)
{
	int number = gc_code__register(reg);
	cs_regs read, written;
	uint8_t read_count, written_count;

	if (cs_regs_access(code->capstone, instruction, read, &read_count, written, &written_count))
		return true;
	for (int i = 0; i < written_count; i++)
		if (written[i] == reg ||
		    (number != GC_CODE_NONE && gc_code__register(written[i]) == number))
			return true;
	return false;
}

uint16_t gc_code__written(const struct gc_code *code, const cs_insn *instruction)
{
	static const unsigned int volatiles[] = {
		X86_REG_RAX, X86_REG_RCX, X86_REG_RDX, X86_REG_RSI, X86_REG_RDI,
		X86_REG_R8,  X86_REG_R9,  X86_REG_R10, X86_REG_R11,
	};
	cs_regs read, written;
	uint8_t read_count, written_count;
	uint16_t registers = 0;

	if (cs_regs_access(code->capstone, instruction, read, &read_count, written, &written_count))
		return UINT16_MAX;
	for (int i = 0; i < written_count; i++) {
		int number = gc_code__register(written[i]);

		if (number != GC_CODE_NONE)
			registers |= (uint16_t)(1U << number);
	}
	if (instruction->id == X86_INS_CALL)
		for (size_t i = 0; i < sizeof(volatiles) / sizeof(volatiles[0]); i++)
			registers |= (uint16_t)(1U << gc_code__register(volatiles[i]));
	return registers;
}

/* The word of the GOT that a stub of the procedure linkage table jumps through. */
static bool stub_slot(struct gc_code *code, uint64_t address, uint64_t *ret_slot)
{
	const cs_insn *instruction = gc_code__decode(code, address);
	const cs_x86_op *operand;

	if (instruction && instruction->id == X86_INS_ENDBR64)
		instruction = gc_code__decode(code, address + instruction->size);
	if (!instruction || instruction->id != X86_INS_JMP)
		return false;
	operand = &instruction->detail->x86.operands[0];
	if (operand->type != X86_OP_MEM || operand->mem.base != X86_REG_RIP ||
	    operand->mem.index != X86_REG_INVALID)
		return false;
	*ret_slot = instruction->address + instruction->size + (uint64_t)operand->mem.disp;
	return true;
}

bool gc_code__is_function(struct gc_code *code, uint64_t address)
{
	struct function function;
	uint64_t slot;

	return stub_slot(code, address, &slot) ||
	       (find_bounds(code, address, &function) == 0 && function.start == address);
}

bool gc_code__target_is(struct gc_code *code, uint64_t target, const char *name)
{
	const Elf64_Rela *relocation;
	Elf64_Sym symbol;
	uint64_t slot;

	/* A real file asks some dozens of times; a search of the relocations is not cheap. */
	if (code->name_lookups++ >= MAX_NAME_LOOKUPS)
		return false;
	if (elf_file__dynamic_symbol(code->file, name, &symbol) == 0 && symbol.st_value == target)
		return true;
	if (!stub_slot(code, target, &slot))
		return false;
	relocation = elf_file__relocation_at(code->file, slot);
	return relocation && elf_file__symbol_is_named(
				     code->file, (uint32_t)ELF64_R_SYM(relocation->r_info), name);
}

static bool returns(struct gc_code *code, int call)
{
	static const char *const names[] = { "rb_bug", "__stack_chk_fail", "abort" };
	uint64_t target = code->instructions[call].target;

	for (size_t i = 0; target && i < sizeof(names) / sizeof(names[0]); i++)
		if (gc_code__target_is(code, target, names[i]))
			return false;
	return true;
}

static bool is_padding(struct gc_code *code, int index)
{
	const cs_insn *instruction = gc_code__decode(code, code->instructions[index].address);

	return instruction && instruction->id == X86_INS_NOP &&
	       gc_code__jump_to(code, code->instructions[index].address, 0) == GC_CODE_NONE;
}

int gc_code__from_above(struct gc_code *code, int index)
{
	int above = gc_code__previous(code, index), last = above;

	while (last != GC_CODE_NONE && is_padding(code, last))
		last = gc_code__previous(code, last);
	if (last == GC_CODE_NONE || code->instructions[last].kind == GC_CODE_JUMP ||
	    code->instructions[last].kind == GC_CODE_END ||
	    (code->instructions[last].kind == GC_CODE_CALL && !returns(code, last)))
		return GC_CODE_NONE;
	return above;
}
