/* SPDX-License-Identifier: BSD-2-Clause */
/* Classes of the objects that methods were called on. */
#include "names_impl.h"

#include <stdlib.h>

#include "../util/utf8.h"
#include "class.h"

static void receiver_clear(struct names *names, struct receiver_name *name)
{
	names->bytes -= name->held;
	name->held = 0;
	proof__free(&name->proof);
}

static void receiver_hold(struct names *names, struct receiver_name *name)
{
	name->held = sizeof(*name) + name->proof.count * sizeof(*name->proof.ranges);
	names->bytes += name->held;
}

void names__drop_receivers(struct names *names, uint64_t since)
{
	struct receiver_name *name, *next;

	HASH_ITER (hh, names->receivers, name, next) {
		if (name->used >= since)
			continue;
		HASH_DEL(names->receivers, name);
		receiver_clear(names, name);
		free(name);
	}
}

/* Fills text and proof, which holds for nothing yet. 0 or -errno. */
static int receiver_read(struct names *names, struct receiver_name *name)
{
	struct text raw = { .length = 0 };
	char text[UTF8_LIMIT_NAME + 1];
	struct reader reader;
	size_t length;
	int err;

	reader__init(&reader, names->memory, &names->layout);
	(void)prover__vm(names->prover, &reader.vm);
	err = class__of_object(&reader, names->symbols, name->klass, &raw);
	if (!err) {
		length = utf8__clean(raw.bytes, raw.length, text, UTF8_LIMIT_NAME);
		name->text = profile__string(names->profile, text, length);
		reader__mark_key(&reader, 0);
		proof__init(&name->proof, &reader);
		/* Nothing tells it from what a compaction puts in its place. */
		name->proof.movable = true;
		receiver_hold(names, name);
	}
	reader__free(&reader);
	return err;
}

static struct receiver_name *receiver_add(struct names *names, uint64_t klass)
{
	struct receiver_name *name = calloc(1, sizeof(*name));

	if (!name)
		return NULL;
	name->klass = klass;
	if (receiver_read(names, name)) {
		free(name);
		return NULL;
	}
	HASH_ADD(hh, names->receivers, klass, sizeof(name->klass), name);
	if (!name->hh.tbl) {
		receiver_clear(names, name);
		free(name);
		return NULL;
	}
	return name;
}

uint32_t names__class(struct names *names, uint64_t klass, const struct rbprof_gc_state *gc)
{
	const struct gc_point sample = gc_point__of(gc);
	struct receiver_name *name = NULL;
	enum proof_result result;
	struct proof *proof;
	int round;

	HASH_FIND(hh, names->receivers, &klass, sizeof(klass), name);
	if (!name)
		name = receiver_add(names, klass);
	if (!name)
		return PROFILE_NONE;
	name->used = names->calls;
	if (proof__holds(&name->proof, &sample))
		return name->text;
	for (round = 0; round < 2; round++) {
		proof = &name->proof;
		(void)prover__check(names->prover, &proof, 1, &sample, &result);
		if (result == PROOF_RIGHT)
			return name->text;
		if (result != PROOF_CHANGED)
			break;
		receiver_clear(names, name);
		if (receiver_read(names, name)) {
			HASH_DEL(names->receivers, name);
			free(name);
			break;
		}
	}
	return PROFILE_NONE;
}

uint32_t names__class_of(struct names *names, uint64_t object, const struct rbprof_gc_state *gc)
{
	const struct gc_point sample = gc_point__of(gc);
	uint64_t klass;

	if (object & 7 || object <= 0x100 ||
	    memory__read_u64(names->memory, object + names->layout.rbasic__klass, &klass) ||
	    !prover__same_period(names->prover, &sample))
		return PROFILE_NONE;
	return names__class(names, klass, gc);
}
