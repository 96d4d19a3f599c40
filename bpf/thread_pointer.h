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

/*
 * Address of the thread's ruby_current_ec, 0 while there is none. Until the library is relocated
 * and the thread has used its block, pages on the way may not be there yet; each later use of the
 * context keeps them there. So what cannot be read here has not been used.
 */
static __always_inline u64 thread_local_ec_slot(const struct rbprof_process *process,
						u64 thread_pointer)
{
	u64 pair[2], dtv, block;

	if (!thread_pointer)
		return 0;
	if (process->ec_source == RBPROF_EC_TLS_STATIC)
		return thread_pointer + process->ec_tp_offset;
	/* The pair (module id, offset) that the code itself passes to __tls_get_addr. */
	if (bpf_probe_read_user(pair, sizeof(pair), (void *)process->ec_address) || !pair[0] ||
	    bpf_probe_read_user(&dtv, sizeof(dtv),
				(void *)(thread_pointer + GLIBC_TCB_DTV_OFFSET)) ||
	    bpf_probe_read_user(&block, sizeof(block),
				(void *)(dtv + pair[0] * GLIBC_DTV_ENTRY_SIZE)))
		return 0;
	return !block || block == GLIBC_DTV_UNALLOCATED ? 0 : block + pair[1];
}

/* A walk through the VM's list of threads, for the one that runs on a native thread. */
struct thread_search {
	const struct ruby_layout *layout;
	u64 thread_pointer;
	u64 head, node;
	u64 thread; /* rb_thread_t found, or 0 */
	u32 failed;
};

#define THREAD_SEARCH_MAX 4096

static long thread_search_step(u32 index, void *context)
{
	struct thread_search *search = context;
	u64 thread = search->node - search->layout->th__lt_node, pthread;

	if (!search->node || search->node == search->head)
		return 1;
	if (bpf_probe_read_user(&pthread, sizeof(pthread),
				(void *)(thread + search->layout->th__thread_id)) ||
	    bpf_probe_read_user(&search->node, sizeof(search->node), (void *)search->node)) {
		search->failed = 1;
		return 1;
	}
	if (pthread != search->thread_pointer)
		return 0;
	search->thread = thread;
	return 1;
}

/*
 * Where the VM keeps one context for all, that of the GVL's holder (2.7, vm_core.h:
 * ruby_current_execution_context_ptr): a thread without the GVL is looked up in the VM's list
 * (rb_vm_t.living_threads; ccan/list: a node begins with the next one).
 */
static __always_inline int thread_ec_global(const struct rbprof_process *process,
					    const struct ruby_layout *layout, u64 thread_pointer,
					    u64 *ret_ec)
{
	struct thread_search search = { .layout = layout, .thread_pointer = thread_pointer };
	u64 ec, thread, pthread, vm;

	/* While the library is being loaded, there may be no page. */
	if (bpf_probe_read_user(&ec, sizeof(ec), (void *)process->ec_address) || !ec)
		return 0;
	if (bpf_probe_read_user(&thread, sizeof(thread), (void *)(ec + layout->ec__thread_ptr)) ||
	    bpf_probe_read_user(&pthread, sizeof(pthread),
				(void *)(thread + layout->th__thread_id)))
		return -1;
	if (pthread == thread_pointer) {
		*ret_ec = ec;
		return 0;
	}
	if (layout->vm__living_threads == RUBY_NO_FIELD ||
	    bpf_probe_read_user(&vm, sizeof(vm), (void *)process->vm_ptr_address))
		return -1;
	search.head = vm + layout->vm__living_threads;
	if (bpf_probe_read_user(&search.node, sizeof(search.node), (void *)search.head))
		return -1;
	bpf_loop(THREAD_SEARCH_MAX, thread_search_step, &search, 0);
	if (search.failed)
		return -1;
	if (!search.thread)
		return 0;
	return bpf_probe_read_user(ret_ec, sizeof(*ret_ec),
				   (void *)(search.thread + layout->th__ec))
		       ? -1
		       : 0;
}

/* The current thread's execution context; 0: it has none. Negative if unreadable. */
static __noinline int thread_ec(const struct rbprof_process *process,
				const struct ruby_layout *layout, struct thread_state *state,
				u64 thread_pointer, u64 *ret_ec)
{
	u64 slot = state->ec_slot;

	*ret_ec = 0;
	if (process->ec_source == RBPROF_EC_GLOBAL)
		return thread_ec_global(process, layout, thread_pointer, ret_ec);
	if (process->ec_source != RBPROF_EC_TLS_DYNAMIC &&
	    process->ec_source != RBPROF_EC_TLS_STATIC)
		return 0;
	if (!slot)
		slot = thread_local_ec_slot(process, thread_pointer);
	if (!slot)
		return 0;
	if (bpf_probe_read_user(ret_ec, sizeof(*ret_ec), (void *)slot))
		return state->ec_slot ? -1 : 0;
	if (*ret_ec)
		state->ec_slot = slot;
	return 0;
}

#endif
