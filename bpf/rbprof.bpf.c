/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The BPF programs: entry points only. docs/architecture.md tells the way of a sample. */
#define __bpf__ 1
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "rbprof_abi.h"
#define walk_read(into, size, address) bpf_probe_read_user(into, size, (void *)(address))
#define walk_loop(count, step, walk)   bpf_loop(count, step, walk, 0)
#include "ivars.h"
#include "walk.h"
#include "trace.h"
#include "maps.h"
#include "task.h"
#include "clock.h"
#include "pid.h"
#include "thread_pointer.h"
#include "emit.h"
#include "sample_trace.h"
#include "sample.h"
#include "wait.h"
#include "wall.h"
#include "vm_counters.h"
#include "process.h"
#include "gc.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Sends the sample in scratch; its clocks go on only if there is room for it. */
static __always_inline void send_sample(struct task_struct *task, struct scratch *scratch,
					struct thread_state *state, u64 serial, u64 cpu, u64 now,
					struct rbprof_counters *c)
{
	struct rbprof_sample *sample = &scratch->sample;
	u64 *known_epoch;
	u32 size, frames;

	if (!emit_room_for_samples())
		goto lost;
	known_epoch = emit_known_stack(sample, &frames);
	if (frames > RBPROF_MAX_FRAMES)
		goto lost;
	size = sizeof(*sample) + frames * sizeof(struct rbprof_frame);
	emit_header(&sample->event, RBPROF_EVENT_SAMPLE, size, serial, task);
	sample->cpu_delta_ns = clock_take(state, thread_clock(state, cpu), c);
	sample->wall_delta_ns = wall_take_on(state, now);
	sample->overhead_delta_ns = __sync_lock_test_and_set(&state->overhead_ns, 0);
	if (bpf_ringbuf_output(&events, sample, size, emit_wake(is_urgent(scratch, known_epoch))))
		goto give_back;
	if (c)
		__sync_fetch_and_add(&c->taken, 1);
	return;
give_back:
	clock_give_back(state, sample->cpu_delta_ns);
	__sync_fetch_and_add(&state->on_ns, sample->wall_delta_ns);
	__sync_fetch_and_add(&state->overhead_ns, sample->overhead_delta_ns);
lost:
	count_error(c, RBPROF_E_LOST_SAMPLE);
}

/* Run once, by user space itself: which pid namespace its ids are of. */
SEC("syscall")
int learn_pid_namespace(void *ctx)
{
	u64 pid = (u64)BPF_CORE_READ(bpf_get_current_task_btf(), thread_pid);

	if (!pid)
		return 1;
	pid_level = pid_level_of(pid);
	pid_namespace = pid_namespace_of(pid, pid_level);
	return !pid_namespace;
}

/* The sampling timer, on every CPU. */
SEC("perf_event")
int on_tick(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 zero = 0, tgid = task_tgid(task), at = bpf_get_smp_processor_id();
	struct rbprof_cpu *cpu = bpf_map_lookup_elem(&cpus, &zero);
	struct rbprof_process *process;
	struct thread_state *state;
	struct rbprof_counters *c;
	struct scratch *scratch;
	u64 now = bpf_ktime_get_ns(), used, thread_pointer;

	if (!cpu)
		return 0;
	if (task->pid)
		cpu->ticks++;
	process = bpf_map_lookup_elem(&processes, &tgid);
	if (!process)
		return 0;
	c = bpf_map_lookup_elem(&counters, &process->serial);
	if (c)
		__sync_fetch_and_add(&c->fired, 1);
	scratch = bpf_map_lookup_elem(&scratches, &at);
	if (!scratch)
		return 0;
	used = clock_cpu(task);
	scratch->sample.flags = 0;
	scratch->sample.cpu = at;
	state = thread_of(task);
	if (!state) {
		state = thread_start(task, process->serial, used);
		if (!state) {
			count_error(c, RBPROF_E_STORAGE_BUSY);
			return 0;
		}
		count_error(c, RBPROF_E_THREAD_WITHOUT_START);
	}
	wall_is_in(task, state, now);
	thread_attach(task, state, process, used, c);
	thread_pointer = task->thread.fsbase;
	if (task_drops_memory(task)) {
		/* Its memory may be gone already: it is in no Ruby frame any more. */
		thread_pointer = 0;
		state->ec_slot = 0;
	}
	sample_stack(process, state, scratch, c, thread_pointer);
	sample_trace(process, state, scratch, c);
	gc_tick(state, &scratch->sample, c);
	scratch->sample.gc_untold_ns = c ? c->gc.cpu_ns : 0;
	send_sample(task, scratch, state, process->serial, used, now, c);
	clock_overhead(state, now, true);
	return 0;
}

