/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The proof that a layout fits a process. The process runs meanwhile, so a check may meet
 * something half changed; one that fails each time has no such excuse.
 */
#include "layout.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../core/error_names.h"
#include "class.h"
#include "iseq.h"
#include "method.h"
#include "stack.h"
#include "symbols.h"
#include "threads.h"

#define TRIES		8
#define MAX_THREADS	16  /* looked at for one that has frames */
#define MAX_FRAMES	100 /* looked at, of one stack */
#define MAX_STACK_WORDS (1ULL << 32)
#define MAX_COLLECTIONS (1ULL << 40)
#define MAX_TID		(1 << 22) /* the kernel gives none above */
#define MAX_SUPERS	16
#define LABEL_BYTES	4096
#define MAX_PARENTS	256
#define MIN_TABLES	3

struct prove {
	struct memory *memory;
	const struct ruby_layout *layout;
	struct symbols *symbols;
	struct reader reader; /* of the check under way; what it records is not used */
	uint64_t vm_ptr_address;
	uint64_t symbols_address;
	uint64_t vm;
	size_t tables;	     /* line tables looked at */
	size_t early_tables; /* ... with a line before the first one */
	const char *why;
};

/* Notes what failed. Errors that say something about the process itself are passed on. */
static int failed(struct prove *prove, int err, const char *why)
{
	if (err == -ESRCH || err == -EPERM || err == -ENOMEM)
		return err;
	prove->why = why;
	return RBPROF_E_PROOF_FAILED;
}

static int prove_collector(struct prove *prove)
{
	const struct ruby_layout *layout = prove->layout;
	uint64_t objspace, count, majors;
	uint32_t flags;
	int err;

	err = memory__read_u64(prove->memory, prove->vm + layout->vm__objspace, &objspace);
	if (!err && !objspace)
		return -EAGAIN;
	if (!err)
		err = memory__read_u64(prove->memory, objspace + layout->objspace__profile_count,
				       &count);
	if (!err)
		err = memory__read_u64(prove->memory,
				       objspace + layout->objspace__profile_major_gc_count,
				       &majors);
	if (!err)
		err = memory__read_u32(prove->memory, objspace + layout->objspace__flags, &flags);
	if (err)
		return failed(prove, err, "the collector's state is not readable");
	/* Counted before it is known to be a full one, and read before that. */
	if (count > MAX_COLLECTIONS || majors > count + 1)
		return failed(prove, 0, "the collector's counters are none");
	if ((flags & RUBY_GC_MODE_MASK) == 3 && layout->rclass__classext_ptr != RUBY_NO_FIELD)
		return failed(prove, 0, "the collector's mode is none");
	return 0;
}

static int prove_name(struct prove *prove, uint64_t id, const char *expected)
{
	struct text text = { .length = 0 };
	int err = symbols__name(prove->symbols, id, &text);

	if (err)
		return failed(prove, err, "the symbol table is not readable");
	if (text.length != strlen(expected) || memcmp(text.bytes, expected, text.length))
		return failed(prove, 0, "the symbol table gives other names");
	return 0;
}

/* Operators of one character are their own ids in every Ruby. */
static int prove_symbols(struct prove *prove)
{
	int err;

	if (!prove->symbols_address)
		return 0;
	err = prove_name(prove, '+', "+");
	if (!err)
		err = prove_name(prove, '<', "<");
	if (!err && prove->layout->attached_id)
		err = prove_name(prove, prove->layout->attached_id, "__attached__");
	return err;
}

/* The class of the thread's object is called Thread. */
static int prove_class(struct prove *prove, const struct ruby_thread *thread)
{
	const struct ruby_layout *layout = prove->layout;
	struct text text = { .length = 0 };
	uint64_t klass, data, flags = 0;
	int i, err;

	err = object__data(&prove->reader, thread->self, &data);
	if (err || data != thread->address)
		return failed(prove, err, "a thread's object does not lead to the thread");
	if (!prove->symbols_address || layout->rclass__classext_ptr == RUBY_NO_FIELD)
		return 0;
	err = reader__word(&prove->reader, thread->self + layout->rbasic__klass, &klass);
	for (i = 0; !err && i < MAX_SUPERS; i++) {
		err = reader__object(&prove->reader, klass, layout->fl_singleton, &flags);
		if (err ||
		    ((flags & RUBY_T_MASK) == RUBY_T_CLASS && !(flags & layout->fl_singleton)))
			break;
		err = reader__word(&prove->reader, klass + layout->rclass__super, &klass);
	}
	if (!err)
		err = class__owner(&prove->reader, prove->symbols, klass, &text, NULL);
	if (err)
		return failed(prove, err, "the class of a thread is not readable");
	/* A subclass of Thread has another name, but it is never without one at the end. */
	if (!text.length || (thread->is_main && (text.length != strlen("Thread#") ||
						 memcmp(text.bytes, "Thread#", text.length))))
		return failed(prove, 0, "the class of a thread is not called so");
	return 0;
}

