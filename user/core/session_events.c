/* SPDX-License-Identifier: BSD-2-Clause */
#include "session_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../ruby/thread_id.h"
#include "../ruby/threads.h"
#include "frame_endpoint.h"
#include "log.h"

/* Stacks remembered; past that they are forgotten, and the kernel side sends them anew. */
#define MAX_STACKS	(RBPROF_MAX_KNOWN_STACKS / 2)
#define MAX_STACK_BYTES (8 << 20)
/* How often a class is looked at that may become others' parent. */
#define ENDPOINT_PAUSE_NS 100000000ULL
#define RACTOR_MAIN_ID	  1 /* ractor.c: ractor_next_id */

static void count(struct tracked_process *process, enum rbprof_error error)
{
	process->errors[error]++;
}

/* Opens what names are read through; once a process. */
bool session__has_names(struct session *session, struct tracked_process *process)
{
	struct names_roots roots = {
		.vm_ptr_address = ruby_process__vm_ptr(&process->found),
		.symbols_address = ruby_process__symbols(&process->found),
	};
	int error;

	if (process->names)
		return true;
	if (process->has_ended || !session__proved(session, process))
		return false;
	error = memory__open_process(process->found.pid, &process->memory);
	if (error) {
		count(process, error == -EPERM ? RBPROF_E_NO_PERMISSION : RBPROF_E_NAME_GONE);
		return false;
	}
	error = names__new(process->memory, &process->found.runtime->layout, &roots,
			   session->profile, &process->names);
	if (error) {
		memory__close(process->memory);
		process->memory = NULL;
	} else if (session->options->gc) {
		session__read_gc_clock(process);
	}
	return !error;
}

bool session__prepare(struct session *session, struct tracked_process *process)
{
	if (process->has_ended || process->is_exiting || process->is_placeholder)
		return true;
	if (!session__proved(session, process))
		return process->proof == TRACKED_REFUSED;
	session__has_names(session, process);
	return true;
}

/* ---- stacks ---- */

static void forget_stacks(struct session *session)
{
	struct session_stack *stack, *next;

	HASH_ITER (hh, session->stacks, stack, next) {
		programs__stack_forgotten(session->programs, stack->hash);
		HASH_DEL(session->stacks, stack);
		free(stack);
	}
	session->stack_bytes = 0;
}

static struct session_stack *find_stack(struct session *session, const struct rbprof_sample *sample)
{
	struct session_stack *stack;

	HASH_FIND(hh, session->stacks, &sample->stack_hash, sizeof(sample->stack_hash), stack);
	return stack;
}

static struct session_stack *keep_stack(struct session *session, const struct rbprof_sample *sample)
{
	size_t size = sample->frame_count * sizeof(struct rbprof_frame);
	struct session_stack *stack;

	if (HASH_COUNT(session->stacks) >= MAX_STACKS || session->stack_bytes > MAX_STACK_BYTES)
		forget_stacks(session);
	stack = malloc(sizeof(*stack) + size);
	if (!stack)
		return NULL;
	session->stack_bytes += sizeof(*stack) + size;
	memset(stack, 0, sizeof(*stack));
	stack->hash = sample->stack_hash;
	stack->epoch = RBPROF_GC_STATE_UNKNOWN;
	stack->endpoint = PROFILE_NONE;
	stack->count = sample->frame_count;
	stack->root_frames = sample->root_frames;
	stack->omitted = sample->omitted;
	stack->error = sample->flags & RBPROF_SAMPLE_CUT ? sample->error : RBPROF_OK;
	memcpy(stack->frames, sample + 1, size);
	HASH_ADD(hh, session->stacks, hash, sizeof(stack->hash), stack);
	return stack;
}

