/* SPDX-License-Identifier: BSD-2-Clause */
#include "tracked_ruby.h"

#include <stdlib.h>

#include "../ruby/thread_id.h"

/* Of one native thread. */
#define MAX_KNOWN 1024

struct tracked_ruby *tracked_ruby__hold(struct tracked_ruby *ruby)
{
	if (ruby)
		ruby->references++;
	return ruby;
}

void tracked_ruby__release(struct tracked_ruby *ruby)
{
	if (ruby && !--ruby->references)
		free(ruby);
}

void tracked_rubies__end(struct tracked_rubies *rubies, struct tracked_ruby *ruby)
{
	HASH_DEL(rubies->known, ruby);
	if (rubies->latest == ruby)
		rubies->latest = NULL;
	tracked_ruby__release(ruby);
}

void tracked_rubies__clear(struct tracked_rubies *rubies)
{
	struct tracked_ruby *ruby, *next;

	HASH_ITER (hh, rubies->known, ruby, next)
		tracked_rubies__end(rubies, ruby);
}

struct tracked_ruby *tracked_rubies__get(struct tracked_rubies *rubies, uint32_t tid,
					 const struct tracked_ruby_key *key)
{
	struct tracked_ruby *ruby = rubies->latest;

	if (ruby && ruby->key.thread == key->thread && ruby->key.object == key->object)
		return ruby;
	HASH_FIND(hh, rubies->known, key, sizeof(*key), ruby);
	if (!ruby) {
		if (HASH_COUNT(rubies->known) >= MAX_KNOWN)
			tracked_rubies__clear(rubies);
		ruby = calloc(1, sizeof(*ruby));
		if (!ruby)
			return NULL;
		ruby->key = *key;
		ruby->tid = tid;
		ruby->object_id = THREAD_ID_NONE;
		ruby->references = 1;
		HASH_ADD(hh, rubies->known, key, sizeof(ruby->key), ruby);
	}
	/* A sample outside of Ruby says nothing about whose the others are. */
	if (key->thread)
		rubies->latest = ruby;
	return ruby;
}