/* A block's label is its base label with something before it, others may have both alike. */
static int prove_labels(struct prove *prove, const struct iseq *iseq)
{
	struct text label = { .length = 0 }, base = { .length = 0 };
	size_t before;
	int err;

	err = object__string(&prove->reader, iseq->label, LABEL_BYTES, &label);
	if (!err)
		err = object__string(&prove->reader, iseq->base_label, LABEL_BYTES, &base);
	if (err || !base.length)
		return failed(prove, err, "a label is no String");
	if (label.length == LABEL_BYTES)
		return 0;
	before = label.length - base.length;
	if (label.length < base.length || memcmp(label.bytes + before, base.bytes, base.length) ||
	    (iseq->type == RUBY_ISEQ_TYPE_BLOCK && !before))
		return failed(prove, 0, "a label and its base do not fit together");
	if (iseq->path == iseq->label || iseq->path == iseq->base_label)
		return failed(prove, 0, "a path is a label");
	return 0;
}

/* A block's label says how many blocks it lies in; all end at a sequence that is its own. */
static int prove_surroundings(struct prove *prove, const struct iseq *iseq)
{
	struct text label = { .length = 0 };
	unsigned int said = 1, blocks = 0;
	struct iseq local, at = *iseq;
	int err, i;

	err = iseq__read(&prove->reader, iseq->local, &local);
	if (!err && local.local != local.address)
		err = -EINVAL;
	if (!err)
		err = object__string(&prove->reader, iseq->label, sizeof(label.bytes) - 1, &label);
	label.bytes[label.length] = '\0';
	for (i = 0; !err && at.address != local.address; i++) {
		blocks += at.type == RUBY_ISEQ_TYPE_BLOCK;
		err = i == MAX_PARENTS ? -ELOOP : iseq__read(&prove->reader, at.parent, &at);
	}
	if (err)
		return failed(prove, err, "what surrounds code is no instruction sequence");
	if (iseq->type != RUBY_ISEQ_TYPE_BLOCK)
		return 0;
	if (sscanf(label.bytes, "block (%u levels) in ", &said) != 1)
		said = 1;
	if (blocks != said)
		return failed(prove, 0, "a block does not lie as deep as it is called");
	return 0;
}

static int prove_iseq(struct prove *prove, const struct rbprof_frame *frame)
{
	struct text text = { .length = 0 };
	struct iseq_lines lines = { .runs = NULL };
	struct iseq iseq;
	/* Up to 3.0, where an entry is two words, there are instructions without a line. */
	const bool has_no_lines = prove->layout->insn_info__sizeof == 8;
	bool early = false;
	uint32_t i;
	int err;

	err = iseq__read(&prove->reader, frame->iseq, &iseq);
	if (err)
		return failed(prove, err, "a frame's code is no instruction sequence");
	if (!iseq__contains(&iseq, frame->pc))
		return failed(prove, 0, "a frame's pc lies outside its code");
	err = prove_labels(prove, &iseq);
	if (err)
		return err;
	err = iseq__path(&prove->reader, &iseq, false, &text);
	if (err)
		return failed(prove, err, "a path is no String");
	err = iseq__lines(&prove->reader, &iseq, &lines);
	if (!err && !lines.count)
		err = -EINVAL;
	for (i = 0; i < lines.count && !early; i++)
		early = lines.runs[i].line < iseq.first_line &&
			(lines.runs[i].line || !has_no_lines);
	iseq_lines__free(&lines);
	if (err)
		return failed(prove, err, "a line table contradicts itself");
	prove->tables++;
	prove->early_tables += early;
	return prove_surroundings(prove, &iseq);
}

static int prove_method(struct prove *prove, const struct rbprof_frame *frame)
{
	struct text text = { .length = 0 };
	struct method method;
	int err;

	if (!frame->method_entry || frame->method_entry == RBPROF_METHOD_UNREADABLE)
		return frame->iseq ? 0 : failed(prove, 0, "a C function without method entry");
	err = method__read(&prove->reader, frame->method_entry, &method);
	if (err)
		return failed(prove, err, "a method entry is not readable");
	if (!prove->symbols_address)
		return 0;
	err = symbols__name(prove->symbols, method.original_id, &text);
	if (err)
		return failed(prove, err, "a method's name is not in the symbol table");
	err = class__owner(&prove->reader, prove->symbols, method.defined_class, &text, NULL);
	if (err && err != -ENOTSUP)
		return failed(prove, err, "a method's class is not readable");
	return 0;
}

/* The frames of a stack; *ret_count of them are of Ruby code. */
static int prove_frames(struct prove *prove, const struct stack *stack, size_t *ret_count)
{
	size_t i, count = 0;
	int err = 0;

	for (i = 0; !err && i < stack->count; i++) {
		/* What was recorded is not needed, and would come to an end. */
		reader__free(&prove->reader);
		reader__init(&prove->reader, prove->memory, prove->layout);
		if (stack->frames[i].iseq)
			err = prove_iseq(prove, &stack->frames[i]);
		if (!err)
			err = prove_method(prove, &stack->frames[i]);
		count += stack->frames[i].iseq != 0;
	}
	*ret_count = count;
	return err;
}

