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

#endif
