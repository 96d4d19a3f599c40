/* SPDX-License-Identifier: BSD-2-Clause */
/* Labels of traces: finding tracers, learning the kinds of their objects, endpoints. */
#include "session_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../ruby/trace_read.h"
#include "../util/utf8.h"
#include "process_tracer.h"

#define LOOK_NS	      100000000ULL   /* between two looks at how many names there are */
#define MIN_SEARCH_NS 1000000000ULL  /* between two searches while nothing hints at a tracer */
#define MAX_SEARCH_NS 30000000000ULL /* ... after many in vain */
#define ASKED_NS      20000000ULL    /* between two searches that the kernel side asks for */
#define SHAPES_NS     20000000ULL    /* between two looks at all shapes */
#define MAX_LEARNED   4096

/* What was learned, for the children of a fork. */
struct learned {
	struct rbprof_ivars_key key;
	struct rbprof_ivars ivars;
	uint64_t time_ns; /* CLOCK_MONOTONIC, when it had been read */
};

struct tracked_trace {
	struct process_tracer tracer;
	uint32_t id_count;
	uint64_t look_ns, searched_ns, pause_ns, shapes_ns;
	uint32_t shape_count, ids_met;
	bool has_tracer;
	uint64_t current_span;
	bool is_out_of_reach; /* there is a tracer whose contexts we cannot read */
	struct tracer_info info;
	uint32_t info_ids;    /* how many names there were when it was read; 0: it was not */
	uint64_t server_kind; /* VALUE of :server, 0: not met */
	struct learned *learned;
	size_t learned_count;
	struct trace_kinds kinds; /* for what is read from outside */
};

static struct tracked_trace *trace_of(struct tracked_process *process)
{
	if (!process->trace)
		process->trace = calloc(1, sizeof(*process->trace));
	return process->trace;
}

void tracked_trace__close(struct tracked_trace *trace)
{
	if (!trace)
		return;
	process_tracer__close(&trace->tracer);
	free(trace->learned);
	trace->learned = NULL;
	trace->learned_count = 0;
	trace_kinds__free(&trace->kinds);
}

void tracked_trace__free(struct tracked_trace *trace)
{
	if (!trace)
		return;
	tracked_trace__close(trace);
	free(trace);
}

/* False: the memory of the process cannot be read (yet). */
static bool open_source(struct session *session, struct tracked_process *process,
			struct tracer_source *ret_source)
{
	struct tracked_trace *trace = trace_of(process);

	if (!trace || process->is_placeholder || process->has_ended || process->is_exiting ||
	    !session__has_names(session, process))
		return false;
	if (!trace->tracer.symbols &&
	    process_tracer__open(&trace->tracer, &process->found, process->memory))
		return false;
	*ret_source = trace->tracer.source;
	return true;
}

/* ---- tracers ---- */

/* Tells the kernel side of a tracer, or another one. What it knew and we did not find stays. */
static void tell(struct session *session, struct tracked_process *process,
		 const struct rbprof_tracer *tracer)
{
	const pid_t pid = process->found.pid;
	struct rbprof_process entry;
	struct rbprof_tracer before;

	if (programs__get_process(session->programs, pid, &entry) ||
	    entry.serial != process->serial)
		return;
	before = entry.tracer;
	if (tracer->datadog_key) {
		entry.tracer.has_older |=
			tracer->has_older ||
			(before.datadog_key && before.datadog_key != tracer->datadog_key);
		entry.tracer.datadog_key = tracer->datadog_key;
		entry.tracer.datadog_class = tracer->datadog_class;
	} else if (tracer->datadog_symbol && !entry.tracer.datadog_key) {
		entry.tracer.datadog_symbol = tracer->datadog_symbol;
		entry.tracer.datadog_class = tracer->datadog_class;
	}
	if (tracer->otel_key)
		entry.tracer.otel_key = tracer->otel_key;
	if (tracer->generic_ivars)
		entry.tracer.generic_ivars = tracer->generic_ivars;
	if (tracer->current_span)
		entry.tracer.current_span = tracer->current_span;
	if (process_tracer__any(&entry.tracer)) {
		entry.tracer.ids_address = tracer->ids_address;
		entry.tracer.ids = tracer->ids;
	}
	if (memcmp(&before, &entry.tracer, sizeof(before)))
		programs__change_process(session->programs, pid, &entry);
}

struct learning {
	struct session *session;
	struct tracked_process *process;
};

static void keep_learned(struct tracked_trace *trace, const struct rbprof_ivars_key *key,
			 const struct rbprof_ivars *ivars)
{
	struct learned *learned;

	if (trace->learned_count >= MAX_LEARNED)
		return;
	learned = reallocarray(trace->learned, trace->learned_count + 1, sizeof(*learned));
	if (!learned)
		return;
	trace->learned = learned;
	learned[trace->learned_count++] = (struct learned){ *key, *ivars, clock__now_ns() };
}

