/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The trace of a sample, and what user space has to be told beside it. */
#ifndef RBPROF_BPF_SAMPLE_TRACE_H
#define RBPROF_BPF_SAMPLE_TRACE_H

/* Until a thread asks for the same kind again, and tells an endpoint again that did not change. */
#define TRACE_ASK_PAUSE_NS	20000000
#define TRACE_ENDPOINT_PAUSE_NS 1000000000

/* Tells of an object of a kind that is not known. */
static __always_inline void trace_send_unknown(const struct rbprof_process *process,
					       struct thread_state *thread,
					       const struct trace_state *state,
					       struct rbprof_counters *c)
{
	struct rbprof_unknown event = {};
	u64 now = bpf_ktime_get_ns();

	if (thread->unknown_table == state->unknown_table &&
	    now - thread->unknown_ns < TRACE_ASK_PAUSE_NS)
		return;
	thread->unknown_table = state->unknown_table;
	thread->unknown_ns = now;
	emit_header(&event.event, RBPROF_EVENT_IVARS, sizeof(event), process->serial,
		    bpf_get_current_task_btf());
	event.object = state->unknown;
	event.table = state->unknown_table;
	if (!emit_room_for_samples() ||
	    bpf_ringbuf_output(&events, &event, sizeof(event), BPF_RB_FORCE_WAKEUP))
		count_error(c, RBPROF_E_LOST_TRACE);
}

/* Tells the endpoint, unless it is the one that the thread told last. */
static __always_inline void trace_send_endpoint(const struct rbprof_process *process,
						struct thread_state *thread,
						const struct trace_state *state,
						struct rbprof_counters *c)
{
	u64 now = bpf_ktime_get_ns();
	u32 length = state->resource_length;
	struct rbprof_endpoint *event = NULL;

	if (thread->endpoint_root == state->endpoint_root &&
	    thread->endpoint_hash == state->resource_hash &&
	    now - thread->endpoint_ns < TRACE_ENDPOINT_PAUSE_NS)
		return;
	if (emit_room_for_samples())
		event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
	if (!event) {
		count_error(c, RBPROF_E_LOST_TRACE);
		return;
	}
	if (length > sizeof(event->text))
		length = sizeof(event->text);
	emit_header(&event->event, RBPROF_EVENT_ENDPOINT, sizeof(*event), process->serial,
		    bpf_get_current_task_btf());
	event->root = state->endpoint_root;
	event->kind = state->endpoint_kind;
	event->trace_kind = state->trace.kind;
	event->length = length;
	if (bpf_probe_read_user(event->text, length, (void *)state->resource_address)) {
		bpf_ringbuf_discard(event, 0);
		count_error(c, RBPROF_E_TRACE_FAULT);
		return;
	}
	bpf_ringbuf_submit(event, emit_wake(false));
	thread->endpoint_root = state->endpoint_root;
	thread->endpoint_hash = state->resource_hash;
	thread->endpoint_ns = now;
}

/* What a search for the thread's trace begins with. False: nothing is known of the build. */
static __always_inline bool trace_prepare(const struct rbprof_process *process,
					  struct scratch *scratch, struct trace *trace)
{
	struct rbprof_runtime *runtime;
	u32 index = process->runtime;

	runtime = bpf_map_lookup_elem(&runtimes, &index);
	if (!runtime)
		return false;
	trace->layout = &runtime->layout;
	trace->tracer = &process->tracer;
	trace->state = &scratch->trace;
	return true;
}

/*
 * Fills scratch->trace from what it has of the execution context. The verifier looks at it on its
 * own, as at sample_stack(); it is called beside that, since stacks of programs add up.
 */
__noinline int sample_datadog(const struct rbprof_process *process, struct scratch *scratch)
{
	struct trace trace = {};

	if (!process || !scratch || !trace_prepare(process, scratch, &trace))
		return 0;
	trace.state->serial = process->serial;
	trace.state->wants_endpoint = !!(config.flags & RBPROF_COLLECT_ENDPOINT);
	trace_find_datadog(&trace);
	return 0;
}

/* The same for OpenTelemetry, after it. */
__noinline int sample_otel(const struct rbprof_process *process, struct scratch *scratch)
{
	struct trace trace = {};

	if (!process || !scratch || !trace_prepare(process, scratch, &trace))
		return 0;
	trace_find_otel(&trace);
	return 0;
}

/* What was found goes with the sample; user space is told the rest. */
__noinline int trace_tell(const struct rbprof_process *process, struct thread_state *thread,
			  struct scratch *scratch, struct rbprof_counters *c)
{
	const struct trace_state *state;

	if (!process || !thread || !scratch)
		return 0;
	state = &scratch->trace;
	__builtin_memcpy(&scratch->sample.trace, &state->trace, sizeof(state->trace));
	count_error(c, state->trace.error);
	if (state->unknown)
		trace_send_unknown(process, thread, state, c);
	if (state->resource && state->trace.kind)
		trace_send_endpoint(process, thread, state, c);
	return 0;
}

/* The trace of a sample whose stack has just been taken; nothing for processes without a tracer. */
static __always_inline void sample_trace(const struct rbprof_process *process,
					 struct thread_state *thread, struct scratch *scratch,
					 struct rbprof_counters *c)
{
	const struct rbprof_tracer *tracer = &process->tracer;
	bool has_datadog = tracer->datadog_key || tracer->datadog_symbol;
	bool has_otel = tracer->current_span && (tracer->otel_key || tracer->generic_ivars);

	if ((!has_datadog && !has_otel) || !scratch->trace.has_ec)
		return;
	sample_datadog(process, scratch);
	if (has_otel)
		sample_otel(process, scratch);
	trace_tell(process, thread, scratch, c);
}

#endif
