/* SPDX-License-Identifier: BSD-2-Clause */
#include "runtime.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../ruby/layout.h"
#include "../util/utf8.h"
#include "debug_file.h"
#include "decode_ruby.h"
#include "elf_file.h"
#include "gc_sites.h"

#define PAGE_BYTES	 4096UL /* x86-64 */
#define FOREIGN_CHUNK	 (64UL << 10)
#define VERSION_NAME	 "ruby_version"
#define DESCRIPTION_MAX	 127
#define OFFSET_ALIGNMENT 4

/* The symbols that are looked for, data first. */
enum symbol {
	SYMBOL_EC,	  /* thread-local, from 3.0 on */
	SYMBOL_EC_GLOBAL, /* up to 2.7 */
	SYMBOL_VM,
	SYMBOL_SYMBOLS,
	SYMBOL_SHAPES,
	SYMBOL_DATA_COUNT,
	SYMBOL_VERSION = SYMBOL_DATA_COUNT,
	SYMBOL_DESCRIPTION,
	SYMBOL_ERRINFO,
	SYMBOL_THREAD_CURRENT,
	SYMBOL_THREAD_MAIN,
	SYMBOL_DURING_GC,
	SYMBOL_GC_COUNT,
	SYMBOL_ID2STR,
	SYMBOL_SHAPE_BY_ID,
	SYMBOL_MARK_GENERIC,
	SYMBOL_GC_ENTER,
	SYMBOL_GC_EXIT,
	SYMBOL_VM_DESTRUCT,
	SYMBOL_SHAPE_TREE, /* from 4.0 on */
	SYMBOL_COUNT,
};

static const char *const symbol_names[SYMBOL_COUNT] = {
	[SYMBOL_EC] = "ruby_current_ec",
	[SYMBOL_EC_GLOBAL] = "ruby_current_execution_context_ptr",
	[SYMBOL_VM] = "ruby_current_vm_ptr",
	[SYMBOL_SYMBOLS] = "ruby_global_symbols",
	[SYMBOL_SHAPES] = "rb_shape_tree_ptr",
	[SYMBOL_VERSION] = VERSION_NAME,
	[SYMBOL_DESCRIPTION] = "ruby_description",
	[SYMBOL_ERRINFO] = "rb_errinfo",
	[SYMBOL_THREAD_CURRENT] = "rb_thread_current",
	[SYMBOL_THREAD_MAIN] = "rb_thread_main",
	[SYMBOL_DURING_GC] = "rb_during_gc",
	[SYMBOL_GC_COUNT] = "rb_gc_count",
	[SYMBOL_ID2STR] = "rb_id2str",
	[SYMBOL_SHAPE_BY_ID] = "rb_shape_get_shape_by_id",
	[SYMBOL_MARK_GENERIC] = "rb_mark_generic_ivar",
	[SYMBOL_GC_ENTER] = "gc_enter",
	[SYMBOL_GC_EXIT] = "gc_exit",
	[SYMBOL_VM_DESTRUCT] = "ruby_vm_destruct",
	[SYMBOL_SHAPE_TREE] = "rb_shape_tree",
};

struct analysis {
	struct elf_file *file;
	struct elf_wanted symbols[SYMBOL_COUNT];
	enum runtime_tier tiers[SYMBOL_COUNT];
	struct decode_ruby code;
	struct runtime *runtime;
};

const char *runtime_tier__name(enum runtime_tier tier)
{
	switch (tier) {
	case RUNTIME_TIER_SYMBOL:
		return "symbol";
	case RUNTIME_TIER_DEBUG:
		return "debug file";
	case RUNTIME_TIER_CODE:
		return "code";
	case RUNTIME_TIER_NONE:
		break;
	}
	return "none";
}

