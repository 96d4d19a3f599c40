/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The trace that a fiber works for, read from outside by the same walker that the kernel runs: of
 * threads that are asleep, and for `dump`.
 */
#ifndef RBPROF_TRACE_READ_H
#define RBPROF_TRACE_READ_H

#include "tracer.h"

/* Kinds of objects that were met; grows by itself. Begins as all 0. */
struct trace_kinds {
	struct trace_kind {
		uint64_t table;
		struct rbprof_ivars ivars;
	} *kinds;
	size_t count;
};

void trace_kinds__free(struct trace_kinds *kinds);

struct trace_reading {
	struct rbprof_trace trace;
	/* Of the local root span `trace.root`; length 0: none, or it is not asked for. */
	uint64_t kind; /* OTEL: VALUE of its kind */
	uint32_t length;
	char text[RBPROF_ENDPOINT_BYTES];
};

/* Lower-case hex digits of up to 16 bytes, as ids of OpenTelemetry are shown; text has room. */
void trace_read__hex(const void *bytes, size_t count, char *text);

/*
 * Reads the trace of the fiber whose execution context is at ec. The thread may run meanwhile: only
 * the caller can tell whether all is of one instant. 0, also where there is none (trace.kind) or it
 * could not be made out (trace.error); -ENOMEM.
 */
int trace_read__fiber(const struct tracer_source *source, const struct rbprof_tracer *tracer,
		      uint64_t ec, bool wants_endpoint, struct trace_kinds *kinds,
		      struct trace_reading *ret_reading);

#endif
