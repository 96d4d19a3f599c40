/* SPDX-License-Identifier: BSD-2-Clause */
#include "dump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../ruby/names.h"
#include "../ruby/object.h"
#include "../ruby/thread_id.h"
#include "../ruby/trace_read.h"
#include "frame_endpoint.h"
#include "wait_state.h"

#define TRIES	 6
#define PAUSE_US 300

/* One reading of a thread, with the state before and after it. */
struct reading {
	struct thread_state before, after;
	struct stack_copy copy;
	struct wait wait;
	struct kernel_wait kernel;
	struct rbprof_gc_state gc;
	struct trace_reading trace_before, trace_after;
};

static int read_state(const struct dump_source *source, const struct dump_thread *thread,
		      struct thread_state *state)
{
	if (thread->state.tid < 0) {
		*state = thread->state;
		return 0;
	}
	return thread_state__read(source->dump->process.pid, thread->state.tid, state);
}

static int take_reading(const struct dump_source *source, const struct dump_thread *thread,
			struct reading *reading)
{
	const pid_t pid = source->dump->process.pid;
	int err;

	memset(reading, 0, sizeof(*reading));
	err = read_state(source, thread, &reading->before);
	if (!err && thread->ruby.address)
		err = names__gc_state(source->names, &reading->gc);
	if (!err)
		dump_trace__read(source, thread, &reading->trace_before);
	if (!err && thread->ruby.address)
		err = stack_copy__read(source->memory, source->layout, thread->ruby.address,
				       source->max_frames, &reading->copy);
	if (!err && thread->ruby.address)
		err = waits__read(source->memory, source->layout, thread->ruby.address,
				  &reading->copy, &reading->wait);
	if (!err && thread->state.tid > 0)
		kernel_wait__read(source->memory, pid, thread->state.tid, reading->before.letter,
				  &reading->kernel);
	if (!err)
		dump_trace__read(source, thread, &reading->trace_after);
	return err ? err : read_state(source, thread, &reading->after);
}

/*
 * Whether all of it is of one instant. Of a thread that runs the frames alone are: that it runs
 * is all there is to say of its wait.
 */
static bool is_of_one_instant(const struct dump_source *source, const struct dump_thread *thread,
			      const struct reading *reading)
{
	uint64_t ec = 0;

	if (thread->ruby.address && !reading->copy.is_instant)
		return false;
	if (thread->state.tid > 0)
		return thread_state__stood_still(&reading->before, &reading->after) ||
		       (reading->before.letter == 'R' && reading->after.letter == 'R');
	/* Nothing tells whether it ran, but a new stack. */
	return !memory__read_u64(source->memory, thread->ruby.address + source->layout->th__ec,
				 &ec) &&
	       ec == reading->copy.ec;
}

/* Frame ids of the stack, with markers where something is missing. 0 or -ENOMEM. */
static int name_frames(const struct dump_source *source, const struct reading *reading,
		       struct dump_thread *thread, size_t *ret_named)
{
	const struct stack *stack = &reading->copy.stack;
	struct profile *profile = source->dump->profile;
	uint32_t *frames = calloc((size_t)stack->count + 2, sizeof(*frames)), at;
	struct frame_endpoint_frames hangs_on;
	uint32_t count = stack->count;

	if (!frames)
		return -ENOMEM;
	*ret_named = names__frames(source->names, stack->frames, count, &reading->gc, frames, NULL);
	thread->frame_endpoint = frame_endpoint__find(
		&(struct frame_endpoint_sample){
			.names = source->names,
			.profile = profile,
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
		frames[at] = names__special(profile, "(truncated)");
		count++;
	}
	if (stack->error && stack->error != RBPROF_E_ENV_FAULT &&
	    stack->error != RBPROF_E_ENV_DEPTH)
		frames[count++] = names__special(profile, "(unreadable)");
	if (!count)
		frames[count++] = names__special(profile, "(no ruby frames)");
	free(thread->frames);
	thread->frames = frames;
	thread->frame_count = count;
	thread->omitted = stack->omitted;
	return profile__failed(profile) ? -ENOMEM : 0;
}

static const char *frame_text(const struct profile *profile, uint32_t frame)
{
	const struct profile_frame *found = profile__frame_at(profile, frame);

	return profile__text(profile, profile__function_at(profile, found->function)->name);
}

/*
 * The name is read for itself: a collector that never rests leaves a name no time to be proved
 * for the instant of a long stack.
 */
static void read_name(const struct dump_source *source, struct dump_thread *thread)
{
	const uint64_t address = thread->ruby.address;
	struct rbprof_gc_state gc;
	uint64_t value;
	int tries;

	for (tries = 0; tries < TRIES && thread->name == PROFILE_NONE; tries++)
		if (!names__gc_state(source->names, &gc) &&
		    !memory__read_u64(source->memory, address + source->layout->th__name, &value))
			thread->name = names__thread(source->names, address, value, 0, &gc);
}

static void read_object_id(const struct dump_source *source, struct dump_thread *thread)
{
	const struct ruby_process *process = &source->dump->process;
	const struct thread_id_source from = {
		.memory = source->memory,
		.layout = source->layout,
		.vm_ptr_address = ruby_process__vm_ptr(process),
		.shape_tree_address = ruby_process__shape_tree(process),
	};

	if (thread_id__read(&from, thread->ruby.address, thread->ruby.self, &thread->object_id))
		thread->object_id = THREAD_ID_NONE;
}

/* Whether the VM still has the thread: an ended one leaves its memory behind. */
static bool is_alive(const struct dump_source *source, const struct dump_thread *thread)
{
	const struct ruby_layout *layout = source->layout;
	const uint64_t address = thread->ruby.address;
	struct reader reader;
	uint64_t self, data;
	uint32_t status;
	bool alive;

	if (memory__read_u32(source->memory, address + layout->th__status, &status) ||
	    (status >> layout->th__status_shift & 3) == RUBY_THREAD_KILLED ||
	    memory__read_u64(source->memory, address + layout->th__self, &self))
		return false;
	reader__init(&reader, source->memory, layout);
	alive = !object__data(&reader, self, &data) && data == address;
	reader__free(&reader);
	return alive;
}

/* Keeps what the reading says. *ret_proved: every frame. 0 or -ENOMEM. */
static int keep_reading(const struct dump_source *source, const struct reading *reading,
			struct dump_thread *thread, bool *ret_proved)
{
	const char *newest[STACK_COPY_NEWEST];
	size_t named, i;
	int err;

