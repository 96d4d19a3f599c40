/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef RBPROF_BPF_WAIT_H
#define RBPROF_BPF_WAIT_H
static __always_inline void wait_read(struct task_struct *task, const struct ruby_layout *layout,
				      u64 thread, struct rbprof_wait *wait)
{
	wait->vm = 0;
	wait->call = -1;
}
static __always_inline u32 wait_class(struct task_struct *task, bool preempt)
{
	return preempt ? 7 : 0;
}
#endif
