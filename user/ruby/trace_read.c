/* SPDX-License-Identifier: BSD-2-Clause */
#include "trace_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "walk_memory.h"

#define MAX_KINDS 512
#define TRIES	  64 /* each meets one kind that was not known */

/* As walk_memory: what the walker finds kinds in. */
static __thread const struct trace_kinds *walk_kinds;

static const struct rbprof_ivars *find_kind(const struct rbprof_ivars_key *key)
{
	size_t i;

	for (i = 0; i < walk_kinds->count; i++) {
		if (walk_kinds->kinds[i].table == key->table)
			return &walk_kinds->kinds[i].ivars;
	}
	return NULL;
}

#define trace_ivars(key) find_kind(key)

#include "../../bpf/trace.h"

void trace_kinds__free(struct trace_kinds *kinds)
{
	free(kinds->kinds);
	kinds->kinds = NULL;
	kinds->count = 0;
}

void trace_read__hex(const void *bytes, size_t count, char *text)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *from = bytes;
	size_t i;

	for (i = 0; i < count && i < 16; i++) {
		text[2 * i] = digits[from[i] >> 4];
		text[2 * i + 1] = digits[from[i] & 15];
	}
	text[2 * i] = '\0';
}

/* 0, or why the object's kind stays unknown. */
static int learn(const struct tracer_source *source, uint64_t object, struct trace_kinds *kinds)
{
	struct trace_kind kind, *grown;
	size_t i;
	int err = tracer__ivars(source, object, &kind.table, &kind.ivars);

	if (err)
		return err;
	for (i = 0; i < kinds->count; i++) {
		if (kinds->kinds[i].table == kind.table) {
			kinds->kinds[i] = kind;
			return 0;
		}
	}
	if (kinds->count >= MAX_KINDS)
		trace_kinds__free(kinds);
	grown = reallocarray(kinds->kinds, kinds->count + 1, sizeof(kind));
	if (!grown)
		return -ENOMEM;
	kinds->kinds = grown;
	kinds->kinds[kinds->count++] = kind;
	return 0;
}

int trace_read__fiber(const struct tracer_source *source, const struct rbprof_tracer *tracer,
		      uint64_t ec, bool wants_endpoint, struct trace_kinds *kinds,
		      struct trace_reading *ret_reading)
{
	struct trace_reading reading = { .length = 0 };
	struct trace_state state = { .wants_endpoint = wants_endpoint };
	struct trace trace = { .layout = source->layout, .tracer = tracer, .state = &state };
	int tries, err = 0;

	if (memory__read(source->memory, ec + source->layout->ec__local_storage,
			 &state.local_storage, sizeof(state.local_storage)) ||
	    memory__read(source->memory, ec + source->layout->ec__thread_ptr, &state.thread,
			 sizeof(state.thread)) ||
	    memory__read(source->memory, ec + source->layout->ec__fiber_ptr, &state.fiber,
			 sizeof(state.fiber))) {
		reading.trace.error = RBPROF_E_TRACE_FAULT;
		*ret_reading = reading;
		return 0;
	}
	for (tries = 0; tries < TRIES; tries++) {
		walk_memory = source->memory;
		walk_kinds = kinds;
		trace_find_datadog(&trace);
		trace_find_otel(&trace);
		walk_memory = NULL;
		walk_kinds = NULL;
		if (!state.unknown || !state.unknown_table)
			break;
		err = learn(source, state.unknown, kinds);
		if (err)
			break;
	}
	reading.trace = state.trace;
	if (state.resource && state.trace.kind) {
		reading.kind = state.endpoint_kind;
		reading.length = state.resource_length < sizeof(reading.text)
					 ? state.resource_length
					 : sizeof(reading.text);
		if (memory__read(source->memory, state.resource_address, reading.text,
				 reading.length))
			reading.length = 0;
	}
	*ret_reading = reading;
	return err == -ENOMEM ? err : 0;
}
