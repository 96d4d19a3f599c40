/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a VM has counted itself: objects and collections, exact. They are read where they are final:
 * when the VM takes itself down (ruby_vm_destruct, by a probe: what it counted in is freed there,
 * after at_exit and finalizers have run), or else when the process or its program ends with the VM
 * in place (exit!, exec, a signal).
 */
#ifndef RBPROF_BPF_VM_COUNTERS_H
#define RBPROF_BPF_VM_COUNTERS_H

#define VM_HEAPS	   8 /* most that are added up; SIZE_POOL_COUNT, HEAP_COUNT are 5 */
#define vm_get(into, from) bpf_probe_read_user(into, sizeof(*(into)), (void *)(from))

/* Of heaps of all slot sizes (gc.c: total_allocated_objects). */
static __always_inline bool vm_sum_heaps(const struct ruby_layout *layout, u64 objspace, u64 *sum)
{
	u64 heap = objspace + layout->objspace__heaps, count;
	u32 i;

	*sum = 0;
	for (i = 0; i < VM_HEAPS && i < layout->heap_count; i++) {
		if (vm_get(&count, heap + layout->heap__total_allocated_objects))
			return false;
		*sum += count;
		heap += layout->heap__sizeof;
	}
	return true;
}

/* 0; 1: there is no VM (any more); -1: it cannot be read. */
static __noinline int vm_read(const struct rbprof_process *process,
			      struct rbprof_vm_figures *figures)
{
	u32 index = process->runtime;
	struct rbprof_runtime *runtime = bpf_map_lookup_elem(&runtimes, &index);
	const struct ruby_layout *layout;
	u64 vm = 0, objspace = 0;

	if (!runtime || !process->vm_ptr_address || process->flags & RBPROF_PROCESS_REFUSED)
		return -1;
	layout = &runtime->layout;
	if (vm_get(&vm, process->vm_ptr_address))
		return -1;
	if (!vm)
		return 1;
	if (vm_get(&objspace, vm + layout->vm__objspace) || !objspace)
		return -1;
	if (vm_get(&figures->gc_count, objspace + layout->objspace__profile_count))
		return -1;
	if (layout->objspace__heaps != RUBY_NO_FIELD)
		return vm_sum_heaps(layout, objspace, &figures->allocated) ? 0 : -1;
	if (layout->objspace__total_allocated_objects != RUBY_NO_FIELD &&
	    vm_get(&figures->allocated, objspace + layout->objspace__total_allocated_objects))
		return -1;
	return 0;
}

/*
 * Reads the figures of the current task's process, whose image ends. flag: how. (Before Linux 6.16
 * a task whose exit is told has no memory any more.)
 */
static __always_inline void vm_end(struct task_struct *task, u32 flag)
{
	u32 tgid = task_tgid(task);
	struct rbprof_vm_figures figures = {};
	struct rbprof_process *process;
	struct rbprof_counters *c;
	int result;

	if (!(config.flags & RBPROF_COLLECT_VM))
		return;
	process = bpf_map_lookup_elem(&processes, &tgid);
	if (!process)
		return;
	c = bpf_map_lookup_elem(&counters, &process->serial);
	if (!c || c->vm.flags & RBPROF_VM_ENDED)
		return;
	result = vm_read(process, &figures);
	if (result < 0)
		c->vm.flags |= RBPROF_VM_UNREADABLE;
	if (result)
		return;
	c->vm.end = figures;
	c->vm.flags |= RBPROF_VM_READ | flag;
}

/* What a child begins with is what its parent had: it is the current task, in fork(). */
static __always_inline void vm_fork(const struct rbprof_process *parent, u64 serial)
{
	struct rbprof_counters *c = bpf_map_lookup_elem(&counters, &serial);

	if (c && config.flags & RBPROF_COLLECT_VM && !vm_read(parent, &c->vm.base))
		c->vm.flags |= RBPROF_VM_BASE_READ;
}

#endif
