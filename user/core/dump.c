/* SPDX-License-Identifier: BSD-2-Clause */
#include "dump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../ruby/deadlock.h"
#include "../ruby/names.h"

#define LIST_TRIES     4
#define DEADLOCK_TRIES 5

static struct thread_state *find_inside(struct thread_state *states, size_t count, int64_t tid)
{
	for (size_t i = 0; tid > 0 && i < count; i++)
		if (states[i].tid_inside == tid)
			return &states[i];
	return NULL;
}

static struct thread_state *find_state(const struct dump_source *source,
				       const struct ruby_thread *ruby, struct thread_state *states,
				       size_t count)
{
	struct thread_state *state = find_inside(states, count, ruby->tid);

	return state ? state
		     : find_inside(states, count,
				   threads__pthread_tid(source->memory, ruby->pthread));
}

/* Whether the VM started threads since, so that one without a match may still be its own. */
static bool list_changed(const struct dump_source *source, uint64_t vm_ptr,
			 const struct ruby_thread *threads, size_t count)
{
	struct ruby_thread *again;
	size_t now;
	bool changed;

	if (threads__list(source->memory, source->layout, vm_ptr, &again, &now))
		return true;
	changed = now != count;
	for (size_t i = 0; !changed && i < count; i++)
		changed = again[i].address != threads[i].address || again[i].tid != threads[i].tid;
	free(again);
	return changed;
}

/* Joins both lists: the VM's threads in its order, then those that only the kernel knows. */
static int merge(const struct dump_source *source, const struct ruby_thread *ruby,
		 size_t ruby_count, struct thread_state *states, size_t state_count)
{
	struct dump *dump = source->dump;
	struct dump_thread *threads = calloc(ruby_count + state_count, sizeof(*threads));
	size_t count = 0, i;

	if (!threads)
		return -ENOMEM;
	for (i = 0; i < ruby_count; i++) {
		struct thread_state *state = find_state(source, &ruby[i], states, state_count);

		/* A thread that is dead, and whose native thread is gone, is no thread. */
		if (!state && ruby[i].status == RUBY_THREAD_KILLED)
			continue;
		threads[count].ruby = ruby[i];
		threads[count].state = state ? *state : (struct thread_state){ .tid = -1 };
		if (state)
			state->tid_inside = -1;
		count++;
	}
	for (i = 0; i < state_count; i++)
		if (states[i].tid_inside != -1)
			threads[count++].state = states[i];
	dump->threads = threads;
	dump->count = count;
	return 0;
}

static int list_threads(const struct dump_source *source)
{
	const uint64_t vm_ptr = ruby_process__vm_ptr(&source->dump->process);
	struct ruby_thread *ruby = NULL;
	struct thread_state *states = NULL;
	size_t ruby_count, state_count;
	int tries, err;

	for (tries = 0; tries < LIST_TRIES; tries++) {
		free(ruby);
		free(states);
		ruby = NULL;
		states = NULL;
		err = threads__list(source->memory, source->layout, vm_ptr, &ruby, &ruby_count);
		if (!err)
			err = thread_states__list(source->dump->process.pid, &states, &state_count);
		if (err == -ESRCH || err == -EPERM || err == -ENOMEM)
			break;
		if (!err && !list_changed(source, vm_ptr, ruby, ruby_count))
			break;
	}
	if (!err)
		err = merge(source, ruby, ruby_count, states, state_count);
	else if (err != -ESRCH && err != -EPERM && err != -ENOMEM)
		err = -EAGAIN;
	free(ruby);
	free(states);
	return err;
}

static void reset(struct dump_thread *thread, const struct ruby_thread *ruby)
{
	const struct thread_state state = thread->state;

	free(thread->frames);
	memset(thread, 0, sizeof(*thread));
	thread->state = state;
	if (ruby)
		thread->ruby = *ruby;
}

/*
 * Native threads whose Ruby thread ended meanwhile: they belong to another one by now (the VM
 * uses them again), or to none.
 */
