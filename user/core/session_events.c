/* SPDX-License-Identifier: BSD-2-Clause */
#include "session_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../ruby/thread_id.h"
#include "../ruby/threads.h"
#include "log.h"

#define RACTOR_MAIN_ID 1 /* ractor.c: ractor_next_id */

/* ---- threads ---- */

static void name_thread(struct session *session, struct tracked_process *process,
			struct tracked_thread *thread, const struct rbprof_sample *sample)
{
	uint64_t epoch = rbprof_gc_epoch(&sample->gc);
	uint32_t name;

	if (!sample->thread)
		return;
	thread->is_ruby = true;
	if (!session__has_names(session, process))
		return;
	if (thread->last_name != PROFILE_NONE && epoch != RBPROF_GC_STATE_UNKNOWN &&
	    thread->name_epoch == epoch && thread->name_thread == sample->thread &&
	    thread->name_value == sample->thread_name)
		return;
	name = names__thread(process->names, sample->thread, sample->thread_name,
			     process->is_forked && process->forked_tid == thread->tid, &sample->gc);
	if (name == PROFILE_NONE) {
		/* A native thread may have gone on to another Ruby thread, or have a new name. */
		if (thread->name_thread != sample->thread ||
		    thread->name_value != sample->thread_name)
			thread->last_name = PROFILE_NONE;
		return;
	}
	/* From 3.3 on a native thread belongs to one Ruby thread, unless they are M:N. */
	if (thread->name_thread && thread->name_thread != sample->thread &&
	    process->found.runtime->layout.th__nt != RUBY_NO_FIELD)
		process->has_shared_threads = true;
	thread->last_name = name;
	thread->name_thread = sample->thread;
	thread->name_value = sample->thread_name;
	thread->name_epoch = epoch;
}

void session__name_threads(struct session *session, struct tracked_process *process)
{
	struct ruby_thread *threads;
	struct rbprof_gc_state gc;
	size_t i, count;

	if (process->is_placeholder || !session__has_names(session, process) ||
	    names__gc_state(process->names, &gc) ||
	    threads__list(process->memory, &process->found.runtime->layout,
			  ruby_process__vm_ptr(&process->found), &threads, &count))
		return;
	tracked_process__forget_names(process);
	for (i = 0; i < count; i++) {
		const struct ruby_thread *thread = &threads[i];
		uint64_t native = thread->tid > 0 ? (uint64_t)thread->tid : thread->pthread;
		int64_t object_id;
		uint32_t name;

		if (!native)
			continue;
		object_id = session__object_id(process, thread->address, thread->self);
		name = names__thread(process->names, thread->address, thread->name,
				     process->is_forked && process->forked_tid == native, &gc);
		if (name != PROFILE_NONE || object_id != THREAD_ID_NONE)
			tracked_process__keep_name(process, native, name, object_id);
	}
	free(threads);
}

/* The id of the ractor that a Ruby thread belongs to; 0 for the main one (ractor_core.h). */
static uint32_t ractor_of(const struct tracked_process *process, struct tracked_ruby *ruby)
{
	const struct ruby_layout *layout;
	uint64_t ractor;
	uint32_t id;

	if (!ruby || ruby->has_ractor || !process->names)
		return ruby ? ruby->ractor : 0;
	layout = &process->found.runtime->layout;
	if (layout->th__ractor == RUBY_NO_FIELD ||
	    memory__read_u64(process->memory, ruby->key.thread + layout->th__ractor, &ractor) ||
	    !ractor || memory__read_u32(process->memory, ractor + layout->ractor__id, &id))
		return 0;
	ruby->has_ractor = true;
	ruby->ractor = id > RACTOR_MAIN_ID ? id : 0;
	return ruby->ractor;
}

/* ---- events ---- */

uint64_t session__time(const struct session *session, uint64_t time_ns)
{
	return session->options->timeline ? time_ns : 0;
}

void session__name(struct session *session, struct tracked_process *process,
		   struct tracked_thread *thread, const struct rbprof_sample *sample,
		   struct tracked_row_key *key)
{
	name_thread(session, process, thread, sample);
	key->name = sample->thread ? thread->last_name : PROFILE_NONE;
	key->ruby = sample->thread ? session__ruby(session, process, thread, sample) : NULL;
	key->ractor = ractor_of(process, key->ruby);
}

/* Our own programs' time: one row a thread. */
void session__add_overhead(struct session *session, struct tracked_thread *thread, uint64_t ns)
{
	const struct tracked_row_key key = {
		.kind = TRACKED_OVERHEAD,
		.stack = session->stack_overhead,
		.name = PROFILE_NONE,
		.holder = PROFILE_NONE,
		.endpoint = PROFILE_NONE,
	};
	const struct tracked_values values = { .cpu_ns = (int64_t)ns };

	if (!ns)
		return;
	thread->overhead_ns += ns;
	tracked_thread__add(thread, &key, &values);
}

