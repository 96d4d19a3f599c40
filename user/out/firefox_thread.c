/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A thread of a Firefox profile. The profiler shows a sample from its time on until the next one's:
 * so the time is when the sample starts. Without times samples are laid one after the other, each
 * as long as its value says.
 */
#include "firefox.h"

#include <string.h>

#include "json_text.h"

static const struct out_row *row_at(const struct firefox *firefox, const struct out_thread *thread,
				    size_t index)
{
	return &firefox->threads.rows[thread->first + index];
}

static const struct profile_row *values_at(const struct firefox *firefox,
					   const struct out_thread *thread, size_t index)
{
	return profile__row(firefox->profile, row_at(firefox, thread, index)->row);
}

static int64_t value_of(const struct firefox *firefox, const struct profile_row *row)
{
	return row->values[firefox->options->type];
}

/* What has no value of this type says something only where it has a place in time. */
static bool is_shown(const struct firefox *firefox, const struct out_thread *thread, size_t index)
{
	return row_at(firefox, thread, index)->end_ns != OUT_NO_TIME ||
	       value_of(firefox, values_at(firefox, thread, index));
}

/* ---- when ---- */

/* Of a row's wall-time or, without one, of its CPU. */
static int64_t length_of(const struct firefox *firefox, const struct profile_row *row)
{
	int type = firefox->wall_type >= 0 ? firefox->wall_type : firefox->cpu_type;
	int64_t length = type >= 0 ? row->values[type] : 0;

	return length > 0 ? length : 0;
}

/* From when to when, ns since the origin; false: it has no time. */
static bool find_interval(const struct firefox *firefox, const struct out_row *row,
			  int64_t *ret_start_ns, int64_t *ret_end_ns)
{
	int64_t end_ns, start_ns;

	if (row->end_ns == OUT_NO_TIME ||
	    __builtin_sub_overflow(row->end_ns, firefox->origin_ns, &end_ns))
		return false;
	if (end_ns < 0)
		end_ns = 0;
	start_ns = end_ns - length_of(firefox, profile__row(firefox->profile, row->row));
	*ret_start_ns = start_ns > 0 ? start_ns : 0;
	*ret_end_ns = end_ns;
	return true;
}

/* How much of the axis a sample without a time takes. */
static int64_t width_of(const struct firefox *firefox, int64_t value)
{
	int64_t width;

	if (value <= 0 || firefox->weight == FIREFOX_BYTES)
		return firefox->period_ns;
	if (firefox->weight == FIREFOX_TIME)
		return value;
	return __builtin_mul_overflow(value, firefox->period_ns, &width) ? 0 : width;
}

static void find_starts(struct firefox *firefox, const struct out_thread *thread)
{
	int64_t *starts_ns = &firefox->starts_ns[thread->first];
	int64_t at_ns = 0, end_ns = 0;

	for (size_t i = 0; i < thread->count; i++) {
		int64_t value = value_of(firefox, values_at(firefox, thread, i)), start_ns;

		if (find_interval(firefox, row_at(firefox, thread, i), &start_ns, &end_ns)) {
			/* Samples come in order, and none before the one before has ended. */
			starts_ns[i] = start_ns > at_ns ? start_ns : at_ns;
			if (end_ns > at_ns)
				at_ns = end_ns;
			continue;
		}
		starts_ns[i] = at_ns;
		if (is_shown(firefox, thread, i) && !firefox->threads.has_times &&
		    __builtin_add_overflow(at_ns, width_of(firefox, value), &at_ns))
			at_ns = starts_ns[i];
	}
}

/* ---- samples ---- */

static void write_weight(const struct firefox *firefox, int64_t value)
{
	if (firefox->weight == FIREFOX_TIME)
		json_text__decimal(firefox->stream, value, FIREFOX_NS_PER_MS);
	else
		json_text__number(firefox->stream, value);
}

enum column {
	COLUMN_STACK = 0,
	COLUMN_TIME,
	COLUMN_WEIGHT,
	COLUMN_CPU,
	COLUMN_COUNT,
};