/* A 32-bit or big-endian file cannot be a Ruby for us; only whether it is one is of interest. */
static int judge_foreign(int fd)
{
	static const char needle[] = "\0" VERSION_NAME;
	char *chunk = malloc(FOREIGN_CHUNK + sizeof(needle));
	int result = RBPROF_E_NOT_RUBY;
	size_t kept = 0;

	if (!chunk)
		return -ENOMEM;
	for (uint64_t offset = 0; offset < ELF_FILE_TABLE_MAX;) {
		ssize_t count = pread(fd, chunk + kept, FOREIGN_CHUNK, (off_t)offset);
		size_t size;

		if (count <= 0)
			break;
		size = kept + (size_t)count;
		if (memmem(chunk, size, needle, sizeof(needle))) {
			result = RBPROF_E_ELF_MACHINE;
			break;
		}
		offset += (uint64_t)count;
		kept = size < sizeof(needle) - 1 ? size : sizeof(needle) - 1;
		memmove(chunk, chunk + size - kept, kept);
	}
	free(chunk);
	return result;
}

static void take_wanted(struct analysis *analysis, enum runtime_tier tier)
{
	for (int i = 0; i < SYMBOL_COUNT; i++)
		if (analysis->symbols[i].found && analysis->tiers[i] == RUNTIME_TIER_NONE)
			analysis->tiers[i] = tier;
}

/* 0, NOT_RUBY, or -errno. Most files of a host are not Ruby and should cost next to nothing. */
static int find_symbols(struct analysis *analysis)
{
	struct elf_file *file = analysis->file;
	int error;

	for (int i = 0; i < SYMBOL_COUNT; i++)
		analysis->symbols[i].name = symbol_names[i];
	for (int i = SYMBOL_COUNT - 1; i >= 0; i--) {
		struct elf_wanted *wanted = &analysis->symbols[i];

		wanted->found = elf_file__dynamic_symbol(file, wanted->name, &wanted->symbol) == 0;
	}
	/* A library that does not export it is none; an executable need not export anything. */
	if (!analysis->symbols[SYMBOL_VERSION].found && !elf_file__is_executable(file))
		return RBPROF_E_NOT_RUBY;
	take_wanted(analysis, RUNTIME_TIER_SYMBOL);
	error = elf_file__static_symbols(file, analysis->symbols, SYMBOL_COUNT);
	if (error == -ENOMEM)
		return error;
	take_wanted(analysis, RUNTIME_TIER_SYMBOL);
	if (!analysis->symbols[SYMBOL_VERSION].found ||
	    (!analysis->symbols[SYMBOL_DESCRIPTION].found &&
	     !analysis->symbols[SYMBOL_ERRINFO].found))
		return RBPROF_E_NOT_RUBY;
	return 0;
}

static int find_debug_symbols(struct analysis *analysis)
{
	struct elf_file *debug = NULL;
	bool missing = false;
	int error;

	for (int i = 0; i < SYMBOL_DATA_COUNT; i++)
		missing |= !analysis->symbols[i].found;
	if (!missing || debug_file__open(DEBUG_FILE_FOLDER, analysis->runtime->build_id, &debug))
		return 0;
	error = elf_file__static_symbols(debug, analysis->symbols, SYMBOL_DATA_COUNT);
	debug_file__close(debug);
	take_wanted(analysis, RUNTIME_TIER_DEBUG);
	return error == -ENOMEM ? error : 0;
}

static int read_version(struct analysis *analysis)
{
	struct runtime *runtime = analysis->runtime;
	const struct layout_entry *entry;
	char text[sizeof(runtime->version)];
	ssize_t size = elf_file__read_some(analysis->file,
					   analysis->symbols[SYMBOL_VERSION].symbol.st_value, text,
					   sizeof(text));
	size_t length = size > 0 ? strnlen(text, (size_t)size) : 0;
	int is_exact;

	/* A version is three numbers; anything else is not shown to anybody. */
	if (!length || length == (size_t)size || strspn(text, "0123456789.") != length)
		return RBPROF_E_VERSION_MISSING;
	memcpy(runtime->version, text, length + 1);
	entry = layout__find(runtime->version, &is_exact);
	if (!entry)
		return RBPROF_E_VERSION_UNSUPPORTED;
	runtime->layout = entry->layout;
	runtime->layout_version = entry->version;
	return 0;
}

