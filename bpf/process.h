/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Life of threads and processes: where their clocks start, and where they end. */
#ifndef RBPROF_BPF_PROCESS_H
#define RBPROF_BPF_PROCESS_H

static __always_inline void thread_set_up(struct task_struct *task, struct thread_state *state,
					  u64 serial, u64 cpu)
{
	state->is_started = 0;
	barrier();
	state->reported_ns = cpu;
	state->started_ns = cpu;
	state->excluded_ns = 0;
	state->overhead_ns = 0;
	state->gc_total_ns = 0;
	state->in_gc = 0;
	wall_start(task, state);
	state->tid_inside = task_tid_inside(task);
	state->tgid = task_tgid_now(task);
	state->tid = task_tid_now(task);
	state->serial = serial;
	state->ec_slot = 0;
	state->objspace = 0;
	state->endpoint_root = 0;
	state->endpoint_ns = 0;
	state->unknown_ns = 0;
	state->has_ended = 0;
	__sync_lock_test_and_set(&state->is_started, 1);
}

/*
 * Starts the clocks of a thread that has none. The timer, a probe and the search for threads may
 * find one at the same time: NULL for all but the first. (Who starts it again after that would
 * take back what it has told.)
 */
static __always_inline struct thread_state *thread_start(struct task_struct *task, u64 serial,
							 u64 cpu)
{
	struct thread_state *state;

	state = bpf_task_storage_get(&threads, task, (void *)&no_state,
				     BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!state || __sync_val_compare_and_swap(&state->is_taken, 0, 1))
		return NULL;
	thread_set_up(task, state, serial, cpu);
	return state;
}

#define PROCESS_UNKNOWN_NS 5000000000ULL

/*
 * The clocks of every new program run from its exec, in case it is Ruby. One that maps no Ruby for
 * so long costs each of its switches what a thread of ours does, for nothing; should it be found
 * to be Ruby later, it begins then, as one does that was there before us.
 */
static __always_inline void thread_forget(struct task_struct *task,
					  const struct thread_state *state)
{
	if (config.follow_execs == RBPROF_FOLLOW_ALL && !state->serial &&
	    bpf_ktime_get_ns() - state->start_ns > PROCESS_UNKNOWN_NS)
		bpf_task_storage_delete(&threads, task);
}

/* Takes what the thread's clocks, but for its CPU, advanced since they were last told. */
static __always_inline void thread_take(struct thread_state *state, struct clock_deltas *deltas)
{
	deltas->on_ns = wall_take_on(state, bpf_ktime_get_ns());
	deltas->off_ns = __sync_lock_test_and_set(&state->off_ns, 0);
	deltas->overhead_ns = __sync_lock_test_and_set(&state->overhead_ns, 0);
}

/*
 * A thread that was there before its process was known to be Ruby: what it used until then
 * is reported on its own, since there is no stack to put it on.
 */
static __always_inline void thread_attach(struct task_struct *task, struct thread_state *state,
					  const struct rbprof_process *process, u64 cpu,
					  struct rbprof_counters *c)
{
	struct clock_deltas deltas;
	u64 until = cpu;

	if (state->serial == process->serial)
		return;
	if (task->pid == task->tgid && process->cpu_at_attach_ns < cpu)
		until = process->cpu_at_attach_ns;
	/* Before the serial is set, so that none of it is a sample's (see clock_claim). */
	deltas.cpu_ns = clock_claim(state, clock_own(state, until));
	state->ec_slot = 0;
	state->objspace = 0;
	state->serial = process->serial;
	if (!deltas.cpu_ns)
		return;
	thread_take(state, &deltas);
	/* The time in which it used the rest is the next sample's, as that CPU is. */
	if (cpu - until < deltas.on_ns) {
		deltas.on_ns -= cpu - until;
		__sync_fetch_and_add(&state->on_ns, cpu - until);
	}
	emit_clock(task, state, process->serial, &deltas, until, RBPROF_CLOCK_ATTACHED, c);
}

