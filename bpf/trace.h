/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From the fiber-locals of an execution context to the trace that its fiber works for.
 *
 * Compiled for BPF and natively alike. Whoever includes this defines, beside what walk.h needs,
 *	trace_ivars(key)	the struct rbprof_ivars of a struct rbprof_ivars_key, or NULL
 *
 * All that is read is what the thread itself would read now: at a tick and at a switch it stands
 * still, so ids and endpoint are of the same instant as its stack. What cannot be made out is an
 * error in state->trace.error, never a guess.
 */
#ifndef RBPROF_BPF_TRACE_H
#define RBPROF_BPF_TRACE_H

#define TRACE_WORDS 5  /* of an object: a slot has no fewer (gc.c: RVALUE) */
#define TRACE_SLOTS 32 /* of an object's variables that are read at once; a power of two */
#define TRACE_LINKS 64 /* traces in a chain */
#define TRACE_STACK 8  /* contexts of a stack that are read at once; a power of two */
#define TRACE_PAIRS 8  /* of a small Hash (internal/hash.h: RHASH_AR_TABLE_MAX_SIZE) */

/*
 * Calls into user memory are what a search costs: what lies together is read together, and what
 * was read once is not read again while the thread stands still. From one search to the next
 * nothing is kept.
 */

/* Objects of which a search opens several, mostly of one kind. */
enum trace_role {
	TRACE_CONTEXT,
	TRACE_SPAN,
	TRACE_SPAN_CONTEXT,
	TRACE_ROLE_COUNT,
};

/* Lies in a map, as the walk's state does, and for the same reason. */
struct trace_state {
	__u64 serial; /* of the process image; set by the caller, as the next and wants_endpoint */
	__u64 local_storage; /* of the execution context */
	__u64 fiber;	     /* rb_fiber_t */
	__u64 thread;	     /* rb_thread_t */
	__u64 words[TRACE_WORDS];
	__u64 at, probe, key; /* of a search */
	/* The stack of contexts that is looked through, and the span at its end. */
	__u64 contexts, context_count;
	__u64 first_contexts[TRACE_STACK];
	__u64 trace_id; /* as an object */
	__u64 root_name, root_kind;
	__u64 other_name, other_kind, other_span, other_trace[2];
	__u64 active, visited; /* traces of dd-trace-rb */
	__u32 is_last;
	__u64 found;
	/* Of the object that was opened last: where its variables are, and up to 3.1 how many. */
	__u64 object, object_table, object_values;
	__u64 slots[TRACE_SLOTS]; /* those from the first slot on, as many as were read */
	__u32 first_slot, slot_count;
	__u32 object_room;
	__u32 bin_shift;
	/* What the last embedded object's class has of variables, up to 3.1. */
	__u64 klass, klass_table;
	__u64 role_tables[TRACE_ROLE_COUNT]; /* of trace->roles */
	struct rbprof_trace trace;
	/* What the endpoint is made of; resource 0: there is none. */
	__u64 resource;
	__u64 resource_hash;
	__u64 endpoint_root, endpoint_kind;
	__u64 resource_address;
	__u32 resource_length;
	__u32 wants_endpoint;
	/* An object of a kind that is not known. */
	__u64 unknown, unknown_table;
	/* What is read on the way: here, since a program's stack is small. */
	struct rbprof_ivars_key kind;
	__u64 value, digits[3], pair[3], pairs[2 * TRACE_PAIRS];
	__u32 has_ec;
};

#include "trace_object.h"
#include "trace_table.h"

/* ---- dd-trace-rb ---- */

static __always_inline int trace_id_of(struct trace *trace, const struct trace_object *span,
				       __u64 *ret_id)
{
	__u64 value;

	if (trace_ivar(trace, span, RBPROF_IVAR_ID, &value))
		return -1;
	return trace_number(trace, value, ret_id);
}

