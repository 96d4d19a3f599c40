/* SPDX-License-Identifier: BSD-2-Clause */
#include "wait_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../discover/kernel_wait.h"
#include "../discover/thread_states.h"
#include "../ruby/stack_copy.h"
#include "../ruby/threads.h"
#include "../ruby/waits.h"
#include "frame_endpoint.h"

#define PROOF_TRIES  4
#define WINDOW_BYTES 512 /* of rb_thread_t, 2.7 to 4.0: all fields that are read */
#define WAITS_OF_VM                                                                 \
	(RBPROF_WAIT_VM_READ | RBPROF_WAIT_CAN_BE_WOKEN | RBPROF_WAIT_LOCKS_MUTEX | \
	 RBPROF_WAIT_IN_REGION)

struct known_thread {
	struct ruby_thread ruby;
	uint64_t gvl_owner_address;
};

struct wait_reader {
	struct wait_source source;
	struct known_thread *threads; /* by tid */
	size_t count;
	bool was_renewed;
	uint32_t stack_no_ruby, frame_truncated, frame_unreadable;
	uint32_t *frames; /* room for max_frames and markers */
};

/*
 * The memory of the process, with the beginning of one rb_thread_t read already: most of what is
 * asked for lies there.
 */
struct window {
	struct memory memory;
	struct memory *base;
	uint64_t address;
	size_t size; /* 0: it could not be read at once */
	unsigned char bytes[WINDOW_BYTES];
};

/* What is read while the thread stands still. */
struct instant {
	struct thread_state before, after;
	struct stack_copy copy;
	struct kernel_wait kernel;
};

static int compare(const void *a, const void *b)
{
	const struct known_thread *first = a, *second = b;

	return (first->ruby.tid > second->ruby.tid) - (first->ruby.tid < second->ruby.tid);
}

/* Turns the VM's list into one to search. Threads whose words cannot be found are left out. */
static int keep_threads(struct wait_reader *reader, const struct ruby_thread *threads, size_t count)
{
	const struct wait_source *source = &reader->source;
	struct known_thread *known = calloc(count + 1, sizeof(*known));
	size_t kept = 0, i;

	if (!known)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		known[kept].ruby = threads[i];
		if (threads[i].tid < 0)
			known[kept].ruby.tid =
				threads__pthread_tid(source->memory, threads[i].pthread);
		if (known[kept].ruby.tid > 0 &&
		    !waits__gvl_owner_address(source->memory, source->layout, threads[i].address,
					      &known[kept].gvl_owner_address))
			kept++;
	}
	qsort(known, kept, sizeof(*known), compare);
	free(reader->threads);
	reader->threads = known;
	reader->count = kept;
	return 0;
}

static int list_threads(struct wait_reader *reader)
{
	const struct wait_source *source = &reader->source;
	struct ruby_thread *threads;
	size_t count;
	int err = threads__list(source->memory, source->layout, source->vm_ptr_address, &threads,
				&count);

	if (err)
		return err == -EINVAL ? -EAGAIN : err;
	err = keep_threads(reader, threads, count);
	free(threads);
	return err;
}

int wait_reader__open(const struct wait_source *source, struct wait_reader **ret_reader)
{
	struct wait_reader *reader = calloc(1, sizeof(*reader));
	uint32_t no_ruby;
	int err;

	if (!reader)
		return -ENOMEM;
	reader->source = *source;
	reader->frames = calloc((size_t)source->max_frames + 2, sizeof(*reader->frames));
	err = reader->frames ? list_threads(reader) : -ENOMEM;
	if (!err) {
		no_ruby = names__special(source->profile, "(no ruby frames)");
		reader->stack_no_ruby = profile__stack(source->profile, &no_ruby, 1);
		reader->frame_truncated = names__special(source->profile, "(truncated)");
		reader->frame_unreadable = names__special(source->profile, "(unreadable)");
		if (profile__failed(source->profile))
			err = -ENOMEM;
	}
	if (err) {
		wait_reader__close(reader);
		return err;
	}
	*ret_reader = reader;
	return 0;
}

void wait_reader__close(struct wait_reader *reader)
{
	if (!reader)
		return;
	free(reader->threads);
	free(reader->frames);
	free(reader);
}

/* The Ruby thread on a native thread. NULL: none, or several (M:N), of which one cannot tell. */
static const struct known_thread *find_inside(const struct wait_reader *reader, int64_t tid)
{
	const struct known_thread key = { .ruby.tid = tid }, *found;

	if (!reader->count)
		return NULL;
	found = bsearch(&key, reader->threads, reader->count, sizeof(key), compare);
	if (!found || (found > reader->threads && found[-1].ruby.tid == tid) ||
	    (found + 1 < reader->threads + reader->count && found[1].ruby.tid == tid))
		return NULL;
	return found;
}

