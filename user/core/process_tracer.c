/* SPDX-License-Identifier: BSD-2-Clause */
#include "process_tracer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int process_tracer__open(struct process_tracer *tracer, const struct ruby_process *process,
			 struct memory *memory)
{
	const struct ruby_layout *layout = &process->runtime->layout;
	size_t i;
	int err;

	if (!tracer__supported(layout))
		return -ENOTSUP;
	err = symbols__new(memory, layout, ruby_process__symbols(process), &tracer->symbols);
	if (err)
		return err;
	tracer->source = (struct tracer_source){
		.memory = memory,
		.layout = layout,
		.symbols = tracer->symbols,
		.vm_ptr_address = ruby_process__vm_ptr(process),
		.symbols_address = ruby_process__symbols(process),
		.shapes_address = ruby_process__shapes(process),
		.ivar_ids = tracer->ivar_ids,
		.current_span_at = &tracer->current_span_at,
	};
	for (i = 0; i < TRACER_GENERIC_MAX; i++)
		tracer->source.generic_ivars[i] = ruby_process__generic_ivars(process, i);
	return 0;
}

void process_tracer__close(struct process_tracer *tracer)
{
	symbols__free(tracer->symbols);
	memset(tracer, 0, sizeof(*tracer));
}

bool process_tracer__any(const struct rbprof_tracer *tracer)
{
	return tracer->datadog_key || tracer->datadog_symbol || tracer->otel_key ||
	       tracer->generic_ivars;
}

/* ---- for people ---- */

static const char *storage_name(enum tracer_storage storage)
{
	static const char *const names[] = {
		[TRACER_STORAGE_NONE] = "none seen yet",
		[TRACER_STORAGE_FIBER_LOCAL] = "fiber-local",
		[TRACER_STORAGE_THREAD_VARIABLE] = "thread variable",
		[TRACER_STORAGE_FIBER_VARIABLE] = "fiber variable",
	};

	return names[storage];
}

/* One library: its object, and its part of the line. */
static void describe_library(const char *name, const struct tracer_library *library, json_t *array,
			     char *line, size_t size)
{
	size_t length = strlen(line);
	json_t *object;

	if (!library->is_loaded)
		return;
	object = json_pack("{s:s, s:s*, s:s, s:b}", "name", name, "version",
			   library->version[0] ? library->version : NULL, "context",
			   storage_name(library->storage), "reachable", !library->out_of_reach);
	if (object && library->out_of_reach)
		json_object_set_new(object, "reason", json_string(library->out_of_reach));
	json_array_append_new(array, object);
	snprintf(line + length, size - length, "%s%s%s%s%s%s", length ? ", " : "", name,
		 library->version[0] ? " " : "", library->version,
		 library->out_of_reach ? ", context out of reach: " : "",
		 library->out_of_reach ? library->out_of_reach : "");
}

static void tell(json_t *object, const char *line, json_t *libraries)
{
	json_object_set_new(object, "tracer", json_string(line));
	json_object_set_new(object, "tracers", libraries);
}

void process_tracer__describe(json_t *object, const struct tracer_info *info)
{
	json_t *array = json_array();
	char line[256] = "";

	describe_library("dd-trace-rb", &info->datadog, array, line, sizeof(line));
	describe_library("opentelemetry", &info->otel, array, line, sizeof(line));
	tell(object, line[0] ? line : "none", array);
}

void process_tracer__not_known(json_t *object, const char *why)
{
	char line[256];

	snprintf(line, sizeof(line), "not yet known: %s", why);
	tell(object, line, json_array());
}

void process_tracer__describe_process(json_t *object, const struct ruby_process *process, int error)
{
	struct process_tracer tracer = { .symbols = NULL };
	struct memory *memory = NULL;
	struct rbprof_tracer found;
	struct tracer_info info;
	int err = error ? -EAGAIN : memory__open_process(process->pid, &memory);

	if (!err)
		err = process_tracer__open(&tracer, process, memory);
	if (!err)
		err = tracer__find(&tracer.source, &found);
	if (!err)
		err = tracer_info__read(&tracer.source, &found, &info);
	process_tracer__close(&tracer);
	memory__close(memory);
	if (!err)
		process_tracer__describe(object, &info);
	else if (err == -ENOTSUP)
		process_tracer__not_known(object, "objects of this ruby cannot be read");
	else
		process_tracer__not_known(object, error == -EAGAIN ? "its vm is not up yet"
								   : "the process cannot be read");
}
