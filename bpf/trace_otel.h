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
static __always_inline int trace_otel_span(struct trace *trace, __u64 context, bool is_newest,
					   __u64 *ret_span)
{
	struct trace_object object;
	__u64 entries;

	*ret_span = 0;
	if (trace_open_role(trace, context, TRACE_CONTEXT, &object) ||
	    trace_ivar(trace, &object, RBPROF_IVAR_ENTRIES, &entries))
		return -1;
	if (is_newest)
		trace_keep_role(trace, TRACE_CONTEXT, &object);
	if (entries == trace->layout->qnil)
		return 0;
	return trace_hash(trace, entries, trace->tracer->current_span, ret_span);
}

/* An id: 8 or 16 bytes, which a String has in itself. */
static __always_inline int trace_otel_bytes(struct trace *trace, __u64 value, __u32 size,
					    __u64 *into)
{
	const __u32 embed = trace->layout->rstring__embed;
	__u64 address, length;

	if (trace_string(trace, value, &address, &length) || length != size)
		return trace_fail(trace, RBPROF_E_TRACE_ID);
	if (address == value + embed && embed + size <= 8 * TRACE_WORDS) {
		into[0] = trace_word(trace, embed);
		if (size == 16)
			into[1] = trace_word(trace, embed + 8);
		return 0;
	}
	return walk_read(into, size, address) ? trace_fail(trace, RBPROF_E_TRACE_ID) : 0;
}

/* From a span to its name and kind, where it has them, and to the objects that its ids are. */
static __always_inline int trace_otel_open(struct trace *trace, __u64 span, bool is_newest,
					   __u64 *ret_trace_id, __u64 *ret_span_id)
{
	struct trace_object object;
	__u64 context;

	if (trace_open_role(trace, span, TRACE_SPAN, &object) ||
	    trace_ivar(trace, &object, RBPROF_IVAR_NAME, &trace->state->other_name) ||
	    trace_ivar(trace, &object, RBPROF_IVAR_KIND, &trace->state->other_kind) ||
	    trace_ivar(trace, &object, RBPROF_IVAR_CONTEXT, &context))
		return -1;
	if (is_newest)
		trace_keep_role(trace, TRACE_SPAN, &object);
	if (trace_open_role(trace, context, TRACE_SPAN_CONTEXT, &object) ||
	    trace_ivar(trace, &object, RBPROF_IVAR_TRACE_ID, ret_trace_id) ||
	    trace_ivar(trace, &object, RBPROF_IVAR_SPAN_ID, ret_span_id))
		return -1;
	if (is_newest)
		trace_keep_role(trace, TRACE_SPAN_CONTEXT, &object);
	return 0;
}

/* The span that was opened last is the local root, until there is an older one. */
static __always_inline void trace_otel_root(struct trace_state *state, __u64 span_id)
{
	state->trace.root = span_id;
	state->root_name = state->other_name;
	state->root_kind = state->other_kind;
}

/* The span that the newest context names: its ids. */
static __always_inline int trace_otel_newest(struct trace *trace, __u64 span)
{
	struct trace_state *state = trace->state;
	__u64 span_id;

	if (trace_otel_open(trace, span, true, &state->trace_id, &span_id) ||
	    trace_otel_bytes(trace, state->trace_id, 16, state->trace.id) ||
	    trace_otel_bytes(trace, span_id, 8, &state->trace.span))
		return -1;
	trace_otel_root(state, state->trace.span);
	return 0;
}

/* Whether a span is of the newest one's trace: 1, with state->other_span. */
static __always_inline int trace_otel_is_same(struct trace *trace, __u64 span)
{
	struct trace_state *state = trace->state;
	__u64 trace_id, span_id;

	if (trace_otel_open(trace, span, false, &trace_id, &span_id))
		return -1;
	/* A child's context has its parent's very String. */
	if (trace_id != state->trace_id) {
		if (trace_otel_bytes(trace, trace_id, 16, state->other_trace))
			return -1;
		if (state->other_trace[0] != state->trace.id[0] ||
		    state->other_trace[1] != state->trace.id[1])
			return 0;
	}
	return trace_otel_bytes(trace, span_id, 8, &state->other_span) ? -1 : 1;
}

/* A context of the stack. */
static __always_inline int trace_context_at(struct trace *trace, __u64 index, __u64 *ret_context)
{
	struct trace_state *state = trace->state;
	__u64 at = index;

	if (index < TRACE_STACK) {
		/* The compiler would do without the mask that the verifier wants. */
		asm volatile("" : "+r"(at));
		*ret_context = state->first_contexts[at & (TRACE_STACK - 1)];
		return 0;
	}
	if (walk_read(&state->value, 8, state->contexts + 8 * index))
		return trace_fail(trace, RBPROF_E_TRACE_FAULT);
	*ret_context = state->value;
	return 0;
}

/* From the oldest context on: the first span of the same trace is the local root. */
static long trace_root_step(__u32 index, void *context)
{
	struct trace *trace = context;
	struct trace_state *state = trace->state;
	__u64 value, span;
	int same;

	if (index + 1 >= state->context_count)
		return 1;
	if (trace_context_at(trace, index, &value) || trace_otel_span(trace, value, false, &span))
		return 1;
	if (!span || span == trace->layout->qnil)
		return 0;
	same = trace_otel_is_same(trace, span);
	if (same > 0)
		trace_otel_root(state, state->other_span);
	return !!same;
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

/* Opens the stack of contexts; none on it: state->context_count 0. */
static __always_inline int trace_open_stack(struct trace *trace, __u64 stack)
{
	struct trace_state *state = trace->state;
	__u64 length, elements;
	__u32 size;

	if (trace_array(trace, stack, &length, &elements))
		return trace_fail(trace, RBPROF_E_TRACE_FAULT);
	state->context_count = length;
	state->contexts = elements;
	if (length > TRACE_STACK)
		length = TRACE_STACK;
	size = 8 * (__u32)length;
	if (size && walk_read(state->first_contexts, size, elements))
		return trace_fail(trace, RBPROF_E_TRACE_FAULT);
	return 0;
}

static __always_inline int trace_otel(struct trace *trace)
{
	struct trace_state *state = trace->state;
	__u64 stack, newest, span;

	if (!trace->tracer->current_span || trace_otel_stack(trace, &stack))
		return -1;
	if (!stack || stack == trace->layout->qnil)
		return 0;
	if (trace_open_stack(trace, stack))
		return -1;
	if (!state->context_count)
		return 0;
	if (trace_context_at(trace, state->context_count - 1, &newest) ||
	    trace_otel_span(trace, newest, true, &span))
		return -1;
	if (!span || span == trace->layout->qnil)
		return 0;
	if (trace_otel_newest(trace, span))
		return -1;
	if (!(state->trace.id[0] | state->trace.id[1]))
		return 0; /* Span::INVALID */
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