static const struct known_thread *find(struct wait_reader *reader, int64_t tid)
{
	const struct known_thread *found = find_inside(reader, tid);

	/* One that began since then? */
	if (!found && !reader->was_renewed) {
		reader->was_renewed = true;
		if (!list_threads(reader))
			found = find_inside(reader, tid);
	}
	return found;
}

static bool window_has(const struct window *window, const struct memory_range *range)
{
	return range->address >= window->address && range->size <= window->size &&
	       range->address - window->address <= window->size - range->size;
}

static int window_read(struct memory *memory, const struct memory_range *ranges, size_t count)
{
	const struct window *window = (const struct window *)memory;
	size_t i, from = 0;
	int err = 0;

	/* What lies outside is read in as few calls as possible. */
	for (i = 0; i < count && !err; i++) {
		if (!window_has(window, &ranges[i]))
			continue;
		if (i > from)
			err = memory__read_ranges(window->base, ranges + from, i - from);
		memcpy(ranges[i].into, window->bytes + (ranges[i].address - window->address),
		       ranges[i].size);
		from = i + 1;
	}
	if (!err && count > from)
		err = memory__read_ranges(window->base, ranges + from, count - from);
	return err;
}

static void window_open(struct window *window, struct memory *base, uint64_t address)
{
	static const struct memory_ops ops = { .read = window_read, .close = NULL };

	window->memory.ops = &ops;
	window->base = base;
	window->address = address;
	window->size = sizeof(window->bytes);
	if (memory__read(base, address, window->bytes, sizeof(window->bytes)))
		window->size = 0;
}

/*
 * Reads what names the thread. Whether it is still what the list said: it lives, and on the same
 * native thread.
 */
static int read_thread(struct memory *memory, const struct ruby_layout *layout,
		       const struct ruby_thread *thread, struct wait_reading *reading,
		       bool *ret_same)
{
	const uint16_t native_at =
		layout->th__nt != RUBY_NO_FIELD ? layout->th__nt : layout->th__thread_id;
	uint64_t native = 0, self = 0, pthread = 0;
	uint32_t status = 0;
	const struct memory_range ranges[] = {
		{ thread->address + layout->th__name, &reading->thread_name, 8 },
		{ thread->address + layout->th__self, &self, 8 },
		{ thread->address + layout->th__status, &status, sizeof(status) },
		{ thread->address + native_at, &native, 8 },
	};
	int err = memory__read_ranges(memory, ranges, 4);

	if (!err && layout->th__nt != RUBY_NO_FIELD && native)
		err = memory__read_u64(memory, native + layout->nt__thread_id, &pthread);
	else
		pthread = native;
	*ret_same = !err && self == thread->self && pthread == thread->pthread &&
		    (status >> layout->th__status_shift & 3) != RUBY_THREAD_KILLED;
	reading->thread = thread->address;
	reading->thread_object = self;
	return err == -EFAULT ? 0 : err;
}

static void say_kernel(const struct instant *instant, struct rbprof_wait *wait)
{
	const struct kernel_wait *kernel = &instant->kernel;
	const char letter = instant->before.letter;

	if (letter == 'T' || letter == 't')
		wait->vm |= RBPROF_WAIT_STOPPED;
	if (letter == 'D')
		wait->vm |= RBPROF_WAIT_UNINTERRUPTIBLE;
	wait->call = (int32_t)kernel->number;
	/* A sleep that goes on after a stop stands in a call that says nothing. */
	if (kernel->kind == KERNEL_WAIT_SLEEP &&
	    kernel_wait__kind(kernel->number) == KERNEL_WAIT_UNKNOWN)
		wait->call = SYS_clock_nanosleep;
	wait->fd_kind = RBPROF_FD_NONE;
	if (kernel->kind == KERNEL_WAIT_FD || kernel->kind == KERNEL_WAIT_FDS_ANY)
		wait->fd_kind = kernel->is_network ? RBPROF_FD_SOCKET : RBPROF_FD_OTHER;
	wait->switches = instant->after.switches;
}

/* The part of a reading that the VM tells. */
static int read_vm(const struct wait_source *source, const struct known_thread *known,
		   struct wait_reading *reading, struct instant *instant)
{
	const struct ruby_thread *thread = &known->ruby;
	struct window window;
	bool same = false;
	int err;

