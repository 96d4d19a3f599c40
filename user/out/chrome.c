/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Chrome's trace events, for chrome://tracing and Perfetto: for each thread its methods as slices
 * within slices, and below the innermost one a slice for the sample itself, whose arguments are
 * its values and labels.
 *
 * A sample takes the time before its end that its wall-time says, but never what the one before
 * has taken: a running one adds up what may have been in pieces, and slices must not overlap. Its
 * values are exact, the lengths of slices are not.
 */
#include "../agg/stack_table.h"
#include "out.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "json_text.h"
#include "threads.h"

#define NS_PER_US	  1000
#define DEFAULT_PERIOD_NS 10101010

struct writer {
	struct profile *profile;
	FILE *stream;
	struct out_threads threads;
	const struct out_thread *thread;
	char ids[96];	/* of the thread, as they end every event */
	bool has_event; /* one was written, so a comma comes before the next */
	uint32_t *open; /* functions of open slices, root first */
	uint32_t depth;
	char **functions;  /* by function id: name and place, rendered when first used */
	int64_t origin_ns; /* time 0 of the file */
	int64_t period_ns;
	int wall_type, cpu_type; /* -1: not in the profile */
	int error;
};

/* `"name":"Foo#bar","args":{"file":"/app/foo.rb:1"}`: what every slice of it begins with. */
static const char *function_text(struct writer *writer, uint32_t id)
{
	const struct profile *profile = writer->profile;
	const struct profile_function *function = profile__function_at(profile, id);
	size_t length;
	FILE *memory;

	if (writer->functions[id])
		return writer->functions[id];
	memory = open_memstream(&writer->functions[id], &length);
	if (!memory)
		goto failed;
	fputs_unlocked("\"name\":", memory);
	json_text__id(memory, profile, function->name);
	fputs_unlocked(",\"args\":{\"file\":", memory);
	json_text__id(memory, profile, function->file);
	if (function->start_line > 0) {
		fputs_unlocked(",\"line\":", memory);
		json_text__number(memory, function->start_line);
	}
	putc('}', memory);
	if (fclose(memory))
		goto failed;
	return writer->functions[id];
failed:
	writer->error = -ENOMEM;
	return "\"name\":\"\"";
}

static void start_event(struct writer *writer, const char *kind, int64_t ns)
{
	if (writer->has_event)
		fputs_unlocked(",\n", writer->stream);
	writer->has_event = true;
	fputs_unlocked("{\"ph\":\"", writer->stream);
	fputs_unlocked(kind, writer->stream);
	fputs_unlocked("\",\"ts\":", writer->stream);
	json_text__decimal(writer->stream, ns - writer->origin_ns, NS_PER_US);
	fputs_unlocked(writer->ids, writer->stream);
}

static void end_slice(struct writer *writer, int64_t ns)
{
	start_event(writer, "E", ns);
	putc_unlocked('}', writer->stream);
}

/* Closes open slices down to this depth. */
static void close_slices(struct writer *writer, uint32_t depth, int64_t ns)
{
	for (; writer->depth > depth; writer->depth--)
		end_slice(writer, ns);
}

static void open_slice(struct writer *writer, uint32_t function, int64_t ns)
{
	start_event(writer, "B", ns);
	putc_unlocked(',', writer->stream);
	fputs_unlocked(function_text(writer, function), writer->stream);
	putc_unlocked('}', writer->stream);
	writer->open[writer->depth++] = function;
}

static uint32_t function_of(const struct writer *writer, uint32_t frame)
{
	return profile__frame_at(writer->profile, frame)->function;
}

/* Open slices that the stack has as well, from the root on. */
static uint32_t common_depth(const struct writer *writer, struct profile_stack stack)
{
	uint32_t common = 0;

	while (common < writer->depth && common < stack.count &&
	       writer->open[common] == function_of(writer, stack.frames[stack.count - 1 - common]))
		common++;
	return common;
}

/* ---- samples ---- */

/* Whether the thread, the same on all its samples, tells this label. */
static bool is_of_thread(const char *key)
{
	static const char *const keys[] = { "thread id", "thread name", "process",
					    "pid",	 "ruby",	"end_timestamp_ns" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!strcmp(keys[i], key))
			return true;
	return false;
}

