/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a libruby enters and leaves its garbage collector: the places of gc_enter() and gc_exit()
 * (gc.c; gc/default/default.c from 3.4 on), which are static and mostly inlined.
 *
 * Each of them tells the event hooks of the VM, RUBY_INTERNAL_EVENT_GC_ENTER or GC_EXIT, after
 * during_gc has been set and before it is cleared. Up to 3.3 a test of the hooks' word guards the
 * call: the conditional jump behind the test is the place, since every passage executes it once.
 * From 3.4 on the call itself always runs, and is the place. Both are instructions that the kernel
 * emulates.
 */
#ifndef RBPROF_GC_SITES_H
#define RBPROF_GC_SITES_H

#include <stdint.h>

#include "elf_file.h"
#include "runtime.h"

struct gc_sites_request {
	uint64_t code_address; /* any function of the VM, e.g. rb_during_gc */
	int64_t flags_offset;  /* of the byte in objspace whose bit 5 is during_gc; < 0: unknown */
	const Elf64_Sym *gc_enter; /* from .symtab, or NULL */
	const Elf64_Sym *gc_exit;
};

/*
 * All entries and exits, or none: if any place cannot be made out with certainty, the tier is NONE
 * and `why` says what is not understood. The file's relocations must have been loaded. 0 or
 * -ENOMEM.
 */
int gc_sites__find(const struct elf_file *file, const struct gc_sites_request *request,
		   struct runtime_gc_sites *ret_sites);

#endif
