/* SPDX-License-Identifier: BSD-2-Clause */
#include "dump.h"

#include <stdlib.h>
#include <string.h>

#include "../ruby/names.h"
#include "../ruby/trace_read.h"
#include "../util/utf8.h"
#include "process_tracer.h"

struct dump_trace {
	struct process_tracer process;
	struct rbprof_tracer tracer;
	struct trace_kinds kinds;
};

struct dump_trace *dump_trace__open(const struct dump_source *source)
{
	struct dump_trace *trace = calloc(1, sizeof(*trace));

	if (trace &&
	    !process_tracer__open(&trace->process, &source->dump->process, source->memory) &&
	    !tracer__find(&trace->process.source, &trace->tracer) &&
	    process_tracer__any(&trace->tracer))
		return trace;
	dump_trace__close(trace);
	return NULL;
}

void dump_trace__close(struct dump_trace *trace)
{
	if (!trace)
		return;
	trace_kinds__free(&trace->kinds);
	process_tracer__close(&trace->process);
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
		trace_read__fiber(&trace->process.source, &trace->tracer, ec, true, &trace->kinds,
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
	    !tracer__is_symbol(&source->trace->process.source, after->kind, "server"))
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
