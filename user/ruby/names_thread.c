/* SPDX-License-Identifier: BSD-2-Clause */
/* What a thread is called: spec "thread name", as Thread#to_s sees it. */
#include "names_impl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util/utf8.h"
#include "method.h"

/* The file of a gem that wraps every Thread.new: it says nothing about who started the thread. */
static const char wrapper_file[] = "/lib/logging/diagnostic_context.rb";

static int thread_is_main(struct names *names, struct reader *reader, uint64_t thread,
			  bool *ret_main)
{
	uint64_t vm, main_thread;
	int err = prover__vm(names->prover, &vm);

	if (!err)
		err = reader__word(reader, vm + names->layout.vm__main_thread, &main_thread);
	if (!err && !main_thread)
		err = -EAGAIN; /* the VM is being set up: nobody is the main thread yet */
	if (!err)
		*ret_main = main_thread == thread;
	return err;
}

/* "FILE:LINE" of the block that a thread was started with. 0, -ENOENT (no block) or -errno. */
static int thread_block(struct reader *reader, uint64_t thread, struct text *text,
			int64_t *ret_line)
{
	const struct ruby_layout *layout = reader->layout;
	struct iseq iseq = { .address = 0 };
	uint64_t type, proc, address;
	int err;

	err = reader__masked(reader, thread + layout->th__invoke_type, UINT32_MAX, &type);
	if (err)
		return err;
	if (type != RUBY_INVOKE_TYPE_PROC && type != RUBY_INVOKE_TYPE_RACTOR)
		return -ENOENT;
	err = reader__word(reader, thread + layout->th__invoke_arg_proc, &proc);
	if (!err)
		err = proc__iseq(reader, proc, &address);
	if (!err)
		err = iseq__read(reader, address, &iseq);
	if (!err)
		err = iseq__path(reader, &iseq, true, text);
	if (!err)
		*ret_line = iseq.first_line;
	return err;
}

/* The thread's object must be one that belongs to this very structure. */
static int thread_identity(struct reader *reader, uint64_t thread)
{
	uint64_t self, data;
	int err;

	if (thread < 4096 || thread % 8)
		return -EINVAL;
	err = reader__word(reader, thread + reader->layout->th__self, &self);
	if (!err)
		err = object__data(reader, self, &data);
	return err ? err : data == thread ? 0 : -EINVAL;
}

/* The name of a thread that has none of its own; text is empty. */
static int thread_unnamed(struct names *names, struct reader *reader, const struct thread_key *key,
			  struct text *text, bool *ret_main)
{
	const size_t wrapper = sizeof(wrapper_file) - 1;
	bool is_main = key->forked_main;
	char number[32];
	int64_t line;
	int err;

	err = thread_identity(reader, key->thread);
	if (!err && !is_main)
		err = thread_is_main(names, reader, key->thread, &is_main);
	if (err)
		return err;
	if (is_main) {
		*ret_main = true;
		text__string(text, "main");
		return 0;
	}
	err = thread_block(reader, key->thread, text, &line);
	if (err == -ENOENT) {
		text__string(text, "(Unnamed thread from native code)");
		return 0;
	}
	if (err)
		return err;
	if (text->length >= wrapper &&
	    !memcmp(text->bytes + text->length - wrapper, wrapper_file, wrapper)) {
		text->length = 0;
		text__string(text, "(Unnamed thread)");
		return 0;
	}
	snprintf(number, sizeof(number), ":%lld", (long long)line);
	text__string(text, number);
	return 0;
}

static int thread_name_read(struct names *names, const struct thread_key *key,
			    struct thread_name *name)
{
	/* False is no name: the field is 0 until the thread is set up. */
	const bool named = key->name && key->name != names->layout.qnil;
	const size_t limit = named ? UTF8_LIMIT_NAME : UTF8_LIMIT_FILE_LINE;
	struct text raw = { .length = 0 };
	char text[UTF8_LIMIT_FILE_LINE + 1];
	struct reader reader;
	bool is_main = false;
	uint64_t now = 0;
	size_t length;
	int err;

	reader__init(&reader, names->memory, &names->layout);
	/* A name of its own is the sample's, whatever became of the thread. */
	if (named)
		err = object__string(&reader, key->name, UTF8_LIMIT_NAME + 4, &raw);
	else
		err = thread_unnamed(names, &reader, key, &raw, &is_main);
	name->attached = true;
	if (!err && named &&
	    (thread_identity(&reader, key->thread) ||
	     reader__word(&reader, key->thread + names->layout.th__name, &now) || now != key->name))
		name->attached = false;
	if (err) {
		reader__free(&reader);
		return err;
	}
	reader__mark_key(&reader, 0);
	length = utf8__clean(raw.bytes, raw.length, text, limit);
	name->text = profile__string(names->profile, text, length);
	proof__init(&name->proof, &reader);
	name->proof.movable = true;
	/* There is one main thread, and it is never freed. */
	name->permanent = is_main;
	return 0;
}

static struct thread_name *thread_add(struct names *names, const struct thread_key *key)
{
	struct thread_name *name = calloc(1, sizeof(*name));

	if (!name)
		return NULL;
	name->key = *key;
	if (thread_name_read(names, key, name)) {
		free(name);
		return NULL;
	}
	HASH_ADD(hh, names->threads, key, sizeof(name->key), name);
	if (!name->hh.tbl) {
		proof__free(&name->proof);
		free(name);
		return NULL;
	}
	name->held = names__thread_bytes(name);
	names->bytes += name->held;
	return name;
}

static int thread_reread(struct names *names, struct thread_name *name)
{
	struct thread_name fresh = { .text = PROFILE_NONE };
	int err = thread_name_read(names, &name->key, &fresh);

	if (err)
		return err;
	proof__free(&name->proof);
	name->proof = fresh.proof;
	name->text = fresh.text;
	name->attached = fresh.attached;
	name->permanent = fresh.permanent;
	names->bytes -= name->held;
	name->held = names__thread_bytes(name);
	names->bytes += name->held;
	return 0;
}

uint32_t names__thread(struct names *names, uint64_t thread, uint64_t thread_name, int forked_main,
		       const struct rbprof_gc_state *gc)
{
	const struct gc_point sample = gc_point__of(gc);
	const struct thread_key key = { thread, thread_name, forked_main != 0 };
	struct thread_name *name = NULL;
	enum proof_result result;
	struct proof *proof;
	int round;

	HASH_FIND(hh, names->threads, &key, sizeof(key), name);
	if (!name)
		name = thread_add(names, &key);
	if (!name)
		goto failed;
	name->used = names->calls;
	if (name->permanent || proof__holds(&name->proof, &sample))
		return name->text;
	for (round = 0; round < 2; round++) {
		proof = &name->proof;
		(void)prover__check(names->prover, &proof, 1, &sample, &result);
		/*
		 * A thread that still has the name that it had at the sample had it all the
		 * time, whatever was collected; what names a thread without one never changes.
		 */
		if (result == PROOF_RIGHT || (name->proof.intact && name->attached))
			return name->text;
		if (result != PROOF_CHANGED || thread_reread(names, name))
			break;
	}
failed:
	return PROFILE_NONE;
}
