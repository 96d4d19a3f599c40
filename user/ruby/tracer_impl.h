/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by tracer.c and tracer_ivars.c; nobody else includes it. */
#ifndef RBPROF_TRACER_IMPL_H
#define RBPROF_TRACER_IMPL_H

#include "tracer.h"

/* 3.2 and later: shapes say where an object has its variables; before, tables of classes. */
static inline bool has_shapes(const struct ruby_layout *layout)
{
	return layout->robject__numiv == RUBY_NO_FIELD;
}

static inline bool is_heap_object(const struct ruby_layout *layout, uint64_t value)
{
	return !(value & 7) && value > 0x100 && value != layout->qnil;
}

#endif