static void on_tick(struct session *session, struct tracked_process *process,
		    struct tracked_thread *thread, const struct rbprof_sample *sample)
{
	struct tracked_row_key key = {
		.kind = TRACKED_CPU,
		.holder = PROFILE_NONE,
		.time_ns = session__time(session, sample->event.time_ns),
	};
	struct tracked_values values = { .samples = 1 };

	if (!session->first_sample_ns)
		session->first_sample_ns = sample->event.time_ns;
	session__stack(session, process, sample, &key);
	session__name(session, process, thread, sample, &key);
	tracked_row_key__set_trace(&key, &sample->trace);
	thread->last_stack = key.stack;
	thread->last_omitted = key.omitted;
	thread->last_endpoint = key.endpoint;
	values.cpu_ns = (int64_t)session__gc_of_sample(session, process, thread, sample, &key);
	if (sample->flags & RBPROF_SAMPLE_HAS_GVL)
		session__note_holder(process, thread, sample->event.time_ns);
	values.wall_ns = (int64_t)sample->wall_delta_ns;
	thread->wall_ns += sample->wall_delta_ns;
	tracked_thread__add(thread, &key, &values);
	session__add_overhead(session, thread, sample->overhead_delta_ns);
}

static void on_sample(struct session *session, const struct rbprof_sample *sample)
{
	struct tracked_process *process = session__find(session, sample->event.serial);
	struct tracked_thread *thread;

	if (!process || process->is_placeholder)
		return;
	thread = tracked_process__thread(process, sample->event.tid);
	if (!thread)
		return;
	process->last_ns = sample->event.time_ns;
	if (sample->event.kind != RBPROF_EVENT_STACK && session__is_out_of_reach(process))
		process->errors[RBPROF_E_TRACE_OUT_OF_REACH]++;
	switch (sample->event.kind) {
	case RBPROF_EVENT_SAMPLE:
		on_tick(session, process, thread, sample);
		break;
	case RBPROF_EVENT_STACK:
		session__on_stack(session, process, thread, sample);
		break;
	case RBPROF_EVENT_WAIT:
		session__on_wait(session, process, thread, sample);
		break;
	case RBPROF_EVENT_GC:
		session__on_gc(session, process, thread, sample);
		break;
	default:
		break;
	}
}

/* Where CPU goes that no tick hit: the thread's last known stack, if it has one. */
static void key_of_clock(const struct session *session, const struct tracked_thread *thread,
			 const struct rbprof_clock *clock, struct tracked_row_key *ret_key)
{
	struct tracked_row_key key = {
		.kind = TRACKED_CPU,
		.name = PROFILE_NONE,
		.holder = PROFILE_NONE,
		.endpoint = PROFILE_NONE,
		.time_ns = session__time(session, clock->ran_ns),
	};

	if (clock->reason == RBPROF_CLOCK_ATTACHED) {
		key.stack = session->stack_not_known;
	} else if (!session->options->max_frames) {
		key.stack = session->stack_none;
	} else if (thread->last_stack != PROFILE_NONE) {
		key.stack = thread->last_stack;
		key.omitted = thread->last_omitted;
		key.endpoint = thread->last_endpoint;
		key.ractor = thread->rubies.latest ? thread->rubies.latest->ractor : 0;
	} else {
		key.stack = session->stack_not_sampled;
	}
	*ret_key = key;
}

/* The clocks of the thread as the kernel side has them now. */
static void note_clock(struct tracked_thread *thread, const struct rbprof_clock *clock)
{
	thread->tid_inside = clock->tid_inside;
	thread->thread_pointer = clock->thread_pointer;
	memcpy(thread->comm, clock->comm, sizeof(thread->comm));
	thread->kernel_total_ns = clock->cpu_total_ns;
	thread->kernel_start_ns = clock->cpu_start_ns;
	thread->has_kernel_cpu = true;
	thread->gc_cpu_ns = clock->gc_total_ns + (uint64_t)thread->gc_moved_ns;
	thread->start_ns = clock->start_ns;
	thread->last_ns = clock->event.time_ns;
	thread->wall_ns += clock->on_delta_ns + clock->off_delta_ns;
}

