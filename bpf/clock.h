/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The CPU time of a task at this instant, on the kernel's own account.
 *
 * The scheduler adds to se.sum_exec_runtime at every switch and every scheduler tick, up to
 * se.exec_start on the run queue's task clock (which leaves out stolen time and, where the
 * kernel accounts for it, interrupts). What a running task used since then is that clock now
 * minus exec_start. The clock cannot be read here, but it runs with CLOCK_MONOTONIC; their
 * distance is taken at every switch, when the kernel has just brought its clock up to date.
 *
 * So nothing of ours has to be done at a switch between tasks to account for them.
 */
#ifndef RBPROF_BPF_CLOCK_H
#define RBPROF_BPF_CLOCK_H

#define CLOCK_MAX_SINCE_NS 2000000000ULL
#define CLOCK_WINDOW	   64 /* switches */
#define CLOCK_TRIES	   4

static __always_inline bool clock_has_run_queue(void)
{
	return bpf_core_field_exists(((struct sched_entity *)0)->cfs_rq) &&
	       bpf_core_field_exists(((struct cfs_rq *)0)->rq);
}

/*
 * The run queue of the CPU that the task is on; NULL on kernels without group scheduling, where
 * stolen time shows up as an estimate too high until the kernel's next reading (see clock_take).
 */
static __always_inline struct rq *clock_run_queue(struct task_struct *task)
{
	return clock_has_run_queue() ? task->se.cfs_rq->rq : NULL;
}

/* Idle time, so that ticks which ought to have come can be told from those nobody waited for. */
static __always_inline void clock_idle(struct rbprof_cpu *cpu, struct task_struct *prev,
				       struct task_struct *next, u64 now)
{
	if (!prev->pid && cpu->idle_since_ns) {
		cpu->idle_ns += now - cpu->idle_since_ns;
		cpu->idle_since_ns = 0;
	}
	if (!next->pid)
		cpu->idle_since_ns = now;
}

/*
 * A switch takes place: the run queue's clock is up to date. Returns when the kernel sees it take
 * place, on CLOCK_MONOTONIC: from there on it charges CPU to the next task. That may be some time
 * before now, as when a wake-up had just read the clock.
 */
static __always_inline u64 clock_calibrate(struct task_struct *prev, struct task_struct *next,
					   u64 now)
{
	u32 zero = 0;
	struct rbprof_cpu *cpu = bpf_map_lookup_elem(&cpus, &zero);
	u64 kernel_clock;
	s64 offset;
	struct rq *rq = clock_run_queue(next);

	if (!cpu)
		return now;
	clock_idle(cpu, prev, next, now);
	if (rq)
		kernel_clock = rq->clock;
	else if (!clock_has_run_queue())
		kernel_clock = next->se.exec_start;
	else
		return now;
	/*
	 * The kernel read its clock before we read ours, by more when interrupts came between:
	 * the smallest distance is the best. The clocks drift, so it is that of the last switches.
	 */
	offset = now - kernel_clock;
	if (!cpu->switches || offset < cpu->offset_ns)
		cpu->offset_ns = offset;
	if (!(cpu->switches % CLOCK_WINDOW) || offset < cpu->smallest_ns)
		cpu->smallest_ns = offset;
	cpu->switches++;
	if (!(cpu->switches % CLOCK_WINDOW))
		cpu->offset_ns = cpu->smallest_ns;
	return kernel_clock + cpu->offset_ns;
}

static __always_inline u32 task_cpu(struct task_struct *task)
{
	if (bpf_core_field_exists(task->thread_info.cpu))
		return task->thread_info.cpu;
	return task->cpu;
}

/* What a running task used since its exec_start. 0 where no clock relation is known yet. */
static __always_inline u64 clock_since(struct task_struct *task, u64 exec_start)
{
	u32 zero = 0;
	struct rbprof_cpu *cpu = bpf_map_lookup_percpu_elem(&cpus, &zero, task_cpu(task));
	u64 now = bpf_ktime_get_ns();
	struct rq *rq = clock_run_queue(task);

	if (!cpu || !cpu->switches)
		return 0;
	now -= cpu->offset_ns;
	if (rq)
		now -= rq->clock - rq->clock_task;
	/* The kernel reads its clock at every scheduler tick, at least once a second. */
	if (now <= exec_start || now - exec_start > CLOCK_MAX_SINCE_NS)
		return 0;
	return now - exec_start;
}

/* CPU time of the task so far, ns. */
static __always_inline u64 clock_cpu(struct task_struct *task)
{
	u64 sum = task->se.sum_exec_runtime;
	u64 start = task->se.exec_start;

	if (!task->on_cpu)
		return sum;
	/* It may be brought up to date on its own CPU while we read. */
	if (task->se.sum_exec_runtime != sum) {
		sum = task->se.sum_exec_runtime;
		start = task->se.exec_start;
	}
	return sum + clock_since(task, start);
}

/* The kernel's clock of the thread without what is excluded of it. */
static __always_inline u64 clock_own(const struct thread_state *state, u64 cpu)
{
	u64 excluded = state->excluded_ns;

	return cpu > excluded ? cpu - excluded : 0;
}

/*
 * The thread's own clock, from the kernel's: without the collector's steps and our own work. It
 * stands still inside a step. (A tick may come between any two lines of the programs that write
 * these fields, in the same thread: they are written so that each order of them holds.)
 */
static __always_inline u64 thread_clock(const struct thread_state *state, u64 cpu)
{
	return state->in_gc ? state->gc_enter_ns : clock_own(state, cpu);
}

/*
 * Takes the clock's advance since the last event, for an event: the thread's own tick and a reading
 * of all clocks on another CPU may come at the same time, and each nanosecond is told by one.
 */
static __always_inline u64 clock_claim(struct thread_state *state, u64 clock)
{
	u64 before;
	int i;

	for (i = 0; i < CLOCK_TRIES; i++) {
		before = *(volatile u64 *)&state->reported_ns;
		if (clock <= before)
			return 0;
		if (__sync_val_compare_and_swap(&state->reported_ns, before, clock) == before)
			return clock - before;
	}
	return 0;
}

/* The same; what was reported too much is paid back first. */
static __always_inline u64 clock_take(struct thread_state *state, u64 clock,
				      struct rbprof_counters *c)
{
	if (clock >= *(volatile u64 *)&state->reported_ns)
		return clock_claim(state, clock);
	/* Below where it started the kernel's own clock ran backwards: no debt of ours. */
	count_error(c, clock + state->excluded_ns < state->started_ns ? RBPROF_E_CLOCK_BACKWARDS
								      : RBPROF_E_CLOCK_DEBT);
	return 0;
}

/* The event found no room: the next one tells it. */
static __always_inline void clock_give_back(struct thread_state *state, u64 delta)
{
	__sync_fetch_and_add(&state->reported_ns, -delta);
}

/*
 * Moves what the kernel charges to the thread for our program, which began at began_ns
 * (CLOCK_MONOTONIC), to overhead. Interrupts are left out of a thread's CPU where the kernel has
 * CONFIG_IRQ_TIME_ACCOUNTING.
 */
static __always_inline void clock_overhead(struct thread_state *state, u64 began_ns,
					   bool in_interrupt)
{
	u64 cost = bpf_ktime_get_ns() - began_ns;

	if (in_interrupt && bpf_core_field_exists(((struct rq *)0)->prev_irq_time))
		return;
	__sync_fetch_and_add(&state->overhead_ns, cost);
	state->excluded_ns += cost;
}

#endif
