/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the tracer of a process, and where its objects have their instance variables: what the
 * walker of bpf/trace.h has to know. All of it is read from outside while the process goes on;
 * what changed meanwhile is found out by the walker, which asks again.
 */
#ifndef RBPROF_TRACER_H
#define RBPROF_TRACER_H

#include <stdbool.h>
#include <stdint.h>

#include "../../include/rbprof_abi.h"
#include "../util/memory.h"
#include "symbols.h"

#define TRACER_GENERIC_MAX 4

/* Of one process; nothing is owned. Addresses are 0 where they are not known. */
struct tracer_source {
	struct memory *memory;
	const struct ruby_layout *layout;
	struct symbols *symbols;
	uint64_t vm_ptr_address;
	uint64_t symbols_address; /* of ruby_global_symbols */
	uint64_t shapes_address;  /* of the pointer to the tree of shapes, 3.3 and later */
	/* Of variables of which one may be generic_iv_tbl_ (variable.c), up to 3.4; 0: no more. */
	uint64_t generic_ivars[TRACER_GENERIC_MAX];
	/* Ids of RBPROF_IVARS as they are met, 0: not yet; RBPROF_IVAR_COUNT of them. */
	uint64_t *ivar_ids;
	/* Where the constant CURRENT_SPAN_KEY is kept, once found; 0. */
	uint64_t *current_span_at;
};

/* Whether objects of the release can be read as the walker reads them. */
bool tracer__supported(const struct ruby_layout *layout);

/*
 * How many ids the process has given out: a name that was never used before makes one more. 0 or
 * -errno.
 */
int tracer__id_count(const struct tracer_source *source, uint32_t *ret_count);

/*
 * Looks through the fiber-locals and the variables of the fibers that its threads run. 0, and what
 * was not found is 0 in *ret_tracer; -errno of the memory, -EAGAIN: its threads did not stand
 * still.
 */
int tracer__find(const struct tracer_source *source, struct rbprof_tracer *ret_tracer);

/*
 * The numbers of the instance variables of all objects of the kind of this one: *ret_table says
 * which kind (see struct rbprof_ivars_key). 0, -EINVAL: it has none, or is none; -errno.
 */
int tracer__ivars(const struct tracer_source *source, uint64_t object, uint64_t *ret_table,
		  struct rbprof_ivars *ret_ivars);

/*
 * The same for all shapes that objects of tracers may have, by the ids met so far, of those that
 * are new since there were *known of them, which becomes how many there are. Up to 3.1 there are no
 * shapes. 0; -E2BIG: there are too many; -ENOMEM, -errno.
 */
int tracer__shapes(const struct tracer_source *source, uint32_t *known,
		   void (*each)(uint64_t table, const struct rbprof_ivars *ivars, void *context),
		   void *context);

/* Whether the value is the Symbol of that name. */
bool tracer__is_symbol(const struct tracer_source *source, uint64_t value, const char *name);

#endif
