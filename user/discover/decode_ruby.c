/* SPDX-License-Identifier: BSD-2-Clause */
#include "decode_ruby.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#define DURING_GC_BIT 5 /* of the objspace's flags word, gc.c, 2.7 to 4.0 */
#define MAX_VARIABLES 32

static bool keep_return(const struct decode_event *event, void *context)
{
	struct decode_value *value = context;

	if (event->kind != DECODE_RETURN || event->value.root == DECODE_UNKNOWN ||
	    !event->value.load_count)
		return true;
	*value = event->value;
	return false;
}

/* The first known result of a function. Its root is UNKNOWN if there is none. */
static int read_result(const struct elf_file *file, uint64_t function,
		       struct decode_value *ret_value)
{
	int error;

	memset(ret_value, 0, sizeof(*ret_value));
	if (!function)
		return 0;
	error = decode__walk(file, function, DECODE_MAX_CALLS, keep_return, ret_value);
	return error == -ENOMEM ? error : 0;
}

/* rb_errinfo: ec->errinfo */
static int read_errinfo(const struct elf_file *file, uint64_t function, struct decode_ruby *code)
{
	struct decode_value value;
	int error = read_result(file, function, &value);

	if (!error && value.load_count == 2 && value.loads[0] == 0) {
		code->ec_root = value.root;
		code->ec = value.base;
	}
	return error;
}

/* rb_thread_current: ec->thread_ptr->self */
static int read_thread_current(const struct elf_file *file, uint64_t function,
			       struct decode_ruby *code)
{
	struct decode_value value;
	int error = read_result(file, function, &value);

	if (error || value.load_count != 3 || value.loads[0] != 0)
		return error;
	if (code->ec_root == DECODE_UNKNOWN) {
		code->ec_root = value.root;
		code->ec = value.base;
	}
	if (code->ec_root != value.root || code->ec != value.base)
		return 0;
	code->ec_thread_ptr = value.loads[1];
	code->th_self = value.loads[2];
	return 0;
}

/*
 * rb_thread_main: vm->main_thread->self in 2.7; ractor->threads.main->self later, the ractor
 * being ruby_single_main_ractor or, on the way not taken here, the current thread's.
 */
static int read_thread_main(const struct elf_file *file, uint64_t function,
			    struct decode_ruby *code)
{
	struct decode_value value;
	int error = read_result(file, function, &value);

	if (!error && value.load_count >= 3 && value.loads[value.load_count - 1] == code->th_self)
		code->main_thread = value.loads[value.load_count - 2];
	return error;
}

struct during_gc {
	bool is_found;
	struct decode_value value;
	int64_t flags;
};

static bool keep_during_gc(const struct decode_event *event, void *context)
{
	struct during_gc *found = context;
	unsigned int bit = event->value.shift;
	int64_t byte;

	if (event->value.root != DECODE_ADDRESS || event->value.load_count != 3 ||
	    event->value.loads[0] != 0)
		return true;
	if (event->kind == DECODE_TEST && event->constant)
		bit = (unsigned int)__builtin_ctzll(event->constant);
	else if (event->kind != DECODE_RETURN)
		return true;
	byte = event->value.loads[2] + bit / 8;
	if (bit % 8 != DURING_GC_BIT || byte % 4 != 0)
		return true;
	found->is_found = true;
	found->value = event->value;
	found->flags = byte;
	return false;
}

/* rb_during_gc: vm->objspace->flags.during_gc */
static int read_during_gc(const struct elf_file *file, uint64_t function, struct decode_ruby *code)
{
	struct during_gc found = { .is_found = false };
	int error = function
			    ? decode__walk(file, function, DECODE_MAX_CALLS, keep_during_gc, &found)
			    : 0;

	if (found.is_found) {
		code->vm = found.value.base;
		code->vm_objspace = found.value.loads[1];
		code->objspace_flags = found.flags;
	}
	return error == -ENOMEM ? error : 0;
}

/* rb_gc_count: vm->objspace->profile.count */
static int read_gc_count(const struct elf_file *file, uint64_t function, struct decode_ruby *code)
{
	struct decode_value value;
	int error = read_result(file, function, &value);

	if (!error && code->vm && value.root == DECODE_ADDRESS && value.load_count == 3 &&
	    value.base == code->vm && value.loads[0] == 0 && value.loads[1] == code->vm_objspace &&
	    value.last_size == sizeof(uint64_t))
		code->objspace_count = value.loads[2];
	return error;
}

struct variables {
	uint64_t words[MAX_VARIABLES], halves[MAX_VARIABLES]; /* of 8 and 4 bytes */
	size_t word_count, half_count;
};

static bool keep_variable(const struct decode_event *event, void *context)
{
	struct variables *seen = context;
	const struct decode_value *value = &event->value;

	if (event->kind != DECODE_LOAD || value->root != DECODE_ADDRESS || value->load_count != 1 ||
	    value->loads[0] != 0)
		return true;
	if (value->last_size == sizeof(uint64_t) && seen->word_count < MAX_VARIABLES)
		seen->words[seen->word_count++] = value->base;
	if (value->last_size == sizeof(uint32_t) && seen->half_count < MAX_VARIABLES)
		seen->halves[seen->half_count++] = value->base;
	return true;
}