static void write_cell(const struct firefox *firefox, const struct out_thread *thread, size_t index,
		       enum column column, int64_t cpu_before_ns)
{
	const struct profile_row *row = values_at(firefox, thread, index);

	switch (column) {
	case COLUMN_STACK:
		json_text__number(firefox->stream, firefox->nodes[row->stack]);
		break;
	case COLUMN_TIME:
		json_text__decimal(firefox->stream, firefox->starts_ns[thread->first + index],
				   FIREFOX_NS_PER_MS);
		break;
	case COLUMN_WEIGHT:
		write_weight(firefox, value_of(firefox, row));
		break;
	default:
		json_text__number(firefox->stream, cpu_before_ns);
	}
}

/* CPU is told as used between the sample before and this one, that is by the one before. */
static size_t write_column(const struct firefox *firefox, const struct out_thread *thread,
			   enum column column)
{
	static const char *const names[COLUMN_COUNT] = { "stack", "time", "weight",
							 "threadCPUDelta" };
	int64_t cpu_ns = 0;
	size_t count = 0;

	fprintf(firefox->stream, "\"%s\":[", names[column]);
	for (size_t i = 0; i < thread->count; i++) {
		if (!is_shown(firefox, thread, i))
			continue;
		if (count++)
			putc_unlocked(',', firefox->stream);
		write_cell(firefox, thread, i, column, cpu_ns);
		if (firefox->cpu_type >= 0)
			cpu_ns = values_at(firefox, thread, i)->values[firefox->cpu_type];
	}
	fputs("],\n", firefox->stream);
	return count;
}

static void write_samples(const struct firefox *firefox, const struct out_thread *thread)
{
	static const char *const types[] = {
		[FIREFOX_SAMPLES] = "samples",
		[FIREFOX_TIME] = "tracing-ms",
		[FIREFOX_BYTES] = "bytes",
	};
	size_t count;

	fputs("\"samples\":{", firefox->stream);
	write_column(firefox, thread, COLUMN_STACK);
	write_column(firefox, thread, COLUMN_TIME);
	if (firefox->threads.has_times && firefox->cpu_type >= 0)
		write_column(firefox, thread, COLUMN_CPU);
	count = write_column(firefox, thread, COLUMN_WEIGHT);
	fprintf(firefox->stream, "\"weightType\":\"%s\",\"length\":%zu}", types[firefox->weight],
		count);
}

/* ---- markers ---- */

struct marker {
	enum firefox_text name;
	enum firefox_category category;
	uint32_t labels; /* label set */
	int64_t start_ns, end_ns;
};

/* A collection or a wait, if the row is one and has a time. */
static bool find_marker(const struct firefox *firefox, const struct out_row *row,
			struct marker *ret_marker)
{
	uint32_t labels = profile__row(firefox->profile, row->row)->label_set;
	uint32_t event = out_label_text(firefox->profile, labels, "event");
	uint32_t state = out_label_text(firefox->profile, labels, "state");

	if (!find_interval(firefox, row, &ret_marker->start_ns, &ret_marker->end_ns))
		return false;
	ret_marker->labels = labels;
	if (event != PROFILE_NONE && !strcmp(profile__text(firefox->profile, event), "gc")) {
		ret_marker->name = FIREFOX_TEXT_GC;
		ret_marker->category = FIREFOX_GC;
		return true;
	}
	if (state == PROFILE_NONE || !strcmp(profile__text(firefox->profile, state), "had cpu"))
		return false;
	ret_marker->name = strcmp(profile__text(firefox->profile, state), "waiting for gvl")
				   ? FIREFOX_TEXT_WAIT
				   : FIREFOX_TEXT_GVL_WAIT;
	ret_marker->category = FIREFOX_WAIT;
	return true;
}

static void write_field(const struct firefox *firefox, const struct marker *marker, const char *key,
			const char *label)
{
	uint32_t text = out_label_text(firefox->profile, marker->labels, label);

	if (text != PROFILE_NONE)
		fprintf(firefox->stream, ",\"%s\":%u", key, text);
}

