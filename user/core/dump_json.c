/* SPDX-License-Identifier: BSD-2-Clause */
#include "dump.h"

#include <inttypes.h>
#include <string.h>

#define WORDS_BYTES 8192

static void set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

static json_t *fds_json(const struct kernel_wait *kernel)
{
	json_t *fds = json_array();

	for (uint32_t i = 0; i < kernel->fd_count && i < KERNEL_WAIT_FDS; i++)
		json_array_append_new(fds, json_pack("{s:i, s:s}", "fd", kernel->fds[i].number,
						     "name", kernel->fds[i].name));
	return fds;
}

/* Fields of what the kernel knows. */
static void add_kernel(json_t *object, const struct kernel_wait *kernel)
{
	if (kernel->call)
		set(object, "syscall", json_string(kernel->call));
	else if (kernel->number >= 0)
		set(object, "syscall", json_integer(kernel->number));
	if (kernel->kind == KERNEL_WAIT_CHILD && kernel->child)
		set(object, "pid", json_integer(kernel->child));
	if (kernel->kind == KERNEL_WAIT_FDS_ANY) {
		set(object, "fds", fds_json(kernel));
	} else if (kernel->fd_count) {
		set(object, "fd", json_integer(kernel->fds[0].number));
		set(object, "name", json_string(kernel->fds[0].name));
	}
}

static json_t *wait_json(const struct dump *dump, const struct dump_thread *thread)
{
	const char *kind = dump_thread__kind(thread);
	const struct dump_thread *owner = NULL;
	char words[WORDS_BYTES], address[32];
	json_t *object;

	if (!kind)
		return json_null();
	dump_thread__words(dump, thread, words, sizeof(words));
	object = json_pack("{s:s, s:s}", "kind", kind, "text", words);
	if (thread->owner != DUMP_NONE)
		owner = &dump->threads[thread->owner];
	if (owner) {
		set(object, "owner_tid", json_integer(owner->state.tid));
		set(object, "owner", json_string(dump_thread__name(dump, owner)));
	}
	if (thread->wait.object) {
		snprintf(address, sizeof(address), "0x%" PRIx64, thread->wait.object);
		set(object, "object", json_string(address));
	}
	if (thread->wait.kind == WAIT_NOTHING || thread->wait.kind == WAIT_OUTSIDE ||
	    thread->wait.kind == WAIT_UNKNOWN)
		add_kernel(object, &thread->kernel);
	return object;
}

/* What a sample of the thread would carry. */
static json_t *labels_json(const struct dump *dump, const struct dump_thread *thread)
{
	const char *name = dump_thread__name(dump, thread);
	json_t *labels = json_object();
	char text[128];

	snprintf(text, sizeof(text), "%d (%" PRId64 ")", thread->state.tid, thread->object_id);
	set(labels, "thread id", json_string(text));
	set(labels, "thread name", json_string(name));
	set(labels, "state", json_string(dump_thread__state(thread)));
	if (thread->ruby.ractor_id > 1)
		set(labels, "ractor id", json_integer((json_int_t)thread->ruby.ractor_id));
	if (thread->wait.kind == WAIT_GVL && thread->state.letter != 'R' &&
	    thread->owner != DUMP_NONE)
		set(labels, "gvl holder",
		    json_string(dump_thread__name(dump, &dump->threads[thread->owner])));
	dump_trace__labels(dump, thread, labels);
	if (thread->endpoint == PROFILE_NONE && thread->frame_endpoint != PROFILE_NONE) {
		set(labels, "trace endpoint",
		    json_string(profile__text(dump->profile, thread->frame_endpoint)));
		set(labels, "endpoint source", json_string("frames"));
	}
	snprintf(text, sizeof(text), "%s (%d)", dump->process.comm, dump->process.pid);
	set(labels, "process", json_string(text));
	set(labels, "pid", json_integer(dump->process.pid));
	set(labels, "ruby", json_string(dump->process.runtime->version));
	return labels;
}

static json_t *stack_json(const struct dump *dump, const struct dump_thread *thread)
{
	const struct profile *profile = dump->profile;
	json_t *stack = json_array();

	for (uint32_t i = 0; i < thread->frame_count; i++) {
		const struct profile_frame *frame = profile__frame_at(profile, thread->frames[i]);
		const struct profile_function *function =
			profile__function_at(profile, frame->function);

		json_array_append_new(stack,
				      json_pack("{s:s, s:s, s:I, s:I}", "name",
						profile__text(profile, function->name), "file",
						profile__text(profile, function->file), "line",
						(json_int_t)frame->line, "start_line",
						(json_int_t)function->start_line));
	}
	return stack;
}

static json_t *thread_json(const struct dump *dump, const struct dump_thread *thread)
{
	json_t *object = json_pack(
		"{s:i, s:I, s:s, s:s, s:b, s:b, s:o, s:o, s:o}", "tid", thread->state.tid,
		"object_id", (json_int_t)thread->object_id, "name", dump_thread__name(dump, thread),
		"state", dump_thread__state(thread), "native", !thread->ruby.address, "consistent",
		thread->is_instant, "waits_for", wait_json(dump, thread), "labels",
		labels_json(dump, thread), "stack", stack_json(dump, thread));

	if (object && thread->omitted)
		set(object, "omitted_frames", json_integer(thread->omitted));
	return object;
}

json_t *dump__json(const struct dump *dump)
{
	json_t *threads = json_array(), *deadlocks = json_array();

	for (size_t i = 0; i < dump->count; i++)
		json_array_append_new(threads, thread_json(dump, &dump->threads[i]));
	for (size_t i = 0; i < dump->deadlock_count; i++) {
		const struct dump_deadlock *deadlock = &dump->deadlocks[i];
		json_t *members = json_array();

		for (size_t k = 0; k < deadlock->count; k++)
			json_array_append_new(
				members,
				json_integer(dump->threads[deadlock->members[k]].state.tid));
		json_array_append_new(deadlocks, members);
	}
	return json_pack("{s:i, s:s, s:s, s:o, s:o}", "pid", dump->process.pid, "comm",
			 dump->process.comm, "ruby", dump->process.runtime->version, "threads",
			 threads, "deadlocks", deadlocks);
}