static void write_label(struct writer *writer, const struct profile_label *label)
{
	json_text__id(writer->stream, writer->profile, label->key);
	putc_unlocked(':', writer->stream);
	if (label->text == PROFILE_NONE)
		json_text__exact(writer->stream, label->number);
	else
		json_text__id(writer->stream, writer->profile, label->text);
}

static void write_arguments(struct writer *writer, const struct profile_row *row)
{
	struct profile_label_set set = profile__label_set_at(writer->profile, row->label_set);
	FILE *stream = writer->stream;

	for (size_t i = 0; i < profile__type_count(writer->profile); i++) {
		fputs_unlocked(i ? "," : ",\"args\":{", stream);
		json_text__cstring(stream, profile__type(writer->profile, i)->type);
		putc_unlocked(':', stream);
		json_text__number(stream, row->values[i]);
	}
	for (uint32_t i = 0; i < set.count; i++) {
		if (is_of_thread(profile__text(writer->profile, set.labels[i].key)))
			continue;
		putc_unlocked(',', stream);
		write_label(writer, &set.labels[i]);
	}
	putc_unlocked('}', stream);
}

static void write_sample(struct writer *writer, const struct profile_row *row, int64_t start_ns,
			 int64_t end_ns)
{
	uint32_t state = out_label_text(writer->profile, row->label_set, "state");

	start_event(writer, "B", start_ns);
	fputs_unlocked(",\"cat\":\"sample\",\"name\":", writer->stream);
	if (out_label(writer->profile, row->label_set, "event"))
		json_text__cstring(writer->stream, "gc");
	else if (state == PROFILE_NONE)
		json_text__cstring(writer->stream, "sample");
	else
		json_text__id(writer->stream, writer->profile, state);
	write_arguments(writer, row);
	putc_unlocked('}', writer->stream);
	end_slice(writer, end_ns);
}

static int64_t length_of(const struct writer *writer, const struct profile_row *row)
{
	int type = writer->wall_type >= 0 ? writer->wall_type : writer->cpu_type;
	int64_t length = type >= 0 ? row->values[type] : 0;

	return length > 0 ? length : 0;
}

/* A row's slices, from where the one before has ended; where this one ends. */
static int64_t write_row(struct writer *writer, const struct out_row *timed, int64_t before_ns)
{
	const struct profile_row *row = profile__row(writer->profile, timed->row);
	struct profile_stack stack = profile__stack_at(writer->profile, row->stack);
	int64_t end_ns = timed->end_ns, start_ns;
	uint32_t common;

	if (end_ns == OUT_NO_TIME || end_ns < before_ns)
		end_ns = before_ns;
	if (__builtin_sub_overflow(end_ns, length_of(writer, row), &start_ns) ||
	    start_ns < before_ns)
		start_ns = before_ns;
	/* Clocks are read a moment later than ticks come: what is so near is one slice. */
	if (start_ns - before_ns > writer->period_ns ||
	    out_label(writer->profile, row->label_set, "event")) {
		close_slices(writer, 0, before_ns);
	} else {
		start_ns = before_ns;
	}
	common = common_depth(writer, stack);
	close_slices(writer, common, start_ns);
	for (uint32_t i = stack.count - common; i-- > 0;)
		open_slice(writer, function_of(writer, stack.frames[i]), start_ns);
	write_sample(writer, row, start_ns, end_ns);
	return end_ns;
}

/* ---- threads ---- */

static void write_name(struct writer *writer, const char *what, uint32_t name)
{
	struct profile_label_set set =
		profile__label_set_at(writer->profile, writer->thread->labels);

	start_event(writer, "M", writer->origin_ns);
	fprintf(writer->stream, ",\"name\":\"%s\",\"args\":{\"name\":", what);
	json_text__id(writer->stream, writer->profile, name);
	for (uint32_t i = 0; i < set.count; i++) {
		const char *key = profile__text(writer->profile, set.labels[i].key);

		if (!is_of_thread(key) || !strcmp(key, "end_timestamp_ns"))
			continue;
		putc_unlocked(',', writer->stream);
		write_label(writer, &set.labels[i]);
	}
	fputs_unlocked("}}", writer->stream);
}