static void write_data(const struct firefox *firefox, const struct marker *marker)
{
	if (marker->name == FIREFOX_TEXT_GC) {
		fputs("{\"type\":\"GC\"", firefox->stream);
		write_field(firefox, marker, "gcType", "gc type");
		write_field(firefox, marker, "cause", "gc cause");
		write_field(firefox, marker, "reason", "gc reason");
		write_field(firefox, marker, "thread", "gc thread");
		write_field(firefox, marker, "source", "gc source");
	} else {
		fputs("{\"type\":\"Wait\"", firefox->stream);
		write_field(firefox, marker, "state", "state");
		write_field(firefox, marker, "holder", "gvl holder");
	}
	putc('}', firefox->stream);
}

static void write_marker_cell(const struct firefox *firefox, const struct marker *marker,
			      const char *column)
{
	if (!strcmp(column, "data"))
		write_data(firefox, marker);
	else if (!strcmp(column, "name"))
		json_text__number(firefox->stream, firefox__text(firefox, marker->name));
	else if (!strcmp(column, "startTime"))
		json_text__decimal(firefox->stream, marker->start_ns, FIREFOX_NS_PER_MS);
	else if (!strcmp(column, "endTime"))
		json_text__decimal(firefox->stream, marker->end_ns, FIREFOX_NS_PER_MS);
	else if (!strcmp(column, "category"))
		json_text__number(firefox->stream, marker->category);
	else
		putc('1', firefox->stream); /* phase: has a start and an end */
}

static void write_markers(const struct firefox *firefox, const struct out_thread *thread)
{
	static const char *const columns[] = { "data",	  "name",  "startTime",
					       "endTime", "phase", "category" };
	size_t count = 0;

	fputs(",\n\"markers\":{", firefox->stream);
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		fprintf(firefox->stream, "\"%s\":[", columns[i]);
		count = 0;
		for (size_t j = 0; firefox->threads.has_times && j < thread->count; j++) {
			struct marker marker;

			if (!find_marker(firefox, row_at(firefox, thread, j), &marker))
				continue;
			if (count++)
				putc(',', firefox->stream);
			write_marker_cell(firefox, &marker, columns[i]);
		}
		fputs("],\n", firefox->stream);
	}
	fprintf(firefox->stream, "\"length\":%zu}", count);
}

/* ---- the thread ---- */

/* "ruby" of "ruby (1234)". */
static void write_process_name(const struct firefox *firefox, uint32_t process)
{
	const char *text = process == PROFILE_NONE ? "" : profile__text(firefox->profile, process);
	const char *end = strrchr(text, '(');
	size_t length =
		end && end > text + 1 && end[-1] == ' ' ? (size_t)(end - 1 - text) : strlen(text);

	json_text__string(firefox->stream, text, length);
}

static bool is_main(const struct firefox *firefox, const struct out_thread *thread)
{
	return thread->pid && thread->tid == thread->pid && thread->name != PROFILE_NONE &&
	       !strcmp(profile__text(firefox->profile, thread->name), "main");
}

void firefox__write_thread(struct firefox *firefox, const struct out_thread *thread)
{
	FILE *stream = firefox->stream;

	find_starts(firefox, thread);
	fputs("{\"name\":", stream);
	json_text__id(stream, firefox->profile,
		      thread->name == PROFILE_NONE ? thread->id : thread->name);
	fputs(",\"processName\":", stream);
	write_process_name(firefox, thread->process);
	fprintf(stream,
		",\"isMainThread\":%s,\"pid\":\"%lld\",\"tid\":%lld,\"processType\":\"default\","
		"\"processStartupTime\":0,\"processShutdownTime\":null,\"registerTime\":0,"
		"\"unregisterTime\":null,\"pausedRanges\":[],\"showMarkersInTimeline\":true,\n",
		is_main(firefox, thread) ? "true" : "false", (long long)thread->pid,
		(long long)thread->tid);
	write_samples(firefox, thread);
	write_markers(firefox, thread);
	putc('}', stream);
}
