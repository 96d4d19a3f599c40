/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads what each thread of one process waits for whenever it leaves its CPU. */
#define __bpf__ 1
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "rbprof_abi.h"
#include "bpf/wait.h"
#include "tests/bpf/wait_probe.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ruby_layout);
} layouts SEC(".maps");

/* By tid: rb_thread_t. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, u32);
	__type(value, u64);
} ruby_threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, u32);
	__type(value, struct wait_probe_seen);
} seen SEC(".maps");

__u32 target = 0;
const struct wait_probe_seen nothing = {};

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	u32 zero = 0, tid = prev->pid;
	struct ruby_layout *layout = bpf_map_lookup_elem(&layouts, &zero);
	struct wait_probe_seen *found;
	u64 *thread, before;

	if (!target || prev->tgid != (s32)target || !layout)
		return 0;
	bpf_map_update_elem(&seen, &tid, &nothing, BPF_NOEXIST);
	found = bpf_map_lookup_elem(&seen, &tid);
	if (!found)
		return 0;
	thread = bpf_map_lookup_elem(&ruby_threads, &tid);
	before = bpf_ktime_get_ns();
	wait_read(prev, layout, thread ? *thread : 0, &found->wait);
	found->read_ns += bpf_ktime_get_ns() - before;
	found->reads++;
	found->wait.switches = prev->nvcsw + prev->nivcsw;
	found->is_runnable = wait_is_runnable(prev, preempt);
	found->wait_class = wait_class(found->wait.call, found->is_runnable);
	return 0;
}

/* The same for threads that are asleep, in a program that runs elsewhere. */
SEC("iter/task")
int read_all(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct wait_probe_seen *found;
	struct rbprof_wait wait;
	u32 tid;

	if (!task || !target || task->tgid != (s32)target)
		return 0;
	tid = task->pid;
	found = bpf_map_lookup_elem(&seen, &tid);
	if (!found)
		return 0;
	wait_read(task, NULL, 0, &wait);
	found->call_from_outside = wait.call;
	return 0;
}