static void read_description(struct analysis *analysis)
{
	struct runtime *runtime = analysis->runtime;
	char text[DESCRIPTION_MAX];
	ssize_t size;

	if (!analysis->symbols[SYMBOL_DESCRIPTION].found)
		return;
	size = elf_file__read_some(analysis->file,
				   analysis->symbols[SYMBOL_DESCRIPTION].symbol.st_value, text,
				   sizeof(text));
	if (size > 0)
		utf8__clean(text, strnlen(text, (size_t)size), runtime->description,
			    sizeof(runtime->description) - 1);
}

/*
 * The option's name is there only in builds that have YJIT (3.1: C, from 3.2 on: Rust), while
 * "+YJIT" is in all of them from 3.3 on, and functions of YJIT are not exported.
 */
static bool has_yjit(const struct analysis *analysis)
{
	static const char option[] = "yjit-call-threshold";

	return elf_file__has_constant(analysis->file, option, sizeof(option) - 1);
}

static int describe(struct analysis *analysis)
{
	struct runtime *runtime = analysis->runtime;
	const struct elf_file *file = analysis->file;
	int error;

	runtime->size = file->size;
	runtime->is_static = elf_file__is_executable(file);
	runtime->is_stripped = !elf_file__has_symtab(file);
	runtime->has_yjit = has_yjit(analysis);
	read_description(analysis);
	error = elf_file__build_id(file, runtime->build_id);
	if (error && error != -ENOMEM)
		error = elf_file__content_id(file, runtime->build_id);
	return error;
}

/* musl has another thread vector than glibc, and moves fields of the VM's structures. */
static bool has_other_libc(const struct elf_file *file)
{
	static const char alpine[] = "libc.musl", plain[] = "libc.so";

	return elf_file__needs(file, alpine, sizeof(alpine) - 1) ||
	       elf_file__needs(file, plain, sizeof(plain));
}

static uint64_t symbol_value(const struct analysis *analysis, enum symbol symbol)
{
	return analysis->symbols[symbol].found ? analysis->symbols[symbol].symbol.st_value : 0;
}

static int decode(struct analysis *analysis)
{
	struct decode_ruby_functions functions = {
		.rb_errinfo = symbol_value(analysis, SYMBOL_ERRINFO),
		.rb_thread_current = symbol_value(analysis, SYMBOL_THREAD_CURRENT),
		.rb_thread_main = symbol_value(analysis, SYMBOL_THREAD_MAIN),
		.rb_during_gc = symbol_value(analysis, SYMBOL_DURING_GC),
		.rb_gc_count = symbol_value(analysis, SYMBOL_GC_COUNT),
		.rb_id2str = symbol_value(analysis, SYMBOL_ID2STR),
		.rb_shape_get_shape_by_id = symbol_value(analysis, SYMBOL_SHAPE_BY_ID),
		.rb_mark_generic_ivar = symbol_value(analysis, SYMBOL_MARK_GENERIC),
	};

	return decode_ruby__read(analysis->file, &functions, analysis->runtime->layout.symbols__ids,
				 &analysis->code);
}

/* The GOT pair of the thread-local symbol: by the symbol's name, or by its offset if hidden. */
static uint64_t find_tls_pair(const struct analysis *analysis)
{
	const struct elf_file *file = analysis->file;
	uint64_t offset = symbol_value(analysis, SYMBOL_EC), second;

	for (size_t i = 0; i < file->relocation_count; i++) {
		const Elf64_Rela *relocation = &file->relocations[i];
		uint32_t symbol = (uint32_t)ELF64_R_SYM(relocation->r_info);

		if (ELF64_R_TYPE(relocation->r_info) != R_X86_64_DTPMOD64)
			continue;
		if (symbol) {
			if (elf_file__symbol_is_named(file, symbol, symbol_names[SYMBOL_EC]))
				return relocation->r_offset;
		} else if (elf_file__read(file, relocation->r_offset + 8, &second,
					  sizeof(second)) == 0 &&
			   second == offset) {
			return relocation->r_offset;
		}
	}
	return 0;
}

