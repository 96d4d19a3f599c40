/* SPDX-License-Identifier: BSD-2-Clause */
#include "tracked.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../ruby/thread_id.h"

/* Ended threads of a process that the balance sheet still lists one by one. */
#define MAX_ENDED_THREADS 1024

struct tracked_process *tracked_process__new(uint64_t serial, const struct ruby_process *found)
{
	struct tracked_process *process = calloc(1, sizeof(*process));

	if (process) {
		process->serial = serial;
		process->found = *found;
		if (found->error)
			process->proof = TRACKED_REFUSED;
	}
	return process;
}

void tracked_thread__drop_row(struct tracked_thread *thread, struct tracked_row *row)
{
	HASH_DEL(thread->rows, row);
	tracked_ruby__release(row->key.ruby);
	free(row);
}

void tracked_thread__clear(struct tracked_thread *thread)
{
	struct tracked_row *row, *next;

	HASH_ITER (hh, thread->rows, row, next)
		tracked_thread__drop_row(thread, row);
	tracked_row_key__keep(&thread->read.key, NULL);
	thread->read.is_valid = false;
	tracked_rubies__clear(&thread->rubies);
}

void tracked_row_key__keep(struct tracked_row_key *place, const struct tracked_row_key *key)
{
	static const struct tracked_row_key none;
	struct tracked_ruby *before = place->ruby;

	*place = key ? *key : none;
	tracked_ruby__hold(place->ruby);
	tracked_ruby__release(before);
}

void tracked_process__free(struct tracked_process *process)
{
	struct tracked_thread *thread, *next;

	if (!process)
		return;
	tracked_process__close_names(process);
	tracked_process__forget_names(process);
	HASH_ITER (hh, process->threads, thread, next) {
		HASH_DEL(process->threads, thread);
		tracked_thread__clear(thread);
		free(thread);
	}
	for (thread = process->ended; thread; thread = next) {
		next = thread->hh.next;
		tracked_thread__clear(thread);
		free(thread);
	}
	if (process->gc.rows)
		tracked_thread__clear(process->gc.rows);
	tracked_row_key__keep(&process->gc.kept, NULL);
	free(process->gc.rows);
	free(process->holders);
	tracked_trace__free(process->trace);
	tracked_roots__free(process->roots);
	free(process);
}

void tracked_process__close_names(struct tracked_process *process)
{
	int i;

	if (process->names) {
		for (i = 0; i < RBPROF_E_COUNT; i++)
			process->errors[i] += names__errors(process->names)[i];
	}
	tracked_trace__close(process->trace);
	names__free(process->names);
	memory__close(process->memory);
	process->names = NULL;
	process->memory = NULL;
}

void tracked_process__errors(const struct tracked_process *process, uint64_t *ret_errors)
{
	int i;

	for (i = 0; i < RBPROF_E_COUNT; i++) {
		ret_errors[i] = process->errors[i] + process->counters.errors[i];
		if (process->names)
			ret_errors[i] += names__errors(process->names)[i];
	}
}

/* Over its threads, the living and those kept. */
static uint64_t sum_threads(const struct tracked_process *process,
			    uint64_t (*figure)(const struct tracked_thread *thread))
{
	const struct tracked_thread *thread;
	uint64_t sum = 0;

	for (thread = process->threads; thread; thread = thread->hh.next)
		sum += figure(thread);
	for (thread = process->ended; thread; thread = thread->hh.next)
		sum += figure(thread);
	return sum;
}

static uint64_t samples_cpu_ns(const struct tracked_thread *thread)
{
	return thread->samples_cpu_ns;
}

static uint64_t overhead_ns(const struct tracked_thread *thread)
{
	return thread->overhead_ns;
}

static uint64_t wall_ns(const struct tracked_thread *thread)
{
	return thread->wall_ns;
}

uint64_t tracked_process__samples_cpu_ns(const struct tracked_process *process)
{
	return process->forgotten_samples_cpu_ns + sum_threads(process, samples_cpu_ns);
}