/* The endpoint of a trace: its own resource, or that of its root span. */
static __always_inline void trace_endpoint(struct trace *trace, const struct trace_object *root,
					   __u64 resource)
{
	__u64 type;

	if (trace_ivar(trace, root, RBPROF_IVAR_TYPE, &type) || !trace_is_request(trace, type))
		return;
	if (resource == trace->layout->qnil &&
	    trace_ivar(trace, root, RBPROF_IVAR_RESOURCE, &resource))
		return;
	trace_keep_resource(trace, resource);
}

/* The root span of the trace state->active, its id, and the endpoint. None set: no labels. */
static __always_inline int trace_datadog_root(struct trace *trace)
{
	const __u64 qnil = trace->layout->qnil;
	struct trace_state *state = trace->state;
	__u64 root_span, resource = qnil;
	struct trace_object object;

	if (trace_open(trace, state->active, &object) ||
	    trace_ivar(trace, &object, RBPROF_IVAR_ROOT_SPAN, &root_span))
		return -1;
	if (root_span == qnil)
		return 0;
	if (state->wants_endpoint && trace_ivar(trace, &object, RBPROF_IVAR_RESOURCE, &resource))
		return -1;
	if (trace_open(trace, root_span, &object) ||
	    trace_id_of(trace, &object, &state->trace.root))
		return -1;
	state->trace.kind = RBPROF_TRACE_DATADOG;
	if (state->wants_endpoint)
		trace_endpoint(trace, &object, resource);
	return 0;
}

/*
 * From a trace to the one that its OpenTelemetry span belongs to (dd-trace-rb's
 * OpenTelemetry::API::Context): 1 where there is no further one. state->visited is where the walk
 * was after the last power of two of steps: to come there again is a cycle.
 */
static long trace_link_step(__u32 index, void *context)
{
	struct trace *trace = context;
	struct trace_state *state = trace->state;
	const __u64 qnil = trace->layout->qnil;
	struct trace_object object;
	__u64 values, span, next;

	if (trace_open(trace, state->active, &object) ||
	    trace_ivar(trace, &object, RBPROF_IVAR_OTEL_VALUES, &values))
		return 1;
	state->is_last = 1;
	if (!trace_is_heap(trace, values))
		return 1;
	if (trace_hash(trace, values, trace->tracer->current_span, &span))
		return 1;
	if (!trace_is_heap(trace, span))
		return 1;
	if (trace_open(trace, span, &object) ||
	    trace_ivar(trace, &object, RBPROF_IVAR_DATADOG_TRACE, &next))
		return 1;
	if (next == qnil || next == state->visited)
		return 1;
	if (!(index & (index + 1)))
		state->visited = state->active;
	state->active = next;
	state->is_last = 0;
	return 0;
}

/* A trace that the API of OpenTelemetry made: the root span is that of the last one in its chain.
 */
static __always_inline int trace_datadog_chain(struct trace *trace)
{
	struct trace_state *state = trace->state;

	/* Which key it is user space finds once it knows that there is one. */
	if (!trace->tracer->current_span)
		return trace_ask(trace, state->active, 0);
	state->visited = state->active;
	state->is_last = 0;
	walk_loop(TRACE_LINKS, trace_link_step, trace);
	if (state->trace.error)
		return -1;
	return state->is_last ? 0 : trace_fail(trace, RBPROF_E_OTEL_DEPTH);
}

/* From a context's active trace on. */
static __always_inline int trace_datadog_spans(struct trace *trace)
{
	const __u64 qnil = trace->layout->qnil;
	struct trace_state *state = trace->state;
	__u64 active_span, values, id;
	struct trace_object object;

	if (trace_open(trace, state->active, &object) ||
	    trace_ivar(trace, &object, RBPROF_IVAR_ACTIVE_SPAN, &active_span) ||
	    trace_ivar(trace, &object, RBPROF_IVAR_OTEL_VALUES, &values) ||
	    trace_ivar(trace, &object, RBPROF_IVAR_PARENT_SPAN_ID, &id))
		return -1;
	if (active_span != qnil && (trace_open(trace, active_span, &object) ||
				    trace_ivar(trace, &object, RBPROF_IVAR_ID, &id)))
		return -1;
	if (values == qnil && active_span == qnil)
		return 0;
	if (id == qnil)
		return 0;
	if (trace_number(trace, id, &state->trace.span))
		return -1;
	if (values != qnil && trace_datadog_chain(trace))
		return -1;
	return trace_datadog_root(trace);
}

