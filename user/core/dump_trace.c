/* SPDX-License-Identifier: BSD-2-Clause */
#include "dump.h"

#include <stdlib.h>
#include <string.h>

#include "../ruby/names.h"
#include "../ruby/trace_read.h"
#include "../util/utf8.h"

struct dump_trace {
	struct tracer_source source;
	struct symbols *symbols;
	struct rbprof_tracer tracer;
	struct trace_kinds kinds;
	uint64_t ivar_ids[RBPROF_IVAR_COUNT], current_span_at;
};

struct dump_trace *dump_trace__open(const struct dump_source *source)
{
	const struct ruby_process *process = &source->dump->process;
	struct dump_trace *trace = NULL;
	size_t i;

	if (tracer__supported(source->layout))
		trace = calloc(1, sizeof(*trace));
	if (!trace)
		return NULL;
	if (symbols__new(source->memory, source->layout, ruby_process__symbols(process),
			 &trace->symbols)) {
		free(trace);
		return NULL;
	}
	trace->source = (struct tracer_source){
		.memory = source->memory,
		.layout = source->layout,
		.symbols = trace->symbols,
		.vm_ptr_address = ruby_process__vm_ptr(process),
		.symbols_address = ruby_process__symbols(process),
		.shapes_address = ruby_process__shapes(process),
		.ivar_ids = trace->ivar_ids,
		.current_span_at = &trace->current_span_at,
	};
	for (i = 0; i < TRACER_GENERIC_MAX; i++)
		trace->source.generic_ivars[i] = ruby_process__generic_ivars(process, i);
	if (!tracer__find(&trace->source, &trace->tracer) &&
	    (trace->tracer.datadog_key || trace->tracer.datadog_symbol || trace->tracer.otel_key ||
	     trace->tracer.generic_ivars))
		return trace;
	dump_trace__close(trace);
	return NULL;
}

void dump_trace__close(struct dump_trace *trace)
{
	if (!trace)
		return;
	trace_kinds__free(&trace->kinds);
	symbols__free(trace->symbols);
	free(trace);
}

void dump_trace__read(const struct dump_source *source, const struct dump_thread *thread,
		      struct trace_reading *ret_reading)
{
	struct dump_trace *trace = source->trace;
	uint64_t ec;

	memset(ret_reading, 0, sizeof(*ret_reading));
	if (trace && thread->ruby.address &&
	    !memory__read_u64(source->memory, thread->ruby.address + source->layout->th__ec, &ec))
		trace_read__fiber(&trace->source, &trace->tracer, ec, true, &trace->kinds,
				  ret_reading);
}

void dump_trace__keep(const struct dump_source *source, const struct trace_reading *before,
		      const struct trace_reading *after, struct dump_thread *thread)
{
	char text[UTF8_LIMIT_NAME + 1];
	size_t length;

	memset(&thread->trace, 0, sizeof(thread->trace));
	thread->endpoint = PROFILE_NONE;
	if (!after->trace.kind || memcmp(&before->trace, &after->trace, sizeof(after->trace)))
		return;
	thread->trace = after->trace;
	if (after->trace.kind == RBPROF_TRACE_OTEL &&
	    !tracer__is_symbol(&source->trace->source, after->kind, "server"))
		return;
	if (!after->length || after->length != before->length ||
	    memcmp(before->text, after->text, after->length))
		return;
	length = utf8__clean(after->text, after->length, text, UTF8_LIMIT_NAME);
	thread->endpoint = profile__string(source->dump->profile, text, length);
}

static void set_hex(json_t *labels, const char *key, const void *bytes, size_t count)
{
	char text[2 * 16 + 1];

	trace_read__hex(bytes, count, text);
	json_object_set_new(labels, key, json_string(text));
}

void dump_trace__labels(const struct dump *dump, const struct dump_thread *thread, json_t *labels)
{
	const struct rbprof_trace *trace = &thread->trace;

	if (trace->kind == RBPROF_TRACE_DATADOG) {
		json_object_set_new(labels, "local root span id",
				    json_integer((json_int_t)trace->root));
		json_object_set_new(labels, "span id", json_integer((json_int_t)trace->span));
	} else if (trace->kind == RBPROF_TRACE_OTEL) {
		set_hex(labels, "trace_id", trace->id, sizeof(trace->id));
		set_hex(labels, "span_id", &trace->span, sizeof(trace->span));
	}
	if (thread->endpoint == PROFILE_NONE)
		return;
	json_object_set_new(labels, "trace endpoint",
			    json_string(profile__text(dump->profile, thread->endpoint)));
	json_object_set_new(labels, "endpoint source", json_string("trace"));
}