uint64_t tracked_process__gc_ns(const struct tracked_process *process)
{
	const struct tracked_gc *gc = &process->gc;

	return gc->probed_ns + process->counters.gc.cpu_ns + gc->moved_ns - gc->returned_ns;
}

uint64_t tracked_process__overhead_ns(const struct tracked_process *process)
{
	return process->forgotten_overhead_ns + sum_threads(process, overhead_ns);
}

uint64_t tracked_process__wall_ns(const struct tracked_process *process)
{
	return process->forgotten_wall_ns + sum_threads(process, wall_ns);
}

uint64_t tracked_process__kernel_cpu_ns(const struct tracked_process *process)
{
	const struct tracked_witness *start = &process->cpu_at_start, *end = &process->cpu_at_end;
	uint64_t threads = process->forgotten_kernel_cpu_ns +
			   sum_threads(process, tracked_thread__kernel_cpu_ns);

	if (!start->is_known || !end->is_known)
		return threads;
	if (threads < end->before_ns - start->after_ns)
		return end->before_ns - start->after_ns;
	if (threads > end->after_ns - start->before_ns)
		return end->after_ns - start->before_ns;
	return threads;
}

struct tracked_thread *tracked_process__thread(struct tracked_process *process, uint32_t tid)
{
	struct tracked_thread *thread;

	HASH_FIND(hh, process->threads, &tid, sizeof(tid), thread);
	if (thread)
		return thread;
	thread = calloc(1, sizeof(*thread));
	if (!thread)
		return NULL;
	thread->tid = tid;
	thread->last_name = PROFILE_NONE;
	thread->last_stack = PROFILE_NONE;
	thread->last_endpoint = PROFILE_NONE;
	HASH_ADD(hh, process->threads, tid, sizeof(thread->tid), thread);
	return thread;
}

static struct tracked_name *find_name(const struct tracked_process *process, uint64_t native)
{
	struct tracked_name *known;

	HASH_FIND(hh, process->vm_names, &native, sizeof(native), known);
	return known;
}

void tracked_process__keep_name(struct tracked_process *process, uint64_t native, uint32_t name,
				int64_t object_id)
{
	struct tracked_name *known = find_name(process, native);

	if (!known) {
		known = calloc(1, sizeof(*known));
		if (!known)
			return;
		known->native = native;
		HASH_ADD(hh, process->vm_names, native, sizeof(known->native), known);
	}
	known->name = name;
	known->object_id = object_id;
}

void tracked_process__forget_names(struct tracked_process *process)
{
	struct tracked_name *name, *next;

	HASH_ITER (hh, process->vm_names, name, next) {
		HASH_DEL(process->vm_names, name);
		free(name);
	}
}

/* What the VM's list said of the thread; or NULL. */
static const struct tracked_name *find_listed(const struct tracked_process *process,
					      const struct tracked_thread *thread)
{
	const struct tracked_name *known = find_name(process, thread->tid_inside);

	return known ? known : find_name(process, thread->thread_pointer);
}

uint32_t tracked_process__thread_name(const struct tracked_process *process,
				      const struct tracked_thread *thread)
{
	const struct tracked_name *known;

	if (thread->last_name != PROFILE_NONE)
		return thread->last_name;
	known = find_listed(process, thread);
	return known ? known->name : PROFILE_NONE;
}

int64_t tracked_process__object_id(const struct tracked_process *process,
				   const struct tracked_thread *thread)
{
	const struct tracked_name *known = find_listed(process, thread);

	return known ? known->object_id : THREAD_ID_NONE;
}

void tracked_row_key__set_trace(struct tracked_row_key *key, const struct rbprof_trace *trace)
{
	key->trace_kind = trace->kind;
	if (!trace->kind)
		return;
	key->root = trace->root;
	key->span = trace->span;
	if (trace->kind == RBPROF_TRACE_OTEL)
		memcpy(key->trace, trace->id, sizeof(key->trace));
}

