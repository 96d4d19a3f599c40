/* SPDX-License-Identifier: BSD-2-Clause */
#include "tracer_info.h"

#include <stdlib.h>

#include "../util/utf8.h"
#include "object.h"
#include "threads.h"
#include "tracer_impl.h"

static bool has_constant(const struct tracer_source *source, uint64_t thread,
			 const char *const *path)
{
	uint64_t at;

	return !tracer__constant(source, thread, path, &at);
}

/* The String that a constant holds. False: there is no such constant. */
static bool read_version(const struct tracer_source *source, uint64_t thread,
			 const char *const *path, char *version)
{
	struct text text = { .length = 0 };
	struct reader reader;
	uint64_t at, value;

	if (tracer__constant(source, thread, path, &at))
		return false;
	version[0] = '\0';
	reader__init(&reader, source->memory, source->layout);
	if (!memory__read_u64(source->memory, at, &value) &&
	    is_heap_object(source->layout, value) &&
	    !object__string(&reader, value, TRACER_VERSION_BYTES, &text))
		utf8__clean(text.bytes, text.length, version, TRACER_VERSION_BYTES - 1);
	reader__free(&reader);
	return true;
}

static void read_datadog(const struct tracer_source *source, uint64_t thread,
			 const struct rbprof_tracer *found, struct tracer_library *library)
{
	/* As of 2.x, and before that. */
	static const char *const now[] = { "Datadog", "VERSION", "STRING", NULL };
	static const char *const once[] = { "DDTrace", "VERSION", "STRING", NULL };
	static const char *const context[] = { "Datadog", "Tracing", "Context", NULL };

	library->is_loaded = has_constant(source, thread, context) &&
			     (read_version(source, thread, now, library->version) ||
			      read_version(source, thread, once, library->version));
	if (found->datadog_key)
		library->storage = TRACER_STORAGE_FIBER_LOCAL;
	else if (found->datadog_symbol)
		library->storage = TRACER_STORAGE_THREAD_VARIABLE;
	library->is_loaded |= library->storage != TRACER_STORAGE_NONE;
}

const char *tracer_info__no_fiber_variables(const struct tracer_source *source)
{
	if (source->layout->gen_ivtbl__ivptr == RUBY_NO_FIELD ||
	    source->layout->fiber__self == RUBY_NO_FIELD)
		return "it is a variable of the fiber, which cannot be read in this ruby";
	if (!source->generic_ivars[0])
		return "it is a variable of the fiber, whose table was not found in this build";
	return NULL;
}

static void read_otel(const struct tracer_source *source, uint64_t thread,
		      const struct rbprof_tracer *found, struct tracer_library *library)
{
	static const char *const sdk[] = { "OpenTelemetry", "SDK", "VERSION", NULL };
	static const char *const api[] = { "OpenTelemetry", "VERSION", NULL };
	static const char *const context[] = { "OpenTelemetry", "Context", "ROOT", NULL };
	/* Where the API keeps its contexts in a fiber-local: up to 1.4. */
	static const char *const local[] = { "OpenTelemetry", "Context", "STACK_KEY", NULL };

	library->is_loaded = has_constant(source, thread, context) &&
			     (read_version(source, thread, sdk, library->version) ||
			      read_version(source, thread, api, library->version));
	if (found->otel_key)
		library->storage = TRACER_STORAGE_FIBER_LOCAL;
	else if (found->generic_ivars && !found->datadog_symbol)
		library->storage = TRACER_STORAGE_FIBER_VARIABLE;
	library->is_loaded |= library->storage != TRACER_STORAGE_NONE;
	if (library->is_loaded && !found->otel_key && !has_constant(source, thread, local))
		library->out_of_reach = tracer_info__no_fiber_variables(source);
}

int tracer_info__read(const struct tracer_source *source, const struct rbprof_tracer *found,
		      struct tracer_info *ret_info)
{
	struct tracer_info info = { .datadog.is_loaded = false };
	struct ruby_thread *threads;
	size_t count;
	int err = threads__list(source->memory, source->layout, source->vm_ptr_address, &threads,
				&count);

	if (err)
		return err;
	if (count) {
		read_datadog(source, threads[0].self, found, &info.datadog);
		read_otel(source, threads[0].self, found, &info.otel);
	}
	free(threads);
	*ret_info = info;
	return 0;
}
