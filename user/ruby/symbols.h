/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of ids: the VM's table of symbols. An id that stands in a method definition or is the
 * name of an instance variable is never given to another name (symbol.c: a dynamic symbol that
 * gets an id becomes permanent), so what was read once holds for the life of the process.
 */
#ifndef RBPROF_SYMBOLS_H
#define RBPROF_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "object.h"

struct symbols;

/* Ids of instance variables that the VM keeps for itself. */
enum symbols_known {
	SYMBOLS_CLASSPATH,
	SYMBOLS_REFINED_CLASS,
	SYMBOLS_DEFINED_AT,
	SYMBOLS_KNOWN_COUNT,
};

/* address: of ruby_global_symbols, 0 if not known. 0 or -ENOMEM; the caller frees it. */
int symbols__new(struct memory *memory, const struct ruby_layout *layout, uint64_t address,
		 struct symbols **ret_symbols);
void symbols__free(struct symbols *symbols);

/* Adds the raw name of the id to text. 0, -EINVAL (no such id) or -errno. */
int symbols__name(struct symbols *symbols, uint64_t id, struct text *text);

/* True if the id is the known one. An id that cannot be read is not. */
bool symbols__is(struct symbols *symbols, uint64_t id, enum symbols_known known);

#endif