/* In an executable the thread-local block ends at the thread pointer (x86-64, variant II). */
static bool find_tp_offset(const struct analysis *analysis, int64_t *ret_offset)
{
	const Elf64_Phdr *tls = elf_file__segment(analysis->file, PT_TLS);
	uint64_t offset = symbol_value(analysis, SYMBOL_EC), align, size;

	if (!tls || tls->p_memsz > INT32_MAX || offset > tls->p_memsz)
		return false;
	align = tls->p_align > 1 && tls->p_align <= PAGE_BYTES ? tls->p_align : 1;
	size = (tls->p_memsz + align - 1) / align * align;
	*ret_offset = (int64_t)offset - (int64_t)size;
	return true;
}

static bool ec_by_symbol(struct analysis *analysis)
{
	struct runtime *runtime = analysis->runtime;
	uint64_t global = symbol_value(analysis, SYMBOL_EC_GLOBAL);

	/* Later releases have no such variable, or keep it for nobody. */
	if (runtime->layout.vm__living_threads != RUBY_NO_FIELD) {
		if (!global)
			return false;
		runtime->ec_source = RBPROF_EC_GLOBAL;
		runtime->ec.address = global;
		runtime->ec.tier = analysis->tiers[SYMBOL_EC_GLOBAL];
		return true;
	}
	if (!analysis->symbols[SYMBOL_EC].found ||
	    ELF64_ST_TYPE(analysis->symbols[SYMBOL_EC].symbol.st_info) != STT_TLS)
		return false;
	if (runtime->is_static) {
		if (!find_tp_offset(analysis, &runtime->ec_tp_offset))
			return false;
		runtime->ec_source = RBPROF_EC_TLS_STATIC;
	} else {
		runtime->ec.address = find_tls_pair(analysis);
		if (!runtime->ec.address)
			return false;
		runtime->ec_source = RBPROF_EC_TLS_DYNAMIC;
	}
	runtime->ec.tier = analysis->tiers[SYMBOL_EC];
	return true;
}

static bool ec_by_code(struct analysis *analysis)
{
	struct runtime *runtime = analysis->runtime;
	const struct decode_ruby *code = &analysis->code;
	bool is_global = runtime->layout.vm__living_threads != RUBY_NO_FIELD;

	switch (code->ec_root) {
	case DECODE_TLS_PAIR:
		runtime->ec_source = RBPROF_EC_TLS_DYNAMIC;
		runtime->ec.address = code->ec;
		break;
	case DECODE_TP:
		runtime->ec_source = RBPROF_EC_TLS_STATIC;
		runtime->ec_tp_offset = (int64_t)code->ec;
		break;
	case DECODE_ADDRESS:
		if (!is_global)
			return false;
		runtime->ec_source = RBPROF_EC_GLOBAL;
		runtime->ec.address = code->ec;
		break;
	default:
		return false;
	}
	runtime->ec.tier = RUNTIME_TIER_CODE;
	return true;
}

static int find_ec(struct analysis *analysis)
{
	struct runtime *runtime = analysis->runtime;

	if (!ec_by_symbol(analysis))
		return ec_by_code(analysis) ? 0 : RBPROF_E_EC_NOT_FOUND;
	/* A distance that was worked out gives way to the one that the code uses. */
	if (runtime->ec_source == RBPROF_EC_TLS_STATIC && analysis->code.ec_root == DECODE_TP &&
	    (int64_t)analysis->code.ec != runtime->ec_tp_offset)
		ec_by_code(analysis);
	return 0;
}

static void take_address(const struct analysis *analysis, enum symbol symbol, uint64_t decoded,
			 struct runtime_address *ret_address)
{
	if (analysis->symbols[symbol].found) {
		ret_address->address = symbol_value(analysis, symbol);
		ret_address->tier = analysis->tiers[symbol];
	} else if (decoded) {
		ret_address->address = decoded;
		ret_address->tier = RUNTIME_TIER_CODE;
	}
}

