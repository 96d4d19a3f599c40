/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From the current native thread to its execution context, through thread-local storage.
 * glibc, x86-64 (sysdeps/x86_64/nptl/tls.h): the thread pointer is fs.base, the dtv's address
 * stands behind it in the thread's header, a dtv entry is two words, and an entry of all ones
 * is a block not yet allocated.
 */
#ifndef RBPROF_BPF_THREAD_POINTER_H
#define RBPROF_BPF_THREAD_POINTER_H

#define GLIBC_TCB_DTV_OFFSET  8
#define GLIBC_DTV_ENTRY_SIZE  16
#define GLIBC_DTV_UNALLOCATED (~0ULL)

/* Address of the thread's ruby_current_ec; 0 while there is none. Negative if unreadable. */
static __always_inline int thread_local_ec_slot(const struct rbprof_process *process,
						u64 thread_pointer, u64 *ret_slot)
{
	u64 pair[2], dtv, block;

	*ret_slot = 0;
	if (!thread_pointer)
		return 0;
	if (process->ec_source == RBPROF_EC_TLS_STATIC) {
		*ret_slot = thread_pointer + process->ec_tp_offset;
		return 0;
	}
	/* The pair (module id, offset) that the code itself passes to __tls_get_addr. */
	if (bpf_probe_read_user(pair, sizeof(pair), (void *)process->ec_address))
		return -1;
	if (!pair[0])
		return 0; /* not relocated yet */
	if (bpf_probe_read_user(&dtv, sizeof(dtv), (void *)(thread_pointer + GLIBC_TCB_DTV_OFFSET)))
		return -1;
	if (bpf_probe_read_user(&block, sizeof(block),
				(void *)(dtv + pair[0] * GLIBC_DTV_ENTRY_SIZE)))
		return -1;
	if (!block || block == GLIBC_DTV_UNALLOCATED)
		return 0;
	*ret_slot = block + pair[1];
	return 0;
}

/* The current thread's execution context; 0: it has none. Negative if unreadable. */
static __always_inline int thread_ec(const struct rbprof_process *process,
				     struct thread_state *state, u64 thread_pointer, u64 *ret_ec)
{
	*ret_ec = 0;
	if (process->ec_source != RBPROF_EC_TLS_DYNAMIC &&
	    process->ec_source != RBPROF_EC_TLS_STATIC)
		return 0;
	if (!state->ec_slot) {
		u64 slot;

		if (thread_local_ec_slot(process, thread_pointer, &slot))
			return -1;
		if (!slot)
			return 0;
		state->ec_slot = slot;
	}
	return bpf_probe_read_user(ret_ec, sizeof(*ret_ec), (void *)state->ec_slot) ? -1 : 0;
}

#endif
