/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts passages of the garbage collector and the CPU between entry and exit, of one process. */
#define __bpf__ 1
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "rbprof_abi.h"
#define walk_read(into, size, address) bpf_probe_read_user(into, size, (void *)(address))
#define walk_loop(count, step, walk)   bpf_loop(count, step, walk, 0)
#include "bpf/ivars.h"
#include "bpf/walk.h"
#include "bpf/trace.h"
#include "bpf/maps.h"
#include "bpf/clock.h"
#include "tests/bpf/gc_probe.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct inside {
	bool is_inside;
	u64 cpu_ns; /* of the thread, at the entry */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct inside);
} inside SEC(".maps");

struct gc_probe_totals totals = {};

static void count_hit(void *ctx)
{
	u64 site = bpf_get_attach_cookie(ctx);

	if (site < GC_PROBE_SITES)
		__sync_fetch_and_add(&totals.hits[site], 1);
}

SEC("uprobe")
int on_gc_enter(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct inside *thread =
		bpf_task_storage_get(&inside, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	count_hit(ctx);
	__sync_fetch_and_add(&totals.entries, 1);
	if (!thread) {
		__sync_fetch_and_add(&totals.lost, 1);
		return 0;
	}
	if (thread->is_inside)
		__sync_fetch_and_add(&totals.nested, 1);
	thread->is_inside = true;
	thread->cpu_ns = clock_cpu(task);
	return 0;
}

SEC("uprobe")
int on_gc_exit(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 cpu = clock_cpu(task);
	struct inside *thread = bpf_task_storage_get(&inside, task, NULL, 0);

	count_hit(ctx);
	__sync_fetch_and_add(&totals.exits, 1);
	if (!thread || !thread->is_inside) {
		__sync_fetch_and_add(&totals.unmatched, 1);
		return 0;
	}
	if (cpu > thread->cpu_ns)
		__sync_fetch_and_add(&totals.cpu_ns, cpu - thread->cpu_ns);
	thread->is_inside = false;
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	clock_calibrate(prev, next, bpf_ktime_get_ns());
	return 0;
}