static void correct(uint16_t *field, int64_t value)
{
	if (value >= 0 && value < RUBY_NO_FIELD && value % OFFSET_ALIGNMENT == 0)
		*field = (uint16_t)value;
}

/*
 * What this file's code says beats the table, for the fields that move inside a series. A
 * contradiction elsewhere means that more has moved than can be known: the build is refused.
 */
static int check_layout(struct analysis *analysis)
{
	struct ruby_layout *layout = &analysis->runtime->layout;
	const struct decode_ruby *code = &analysis->code;
	uint16_t main_thread = layout->ractor__main_thread != RUBY_NO_FIELD
				       ? layout->ractor__main_thread
				       : layout->vm__main_thread;

	if ((code->ec_thread_ptr >= 0 && code->ec_thread_ptr != layout->ec__thread_ptr) ||
	    (code->th_self >= 0 && code->th_self != layout->th__self) ||
	    (code->main_thread >= 0 && code->main_thread != main_thread))
		return RBPROF_E_PROOF_FAILED;
	if (code->vm != analysis->runtime->vm.address)
		return 0;
	correct(&layout->vm__objspace, code->vm_objspace);
	if (code->objspace_flags >= 0 && code->objspace_flags != layout->objspace__flags) {
		layout->objspace__total_allocated_objects = RUBY_NO_FIELD;
		layout->objspace__heaps = RUBY_NO_FIELD;
	}
	correct(&layout->objspace__flags, code->objspace_flags);
	if (code->objspace_count >= 0 && code->objspace_count != layout->objspace__profile_count) {
		/* Its neighbours have moved as well, nobody says how far. */
		layout->objspace__profile_major_gc_count = RUBY_NO_FIELD;
		layout->objspace__latest_gc_info = RUBY_NO_FIELD;
		layout->objspace__total_time = RUBY_NO_FIELD;
		layout->objspace__marking_time = RUBY_NO_FIELD;
		layout->objspace__sweeping_time = RUBY_NO_FIELD;
		correct(&layout->objspace__profile_count, code->objspace_count);
	}
	return 0;
}

static const Elf64_Sym *function_symbol(const struct analysis *analysis, enum symbol symbol)
{
	return analysis->symbols[symbol].found ? &analysis->symbols[symbol].symbol : NULL;
}

static int find_gc_sites(struct analysis *analysis)
{
	struct gc_sites_request request = {
		.code_address = symbol_value(analysis, SYMBOL_DURING_GC),
		.flags_offset = analysis->code.objspace_flags,
		.gc_enter = function_symbol(analysis, SYMBOL_GC_ENTER),
		.gc_exit = function_symbol(analysis, SYMBOL_GC_EXIT),
	};

	return gc_sites__find(analysis->file, &request, &analysis->runtime->gc);
}

static int analyse(struct analysis *analysis)
{
	struct elf_file *file = analysis->file;
	struct runtime *runtime = analysis->runtime;
	int error = find_symbols(analysis);

	if (error)
		return error;
	if (file->header.e_machine != EM_X86_64)
		return RBPROF_E_ELF_MACHINE;
	error = read_version(analysis);
	if (error)
		return error;
	if (has_other_libc(file))
		return RBPROF_E_LIBC_UNSUPPORTED;
	error = describe(analysis);
	if (!error)
		error = elf_file__load_relocations(file);
	if (!error)
		error = find_debug_symbols(analysis);
	if (!error)
		error = decode(analysis);
	if (error)
		return error == -EFAULT ? RBPROF_E_ELF_INVALID : error;
	error = find_ec(analysis);
	if (error)
		return error;
	take_address(analysis, SYMBOL_VM, analysis->code.vm, &runtime->vm);
	take_address(analysis, SYMBOL_SYMBOLS, analysis->code.symbols, &runtime->symbols);
	take_address(analysis, SYMBOL_SHAPE_TREE, 0, &runtime->shape_tree);
	memcpy(runtime->generic_ivars, analysis->code.generic_ivars,
	       sizeof(runtime->generic_ivars));
	take_address(analysis, SYMBOL_SHAPES, analysis->code.shapes, &runtime->shapes);
	take_address(analysis, SYMBOL_VM_DESTRUCT, 0, &runtime->vm_destruct);
	if (!runtime->vm.address)
		return RBPROF_E_VM_NOT_FOUND;
	error = check_layout(analysis);
	return error ? error : find_gc_sites(analysis);
}