	thread->state = reading->after;
	thread->kernel = reading->kernel;
	thread->wait = reading->wait;
	dump_trace__keep(source, &reading->trace_before, &reading->trace_after, thread);
	*ret_proved = true;
	if (!thread->ruby.address)
		return 0;
	err = name_frames(source, reading, thread, &named);
	if (err)
		return err;
	for (i = 0; i < reading->copy.newest_count; i++)
		newest[i] = frame_text(source->dump->profile, thread->frames[i]);
	thread->wait.kind =
		wait_state__kind(thread->wait.kind, thread->kernel.kind, thread->kernel.number);
	if (thread->wait.kind == WAIT_OUTSIDE)
		thread->wait.owner = 0;
	waits__refine(&reading->copy, newest, reading->copy.newest_count, &thread->wait);
	if (wait_state__is_network(thread->kernel.kind, newest, reading->copy.newest_count))
		thread->kernel.is_network = true;
	*ret_proved = named == reading->copy.stack.count && !reading->copy.stack.error;
	return profile__failed(source->dump->profile) ? -ENOMEM : 0;
}

/* A thread without frames or name of Ruby's. */
static int keep_native(const struct dump_source *source, struct dump_thread *thread)
{
	struct profile *profile = source->dump->profile;
	char comm[64];

	thread_state__comm(source->dump->process.pid, thread->state.tid, comm, sizeof(comm));
	thread->name = profile__cstring(profile, comm);
	thread->frames = calloc(1, sizeof(*thread->frames));
	if (!thread->frames)
		return -ENOMEM;
	thread->frames[0] = names__special(profile, "(no ruby frames)");
	thread->frame_count = 1;
	return profile__failed(profile) ? -ENOMEM : 0;
}

int dump_thread__read(const struct dump_source *source, struct dump_thread *thread)
{
	struct reading reading;
	bool is_instant, proved;
	int tries, err;

	thread->name = PROFILE_NONE;
	thread->object_id = THREAD_ID_NONE;
	thread->endpoint = PROFILE_NONE;
	thread->frame_endpoint = PROFILE_NONE;
	thread->owner = DUMP_NONE;
	if (!thread->ruby.address) {
		err = keep_native(source, thread);
		if (err)
			return err;
	} else {
		read_name(source, thread);
		read_object_id(source, thread);
	}
	for (tries = 0; tries < TRIES && !thread->is_instant; tries++) {
		if (tries > 1)
			usleep(PAUSE_US);
		err = take_reading(source, thread, &reading);
		if (!err) {
			is_instant = is_of_one_instant(source, thread, &reading);
			err = keep_reading(source, &reading, thread, &proved);
			thread->is_instant = is_instant && proved;
		}
		free(reading.copy.stack.frames);
		if (err == -ENOMEM || err == -ESRCH)
			return err;
	}
	if (thread->ruby.address && !is_alive(source, thread))
		return -ESTALE;
	return thread->frame_count ? 0 : -ESRCH;
}

bool dump_thread__still_waits(const struct dump_source *source, const struct dump_thread *thread)
{
	struct reading reading;
	bool same;

	same = !take_reading(source, thread, &reading) &&
	       is_of_one_instant(source, thread, &reading) && reading.before.letter != 'R' &&
	       reading.after.switches == thread->state.switches &&
	       reading.wait.kind == thread->wait.kind && reading.wait.owner == thread->wait.owner;
	free(reading.copy.stack.frames);
	return same;
}