static void learn(uint64_t table, const struct rbprof_ivars *ivars, void *context)
{
	const struct learning *learning = context;
	const struct rbprof_ivars_key key = { learning->process->serial, table };

	if (!programs__set_ivars(learning->session->programs, &key, ivars))
		keep_learned(learning->process->trace, &key, ivars);
}

/* All that may be met soon, if the process has a tracer. */
static void learn_shapes(struct session *session, struct tracked_process *process,
			 const struct tracer_source *source, uint64_t now)
{
	struct learning learning = { session, process };
	struct tracked_trace *trace = process->trace;

	uint32_t i, met = 0;

	for (i = 0; i < RBPROF_IVAR_COUNT; i++)
		met += trace->tracer.ivar_ids[i] != 0;
	/* With more names there is more to find in those that were looked at. */
	if (met != trace->ids_met)
		trace->shape_count = 0;
	else if (now - trace->shapes_ns < SHAPES_NS)
		return;
	trace->ids_met = met;
	trace->shapes_ns = now;
	tracer__shapes(source, &trace->shape_count, learn, &learning);
}

/* What people are told; where names came since it was last read, libraries may have. */
static int read_info(struct tracked_trace *trace, const struct tracer_source *source,
		     const struct rbprof_tracer *found)
{
	uint32_t ids;
	int err = tracer__id_count(source, &ids);

	if (!err)
		err = tracer_info__read(source, found, &trace->info);
	if (!err)
		trace->info_ids = ids;
	return err;
}

/* Contexts that cannot be read in this build are not found: what is loaded tells of them. */
static void look_for_unreadable(struct tracked_trace *trace, const struct tracer_source *source,
				const struct rbprof_tracer *found)
{
	if (tracer_info__no_fiber_variables(source) && !read_info(trace, source, found))
		trace->is_out_of_reach = trace->info.otel.out_of_reach;
}

static void search(struct session *session, struct tracked_process *process,
		   const struct tracer_source *source, uint64_t now)
{
	struct tracked_trace *trace = process->trace;
	struct rbprof_tracer tracer;

	trace->searched_ns = now;
	if (tracer__find(source, &tracer))
		return;
	trace->current_span = tracer.current_span;
	trace->has_tracer |= process_tracer__any(&tracer);
	if (trace->has_tracer)
		learn_shapes(session, process, source, now);
	tell(session, process, &tracer);
	look_for_unreadable(trace, source, &tracer);
}

/* A collection that moves objects moves the key, too; the constant then has its new place. */
static bool has_moved(const struct tracked_trace *trace, const struct tracer_source *source)
{
	uint64_t value;

	return trace->tracer.current_span_at &&
	       !memory__read_u64(source->memory, trace->tracer.current_span_at, &value) &&
	       value != trace->current_span;
}

/* A tracer uses a name that nobody used before: where none came, there is no new one. */
static void look(struct session *session, struct tracked_process *process, uint64_t now)
{
	struct tracked_trace *trace = trace_of(process);
	struct tracer_source source;
	uint32_t count;

	if (!trace || now < trace->look_ns)
		return;
	trace->look_ns = now + LOOK_NS;
	if (!open_source(session, process, &source) || tracer__id_count(&source, &count))
		return;
	if (trace->has_tracer)
		learn_shapes(session, process, &source, now);
	if (count != trace->id_count || has_moved(trace, &source)) {
		trace->pause_ns = MIN_SEARCH_NS;
	} else if (now - trace->searched_ns < trace->pause_ns) {
		return;
	} else if (trace->pause_ns < MAX_SEARCH_NS) {
		trace->pause_ns *= 2;
	}
	trace->id_count = count;
	search(session, process, &source, now);
}

void session__look_for_tracers(struct session *session)
{
	struct tracked_process *process;
	const uint64_t now = clock__now_ns();

	if (session->options->no_trace || !session->start_ns)
		return;
	for (process = session->processes; process; process = process->hh.next) {
		if (!process->is_placeholder && !process->has_ended && !process->is_exiting &&
		    process->proof == TRACKED_PROVEN)
			look(session, process, now);
	}
}

/* What labels are found by, as the kernel side knows it. */
static void set_keys(json_t *object, const struct rbprof_tracer *tracer)
{
	json_object_set_new(object, "tracer_keys",
			    json_pack("{s:I, s:I, s:I, s:I, s:I}", "datadog_key",
				      (json_int_t)tracer->datadog_key, "datadog_symbol",
				      (json_int_t)tracer->datadog_symbol, "otel_key",
				      (json_int_t)tracer->otel_key, "generic_ivars_address",
				      (json_int_t)tracer->generic_ivars, "current_span_address",
				      (json_int_t)tracer->current_span));
}

