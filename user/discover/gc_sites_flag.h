/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether code sets during_gc on every way to a place, or clears it on every way from one. */
#ifndef RBPROF_GC_SITES_FLAG_H
#define RBPROF_GC_SITES_FLAG_H

#include <stdbool.h>
#include <stdint.h>

#include "gc_sites_code.h"

struct gc_flag {
	int64_t offset;	   /* of the byte in objspace */
	unsigned int base; /* the register that objspace is in at the place, or X86_REG_INVALID */
};

/* Both look at a few dozen instructions; what is not found there is not so. */
bool gc_flag__is_set_before(struct gc_code *code, const struct gc_flag *flag, int index);
bool gc_flag__is_cleared_behind(struct gc_code *code, const struct gc_flag *flag, int index);

#endif