static void write_thread(struct writer *writer, const struct out_thread *thread)
{
	const struct out_row *rows = &writer->threads.rows[thread->first];
	int64_t at_ns = writer->origin_ns;

	writer->thread = thread;
	snprintf(writer->ids, sizeof(writer->ids), ",\"pid\":%lld,\"tid\":%lld",
		 (long long)thread->pid, (long long)thread->tid);
	write_name(writer, "process_name", thread->process);
	write_name(writer, "thread_name", thread->name == PROFILE_NONE ? thread->id : thread->name);
	if (thread->count && rows[0].end_ns != OUT_NO_TIME) {
		int64_t length = length_of(writer, profile__row(writer->profile, rows[0].row));

		/* Nothing is before the first one. */
		if (!__builtin_sub_overflow(rows[0].end_ns, length, &at_ns) &&
		    at_ns < writer->origin_ns)
			at_ns = writer->origin_ns;
	}
	for (size_t i = 0; i < thread->count; i++)
		at_ns = write_row(writer, &rows[i], at_ns);
	close_slices(writer, 0, at_ns);
}

/* The recording's start, or of a foreign file that has none the first sample. */
static int64_t find_origin(const struct writer *writer)
{
	int64_t origin_ns = profile__info(writer->profile)->time_ns, first_ns = INT64_MAX;

	for (size_t i = 0; i < profile__row_count(writer->profile); i++) {
		int64_t end_ns = writer->threads.rows[i].end_ns;

		if (end_ns != OUT_NO_TIME && end_ns < first_ns)
			first_ns = end_ns;
	}
	/* A difference to any sample's end has to be one that can be formed. */
	if (first_ns != INT64_MAX && (origin_ns <= 0 || first_ns < origin_ns))
		origin_ns = first_ns < 0 ? 0 : first_ns;
	return origin_ns < 0 ? 0 : origin_ns;
}

static int writer__init(struct writer *writer)
{
	const struct profile_info *info = profile__info(writer->profile);
	size_t depth = profile__stacks(writer->profile)->depth;
	int error = out_threads__init(&writer->threads, writer->profile);

	if (error)
		return error;
	writer->open = calloc(depth + 1, sizeof(*writer->open));
	writer->functions =
		calloc(profile__function_count(writer->profile) + 1, sizeof(*writer->functions));
	if (!writer->open || !writer->functions)
		return -ENOMEM;
	writer->origin_ns = find_origin(writer);
	writer->wall_type = profile__type_index(writer->profile, "wall-time");
	writer->cpu_type = profile__type_index(writer->profile, "cpu-time");
	writer->period_ns = DEFAULT_PERIOD_NS;
	if (info->period > 0 && info->period_type.unit &&
	    !strcmp(info->period_type.unit, "nanoseconds"))
		writer->period_ns = info->period;
	return 0;
}

static void writer__free(struct writer *writer)
{
	if (writer->functions)
		for (size_t i = 0; i < profile__function_count(writer->profile); i++)
			free(writer->functions[i]);
	free(writer->functions);
	free(writer->open);
	out_threads__free(&writer->threads);
}

int chrome__write(struct profile *profile, const struct out_options *options, FILE *stream)
{
	struct writer writer = { .profile = profile, .stream = stream };
	int error = writer__init(&writer);

	(void)options;
	if (error)
		goto out;
	fputs_unlocked("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n", stream);
	for (size_t i = 0; i < writer.threads.count; i++)
		write_thread(&writer, &writer.threads.threads[i]);
	fputs_unlocked("\n],\"otherData\":{\"exporter\":\"rbprof-bpf\",\"time_ns\":\"", stream);
	json_text__number(stream, writer.origin_ns);
	fputs_unlocked("\",\"duration_ns\":", stream);
	json_text__exact(stream, profile__info(profile)->duration_ns);
	fputs_unlocked("}}\n", stream);
	error = writer.error;
out:
	writer__free(&writer);
	return error;
}

const char *chrome__refuse(const struct profile *profile)
{
	if (!profile__row_count(profile) || out_threads__has_times(profile))
		return NULL;
	return "chrome needs the time of each sample: record with --timeline";
}