int tracked_thread__add(struct tracked_thread *thread, const struct tracked_row_key *key,
			const struct tracked_values *values)
{
	struct tracked_row *row;

	HASH_FIND(hh, thread->rows, key, sizeof(*key), row);
	if (!row) {
		row = calloc(1, sizeof(*row));
		if (!row)
			return -ENOMEM;
		row->key = *key;
		tracked_ruby__hold(row->key.ruby);
		HASH_ADD(hh, thread->rows, key, sizeof(row->key), row);
	}
	row->values.samples += values->samples;
	row->values.cpu_ns += values->cpu_ns;
	row->values.wall_ns += values->wall_ns;
	row->values.ticks += values->ticks;
	thread->off_ticks += values->ticks;
	if (key->kind == TRACKED_CPU) {
		thread->samples += (uint64_t)values->samples;
		thread->samples_cpu_ns += (uint64_t)values->cpu_ns;
	}
	return 0;
}

int tracked_thread__share_waits(struct tracked_thread *thread, const struct tracked_row_key *unread)
{
	struct tracked_values rest = { .wall_ns = (int64_t)thread->off_ns };
	uint64_t ticks = 0, shared = 0, until;
	struct tracked_row *row;
	int error = 0;

	for (row = thread->rows; row && thread->off_ticks; row = row->hh.next) {
		if (!row->values.ticks)
			continue;
		/* From the running sums, so that no nanosecond is lost in rounding. */
		ticks += row->values.ticks;
		until = (uint64_t)((unsigned __int128)thread->off_ns * ticks / thread->off_ticks);
		row->values.wall_ns += (int64_t)(until - shared);
		row->values.ticks = 0;
		shared = until;
	}
	if (!thread->off_ticks && thread->off_ns)
		error = tracked_thread__add(thread, unread, &rest);
	thread->off_ns = 0;
	thread->off_ticks = 0;
	return error;
}

static uint64_t take_back(struct tracked_row *row, uint64_t excess)
{
	uint64_t part = row->values.cpu_ns > 0 ? (uint64_t)row->values.cpu_ns : 0;

	if (row->key.kind != TRACKED_CPU)
		return 0;
	if (part > excess)
		part = excess;
	row->values.cpu_ns -= (int64_t)part;
	return part;
}

uint64_t tracked_thread__settle(struct tracked_thread *thread)
{
	uint64_t kernel = tracked_thread__kernel_cpu_ns(thread), excess, taken = 0;
	uint64_t told = thread->samples_cpu_ns + thread->gc_cpu_ns + thread->overhead_ns;
	struct tracked_row *row;

	if (!thread->has_kernel_cpu || told <= kernel)
		return 0;
	excess = told - kernel;
	for (row = thread->rows; row; row = row->hh.next) {
		if (row->key.stack == thread->last_stack)
			taken += take_back(row, excess - taken);
	}
	for (row = thread->rows; row; row = row->hh.next)
		taken += take_back(row, excess - taken);
	thread->samples_cpu_ns -= taken;
	return taken;
}

uint64_t tracked_thread__kernel_cpu_ns(const struct tracked_thread *thread)
{
	if (!thread->has_kernel_cpu)
		return thread->samples_cpu_ns + thread->gc_cpu_ns + thread->overhead_ns;
	return thread->kernel_total_ns - thread->kernel_start_ns;
}

void tracked_process__end_thread(struct tracked_process *process, struct tracked_thread *thread)
{
	HASH_DEL(process->threads, thread);
	tracked_thread__clear(thread);
	thread->has_ended = true;
	if (process->ended_count < MAX_ENDED_THREADS) {
		thread->hh.next = process->ended;
		process->ended = thread;
		process->ended_count++;
		return;
	}
	process->forgotten_threads++;
	process->forgotten_samples_cpu_ns += thread->samples_cpu_ns;
	process->forgotten_kernel_cpu_ns += tracked_thread__kernel_cpu_ns(thread);
	process->forgotten_overhead_ns += thread->overhead_ns;
	process->forgotten_wall_ns += thread->wall_ns;
	free(thread);
}
