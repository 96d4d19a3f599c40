/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How the kernel side's walkers, compiled natively, read: through walk_memory, which who calls them
 * sets before. To be included once by a source file, before the walker.
 */
#ifndef RBPROF_WALK_MEMORY_H
#define RBPROF_WALK_MEMORY_H

#include "../util/memory.h"

/* The walker names what it reads through by macros alone; a stack is read by one thread. */
static __thread struct memory *walk_memory;

#define walk_read(into, size, address) memory__read(walk_memory, address, into, size)
/* Those of all frames are kept. */
#define walk_wants_receiver(process, method_serial) 0
#define walk_loop(count, step, walk)                                     \
	do {                                                             \
		__u32 walk_index;                                        \
		for (walk_index = 0; walk_index < (count); walk_index++) \
			if (step(walk_index, walk))                      \
				break;                                   \
	} while (0)

#endif
