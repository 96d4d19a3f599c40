/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What people are told of a process's tracers: which libraries are loaded, where each keeps the
 * context of what runs, and whether we can read it there. Labels need none of this.
 */
#ifndef RBPROF_TRACER_INFO_H
#define RBPROF_TRACER_INFO_H

#include <stdbool.h>

#include "tracer.h"

#define TRACER_VERSION_BYTES 32

/* Where a context was met; NONE: in no thread so far. */
enum tracer_storage {
	TRACER_STORAGE_NONE = 0,
	TRACER_STORAGE_FIBER_LOCAL,
	TRACER_STORAGE_THREAD_VARIABLE,
	TRACER_STORAGE_FIBER_VARIABLE,
};

struct tracer_library {
	bool is_loaded;
	char version[TRACER_VERSION_BYTES]; /* clean UTF-8; empty: it could not be read */
	enum tracer_storage storage;
	const char *out_of_reach; /* static text: why its contexts cannot be read; NULL */
};

struct tracer_info {
	struct tracer_library datadog; /* dd-trace-rb */
	struct tracer_library otel;    /* OpenTelemetry's SDK, or its API where that is alone */
};

/*
 * Reads what is loaded; `found` is what tracer__find() found. 0; -EAGAIN: the VM is not up or does
 * not stand still; -errno. *ret_info is untouched on failure.
 */
int tracer_info__read(const struct tracer_source *source, const struct rbprof_tracer *found,
		      struct tracer_info *ret_info);

/*
 * Why contexts that OpenTelemetry's API keeps as a variable of the Fiber (since 1.5) cannot be read
 * in this process: static text; NULL: they can.
 */
const char *tracer_info__no_fiber_variables(const struct tracer_source *source);

#endif
