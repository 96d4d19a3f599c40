/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files tracer*.c; nobody else includes it. */
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

/*
 * Where the value of the constant is kept that the names, ended by NULL, lead to from the top on.
 * thread: VALUE of any Thread, whose class leads there. 0; -ENOENT: there is none (yet); -errno.
 */
int tracer__constant(const struct tracer_source *source, uint64_t thread, const char *const *path,
		     uint64_t *ret_at);

#endif
