/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads off their CPU: where, why and how long they wait. */
#include "session_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wait_read.h"
#include "wait_state.h"

#define ASK_PAUSE_NS 100000000ULL
#define ASK_COST     50 /* at most one part in so many of our time goes into asking */
#define MAX_ASKS     65536

static uint32_t state_of(struct session *session, const struct rbprof_wait *wait, uint32_t flags,
			 uint32_t stack)
{
	const char *names[WAIT_STATE_NAMES];
	size_t count = wait_state__names(session->profile, stack, names);

	return profile__cstring(session->profile, wait_state__of(wait, flags, names, count));
}

void session__note_holder(struct tracked_process *process, const struct tracked_thread *thread,
			  uint64_t time_ns)
{
	struct tracked_holders *holders = process->holders;
	uint32_t at;

	if (!holders)
		holders = process->holders = calloc(1, sizeof(*holders));
	if (!holders)
		return;
	at = holders->count++ % TRACKED_HOLDERS;
	holders->seen[at].time_ns = time_ns;
	holders->seen[at].tid = thread->tid;
}

/* The thread that a tick found with the GVL next to an instant of a wait for it; or NULL. */
static const struct tracked_thread *holder_at(const struct tracked_process *process,
					      uint64_t time_ns, uint64_t from, uint64_t to)
{
	const struct tracked_holders *holders = process->holders;
	uint64_t nearest = UINT64_MAX;
	struct tracked_thread *thread;
	uint32_t tid = 0, i;

	for (i = 0; holders && i < TRACKED_HOLDERS && i < holders->count; i++) {
		const uint64_t seen = holders->seen[i].time_ns;
		const uint64_t distance = seen > time_ns ? seen - time_ns : time_ns - seen;

		if (seen < from || seen > to || distance >= nearest)
			continue;
		nearest = distance;
		tid = holders->seen[i].tid;
	}
	if (!tid)
		return NULL;
	HASH_FIND(hh, process->threads, &tid, sizeof(tid), thread);
	return thread;
}

/* The thread that had it when the wait began, if it is one that we know. */
static const struct tracked_thread *find_owner(const struct tracked_process *process,
					       uint64_t owner)
{
	const struct tracked_thread *thread;

	for (thread = owner ? process->threads : NULL; thread; thread = thread->hh.next) {
		if (thread->name_thread == owner)
			return thread;
	}
	return NULL;
}

static bool waits_for_gvl(const struct session *session, const struct tracked_row_key *key)
{
	return !strcmp(profile__text(session->profile, key->state), "waiting for gvl");
}

#define MAX_PARTS 64

/*
 * Adds the ticks of a wait for the GVL, each with the thread that had it then: it may have gone
 * from one to another.
 */
static void add_gvl_wait(struct tracked_process *process, struct tracked_thread *thread,
			 const struct rbprof_sample *sample, struct tracked_row_key *key,
			 const struct tracked_values *all)
{
	const uint64_t end = sample->event.time_ns;
	const uint64_t begin = end - sample->wall_delta_ns;
	const uint64_t parts = all->ticks < MAX_PARTS ? all->ticks : MAX_PARTS;
	struct tracked_values values = *all;
	uint64_t i;

	for (i = 0; i < parts; i++) {
		const uint64_t at = begin + sample->wall_delta_ns / parts * i +
				    sample->wall_delta_ns / parts / 2;
		const struct tracked_thread *holder = holder_at(process, at, begin, end);

		if (!holder)
			holder = find_owner(process, sample->wait.gvl_owner);
		key->holder = holder && holder != thread
				      ? tracked_process__thread_name(process, holder)
				      : PROFILE_NONE;
		values.ticks = all->ticks * (i + 1) / parts - all->ticks * i / parts;
		tracked_thread__add(thread, key, &values);
		values.samples = 0;
	}
}

/* Fills what tells waits apart: the stack and the state. */
static void describe(struct session *session, struct tracked_process *process,
		     struct tracked_thread *thread, const struct rbprof_sample *sample,
		     uint32_t flags, struct tracked_row_key *key)
{
	session__name(session, process, thread, sample, key);
	key->state = state_of(session, &sample->wait, flags, key->stack);
	key->holder = PROFILE_NONE;
}