static void on_clock(struct session *session, const struct rbprof_clock *clock)
{
	struct tracked_process *process = session__find(session, clock->event.serial);
	struct tracked_values values = { 0 };
	struct tracked_thread *thread;
	struct tracked_row_key key;

	if (!process || process->is_placeholder)
		return;
	thread = tracked_process__thread(process, clock->event.tid);
	if (!thread)
		return;
	process->last_ns = clock->event.time_ns;
	/* Its clocks may have begun before it was known to be Ruby: at its exec. */
	if (clock->start_ns && clock->start_ns < process->first_ns)
		process->first_ns = clock->start_ns;
	note_clock(thread, clock);
	key_of_clock(session, thread, clock, &key);
	values.cpu_ns = (int64_t)clock->cpu_delta_ns;
	values.wall_ns = (int64_t)clock->on_delta_ns;
	if (clock->reason == RBPROF_CLOCK_ATTACHED)
		session__add_unknown(session, thread, clock);
	else
		thread->off_ns += clock->off_delta_ns;
	if (values.cpu_ns || values.wall_ns)
		tracked_thread__add(thread, &key, &values);
	session__add_overhead(session, thread, clock->overhead_delta_ns);
	/* While it goes on, an estimate too high is paid back by the thread's next samples. */
	if (clock->reason != RBPROF_CLOCK_ATTACHED &&
	    (clock->reason != RBPROF_CLOCK_READ || session->stop_ns))
		tracked_thread__settle(thread);
	if (clock->reason == RBPROF_CLOCK_THREAD_EXIT) {
		session__read_thread_id(session, process, thread);
		session__flush_thread(session, process, thread);
		tracked_process__end_thread(process, thread);
	}
}

static void on_exec(struct session *session, const struct rbprof_lifecycle *event)
{
	struct tracked_process *process = session__find(session, event->event.serial);

	session->exec_ns = clock__now_ns();
	if (process)
		session__end_process(session, process);
}

static void on_exit_event(struct session *session, const struct rbprof_lifecycle *event)
{
	struct tracked_process *process = session__find(session, event->event.serial);

	if (event->known)
		session__remove_member(session, (pid_t)event->event.pid);
	else
		session__depart(session, (pid_t)event->event.pid);
	if (!event->known || !process)
		return;
	process->is_exiting = true;
	process->exiting_since_ns = clock__now_ns();
	process->last_ns = event->event.time_ns;
}

void session__end_process(struct session *session, struct tracked_process *process)
{
	struct tracked_thread *thread, *next;
	struct rbprof_counters counters;

	if (process->has_ended)
		return;
	if (!programs__counters(session->programs, process->serial, &counters))
		process->counters = counters;
	session__unprobe(session, process);
	programs__remove_process(session->programs, process->found.pid, process->serial);
	programs__forget_counters(session->programs, process->serial);
	if (!process->is_placeholder)
		session__end_gc(session, process);
	HASH_ITER (hh, process->threads, thread, next) {
		session__flush_thread(session, process, thread);
		tracked_process__end_thread(process, thread);
	}
	if (!process->is_placeholder)
		session__flush_lost(session, process);
	tracked_process__close_names(process);
	tracked_process__forget_names(process);
	process->has_ended = true;
	session__forget_ended(session);
}

void session__on_event(void *context, const struct rbprof_event *event, size_t size)
{
	struct session *session = context;
	const struct rbprof_sample *sample = (const void *)event;

	switch (event->kind) {
	case RBPROF_EVENT_SAMPLE:
	case RBPROF_EVENT_STACK:
	case RBPROF_EVENT_WAIT:
	case RBPROF_EVENT_GC:
		if (size < sizeof(*sample) || sample->frame_count > RBPROF_MAX_FRAMES ||
		    sample->root_frames > sample->frame_count)
			break;
		if (!(sample->flags & RBPROF_SAMPLE_STACK_KNOWN) &&
		    size < sizeof(*sample) + sample->frame_count * sizeof(struct rbprof_frame))
			break;
		on_sample(session, sample);
		break;
	case RBPROF_EVENT_ASK:
		if (size >= sizeof(*sample))
			session__on_ask(session, sample);
		break;
	case RBPROF_EVENT_CLOCK:
		if (size >= sizeof(struct rbprof_clock))
			on_clock(session, (const void *)event);
		break;
	case RBPROF_EVENT_FORK:
		session__forked(session, (const void *)event);
		break;
	case RBPROF_EVENT_EXEC:
		on_exec(session, (const void *)event);
		break;
	case RBPROF_EVENT_IVARS:
		if (size >= sizeof(struct rbprof_unknown))
			session__on_unknown(session, (const void *)event);
		break;
	case RBPROF_EVENT_ENDPOINT:
		if (size >= sizeof(struct rbprof_endpoint))
			session__on_endpoint(session, (const void *)event);
		break;
	case RBPROF_EVENT_EXIT:
		on_exit_event(session, (const void *)event);
		break;
	default:
		log__debug("event of unknown kind %u", event->kind);
		break;
	}
}