/* Most tasks that are switched are not ours: a look is cheaper than a search. */
static __always_inline bool is_others(struct task_struct *task)
{
	return bpf_core_field_exists(task->bpf_storage) && !task->bpf_storage;
}

/*
 * Of switches between two tasks of others one in eight is enough to know the clocks. The tasks'
 * own counts are asked, which costs no look into a map.
 */
static __always_inline bool passes_by(struct task_struct *prev, struct task_struct *next)
{
	return prev->pid && next->pid && is_others(prev) && is_others(next) &&
	       wall_switches(prev) % 8;
}

static __always_inline struct thread_state *switched_thread(struct task_struct *task)
{
	if (is_others(task))
		return NULL;
	return thread_of(task);
}

/* Apart from on_switch(), so that a switch between others saves no registers for it. */
static __noinline int switch_clocks(struct task_struct *prev, struct task_struct *next,
				    bool preempt)
{
	struct thread_state *state;
	u64 began = bpf_ktime_get_ns(), now;

	now = clock_calibrate(prev, next, began);
	state = switched_thread(prev);
	if (state) {
		wall_out(prev, state, preempt, now);
		if (task_is_dead(prev))
			thread_end(prev);
	}
	state = switched_thread(next);
	if (!state)
		return 0;
	wall_in(next, state, now);
	/* The kernel's clock of the next task began before this program. */
	if (state->serial)
		clock_overhead(state, began, false);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	if (passes_by(prev, next))
		return 0;
	return switch_clocks(prev, next, preempt);
}

/* The collector's entries and exits; user space makes them programs for many uprobes. */
SEC("uprobe")
int on_gc_enter(struct pt_regs *ctx)
{
	gc_enter(ctx);
	return 0;
}

SEC("uprobe")
int on_gc_exit(struct pt_regs *ctx)
{
	gc_exit(ctx);
	return 0;
}

/* A VM takes itself down; user space makes it a program for many uprobes. */
SEC("uprobe")
int on_vm_end(struct pt_regs *ctx)
{
	vm_end(bpf_get_current_task_btf(), RBPROF_VM_ENDED);
	return 0;
}

/* The program is about to be replaced, its memory is still there. Since Linux 6.10. */
SEC("tp_btf/sched_prepare_exec")
int BPF_PROG(on_program_end, struct task_struct *task, struct linux_binprm *bprm)
{
	vm_end(task, 0);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	if (parent->tgid == child->tgid)
		thread_fork(parent, child);
	else
		process_fork(parent, child);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, pid_t old_pid, struct linux_binprm *bprm)
{
	process_exec(task);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	process_exit(task);
	return 0;
}

/* Starts the clocks of threads that have none. Run when processes were added to the table. */
SEC("iter/task")
int start_clocks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct rbprof_process *process;
	u32 tgid;

	if (!task)
		return 0;
	tgid = task_tgid(task);
	process = bpf_map_lookup_elem(&processes, &tgid);
	if (process && !thread_of(task))
		thread_start(task, process->serial, clock_cpu(task));
	return 0;
}

/* Reports the CPU that each thread used since its last event. */
SEC("iter/task")
int read_clocks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (task)
		thread_read(task);
	return 0;
}

/*
 * Has user space read the threads that wait since before their switches were seen. Threads of
 * programs that are none of ours give up their clocks.
 */
SEC("iter/task")
int ask_waits(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct rbprof_process *process;
	struct thread_state *state;
	u32 tgid;

	if (!task)
		return 0;
	state = thread_of(task);
	if (!state)
		return 0;
	tgid = task_tgid(task);
	process = bpf_map_lookup_elem(&processes, &tgid);
	if (!process)
		thread_forget(task, state);
	else if (state->serial && process->serial == state->serial)
		wall_ask(task, state);
	return 0;
}