void session__on_stack(struct session *session, struct tracked_process *process,
		       struct tracked_thread *thread, const struct rbprof_sample *sample)
{
	struct tracked_row_key key = { 0 };

	/* Its names are proved now; the event that tells of the wait names it by its hash. */
	session__stack(session, process, sample, &key);
	session__name(session, process, thread, sample, &key);
}

static void note_stack(struct tracked_thread *thread, const struct tracked_row_key *key)
{
	if (thread->last_stack == PROFILE_NONE) {
		thread->last_stack = key->stack;
		thread->last_omitted = key->omitted;
		thread->last_endpoint = key->endpoint;
	}
}

/* Keeps the key for later ticks of the same sleep: what lasts long is told more than once. */
static void keep_key(struct tracked_thread *thread, uint64_t switches,
		     const struct tracked_row_key *key)
{
	thread->read.is_valid = true;
	thread->read.switches = switches;
	tracked_row_key__keep(&thread->read.key, key);
}

/* The key of a wait's ticks: of the sleep itself, or of the time from its end to the CPU. */
static void key_of_wait(struct session *session, struct tracked_process *process,
			struct tracked_thread *thread, const struct rbprof_sample *sample,
			uint32_t flags, struct tracked_row_key *ret_key)
{
	struct tracked_row_key key = { .kind = TRACKED_WAIT,
				       .holder = PROFILE_NONE,
				       .endpoint = PROFILE_NONE };
	const bool is_runnable = flags & RBPROF_SAMPLE_RUNNABLE;
	const bool is_weak = sample->flags & RBPROF_SAMPLE_NO_EC;

	if (thread->read.is_valid && thread->read.switches == sample->wait.switches) {
		key = thread->read.key;
		if (is_runnable)
			key.state = state_of(session, &sample->wait, flags, key.stack);
	} else if (sample->flags & RBPROF_SAMPLE_NOT_READ) {
		key.stack = session->stack_not_read;
		key.name = PROFILE_NONE;
		key.state = state_of(session, &sample->wait, flags, key.stack);
	} else {
		session__stack(session, process, sample, &key);
		describe(session, process, thread, sample, flags, &key);
		tracked_row_key__set_trace(&key, &sample->trace);
		note_stack(thread, &key);
		if (!is_runnable && !is_weak)
			keep_key(thread, sample->wait.switches, &key);
	}
	if (!session->options->max_frames)
		key.stack = session->stack_none;
	key.time_ns = session__time(session, sample->event.time_ns);
	*ret_key = key;
}

void session__on_wait(struct session *session, struct tracked_process *process,
		      struct tracked_thread *thread, const struct rbprof_sample *sample)
{
	const uint32_t runnable = RBPROF_SAMPLE_RUNNABLE | RBPROF_SAMPLE_THROTTLED;
	struct tracked_values values = { .samples = 1, .ticks = sample->wait.ticks };
	struct tracked_row_key key;

	thread->wall_ns += sample->wall_delta_ns;
	thread->off_ns += sample->wall_delta_ns;
	if (values.ticks) {
		key_of_wait(session, process, thread, sample, sample->flags & ~runnable, &key);
		if (waits_for_gvl(session, &key))
			add_gvl_wait(process, thread, sample, &key, &values);
		else
			tracked_thread__add(thread, &key, &values);
		values.samples = 0;
	}
	if (sample->wait.late_ticks) {
		values.ticks = sample->wait.late_ticks;
		key_of_wait(session, process, thread, sample,
			    sample->flags | RBPROF_SAMPLE_RUNNABLE, &key);
		tracked_thread__add(thread, &key, &values);
	}
}

void session__share_waits(struct session *session, struct tracked_thread *thread)
{
	const struct tracked_row_key unread = {
		.kind = TRACKED_WAIT,
		.stack = session->options->max_frames ? session->stack_not_read
						      : session->stack_none,
		.name = PROFILE_NONE,
		.state = profile__cstring(session->profile, "unknown"),
		.holder = PROFILE_NONE,
		.endpoint = PROFILE_NONE,
		.time_ns = session__time(session, thread->last_ns),
	};

	tracked_thread__share_waits(thread, &unread);
}

