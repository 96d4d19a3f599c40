/* SPDX-License-Identifier: BSD-2-Clause */
/* What the VM itself records of its garbage collector: why it ran, and for how long. */
#ifndef RBPROF_GC_INFO_H
#define RBPROF_GC_INFO_H

#include <stdbool.h>
#include <stdint.h>

#include "../../include/ruby_layout.h"
#include "../util/memory.h"

/*
 * Of objspace.profile.latest_gc_info (gc.c: enum gpr_flag, 2.7 to 4.0), in the words of
 * GC.latest_gc_info. The reason is NULL for a minor collection, the cause where none is known.
 */
const char *gc_info__type(uint32_t info); /* "minor", "major" */
const char *gc_info__reason(uint32_t info);
const char *gc_info__cause(uint32_t info);

/* Whether a release measures its collector itself (3.1 and later). */
bool gc_info__has_clock(const struct ruby_layout *layout);

/*
 * What GC.stat(:time) is computed from, ns: CPU of the process while its collector ran, added up
 * at the end of each step (3.3 and later: of each marking and sweeping). 0; -ENOTSUP: the release
 * has no such clock; -ENODATA: it is not running (GC.measure_total_time); -EAGAIN: the VM is not
 * set up yet; or -errno of reading.
 */
int gc_info__clock(struct memory *memory, const struct ruby_layout *layout, uint64_t vm_ptr_address,
		   uint64_t *ret_ns);

#endif
