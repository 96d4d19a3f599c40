/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a task of the kernel is and does: kernels differ in where that stands. */
#ifndef RBPROF_BPF_TASK_H
#define RBPROF_BPF_TASK_H

static __always_inline bool task_is_dead(struct task_struct *task)
{
	struct task_struct___before_5_14 *old = (void *)task;

	if (bpf_core_field_exists(task->__state))
		return task->__state & TASK_DEAD;
	return BPF_CORE_READ(old, state) & TASK_DEAD;
}

/* Whether the task gives its memory back, for good or for a new program's. */
static __always_inline bool task_drops_memory(struct task_struct *task)
{
	if (task->flags & PF_EXITING)
		return true;
	return bpf_core_field_exists(task->in_execve) &&
	       BPF_CORE_READ_BITFIELD_PROBED(task, in_execve);
}

/* The thread's id in its own, innermost pid namespace: as it knows itself. */
static __always_inline u32 task_tid_inside(struct task_struct *task)
{
	/* Through a probe read, so that the pointer is a plain number to count on from. */
	u64 pid = (u64)BPF_CORE_READ(task, thread_pid);
	u32 level = 0, tid = task->pid, inside = 0;

	if (!pid || bpf_probe_read_kernel(&level, sizeof(level),
					  (void *)pid + bpf_core_field_offset(struct pid, level)))
		return tid;
	pid += bpf_core_field_offset(struct pid, numbers);
	pid += level * bpf_core_type_size(struct upid) + bpf_core_field_offset(struct upid, nr);
	if (bpf_probe_read_kernel(&inside, sizeof(inside), (void *)pid))
		return tid;
	return inside;
}

#endif