/* Reports what a thread used since its last event; total is the kernel's figure. */
static __always_inline void thread_report(struct task_struct *task, u64 total, u32 reason)
{
	struct rbprof_process *process;
	struct clock_deltas deltas;
	struct rbprof_counters *c;
	struct thread_state *state;
	u32 tgid = task_tgid(task);
	u64 clock;

	process = bpf_map_lookup_elem(&processes, &tgid);
	if (!process)
		return;
	state = thread_of(task);
	if (!state || state->has_ended)
		return;
	state->has_ended = reason == RBPROF_CLOCK_THREAD_EXIT;
	c = bpf_map_lookup_elem(&counters, &process->serial);
	thread_attach(task, state, process, total, c);
	wall_still_off(task, state);
	clock = thread_clock(state, total);
	thread_take(state, &deltas);
	deltas.cpu_ns = clock_take(state, clock, c);
	emit_clock(task, state, process->serial, &deltas, total, reason, c);
}

static __always_inline void thread_read(struct task_struct *task)
{
	thread_report(task, clock_cpu(task), RBPROF_CLOCK_READ);
}

/* The task leaves its CPU for the last time: the kernel has charged all it ever will. */
static __always_inline void thread_end(struct task_struct *task)
{
	thread_report(task, task->se.sum_exec_runtime, RBPROF_CLOCK_THREAD_EXIT);
}

static __always_inline void thread_fork(struct task_struct *parent, struct task_struct *child)
{
	struct thread_state *state = thread_of(parent);
	struct rbprof_counters *c;

	if (!state)
		return;
	thread_start(child, state->serial, 0);
	c = bpf_map_lookup_elem(&counters, &state->serial);
	if (c)
		__sync_fetch_and_add(&c->threads_started, 1);
}

static __always_inline void process_fork(struct task_struct *parent, struct task_struct *child)
{
	struct thread_state *state = thread_of(parent);
	u32 parent_tgid = task_tgid(parent), tgid = task_tgid(child);
	struct rbprof_process *process, copy;

	/* The pid may have been another's, whose end we are still told about. */
	bpf_map_delete_elem(&processes, &tgid);
	process = bpf_map_lookup_elem(&processes, &parent_tgid);
	if (!process) {
		if (!state)
			return;
		thread_start(child, 0, 0);
		if (config.follow_execs == RBPROF_FOLLOW_TREE)
			emit_lifecycle(child, RBPROF_EVENT_FORK, 0, false, parent_tgid, 0);
		return;
	}
	__builtin_memcpy(&copy, process, sizeof(copy));
	copy.serial = __sync_fetch_and_add(&last_serial, 1) + 1;
	copy.cpu_at_attach_ns = 0;
	bpf_map_update_elem(&counters, &copy.serial, &no_counts, BPF_ANY);
	vm_fork(process, copy.serial);
	thread_start(child, copy.serial, 0);
	emit_lifecycle(child, RBPROF_EVENT_FORK, copy.serial, true, parent_tgid, process->serial);
	bpf_map_update_elem(&processes, &tgid, &copy, BPF_ANY);
}

static __always_inline void process_exec(struct task_struct *task)
{
	struct thread_state *state = thread_of(task);
	u32 tgid = task_tgid(task);
	struct rbprof_process *process;
	u64 now = clock_cpu(task);

	process = bpf_map_lookup_elem(&processes, &tgid);
	if (process) {
		thread_report(task, now, RBPROF_CLOCK_EXEC);
		emit_lifecycle(task, RBPROF_EVENT_EXEC, process->serial, true, 0, 0);
		bpf_map_delete_elem(&processes, &tgid);
	} else if (state && config.follow_execs == RBPROF_FOLLOW_TREE) {
		emit_lifecycle(task, RBPROF_EVENT_EXEC, 0, false, 0, 0);
	}
	if (state)
		thread_set_up(task, state, 0, now);
	else if (process || (tgid && config.follow_execs == RBPROF_FOLLOW_ALL))
		thread_start(task, 0, now);
}

/* The last thread of a process is about to end; its CPU follows when it is off its CPU. */
static __always_inline void process_exit(struct task_struct *task)
{
	u32 tgid = task_tgid(task);
	struct rbprof_process *process;

	if (task->signal->live.counter)
		return;
	vm_end(task, 0);
	process = bpf_map_lookup_elem(&processes, &tgid);
	if (process)
		emit_lifecycle(task, RBPROF_EVENT_EXIT, process->serial, true, 0, 0);
	else if (config.follow_execs == RBPROF_FOLLOW_TREE && thread_of(task))
		emit_lifecycle(task, RBPROF_EVENT_EXIT, 0, false, 0, 0);
}

#endif