static int read_stale(const struct dump_source *source, const bool *stale)
{
	const uint64_t vm_ptr = ruby_process__vm_ptr(&source->dump->process);
	struct dump *dump = source->dump;
	struct ruby_thread *ruby = NULL;
	size_t ruby_count = 0, i, k;
	int err = 0;

	if (threads__list(source->memory, source->layout, vm_ptr, &ruby, &ruby_count))
		ruby_count = 0;
	for (i = 0; i < dump->count && err != -ENOMEM; i++) {
		struct dump_thread *thread = &dump->threads[i];

		if (!stale[i])
			continue;
		for (k = 0; k < ruby_count && ruby[k].tid != thread->state.tid_inside; k++)
			;
		reset(thread, k < ruby_count ? &ruby[k] : NULL);
		err = thread->state.tid > 0 ? dump_thread__read(source, thread) : -ESRCH;
		if (err == -ESTALE) {
			reset(thread, NULL);
			err = dump_thread__read(source, thread);
		}
		if (err)
			thread->frame_count = 0;
	}
	free(ruby);
	return err == -ENOMEM ? err : 0;
}

/* Leaves out the threads without frames: those that ended. */
static void drop_ended(struct dump *dump)
{
	size_t i, kept = 0;

	for (i = 0; i < dump->count; i++) {
		if (!dump->threads[i].frame_count)
			free(dump->threads[i].frames);
		else
			dump->threads[kept++] = dump->threads[i];
	}
	dump->count = kept;
}

static int read_threads(const struct dump_source *source)
{
	struct dump *dump = source->dump;
	bool *stale = calloc(dump->count, sizeof(*stale)), any = false;
	int err = stale ? 0 : -ENOMEM;
	size_t i;

	for (i = 0; i < dump->count && err != -ENOMEM; i++) {
		err = dump_thread__read(source, &dump->threads[i]);
		stale[i] = err == -ESTALE;
		any |= stale[i];
		if (err)
			dump->threads[i].frame_count = 0;
	}
	err = err == -ENOMEM ? err : any ? read_stale(source, stale) : 0;
	free(stale);
	if (err)
		return err;
	drop_ended(dump);
	return dump->count ? 0 : -ESRCH;
}

static int compare_addresses(const void *a, const void *b)
{
	const struct dump_thread *const *first = a, *const *second = b;

	return ((*first)->ruby.address > (*second)->ruby.address) -
	       ((*first)->ruby.address < (*second)->ruby.address);
}

/* Turns owners' addresses into indices. */
static int find_owners(struct dump *dump)
{
	struct dump_thread **sorted = calloc(dump->count, sizeof(*sorted));
	size_t i;

	if (!sorted)
		return -ENOMEM;
	for (i = 0; i < dump->count; i++)
		sorted[i] = &dump->threads[i];
	qsort(sorted, dump->count, sizeof(struct dump_thread *), compare_addresses);
	for (i = 0; i < dump->count; i++) {
		const struct dump_thread owner = { .ruby.address = dump->threads[i].wait.owner };
		const struct dump_thread *key = &owner;
		struct dump_thread **found = NULL;

		if (owner.ruby.address)
			found = bsearch(&key, sorted, dump->count, sizeof(struct dump_thread *),
					compare_addresses);
		if (found)
			dump->threads[i].owner = (uint32_t)(*found - dump->threads);
	}
	free(sorted);
	return 0;
}

/* ---- deadlocks ---- */

static bool is_stuck(const struct dump_thread *thread)
{
	const enum wait_kind kind = thread->wait.kind;

	return thread->is_instant && thread->wait.is_endless && thread->owner != DUMP_NONE &&
	       thread->state.letter != 'R' &&
	       (kind == WAIT_MUTEX || kind == WAIT_MONITOR || kind == WAIT_JOIN);
}

/*
 * Each member was read at another instant. If none has run since, all of it is true at once.
 */
static bool is_confirmed(const struct dump_source *source, const uint32_t *members, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!dump_thread__still_waits(source, &source->dump->threads[members[i]]))
			return false;
	return true;
}