int runtime__open(int fd, struct runtime **ret_runtime)
{
	struct analysis analysis = { .file = NULL };
	enum elf_file_class class;
	int error = elf_file__class(fd, &class);

	if (error)
		return error;
	if (class == ELF_FILE_NONE)
		return RBPROF_E_NOT_RUBY;
	if (class == ELF_FILE_FOREIGN)
		return judge_foreign(fd);
	error = elf_file__open(fd, &analysis.file);
	if (error)
		return error == -ENOEXEC ? RBPROF_E_ELF_INVALID : error;
	analysis.runtime = calloc(1, sizeof(*analysis.runtime));
	error = analysis.runtime ? analyse(&analysis) : -ENOMEM;
	if (!error) {
		*ret_runtime = analysis.runtime;
		analysis.runtime = NULL;
	}
	runtime__free(analysis.runtime);
	elf_file__close(analysis.file);
	return error;
}

int runtime__version(int fd, char *ret_version, size_t size)
{
	struct elf_wanted wanted = { .name = "ruby_version" };
	struct elf_file *file;
	char text[sizeof(((struct runtime *)0)->version)];
	ssize_t length;
	int error = elf_file__open(fd, &file);

	if (error)
		return error;
	wanted.found = !elf_file__dynamic_symbol(file, wanted.name, &wanted.symbol);
	if (!wanted.found)
		elf_file__static_symbols(file, &wanted, 1);
	length = wanted.found
			 ? elf_file__read_some(file, wanted.symbol.st_value, text, sizeof(text))
			 : 0;
	if (length > 0)
		utf8__clean(text, strnlen(text, (size_t)length), ret_version, size - 1);
	elf_file__close(file);
	return length > 0 ? 0 : -ENOENT;
}

void runtime__free(struct runtime *runtime)
{
	free(runtime);
}

/*
 * Segments are mapped by whole pages, and the last page of one may be the first of the next:
 * so the segment that starts on the mapping's page comes before one that merely contains it.
 */
static const Elf64_Phdr *segment_of_mapping(const struct elf_file *file, uint64_t offset)
{
	const Elf64_Phdr *containing = NULL;

	for (size_t i = 0; i < file->segment_count; i++) {
		const Elf64_Phdr *segment = &file->segments[i];
		uint64_t start = segment->p_offset & ~(PAGE_BYTES - 1);

		if (segment->p_type != PT_LOAD || !segment->p_filesz)
			continue;
		if (start == offset)
			return segment;
		if (offset > start &&
		    offset - start < segment->p_filesz + segment->p_offset % PAGE_BYTES)
			containing = segment;
	}
	return containing;
}

int runtime__load_bias(int fd, uint64_t mapping_start, uint64_t mapping_offset, uint64_t *ret_bias)
{
	const Elf64_Phdr *segment;
	struct elf_file *file = NULL;
	uint64_t bias;
	int error = -EINVAL;

	if (mapping_start % PAGE_BYTES || mapping_offset % PAGE_BYTES || elf_file__open(fd, &file))
		return -EINVAL;
	segment = segment_of_mapping(file, mapping_offset);
	if (!segment)
		goto out;
	/* The page of the segment's start is mapped at the page of its address. */
	bias = mapping_start - (segment->p_vaddr & ~(PAGE_BYTES - 1)) -
	       (mapping_offset - (segment->p_offset & ~(PAGE_BYTES - 1)));
	if ((segment->p_vaddr - segment->p_offset) % PAGE_BYTES)
		goto out;
	*ret_bias = bias;
	error = 0;
out:
	elf_file__close(file);
	return error;
}