void session__describe_tracer(struct session *session, struct tracked_process *process,
			      json_t *object)
{
	struct tracked_trace *trace = process->trace;
	struct rbprof_process entry = { .serial = 0 };
	struct tracer_source source;

	if (session->options->no_trace) {
		process_tracer__not_known(object, "nobody looks for it (--no-trace)");
		return;
	}
	if (trace && trace->searched_ns && open_source(session, process, &source) &&
	    !programs__get_process(session->programs, process->found.pid, &entry)) {
		set_keys(object, &entry.tracer);
		read_info(trace, &source, &entry.tracer);
	}
	if (trace && trace->info_ids)
		process_tracer__describe(object, &trace->info);
	else
		process_tracer__not_known(object, process->has_ended ? "the process has ended"
								     : "it was not looked for yet");
}

bool session__is_out_of_reach(const struct tracked_process *process)
{
	return process->trace && process->trace->is_out_of_reach;
}

/* ---- kinds of objects ---- */

void session__on_unknown(struct session *session, const struct rbprof_unknown *unknown)
{
	struct tracked_process *process = session__find(session, unknown->event.serial);
	const uint64_t now = clock__now_ns();
	struct learning learning = { session, process };
	struct tracer_source source;
	struct rbprof_ivars ivars;
	uint64_t table;

	if (!process || !open_source(session, process, &source))
		return;
	if (!tracer__ivars(&source, unknown->object, &table, &ivars))
		learn(table, &ivars, &learning);
	learn_shapes(session, process, &source, now);
	/* What was the context's class has moved, or is another's. */
	if (!unknown->table && now - process->trace->searched_ns >= ASKED_NS)
		search(session, process, &source, now);
}

void session__fork_trace(struct session *session, const struct tracked_process *parent,
			 struct tracked_process *child, uint64_t time_ns)
{
	const struct tracked_trace *from = parent->trace;
	struct tracked_trace *trace;
	size_t i;

	if (!from || !from->learned_count)
		return;
	trace = trace_of(child);
	for (i = 0; trace && i < from->learned_count; i++) {
		struct rbprof_ivars_key key = from->learned[i].key;

		/* What came later may mean another thing there. */
		if (from->learned[i].time_ns >= time_ns)
			continue;
		key.serial = child->serial;
		if (!programs__set_ivars(session->programs, &key, &from->learned[i].ivars))
			keep_learned(trace, &key, &from->learned[i].ivars);
		/* It was known before the fork, so it is for a fork of the fork. */
		if (trace->learned_count)
			trace->learned[trace->learned_count - 1].time_ns = from->learned[i].time_ns;
	}
}

/* ---- endpoints ---- */

/* Whether the kind of a root span is one of a server: a Symbol, which lives as long as its id. */
static bool is_server(struct session *session, struct tracked_process *process, uint64_t kind)
{
	struct tracked_trace *trace = trace_of(process);
	struct tracer_source source;

	if (trace && trace->server_kind && kind == trace->server_kind)
		return true;
	if (!open_source(session, process, &source) || !tracer__is_symbol(&source, kind, "server"))
		return false;
	trace->server_kind = kind;
	return true;
}

const struct rbprof_tracer *session__tracer(struct session *session,
					    struct tracked_process *process,
					    struct rbprof_tracer *ret_tracer,
					    struct tracer_source *ret_source,
					    struct trace_kinds **ret_kinds)
{
	struct rbprof_process entry;

	if (session->options->no_trace || !process->trace ||
	    programs__get_process(session->programs, process->found.pid, &entry) ||
	    entry.serial != process->serial || !process_tracer__any(&entry.tracer) ||
	    !open_source(session, process, ret_source))
		return NULL;
	*ret_tracer = entry.tracer;
	*ret_kinds = &process->trace->kinds;
	return ret_tracer;
}

void session__on_trace_reading(struct session *session, struct tracked_process *process,
			       const struct trace_reading *reading)
{
	char text[UTF8_LIMIT_NAME + 1];

	if (reading->trace.error)
		process->errors[reading->trace.error]++;
	if (!reading->length || (reading->trace.kind == RBPROF_TRACE_OTEL &&
				 !is_server(session, process, reading->kind)))
		return;
	utf8__clean(reading->text, reading->length, text, UTF8_LIMIT_NAME);
	session__keep_endpoint(process, reading->trace.root, text);
}

void session__on_endpoint(struct session *session, const struct rbprof_endpoint *event)
{
	struct tracked_process *process = session__find(session, event->event.serial);
	char text[UTF8_LIMIT_NAME + 1];

	if (!process || process->is_placeholder || event->length > sizeof(event->text))
		return;
	if (event->trace_kind == RBPROF_TRACE_OTEL && !is_server(session, process, event->kind))
		return;
	utf8__clean(event->text, event->length, text, UTF8_LIMIT_NAME);
	session__keep_endpoint(process, event->root, text);
}