static void renew(const struct dump_source *source, const uint32_t *members, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct dump_thread *thread = &source->dump->threads[members[i]];
		struct dump_thread fresh = { .ruby = thread->ruby, .state = thread->state };

		if (dump_thread__read(source, &fresh)) {
			free(fresh.frames);
			continue;
		}
		free(thread->frames);
		*thread = fresh;
	}
}

static int add_deadlock(const uint32_t *members, size_t count, void *context)
{
	const struct dump_source *source = context;
	struct dump *dump = source->dump;
	struct dump_deadlock *deadlocks;
	bool confirmed = is_confirmed(source, members, count);
	int tries;

	/* One of them wakes every 100 ms to look for deadlocks of all threads. */
	for (tries = 1; !confirmed && tries < DEADLOCK_TRIES; tries++) {
		renew(source, members, count);
		if (find_owners(dump))
			return -ENOMEM;
		for (size_t i = 0; i < count; i++)
			if (!is_stuck(&dump->threads[members[i]]) ||
			    dump->threads[members[i]].owner != members[(i + 1) % count])
				return 0;
		confirmed = is_confirmed(source, members, count);
	}
	if (!confirmed)
		return 0;
	deadlocks = realloc(dump->deadlocks, (dump->deadlock_count + 1) * sizeof(*deadlocks));
	if (!deadlocks)
		return -ENOMEM;
	dump->deadlocks = deadlocks;
	deadlocks[dump->deadlock_count].members = malloc(count * sizeof(*members));
	if (!deadlocks[dump->deadlock_count].members)
		return -ENOMEM;
	memcpy(deadlocks[dump->deadlock_count].members, members, count * sizeof(*members));
	deadlocks[dump->deadlock_count++].count = count;
	return 0;
}

static int find_deadlocks(struct dump_source *source)
{
	struct dump *dump = source->dump;
	uint32_t *waits_for = calloc(dump->count, sizeof(*waits_for));
	int err;

	if (!waits_for)
		return -ENOMEM;
	for (size_t i = 0; i < dump->count; i++)
		waits_for[i] = is_stuck(&dump->threads[i]) ? dump->threads[i].owner : DEADLOCK_NONE;
	err = deadlock__find(waits_for, dump->count, add_deadlock, source);
	free(waits_for);
	return err;
}

/* ---- all of it ---- */

static int open_source(struct dump_source *source)
{
	const struct ruby_process *process = &source->dump->process;
	const struct names_roots roots = {
		.vm_ptr_address = ruby_process__vm_ptr(process),
		.symbols_address = ruby_process__symbols(process),
	};
	/* A profile is where names are kept; it needs a type, and gets no rows. */
	static const struct profile_type type = { "cpu-time", "nanoseconds" };
	int err;

	err = memory__open_process(process->pid, &source->memory);
	if (!err)
		err = profile__new(&type, 1, &source->dump->profile);
	if (!err)
		err = names__new(source->memory, source->layout, &roots, source->dump->profile,
				 &source->names);
	return err;
}

int dump__read(const struct ruby_process *process, uint32_t max_frames, struct dump **ret_dump)
{
	struct dump *dump = calloc(1, sizeof(*dump));
	struct dump_source source = { .dump = dump,
				      .layout = &process->runtime->layout,
				      .max_frames = max_frames };
	int err;

	if (!dump)
		return -ENOMEM;
	dump->process = *process;
	err = open_source(&source);
	if (!err)
		source.trace = dump_trace__open(&source);
	if (!err)
		err = list_threads(&source);
	if (!err)
		err = read_threads(&source);
	if (!err)
		err = find_owners(dump);
	if (!err)
		err = find_deadlocks(&source);
	dump_trace__close(source.trace);
	names__free(source.names);
	memory__close(source.memory);
	if (err) {
		dump__free(dump);
		return err;
	}
	*ret_dump = dump;
	return 0;
}

void dump__free(struct dump *dump)
{
	if (!dump)
		return;
	for (size_t i = 0; i < dump->count; i++)
		free(dump->threads[i].frames);
	for (size_t i = 0; i < dump->deadlock_count; i++)
		free(dump->deadlocks[i].members);
	free(dump->deadlocks);
	free(dump->threads);
	profile__free(dump->profile);
	free(dump);
}