static void find_endpoint(struct session *session, struct tracked_process *process,
			  struct session_stack *stack, const uint32_t *frames)
{
	stack->endpoint_frame = FRAME_ENDPOINT_NONE;
	stack->endpoint = PROFILE_NONE;
	if (session->options->no_frame_endpoint)
		return;
	stack->endpoint = frame_endpoint__find(
		process->names, session->profile, stack->frames, frames, stack->count,
		stack->omitted ? stack->root_frames : 0, &stack->endpoint_frame);
	stack->endpoint_ns = session__now_ns();
}

/* The endpoint that the frames tell, as long as the class in it is not made others' parent. */
static uint32_t endpoint_of(struct tracked_process *process, struct session_stack *stack,
			    uint64_t now)
{
	if (stack->endpoint != PROFILE_NONE && stack->endpoint_frame != FRAME_ENDPOINT_NONE &&
	    now > stack->endpoint_ns + ENDPOINT_PAUSE_NS) {
		stack->endpoint_ns = now;
		if (!names__is_final(process->names, &stack->frames[stack->endpoint_frame]))
			stack->endpoint = PROFILE_NONE;
	}
	return stack->endpoint;
}

/* The frames' names, with a marker where frames were left out and where the walk was cut. */
static void resolve(struct session *session, struct tracked_process *process,
		    struct session_stack *stack, const struct rbprof_gc_state *gc)
{
	uint64_t epoch = rbprof_gc_epoch(gc);
	uint32_t *frames = session->scratch, count_frames = stack->count;

	if (stack->is_lasting || (stack->epoch == epoch && epoch != RBPROF_GC_STATE_UNKNOWN))
		return;
	names__frames(process->names, stack->frames, stack->count, gc, frames, &stack->is_lasting);
	find_endpoint(session, process, stack, frames);
	if (stack->omitted) {
		uint32_t at = stack->count - stack->root_frames;

		memmove(frames + at + 1, frames + at, stack->root_frames * sizeof(*frames));
		frames[at] = session->frame_truncated;
		count_frames++;
	}
	if (stack->error)
		frames[count_frames++] = session->frame_unreadable;
	stack->stack = profile__stack(session->profile, frames, count_frames);
	stack->epoch = epoch;
	programs__stack_known(session->programs, stack->hash,
			      stack->is_lasting ? RBPROF_EPOCH_ANY : epoch);
}

/* What stands in place of a stack that a sample has not; PROFILE_NONE: it has one. */
static uint32_t stack_without_frames(const struct session *session,
				     const struct tracked_process *process,
				     const struct rbprof_sample *sample)
{
	if (!session->options->max_frames)
		return session->stack_none;
	if (process->proof == TRACKED_REFUSED)
		return session->stack_unreadable;
	if (sample->flags & RBPROF_SAMPLE_NO_EC)
		return sample->error && sample->error != RBPROF_E_EC_OF_OTHER_THREAD
			       ? session->stack_unreadable
			       : session->stack_no_ruby;
	if (!sample->frame_count)
		return sample->flags & RBPROF_SAMPLE_CUT ? session->stack_unreadable
							 : session->stack_no_ruby;
	return PROFILE_NONE;
}

void session__stack(struct session *session, struct tracked_process *process,
		    const struct rbprof_sample *sample, struct tracked_row_key *key)
{
	struct session_stack *stack;

	key->omitted = 0;
	key->endpoint = PROFILE_NONE;
	key->stack = stack_without_frames(session, process, sample);
	if (key->stack != PROFILE_NONE)
		return;
	key->stack = session->stack_unreadable;
	stack = find_stack(session, sample);
	if (!stack && sample->flags & RBPROF_SAMPLE_STACK_KNOWN) {
		count(process, RBPROF_E_STACK_FORGOTTEN);
		return;
	}
	if (!stack)
		stack = keep_stack(session, sample);
	if (!stack || !session__has_names(session, process))
		return;
	resolve(session, process, stack, &sample->gc);
	key->stack = stack->stack;
	key->omitted = stack->omitted;
	key->endpoint = endpoint_of(process, stack, sample->event.time_ns);
}

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

	session->exec_ns = session__now_ns();
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
	process->exiting_since_ns = session__now_ns();
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
