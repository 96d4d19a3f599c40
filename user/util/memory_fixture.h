/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A fixture: the parts of a real process's memory that reading its stacks and names touches,
 * with the stacks and with what the program itself said about them.
 *
 * The file is lines of text, gzip compressed or not, and bytes after each line "segment". Numbers
 * are hexadecimal, but counts are decimal.
 *
 * - "rbprof-fixture 1": the first line.
 * - "version 3.1.2": of the Ruby.
 * - "root vm ADDRESS": of ruby_current_vm_ptr.
 * - "root symbols ADDRESS": of ruby_global_symbols.
 * - "stack THREAD NAME EC COUNT": rb_thread_t, VALUE of its name; COUNT lines follow, leaf first.
 * - "frame ISEQ PC METHOD_ENTRY METHOD_SERIAL": one of them.
 * - "truth ANYTHING": a line that the program printed.
 * - "segment ADDRESS COUNT": COUNT bytes follow, and a line feed. In the order of addresses.
 * - "end": the last line.
 */
#ifndef RBPROF_MEMORY_FIXTURE_H
#define RBPROF_MEMORY_FIXTURE_H

#include <stddef.h>
#include <stdint.h>

#include "../../include/rbprof_abi.h"
#include "memory.h"

struct fixture_stack {
	uint64_t thread;
	uint64_t thread_name;
	uint64_t ec;
	struct rbprof_frame *frames;
	size_t count;
};

struct fixture {
	struct memory *memory; /* gives -EFAULT outside of the segments */
	char version[16];
	uint64_t vm_ptr_address;
	uint64_t symbols_address;
	struct fixture_stack *stacks;
	size_t stack_count;
	char **truths;
	size_t truth_count;
};

/*
 * Loads a fixture. 0, -EINVAL (not one, or broken), -E2BIG, -ENOMEM or -errno of opening it; the
 * caller frees it.
 */
int fixture__load(const char *path, struct fixture **ret_fixture);
void fixture__free(struct fixture *fixture);

#endif
