/* SPDX-License-Identifier: BSD-2-Clause */
/* From a sample's frames to a stack of the profile: names are read once a stack and proved. */
#include "session_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "frame_endpoint.h"

/* Stacks remembered; past that they are forgotten, and the kernel side sends them anew. */
#define MAX_STACKS	(RBPROF_MAX_KNOWN_STACKS / 2)
#define MAX_STACK_BYTES (8 << 20)
/* How often a class is looked at that may become others' parent. */
#define ENDPOINT_PAUSE_NS 100000000ULL

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
		process->errors[error == -EPERM ? RBPROF_E_NO_PERMISSION : RBPROF_E_NAME_GONE]++;
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
	stack->receiver_count = sample->receiver_count < RBPROF_RECEIVERS ? sample->receiver_count
									  : RBPROF_RECEIVERS;
	memcpy(stack->receivers, sample->receivers, sizeof(stack->receivers));
	memcpy(stack->frames, sample + 1, size);
	HASH_ADD(hh, session->stacks, hash, sizeof(stack->hash), stack);
	return stack;
}

/* From now on samples have the class of the object that the frame's method was called on. */
static void want_receiver(struct session *session, struct tracked_process *process,
			  const struct rbprof_frame *frame)
{
	const struct rbprof_receiver_key key = { process->serial, frame->method_serial };
	struct rbprof_process entry;

	if (!frame->method_serial || programs__has_receiver(session->programs, &key) ||
	    programs__get_process(session->programs, process->found.pid, &entry) ||
	    entry.serial != process->serial || programs__add_receiver(session->programs, &key))
		return;
	entry.receivers++;
	programs__change_process(session->programs, process->found.pid, &entry);
}

static void find_endpoint(struct session *session, struct tracked_process *process,
			  struct session_stack *stack, const uint32_t *frames,
			  const struct rbprof_gc_state *gc)
{
	const struct frame_endpoint_sample sample = {
		.names = process->names,
		.profile = session->profile,
		.raw = stack->frames,
		.frames = frames,
		.count = stack->count,
		.root_frames = stack->omitted ? stack->root_frames : 0,
		.gc = gc,
		.receivers = stack->receivers,
		.receiver_count = stack->receiver_count,
	};
	struct frame_endpoint_frames hangs_on;

	stack->endpoint_frame = FRAME_ENDPOINT_NONE;
	stack->endpoint = PROFILE_NONE;
	if (session->options->no_frame_endpoint)
		return;
	stack->endpoint = frame_endpoint__find(&sample, &hangs_on);
	stack->endpoint_frame = hangs_on.certain;
	stack->lacks_receiver = hangs_on.open != FRAME_ENDPOINT_NONE;
	stack->endpoint_ns = clock__now_ns();
	if (stack->lacks_receiver)
		want_receiver(session, process, &stack->frames[hangs_on.open]);
}

/* The endpoint that the frames tell, as long as the class in it is not made others' parent. */
static uint32_t endpoint_of(struct session *session, struct tracked_process *process,
			    struct session_stack *stack, uint64_t now)
{
	if (stack->endpoint != PROFILE_NONE && stack->endpoint_frame != FRAME_ENDPOINT_NONE &&
	    now > stack->endpoint_ns + ENDPOINT_PAUSE_NS) {
		stack->endpoint_ns = now;
		if (!names__is_final(process->names, &stack->frames[stack->endpoint_frame])) {
			stack->endpoint = PROFILE_NONE;
			stack->lacks_receiver = true;
			want_receiver(session, process, &stack->frames[stack->endpoint_frame]);
		}
	}
	if (stack->lacks_receiver)
		process->errors[RBPROF_E_RECEIVER_UNKNOWN]++;
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
	/* A class may be freed, and another one be where it was. */
	stack->is_lasting &= !stack->receiver_count;
	find_endpoint(session, process, stack, frames, gc);
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
		process->errors[RBPROF_E_STACK_FORGOTTEN]++;
		return;
	}
	if (!stack)
		stack = keep_stack(session, sample);
	if (!stack || !session__has_names(session, process))
		return;
	resolve(session, process, stack, &sample->gc);
	key->stack = stack->stack;
	key->omitted = stack->omitted;
	key->endpoint = endpoint_of(session, process, stack, sample->event.time_ns);
}
