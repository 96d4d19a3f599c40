/* SPDX-License-Identifier: BSD-2-Clause */
/* The object ids of Ruby threads: when they are read, and the labels made of them. */
#include "session_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "../ruby/thread_id.h"

/* A thread that has no id may get one: it is looked at soon, then once a second. */
#define FIRST_PAUSE_NS 20000000ULL
#define LAST_PAUSE_NS  1000000000ULL

/* Threads by turns on one native thread beyond which their rows become the profile's. */
#define MANY_RUBIES 256

static struct thread_id_source source_of(const struct tracked_process *process)
{
	return (struct thread_id_source){
		.memory = process->memory,
		.layout = &process->found.runtime->layout,
		.vm_ptr_address = ruby_process__vm_ptr(&process->found),
		.shape_tree_address = ruby_process__shape_tree(&process->found),
	};
}

/* False: it is no longer the thread that the samples so far are of. */
static bool look(const struct session *session, const struct tracked_process *process,
		 struct tracked_ruby *ruby)
{
	const struct thread_id_source source = source_of(process);
	int64_t id;

	/* What cannot be read says nothing, and an id is for ever. */
	if (!ruby->key.thread || !ruby->key.object ||
	    thread_id__read(&source, ruby->key.thread, ruby->key.object, &id))
		return true;
	if (ruby->object_id != THREAD_ID_NONE && ruby->object_id != id)
		return false;
	if (ruby->object_id != id && ruby->number)
		late_ids__set(session->late_ids, ruby->number, id);
	ruby->object_id = id;
	return true;
}

static bool is_readable(struct session *session, struct tracked_process *process)
{
	return !process->is_placeholder && !process->has_ended &&
	       process->proof == TRACKED_PROVEN && session__has_names(session, process);
}

struct tracked_ruby *session__ruby(struct session *session, struct tracked_process *process,
				   struct tracked_thread *thread,
				   const struct rbprof_sample *sample)
{
	const struct tracked_ruby_key key = {
		.thread = sample->thread_object ? sample->thread : 0,
		.object = sample->thread ? sample->thread_object : 0,
	};
	struct tracked_ruby *ruby = tracked_rubies__get(&thread->rubies, thread->tid, &key);
	const uint64_t now = sample->event.time_ns;

	if (!ruby || !key.thread || now < ruby->next_ns || !is_readable(session, process))
		return ruby;
	if (!look(session, process, ruby)) {
		tracked_rubies__end(&thread->rubies, ruby);
		ruby = tracked_rubies__get(&thread->rubies, thread->tid, &key);
		if (!ruby || !look(session, process, ruby))
			return ruby;
	}
	ruby->pause_ns = ruby->pause_ns ? 2 * ruby->pause_ns : FIRST_PAUSE_NS;
	if (ruby->pause_ns > LAST_PAUSE_NS)
		ruby->pause_ns = LAST_PAUSE_NS;
	ruby->next_ns = now + ruby->pause_ns;
	return ruby;
}

void session__read_thread_id(struct session *session, struct tracked_process *process,
			     struct tracked_thread *thread)
{
	struct tracked_ruby *ruby, *next;

	if (!is_readable(session, process))
		return;
	HASH_ITER (hh, thread->rubies.known, ruby, next) {
		if (!look(session, process, ruby))
			tracked_rubies__end(&thread->rubies, ruby);
	}
}

void session__read_thread_ids(struct session *session, struct tracked_process *process)
{
	struct tracked_thread *thread;

	for (thread = process->threads; thread; thread = thread->hh.next)
		session__read_thread_id(session, process, thread);
}

void session__trim_rubies(struct session *session, struct tracked_process *process)
{
	struct tracked_thread *thread;
	struct tracked_ruby *ruby, *next;

	for (thread = process->threads; thread; thread = thread->hh.next) {
		if (HASH_COUNT(thread->rubies.known) <= MANY_RUBIES)
			continue;
		session__read_thread_id(session, process, thread);
		/* A wait without a tick yet: its time goes where the next one falls. */
		if (thread->off_ticks)
			session__share_waits(session, thread);
		session__flush_rows(session, process, thread);
		HASH_ITER (hh, thread->rubies.known, ruby, next) {
			if (ruby != thread->rubies.latest)
				tracked_rubies__end(&thread->rubies, ruby);
		}
	}
}

int64_t session__object_id(const struct tracked_process *process, uint64_t thread, uint64_t object)
{
	const struct thread_id_source source = source_of(process);
	int64_t id;

	return thread_id__read(&source, thread, object, &id) ? THREAD_ID_NONE : id;
}

static uint32_t thread_id(struct session *session, uint32_t tid, int64_t object_id)
{
	char text[64];

	snprintf(text, sizeof(text), "%" PRIu32 " (%" PRId64 ")", tid, object_id);
	return profile__cstring(session->profile, text);
}

uint32_t session__ruby_id(struct session *session, struct tracked_ruby *ruby)
{
	char text[64];

	if (!session->ring || ruby->object_id != THREAD_ID_NONE || !ruby->key.thread)
		return thread_id(session, ruby->tid, ruby->object_id);
	/* It may get its id before the ring is written. */
	if (!ruby->number)
		ruby->number = late_ids__number(session->late_ids);
	late_ids__label(text, sizeof(text), ruby->tid, ruby->number);
	return profile__cstring(session->profile, text);
}

uint32_t session__thread_id(struct session *session, const struct tracked_process *process,
			    const struct tracked_thread *thread, struct tracked_ruby *ruby)
{
	if (!ruby)
		ruby = thread->rubies.latest;
	return ruby ? session__ruby_id(session, ruby)
		    : thread_id(session, thread->tid, tracked_process__object_id(process, thread));
}