/* The tracer's context of the fiber; 0: none. */
static __always_inline int trace_datadog_local(struct trace *trace, __u64 *ret_context)
{
	const struct rbprof_tracer *tracer = trace->tracer;
	__u64 count;

	/* Of a tracer configured since: by its name user space can tell whether it goes before. */
	if (trace_has_new_names(trace) && trace_contexts(trace, tracer->ids, ret_context))
		return trace_ask(trace, *ret_context, 0);
	if (trace_local(trace, tracer->datadog_key, ret_context))
		return -1;
	if (*ret_context || !tracer->has_older)
		return 0;
	/* The fiber works for a tracer before that; which of several is a matter of names, too. */
	count = trace_contexts(trace, 0, ret_context);
	if (!count)
		*ret_context = 0;
	return count > 1 ? trace_fail(trace, RBPROF_E_TRACE_UNKNOWN) : 0;
}

/* The same, or the thread's where it is kept there. */
static __always_inline int trace_datadog_context(struct trace *trace, __u64 *ret_context)
{
	struct trace_state *state = trace->state;
	__u64 locals;

	*ret_context = 0;
	if (trace->tracer->datadog_key)
		return trace_datadog_local(trace, ret_context);
	if (walk_read(&state->value, 8, state->thread + trace->layout->th__self))
		return trace_fail(trace, RBPROF_E_TRACE_FAULT);
	if (trace_variable(trace, state->value, RBPROF_IVAR_LOCALS, &locals))
		return -1;
	return locals ? trace_hash(trace, locals, trace->tracer->datadog_symbol, ret_context) : 0;
}

static __always_inline int trace_datadog(struct trace *trace)
{
	struct trace_object context;
	__u64 value, active;

	if (trace_datadog_context(trace, &value))
		return -1;
	if (!value || value == trace->layout->qnil)
		return 0;
	if (trace_open(trace, value, &context))
		return -1;
	/* Its class may have moved, or it is something else. */
	if (trace_word(trace, trace->layout->rbasic__klass) != trace->tracer->datadog_class)
		return trace_ask(trace, value, 0);
	if (trace_ivar(trace, &context, RBPROF_IVAR_ACTIVE_TRACE, &active))
		return -1;
	if (active == trace->layout->qnil)
		return 0;
	trace->state->active = active;
	return trace_datadog_spans(trace);
}

#include "trace_otel.h"

static __always_inline void trace_begin(struct trace_state *state)
{
	state->trace.kind = RBPROF_TRACE_NONE;
	state->trace.error = RBPROF_OK;
	state->trace.root = 0;
	state->trace.span = 0;
	state->trace.id[0] = 0;
	state->trace.id[1] = 0;
	state->resource = 0;
	state->unknown = 0;
	state->unknown_table = 0;
	state->klass = 0;
}

/*
 * Fills state->trace, and the endpoint if it is wanted: as dd-trace-rb says; where that says
 * nothing, trace_find_otel() may. Two functions, for two programs' stacks.
 */
static __always_inline void trace_find_datadog(struct trace *trace)
{
	trace_begin(trace->state);
	if (trace->tracer->datadog_key || trace->tracer->datadog_symbol)
		trace_datadog(trace);
	if (trace->state->trace.error)
		trace->state->trace.kind = RBPROF_TRACE_NONE;
}

/* To be called after trace_find_datadog(). */
static __always_inline void trace_find_otel(struct trace *trace)
{
	if (trace->state->trace.error || trace->state->trace.kind)
		return;
	trace->roles[TRACE_CONTEXT] = NULL;
	trace->roles[TRACE_SPAN] = NULL;
	trace->roles[TRACE_SPAN_CONTEXT] = NULL;
	trace_otel(trace);
	if (trace->state->trace.error)
		trace->state->trace.kind = RBPROF_TRACE_NONE;
}

#endif