static bool is_variable(const struct elf_file *file, uint64_t address)
{
	const Elf64_Phdr *segment = elf_file__segment_at(file, address);

	return segment && segment->p_flags & PF_W && address % 8 == 0;
}

/*
 * The one pair of variables among those seen that can be last_id, a 32-bit word, and ids, a
 * VALUE at a known distance, of ruby_global_symbols. 0 if there is none, or more than one.
 */
static uint64_t pick_symbols(const struct elf_file *file, const struct variables *seen,
			     uint16_t ids_offset)
{
	uint64_t symbols = 0;

	for (size_t i = 0; i < seen->half_count; i++) {
		for (size_t j = 0; j < seen->word_count; j++) {
			if (seen->words[j] != seen->halves[i] + ids_offset ||
			    !is_variable(file, seen->halves[i]))
				continue;
			if (symbols && symbols != seen->halves[i])
				return 0;
			symbols = seen->halves[i];
		}
	}
	return symbols;
}

/*
 * rb_id2str, through its tail jump: the serial is compared with last_id, then looked up in ids.
 * Functions that it calls are looked into only as far as necessary, since each brings variables
 * of its own.
 */
static int read_id2str(const struct elf_file *file, uint64_t function, uint16_t ids_offset,
		       struct decode_ruby *code)
{
	for (unsigned int depth = 0; function && depth <= DECODE_MAX_CALLS; depth++) {
		struct variables seen = { .word_count = 0 };
		int error = decode__walk(file, function, depth, keep_variable, &seen);

		if (error)
			return error == -ENOMEM ? error : 0;
		code->symbols = pick_symbols(file, &seen, ids_offset);
		if (code->symbols)
			break;
	}
	return 0;
}

static bool keep_shapes(const struct decode_event *event, void *context)
{
	const struct decode_value *value = &event->value;
	uint64_t *shapes = context;

	/* The list is the tree's first field (shape.h: rb_shape_tree_t). */
	if (event->kind != DECODE_LOAD || value->root != DECODE_ADDRESS || value->load_count != 2 ||
	    value->loads[0] != 0 || value->loads[1] != 0 || value->last_size != sizeof(uint64_t))
		return true;
	*shapes = value->base;
	return false;
}

/* rb_shape_get_shape_by_id: &rb_shape_tree_ptr->shape_list[id] */
static int read_shapes(const struct elf_file *file, uint64_t function, struct decode_ruby *code)
{
	uint64_t shapes = 0;
	int error = function ? decode__walk(file, function, 1, keep_shapes, &shapes) : 0;

	if (shapes && is_variable(file, shapes))
		code->shapes = shapes;
	return error == -ENOMEM ? error : 0;
}

/* rb_mark_generic_ivar: looks the object up in generic_iv_tbl_, in itself or a function it calls.
 */
static int read_generic(const struct elf_file *file, uint64_t function, struct decode_ruby *code)
{
	struct variables seen = { .word_count = 0 };
	size_t i, count = 0;
	int error = function ? decode__walk(file, function, 1, keep_variable, &seen) : 0;

	for (i = 0; i < seen.word_count && count < DECODE_RUBY_GENERIC; i++) {
		if (is_variable(file, seen.words[i]) &&
		    (!count || code->generic_ivars[count - 1] != seen.words[i]))
			code->generic_ivars[count++] = seen.words[i];
	}
	return error == -ENOMEM ? error : 0;
}

int decode_ruby__read(const struct elf_file *file, const struct decode_ruby_functions *functions,
		      uint16_t ids_offset, struct decode_ruby *ret_code)
{
	struct decode_ruby code = {
		.ec_root = DECODE_UNKNOWN,
		.ec_thread_ptr = DECODE_RUBY_NO_OFFSET,
		.th_self = DECODE_RUBY_NO_OFFSET,
		.main_thread = DECODE_RUBY_NO_OFFSET,
		.vm_objspace = DECODE_RUBY_NO_OFFSET,
		.objspace_flags = DECODE_RUBY_NO_OFFSET,
		.objspace_count = DECODE_RUBY_NO_OFFSET,
	};
	int error;

	error = read_errinfo(file, functions->rb_errinfo, &code);
	if (!error)
		error = read_thread_current(file, functions->rb_thread_current, &code);
	if (!error)
		error = read_thread_main(file, functions->rb_thread_main, &code);
	if (!error)
		error = read_during_gc(file, functions->rb_during_gc, &code);
	if (!error)
		error = read_gc_count(file, functions->rb_gc_count, &code);
	if (!error)
		error = read_id2str(file, functions->rb_id2str, ids_offset, &code);
	if (!error)
		error = read_shapes(file, functions->rb_shape_get_shape_by_id, &code);
	if (!error)
		error = read_generic(file, functions->rb_mark_generic_ivar, &code);
	if (!error)
		*ret_code = code;
	return error;
}
