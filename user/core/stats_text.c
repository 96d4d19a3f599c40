/* SPDX-License-Identifier: BSD-2-Clause */
#include "stats_text.h"

static double seconds(const json_t *object, const char *key)
{
	return (double)json_integer_value(json_object_get(object, key)) / 1e9;
}

static long long number(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static void print_columns(const json_t *object, FILE *stream)
{
	fprintf(stream, "  %12.6f %12.6f %12.6f %12.6f %+12.6f %12.6f",
		seconds(object, "kernel_cpu_ns"), seconds(object, "samples_cpu_ns"),
		seconds(object, "gc_cpu_ns"), seconds(object, "overhead_cpu_ns"),
		seconds(object, "cpu_diff_ns"), seconds(object, "wall_ns"));
}

static void print_process(const json_t *process, FILE *stream)
{
	const json_t *thread;
	const char *ruby = json_string_value(json_object_get(process, "ruby"));
	const char *tracer = json_string_value(json_object_get(process, "tracer"));
	size_t index;

	fprintf(stream, "\n%s (%lld), ruby %s%s\n",
		json_string_value(json_object_get(process, "comm")), number(process, "pid"),
		ruby ? ruby : "unknown",
		json_is_true(json_object_get(process, "ok")) ? "" : ", not readable");
	fprintf(stream, "  %12s %12s %12s %12s %12s %12s  %s\n", "kernel s", "samples s", "gc s",
		"overhead s", "difference", "wall s", "thread");
	json_array_foreach (json_object_get(process, "threads"), index, thread) {
		const char *name = json_string_value(json_object_get(thread, "name"));

		print_columns(thread, stream);
		fprintf(stream, "  %lld %s\n", number(thread, "tid"), name ? name : "");
	}
	print_columns(process, stream);
	fprintf(stream, "  process\n  gc: %s, %lld steps seen, %.6f s by the vm's own clock\n",
		json_string_value(json_object_get(process, "gc_source")),
		number(process, "gc_steps"), seconds(process, "vm_gc_ns"));
	if (tracer)
		fprintf(stream, "  tracer: %s\n", tracer);
}

void stats_text__print(const json_t *stats, FILE *stream)
{
	const json_t *ticks = json_object_get(stats, "ticks"), *value;
	const char *key;
	size_t index;

	fprintf(stream, "recorded %.3f s at %lld Hz: %lld ticks fired, %lld taken, %lld missed\n",
		seconds(stats, "elapsed_ns"), number(stats, "hz"), number(ticks, "fired"),
		number(ticks, "taken"), number(ticks, "missed"));
	json_object_foreach ((json_t *)json_object_get(stats, "lost"), key, value) {
		if (json_integer_value(value))
			fprintf(stream, "lost: %s %lld\n", key, json_integer_value(value));
	}
	json_object_foreach ((json_t *)json_object_get(stats, "errors"), key, value)
		fprintf(stream, "counted: %s %lld\n", key, json_integer_value(value));
	json_array_foreach (json_object_get(stats, "processes"), index, value)
		print_process(value, stream);
	if (number(stats, "forgotten_processes"))
		fprintf(stream, "\nand %lld processes that ended earlier\n",
			number(stats, "forgotten_processes"));
}
