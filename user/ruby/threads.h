/* SPDX-License-Identifier: BSD-2-Clause */
/* The VM's own list of its threads: of every ractor, running or not. */
#ifndef RBPROF_THREADS_H
#define RBPROF_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../include/rbprof_abi.h"
#include "../util/memory.h"

#define THREADS_MAX 65536

struct ruby_thread {
	uint64_t address; /* rb_thread_t */
	uint64_t ec;	  /* execution context of the fiber that it runs */
	uint64_t self;	  /* VALUEs */
	uint64_t name;
	uint64_t pthread;   /* pthread_t; 0: no native thread of its own */
	uint64_t ractor_id; /* 1 for the main ractor, 0 where there are none */
	int64_t tid;	    /* native id in the process's own pid namespace, -1: not kept */
	uint32_t status;    /* enum rb_thread_status; RUBY_THREAD_KILLED: dead */
	bool is_main;
};

/*
 * Lists the threads. The process may change the list meanwhile: it is read again until it holds
 * together. 0; then the caller frees *ret_threads. -EAGAIN: the VM is not up, or the list did not
 * stand still. -EINVAL: no list, or an endless one. -errno of the memory.
 */
int threads__list(struct memory *memory, const struct ruby_layout *layout, uint64_t vm_ptr_address,
		  struct ruby_thread **ret_threads, size_t *ret_count);

/*
 * The kernel's id of a native thread, in the process's own namespace, as the C library keeps it:
 * for releases whose VM does not. -1: not found.
 */
int64_t threads__pthread_tid(struct memory *memory, uint64_t pthread);

#endif