	if (names__gc_state(source->names, &reading->gc))
		reading->gc.count = RBPROF_GC_STATE_UNKNOWN;
	window_open(&window, source->memory, thread->address);
	err = read_thread(&window.memory, source->layout, thread, reading, &same);
	if (err)
		return err;
	if (!same)
		return -EAGAIN;
	err = waits__read_words(&window.memory, source->layout, thread->address,
				known->gvl_owner_address, &reading->wait);
	if (!err)
		err = stack_copy__read_still(&window.memory, source->layout, thread->address,
					     source->max_frames ? source->max_frames : 1,
					     &instant->copy);
	if (!err && source->tracer)
		err = trace_read__fiber(source->trace_source, source->tracer, instant->copy.ec,
					source->wants_endpoint, source->trace_kinds,
					&reading->trace);
	if (!err && reading->wait.gvl_owner == thread->address)
		reading->flags |= RBPROF_SAMPLE_HAS_GVL;
	/* What cannot be read of a thread that sleeps is one that ended. */
	return err == -EFAULT || err == -EINVAL ? -EAGAIN : err;
}

/* fd: of the thread's state. */
static int read_instant(struct wait_reader *reader, int fd, pid_t tid, struct wait_reading *reading,
			struct instant *instant)
{
	const struct wait_source *source = &reader->source;
	const struct known_thread *thread;
	int err = thread_state__read_open(fd, tid, &instant->before);

	if (err)
		return err;
	if (instant->before.letter == 'R')
		return -EAGAIN;
	if (instant->before.letter == 'Z' || instant->before.letter == 'X')
		return -ESRCH;
	thread = find(reader, instant->before.tid_inside);
	if (thread)
		err = read_vm(source, thread, reading, instant);
	else
		reading->flags |= RBPROF_SAMPLE_NO_EC;
	if (err)
		return err;
	kernel_wait__read(source->memory, source->pid, tid, instant->before.letter,
			  &instant->kernel);
	err = thread_state__read_open(fd, tid, &instant->after);
	if (err)
		return err;
	if (!thread_state__stood_still(&instant->before, &instant->after))
		return -EAGAIN;
	reading->letter = instant->before.letter;
	say_kernel(instant, &reading->wait);
	return 0;
}

/* The stack as the session keeps those of samples (session_events.c: resolve()). */
static int name_stack(struct wait_reader *reader, const struct stack *stack,
		      struct wait_reading *reading)
{
	const struct wait_source *source = &reader->source;
	uint32_t *frames = reader->frames, count = stack->count, at;
	struct frame_endpoint_frames hangs_on;
	size_t named;

	reading->stack = reader->stack_no_ruby;
	reading->endpoint = PROFILE_NONE;
	reading->is_proved = true;
	if (!source->max_frames)
		return 0;
	if (!count && !stack->error) {
		/* Of a thread that is being started, or has ended, nothing holds yet or still. */
		reading->flags = RBPROF_SAMPLE_NO_EC;
		reading->thread = reading->thread_name = reading->thread_object = 0;
		reading->wait.vm &= ~(uint32_t)WAITS_OF_VM;
		return 0;
	}
	named = names__frames(source->names, stack->frames, count, &reading->gc, frames, NULL);
	reading->is_proved = named == count;
	reading->omitted = stack->omitted;
	if (source->has_endpoints)
		reading->endpoint = frame_endpoint__find(
			&(struct frame_endpoint_sample){
				.names = source->names,
				.profile = source->profile,
				.raw = stack->frames,
				.frames = frames,
				.count = count,
				.root_frames = stack->omitted ? stack->root_frames : 0,
				.gc = &reading->gc,
				.objects = stack->receivers,
			},
			&hangs_on);
	if (stack->omitted) {
		at = count - stack->root_frames;
		memmove(frames + at + 1, frames + at, stack->root_frames * sizeof(*frames));
		frames[at] = reader->frame_truncated;
		count++;
	}
	if (stack->error) {
		reading->flags |= RBPROF_SAMPLE_CUT;
		frames[count++] = reader->frame_unreadable;
	}
	reading->stack = profile__stack(source->profile, frames, count);
	return profile__failed(source->profile) ? -ENOMEM : 0;
}

int wait_reader__read(struct wait_reader *reader, pid_t tid, struct wait_reading *ret_reading)
{
	int fd = thread_state__open(reader->source.pid, tid), tries, err = 0;

	if (fd < 0)
		return fd;
	for (tries = 0; tries < PROOF_TRIES; tries++) {
		struct wait_reading reading = { .gc.count = RBPROF_GC_STATE_UNKNOWN };
		struct instant instant = { .copy.ec = 0 };

		err = read_instant(reader, fd, tid, &reading, &instant);
		if (!err)
			err = name_stack(reader, &instant.copy.stack, &reading);
		free(instant.copy.stack.frames);
		if (err)
			break;
		*ret_reading = reading;
		/* The collector moved on between the stack and its names. */
		if (reading.is_proved)
			break;
	}
	close(fd);
	/* What was read once stays good. */
	return tries && err != -ENOMEM ? 0 : err;
}