void session__add_unknown(struct session *session, struct tracked_thread *thread,
			  const struct rbprof_clock *clock)
{
	const struct tracked_row_key key = {
		.kind = TRACKED_WAIT,
		.stack = session->stack_not_known,
		.name = PROFILE_NONE,
		.state = profile__cstring(session->profile, "unknown"),
		.holder = PROFILE_NONE,
		.endpoint = PROFILE_NONE,
		.time_ns = session__time(session, clock->event.time_ns),
	};
	const struct tracked_values values = { .wall_ns = (int64_t)clock->off_delta_ns };

	if (values.wall_ns)
		tracked_thread__add(thread, &key, &values);
}

/* ---- threads that sleep since before they were seen ---- */

void session__on_ask(struct session *session, const struct rbprof_sample *sample)
{
	struct session_ask *asks = session->asks;

	if (session->ask_count == session->ask_room) {
		size_t room = session->ask_room ? session->ask_room * 2 : 64;

		asks = room > MAX_ASKS ? NULL : reallocarray(asks, room, sizeof(*asks));
		if (!asks)
			return;
		session->asks = asks;
		session->ask_room = room;
	}
	asks[session->ask_count++] = (struct session_ask){
		.serial = sample->event.serial,
		.tid = sample->event.tid,
		.switches = sample->wait.switches,
	};
}

static void keep_reading(struct session *session, struct tracked_process *process, uint32_t tid,
			 const struct wait_reading *reading)
{
	struct tracked_thread *thread = tracked_process__thread(process, tid);
	struct rbprof_sample sample = {
		.event = { .serial = process->serial, .tid = tid },
		.gc = reading->gc,
		.flags = reading->flags,
		.thread = reading->thread,
		.thread_name = reading->thread_name,
		.thread_object = reading->thread_object,
		.wait = reading->wait,
	};
	struct tracked_row_key key = {
		.kind = TRACKED_WAIT,
		.stack = reading->stack,
		.omitted = reading->omitted,
		.endpoint = reading->endpoint,
	};

	if (!thread)
		return;
	describe(session, process, thread, &sample, sample.flags, &key);
	tracked_row_key__set_trace(&key, &reading->trace.trace);
	session__on_trace_reading(session, process, &reading->trace);
	note_stack(thread, &key);
	keep_key(thread, reading->wait.switches, &key);
}

/* Reads those of one process, which follow each other in the list. Returns how many. */
static size_t read_process(struct session *session, const struct session_ask *asks, size_t count)
{
	struct tracked_process *process = session__find(session, asks->serial);
	struct wait_reader *reader = NULL;
	struct trace_kinds *trace_kinds = NULL;
	struct tracer_source trace_source;
	struct rbprof_tracer tracer;
	struct wait_reading reading;
	size_t i;

	if (process && !process->has_ended && !process->is_exiting && !process->is_placeholder &&
	    session__has_names(session, process)) {
		const struct wait_source source = {
			.memory = process->memory,
			.names = process->names,
			.profile = session->profile,
			.layout = &process->found.runtime->layout,
			.vm_ptr_address = ruby_process__vm_ptr(&process->found),
			.pid = process->found.pid,
			.max_frames = session->options->max_frames,
			.has_endpoints = !session->options->no_frame_endpoint,
			.tracer = session__tracer(session, process, &tracer, &trace_source,
						  &trace_kinds),
			.trace_source = &trace_source,
			.trace_kinds = trace_kinds,
			.wants_endpoint = !session->options->no_endpoint,
		};

		wait_reader__open(&source, &reader);
	}
	for (i = 0; i < count && asks[i].serial == asks->serial; i++) {
		if (reader && !wait_reader__read(reader, (pid_t)asks[i].tid, &reading))
			keep_reading(session, process, asks[i].tid, &reading);
	}
	wait_reader__close(reader);
	return i;
}

void session__read_waits(struct session *session)
{
	uint64_t now = clock__now_ns(), after;
	size_t at;

	if (!session->options->wall || !session->start_ns || now < session->asked_ns)
		return;
	programs__ask_waits(session->programs);
	programs__consume(session->programs);
	for (at = 0; at < session->ask_count;)
		at += read_process(session, &session->asks[at], session->ask_count - at);
	session->ask_count = 0;
	after = clock__now_ns();
	session->asked_ns = now + (after - now) * ASK_COST;
	if (session->asked_ns < now + ASK_PAUSE_NS)
		session->asked_ns = now + ASK_PAUSE_NS;
}
