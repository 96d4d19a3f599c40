/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ids of processes and threads as user space sees them: in its own pid namespace. Where that is
 * the host's first one they are the task's plain numbers, and the verifier drops all else.
 */
#ifndef RBPROF_BPF_PID_H
#define RBPROF_BPF_PID_H

/* Of user space, where it is not the first: learnt by learn_pid_namespace(), before all else. */
__u64 pid_namespace = 0; /* address of its struct pid_namespace, which lives as long as we do */
__u32 pid_level = 0;	 /* how deep it is nested */

/*
 * A struct pid has a number in its own namespace and in each of those around it, by level. Its
 * address is a plain number here, so that it can be counted on from. 0 where it cannot be read.
 */
static __always_inline u32 pid_level_of(u64 pid)
{
	u32 level = 0;

	bpf_probe_read_kernel(&level, sizeof(level),
			      (void *)(pid + bpf_core_field_offset(struct pid, level)));
	return level;
}

static __always_inline u64 pid_upid(u64 pid, u32 level)
{
	return pid + bpf_core_field_offset(struct pid, numbers) +
	       level * bpf_core_type_size(struct upid);
}

static __always_inline u32 pid_number(u64 pid, u32 level)
{
	u64 upid = pid_upid(pid, level);
	u32 number = 0;

	bpf_probe_read_kernel(&number, sizeof(number),
			      (void *)(upid + bpf_core_field_offset(struct upid, nr)));
	return number;
}

static __always_inline u64 pid_namespace_of(u64 pid, u32 level)
{
	u64 upid = pid_upid(pid, level), ns = 0;

	bpf_probe_read_kernel(&ns, sizeof(ns),
			      (void *)(upid + bpf_core_field_offset(struct upid, ns)));
	return ns;
}

/* The thread's id in its own, innermost pid namespace: as it knows itself. */
static __always_inline u32 task_tid_inside(struct task_struct *task)
{
	u64 pid = (u64)BPF_CORE_READ(task, thread_pid);
	u32 tid = task->pid, inside = pid ? pid_number(pid, pid_level_of(pid)) : 0;

	return inside ? inside : tid;
}

/*
 * The number of a struct pid in user space's namespace; 0: it has none there. A function that
 * the verifier looks at on its own.
 */
__noinline u32 pid_seen(u64 pid)
{
	if (!pid || pid_level_of(pid) < pid_level ||
	    pid_namespace_of(pid, pid_level) != pid_namespace)
		return 0;
	return pid_number(pid, pid_level);
}

/* Both ids while the task has them: one that was released has none any more, and gets 0. */
static __always_inline u32 task_tid_now(struct task_struct *task)
{
	if (!config.in_pid_namespace)
		return task->pid;
	return pid_seen((u64)BPF_CORE_READ(task, thread_pid));
}

static __always_inline u32 task_tgid_now(struct task_struct *task)
{
	if (!config.in_pid_namespace)
		return task->tgid;
	/* Without an id of its own its leader may be gone. */
	if (!BPF_CORE_READ(task, thread_pid))
		return 0;
	return pid_seen((u64)BPF_CORE_READ(task, group_leader, thread_pid));
}

/* The same to a thread's end, for threads whose clocks run. 0: not a task that we see. */
static __always_inline u32 task_tid(struct task_struct *task)
{
	struct thread_state *state = NULL;

	if (config.in_pid_namespace)
		state = thread_of(task);
	return state ? state->tid : task_tid_now(task);
}

static __always_inline u32 task_tgid(struct task_struct *task)
{
	struct thread_state *state = NULL;

	if (config.in_pid_namespace)
		state = thread_of(task);
	return state ? state->tgid : task_tgid_now(task);
}

#endif
