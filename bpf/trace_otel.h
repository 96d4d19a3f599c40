/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The span of OpenTelemetry's SDK that a fiber works in: the fiber's stack of contexts, a
 * fiber-local or an instance variable of the Fiber itself; of the newest context the entry of the
 * current span; of that the span context, which has the ids. Included by trace.h.
 */
#ifndef RBPROF_BPF_TRACE_OTEL_H
#define RBPROF_BPF_TRACE_OTEL_H

#define TRACE_CONTEXTS 64 /* of a stack that are looked at for the root span */
#define TRACE_BINS     64 /* tries in the table of all objects with such variables */

/* ---- variables of objects that have no place for them ---- */

static __always_inline __u64 trace_key_hash(__u64 key)
{
	/* st.c: st_numhash, do_hash */
	__u64 hash = (key >> 11 | key << 3) ^ key >> 3;

	return hash == ~0ULL ? 1ULL << 63 : hash;
}

/* A bin's number, of 1, 2, 4 or 8 bytes. */
static __always_inline int trace_bin(__u64 address, __u32 shift, __u64 *ret_bin)
{
	*ret_bin = 0;
	switch (shift) {
	case 0:
		return walk_read(ret_bin, 1, address);
	case 1:
		return walk_read(ret_bin, 2, address);
	case 2:
		return walk_read(ret_bin, 4, address);
	default:
		return walk_read(ret_bin, 8, address);
	}
}

/* words: bins, start, bound, entries; at: the bin; probe: what disturbs its number. */
static long trace_bin_step(__u32 index, void *context)
{
	struct trace *trace = context;
	const struct ruby_layout *layout = trace->layout;
	__u64 *entry = trace->state->pair, *bin = &trace->state->value;
	__u64 mask = trace->state->words[4];
	__u32 shift = trace->state->bin_shift & 3;

	(void)index;
	if (trace_bin(trace->state->words[0] + (trace->state->at << shift), shift, bin))
		goto fault;
	if (!*bin)
		return 1;
	if (*bin > 1) { /* 1: deleted; an entry's number has 2 added */
		if (walk_read(entry, 24,
			      trace->state->words[3] + (*bin - 2) * layout->st_entry__sizeof))
			goto fault;
		if (entry[1] == trace->state->key && entry[0] != ~0ULL) {
			trace->state->found = entry[2];
			return 1;
		}
	}
	/* st.c: secondary_hash() */
	trace->state->probe >>= 11;
	trace->state->at =
		((trace->state->at << 2) + trace->state->at + trace->state->probe + 1) & mask;
	return 0;
fault:
	trace_fail(trace, RBPROF_E_TRACE_FAULT);
	return 1;
}

/* The variables of an object in the table of all such objects; 0: it has none. */
static __always_inline int trace_generic(struct trace *trace, __u64 object, __u64 *ret_variables)
{
	const struct ruby_layout *layout = trace->layout;
	__u64 table, powers;

	*ret_variables = 0;
	trace->state->value = 0;
	if (walk_read(&trace->state->value, 8, trace->tracer->generic_ivars) ||
	    !trace->state->value)
		return trace_fail(trace, RBPROF_E_TRACE_FAULT);
	table = trace->state->value;
	if (walk_read(&trace->state->value, 4, table) ||
	    walk_read(trace->state->words, 32, table + layout->st_table__bins))
		return trace_fail(trace, RBPROF_E_TRACE_FAULT);
	powers = (__u32)trace->state->value;
	trace->state->key = object;
	trace->state->probe = 0;
	if (!trace->state->words[0]) { /* few: without bins */
		trace->state->at = trace->state->words[1];
		trace->state->words[1] = trace->state->words[2];
		trace->state->words[2] = trace->state->words[3];
		walk_loop(TRACE_ENTRIES, trace_st_step, trace);
		*ret_variables = trace->state->probe;
		return trace->state->trace.error ? -1 : 0;
	}
	trace->state->found = 0;
	trace->state->bin_shift = powers >> (8 * (layout->st_table__size_ind & 3)) & 3;
	trace->state->words[4] =
		(1ULL << (powers >> (8 * (layout->st_table__bin_power & 3)) & 63)) - 1;
	trace->state->probe = trace_key_hash(object);
	trace->state->at = trace->state->probe & trace->state->words[4];
	walk_loop(TRACE_BINS, trace_bin_step, trace);
	*ret_variables = trace->state->found;
	return trace->state->trace.error ? -1 : 0;
}

/* The stack of contexts that the Fiber keeps; 0: none. */
static __always_inline int trace_fiber_stack(struct trace *trace, __u64 *ret_stack)
{
	const struct ruby_layout *layout = trace->layout;
	struct trace_object fiber;
	struct rbprof_ivars_key *key = &trace->state->kind;
	__u64 self, variables, flags;

	*ret_stack = 0;
	if (walk_read(&trace->state->value, 8, trace->state->fiber + layout->fiber__self))
		return trace_fail(trace, RBPROF_E_TRACE_FAULT);
	self = trace->state->value;
	if (!trace_is_heap(trace, self))
		return 0; /* nobody asked for it as an object */
	if (walk_read(trace->state->words, sizeof(trace->state->words), self))
		return trace_fail(trace, RBPROF_E_TRACE_FAULT);
	flags = trace_word(trace, layout->rbasic__flags);
	if ((flags & RUBY_T_MASK) != RUBY_T_DATA)
		return trace_fail(trace, RBPROF_E_TRACE_FAULT);
	if (!(flags & RUBY_FL_EXIVAR))
		return 0;
	/* Up to 3.1 the class has the numbers, as for few variables of an ordinary object. */
	key->serial = trace->state->serial;
	key->table = trace_table(trace, flags | 1ULL << (layout->robject_embed_bit & 31));
	fiber.ivars = trace_ivars(key);
	if (!fiber.ivars)
		return trace_ask(trace, self, key->table);
	if (fiber.ivars->is_complex)
		return trace_fail(trace, RBPROF_E_TRACE_COMPLEX);
	if (trace_generic(trace, self, &variables))
		return -1;
	if (!variables)
		return 0;
	if (walk_read(&trace->state->object_room, 4, variables + layout->gen_ivtbl__numiv))
		return trace_fail(trace, RBPROF_E_TRACE_FAULT);
	trace->state->object = self;
	trace->state->object_table = key->table;
	trace->state->object_values = variables + layout->gen_ivtbl__ivptr;
	if (trace_ivar(trace, &fiber, RBPROF_IVAR_OTEL_STACK, ret_stack))
		return -1;
	if (*ret_stack == layout->qnil)
		*ret_stack = 0;
	return 0;
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
