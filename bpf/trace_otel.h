/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The span of OpenTelemetry's SDK that a fiber works in: the fiber's stack of contexts, a
 * fiber-local or an instance variable of the Fiber itself; of the newest context the entry of the
 * current span; of that the span context, which has the ids. Included by trace.h.
 */
#ifndef RBPROF_BPF_TRACE_OTEL_H
#define RBPROF_BPF_TRACE_OTEL_H

#define TRACE_CONTEXTS 64 /* of a stack that are looked at for the root span */

/* The stack of contexts that the Fiber keeps; 0: none. */
static __always_inline int trace_fiber_stack(struct trace *trace, __u64 *ret_stack)
{
	struct trace_state *state = trace->state;

	*ret_stack = 0;
	if (walk_read(&state->value, 8, state->fiber + trace->layout->fiber__self))
		return trace_fail(trace, RBPROF_E_TRACE_FAULT);
	return trace_variable(trace, state->value, RBPROF_IVAR_OTEL_STACK, ret_stack);
}

/* ---- spans ---- */

/* The current span of a context; 0: it has none. */
static __always_inline int trace_otel_span(struct trace *trace, __u64 context, __u64 *ret_span)
{
	struct trace_object object;
	__u64 entries;

	*ret_span = 0;
	if (trace_open(trace, context, &object) ||
	    trace_ivar(trace, &object, RBPROF_IVAR_ENTRIES, &entries))
		return -1;
	if (entries == trace->layout->qnil)
		return 0;
	return trace_hash(trace, entries, trace->tracer->current_span, ret_span);
}

static __always_inline int trace_otel_bytes(struct trace *trace, __u64 value, void *into,
					    __u32 size)
{
	__u64 address, length;

	if (trace_string(trace, value, &address, &length) || length != size ||
	    walk_read(into, size, address))
		return trace_fail(trace, RBPROF_E_TRACE_ID);
	return 0;
}

/* Ids of a span, by its span context; also its name and kind, where it has them. */
static __always_inline int trace_otel_ids(struct trace *trace, __u64 span, __u64 *ret_id,
					  __u64 *ret_trace_id)
{
	struct trace_object object;
	__u64 context, trace_id, span_id;

	if (trace_open(trace, span, &object) ||
	    trace_ivar(trace, &object, RBPROF_IVAR_NAME, &trace->state->root_name) ||
	    trace_ivar(trace, &object, RBPROF_IVAR_KIND, &trace->state->root_kind) ||
	    trace_ivar(trace, &object, RBPROF_IVAR_CONTEXT, &context))
		return -1;
	if (trace_open(trace, context, &object) ||
	    trace_ivar(trace, &object, RBPROF_IVAR_TRACE_ID, &trace_id) ||
	    trace_ivar(trace, &object, RBPROF_IVAR_SPAN_ID, &span_id) ||
	    trace_otel_bytes(trace, trace_id, ret_trace_id, 16))
		return -1;
	return trace_otel_bytes(trace, span_id, ret_id, 8);
}

/* From the oldest context on: the first span of the same trace is the local root. */
static long trace_root_step(__u32 index, void *context)
{
	struct trace *trace = context;
	struct trace_state *state = trace->state;
	__u64 value, span;

	if (index + 1 >= state->context_count)
		return 1;
	if (walk_read(&state->value, 8, state->contexts + 8 * (__u64)index)) {
		trace_fail(trace, RBPROF_E_TRACE_FAULT);
		return 1;
	}
	value = state->value;
	if (trace_otel_span(trace, value, &span))
		return 1;
	if (!span || span == trace->layout->qnil)
		return 0;
	if (trace_otel_ids(trace, span, &state->other_span, state->other_trace))
		return 1;
	if (state->other_trace[0] != state->trace.id[0] ||
	    state->other_trace[1] != state->trace.id[1])
		return 0;
	state->trace.root = state->other_span;
	return 1;
}

static __always_inline int trace_otel_stack(struct trace *trace, __u64 *ret_stack)
{
	*ret_stack = 0;
	if (trace->tracer->generic_ivars && trace_fiber_stack(trace, ret_stack))
		return -1;
	if (!*ret_stack && trace->tracer->otel_key)
		return trace_local(trace, trace->tracer->otel_key, ret_stack);
	return 0;
}

static __always_inline int trace_otel(struct trace *trace)
{
	struct trace_state *state = trace->state;
	__u64 stack, newest, span, length, elements;

	if (!trace->tracer->current_span || trace_otel_stack(trace, &stack))
		return -1;
	if (!stack || stack == trace->layout->qnil)
		return 0;
	if (trace_array(trace, stack, &length, &elements))
		return trace_fail(trace, RBPROF_E_TRACE_FAULT);
	state->context_count = length;
	state->contexts = elements;
	if (!state->context_count)
		return 0;
	if (walk_read(&state->value, 8, state->contexts + 8 * (state->context_count - 1)))
		return trace_fail(trace, RBPROF_E_TRACE_FAULT);
	newest = state->value;
	if (trace_otel_span(trace, newest, &span))
		return -1;
	if (!span || span == trace->layout->qnil)
		return 0;
	if (trace_otel_ids(trace, span, &state->trace.span, state->trace.id))
		return -1;
	if (!(state->trace.id[0] | state->trace.id[1]))
		return 0; /* Span::INVALID */
	state->trace.root = state->trace.span;
	walk_loop(TRACE_CONTEXTS, trace_root_step, trace);
	if (state->trace.error)
		return -1;
	state->trace.kind = RBPROF_TRACE_OTEL;
	if (state->wants_endpoint && state->root_kind != trace->layout->qnil) {
		trace_keep_resource(trace, state->root_name);
		state->endpoint_kind = state->root_kind;
	}
	return 0;
}

#endif