/* What a thread is called and which native thread it is; that of the main one is always set. */
static int prove_native(struct prove *prove, const struct ruby_thread *thread)
{
	uint32_t type = RUBY_T_STRING;
	uint64_t self;
	int err = 0;

	if (thread->name && thread->name != prove->layout->qnil)
		err = object__type(&prove->reader, thread->name, &type);
	if (err || type != RUBY_T_STRING)
		return failed(prove, err, "a thread's name is no String");
	if (thread->is_main && (!thread->pthread || thread->pthread % 8))
		return failed(prove, 0, "the main thread has no native thread");
#ifdef __x86_64__
	/* A thread descriptor begins with its own address, in every C library. */
	if (thread->is_main) {
		err = memory__read_u64(prove->memory, thread->pthread, &self);
		if (err || self != thread->pthread)
			return failed(prove, err, "the main thread has no native thread");
	}
#endif
	if (thread->is_main && prove->layout->th__tid != RUBY_NO_FIELD &&
	    (thread->tid <= 0 || thread->tid > MAX_TID))
		return failed(prove, 0, "the main thread has no native id");
	return 0;
}

static int prove_thread(struct prove *prove, const struct ruby_thread *thread, size_t *ret_count)
{
	const struct ruby_layout *layout = prove->layout;
	uint64_t thread_of_ec, vm_of_thread, words;
	struct stack stack;
	int err;

	*ret_count = 0;
	if (thread->status == RUBY_THREAD_KILLED)
		return 0;
	err = memory__read_u64(prove->memory, thread->address + layout->th__vm, &vm_of_thread);
	if (err || vm_of_thread != prove->vm)
		return failed(prove, err, "a thread belongs to no vm");
	err = memory__read_u64(prove->memory, thread->ec + layout->ec__thread_ptr, &thread_of_ec);
	if (err || thread_of_ec != thread->address)
		return failed(prove, err, "an execution context does not lead back to its thread");
	err = memory__read_u64(prove->memory, thread->ec + layout->ec__vm_stack_size, &words);
	if (err || words > MAX_STACK_WORDS)
		return failed(prove, err, "a vm stack has no size");
	if (!words) /* it has not started to run */
		return thread->is_main ? failed(prove, 0, "the main thread has no vm stack") : 0;
	err = prove_class(prove, thread);
	if (!err)
		err = prove_native(prove, thread);
	if (err)
		return err;
	err = stack__read(prove->memory, layout, thread->ec, MAX_FRAMES, &stack);
	if (err)
		return failed(prove, err, "an execution context is not readable");
	if (stack.error)
		err = failed(prove, 0, rbprof_error__text(stack.error));
	if (!err)
		err = prove_frames(prove, &stack, ret_count);
	free(stack.frames);
	return err;
}

/* At least one thread must have frames; the main one may have ended. */
static int prove_threads(struct prove *prove)
{
	struct ruby_thread *threads = NULL;
	size_t count, frames = 0, i, looked = 0;
	bool main_seen = false;
	int err;

	err = threads__list(prove->memory, prove->layout, prove->vm_ptr_address, &threads, &count);
	if (err == -EAGAIN)
		return err;
	if (err)
		return failed(prove, err, "the list of threads is none");
	for (i = 0; i < count; i++)
		main_seen |= threads[i].is_main;
	for (i = 0; !err && i < count && looked < MAX_THREADS; i++) {
		size_t found;

		err = prove_thread(prove, &threads[i], &found);
		frames += found;
		looked++;
	}
	free(threads);
	if (err)
		return err;
	/* The parser has its own ideas of where something begins, but not most of the time. */
	if (prove->tables >= MIN_TABLES && prove->early_tables > prove->tables / 2)
		return failed(prove, 0, "line tables begin before the code");
	if (!main_seen)
		return failed(prove, 0, "the main thread is not in the list of threads");
	return frames ? 0 : -EAGAIN;
}

static int prove_once(struct prove *prove)
{
	int err;

	prove->why = NULL;
	prove->tables = prove->early_tables = 0;
	err = memory__read_u64(prove->memory, prove->vm_ptr_address, &prove->vm);
	if (err)
		return failed(prove, err, "the vm is not readable");
	if (!prove->vm)
		return -EAGAIN;
	err = prove_collector(prove);
	if (!err)
		err = prove_symbols(prove);
	return err ? err : prove_threads(prove);
}

int layout__prove(struct memory *memory, const struct ruby_layout *layout, uint64_t vm_ptr_address,
		  uint64_t symbols_address, const char **ret_why)
{
	struct prove prove = {
		.memory = memory,
		.layout = layout,
		.vm_ptr_address = vm_ptr_address,
		.symbols_address = symbols_address,
	};
	int tries, err = 0;

	for (tries = 0; tries < TRIES; tries++) {
		err = symbols__new(memory, layout, symbols_address, &prove.symbols);
		if (err)
			return err;
		reader__init(&prove.reader, memory, layout);
		err = prove_once(&prove);
		reader__free(&prove.reader);
		symbols__free(prove.symbols);
		if (err <= 0 && err != -EAGAIN)
			break;
	}
	if (err > 0)
		*ret_why = prove.why;
	return err;
}
