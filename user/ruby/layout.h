/* SPDX-License-Identifier: BSD-2-Clause */
/* The layout tables, and the proof that one of them fits a process. */
#ifndef RBPROF_LAYOUT_H
#define RBPROF_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "../../include/rbprof_abi.h"
#include "../util/memory.h"

struct layout_entry {
	const char *version; /* the release it was generated from, "3.1.2" */
	const char *from;    /* first and last release it holds for, "3.1.0" */
	const char *to;
	struct ruby_layout layout;
};

/* Generated: user/ruby/layout_table.c, by tools/. Ordered by version. */
extern const struct layout_entry layout_table[];
extern const size_t layout_table_count;

/*
 * The table for a Ruby version such as "3.1.2". A later patch release of a known minor gets the
 * newest table of its series and *ret_exact = 0. NULL: unknown minor or not a version.
 */
const struct layout_entry *layout__find(const char *version, int *ret_exact);

/*
 * Lets the layout prove itself on a live VM: ec -> thread -> ec is the ec; the vm's main thread
 * is reachable; cfp lies aligned inside its vm stack; each control frame's iseq has the type
 * bits of an iseq, its label and path are Strings, its pc lies in its code; the symbol table
 * gives the names that ids have in every Ruby; the GC counters look like counters.
 * vm_ptr_address: of ruby_current_vm_ptr in the process; symbols_address may be 0.
 * 0: proved. -EAGAIN: the VM is not there yet (no main thread, or no frame): ask again later.
 * -errno of the memory. A positive value: RBPROF_E_PROOF_FAILED; then *ret_why (static text)
 * names the check that failed.
 */
int layout__prove(struct memory *memory, const struct ruby_layout *layout, uint64_t vm_ptr_address,
		  uint64_t symbols_address, const char **ret_why);

#endif
