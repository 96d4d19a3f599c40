/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Time on and off the CPU of each thread, and the stacks in which it waits.
 *
 * Both times are added up at every switch, exactly, and told with the next event. Which stacks a
 * thread waits in is sampled by wall ticks: one in each period, at an instant of it drawn by lot,
 * so that no rhythm of the program's goes with ours. A time off the CPU into which ticks fall is
 * told as one event when it ends.
 *
 * The stack of such a time can only be read when it begins, while the thread still is on its CPU,
 * and before anybody knows whether a tick will fall into it. It is read if the next tick comes
 * within twice the length that waits of this kind had lately, and at most WALL_READS times a
 * period. What lasts longer than that is read by user space while it lasts.
 */
#ifndef RBPROF_BPF_WALL_H
#define RBPROF_BPF_WALL_H

#define WALL_READS	  8
#define WALL_NEAR_NS	  20000
#define WALL_UNKNOWN_US	  1000000 /* a kind of wait not seen yet may last */
#define WALL_ASK_AFTER_NS 2000000

/* Draws the next tick, in the period that begins at cell_ns. */
static __always_inline void wall_draw(struct thread_state *state)
{
	state->tick_ns = state->cell_ns + bpf_get_prandom_u32() % config.period_ns;
	state->reads = WALL_READS;
}

/* Lets the ticks up to `now` pass; how many they were. */
static __always_inline u32 wall_pass(struct thread_state *state, u64 now)
{
	u64 whole, period = config.period_ns;
	u32 ticks = 1;

	if (now < state->tick_ns)
		return 0;
	state->cell_ns += period;
	if (now > state->cell_ns + period) {
		whole = (now - state->cell_ns) / period;
		state->cell_ns += whole * period;
		ticks += whole;
	}
	wall_draw(state);
	if (now < state->tick_ns)
		return ticks;
	state->cell_ns += period;
	wall_draw(state);
	return ticks + 1;
}

/* The thread's clocks begin. */
static __always_inline void wall_start(struct task_struct *task, struct thread_state *state)
{
	u64 now = bpf_ktime_get_ns();
	bool is_on = task->on_cpu;
	int i;

	state->start_ns = now;
	state->on_since_ns = is_on ? now : 0;
	state->off_since_ns = is_on ? 0 : now;
	state->on_ns = 0;
	state->off_ns = 0;
	state->off_flags = wait_is_runnable(task, false) ? RBPROF_SAMPLE_RUNNABLE : 0;
	state->has_stack = 0;
	state->left_ns = now;
	state->asked = 0;
	state->wait_class = 0;
	state->run_delay_ns = task->sched_info.run_delay;
	__builtin_memset(&state->wait, 0, sizeof(state->wait));
	state->wait.wait.since_ns = now;
	for (i = 0; i < WALL_CLASSES; i++)
		state->lengths_us[i] = WALL_UNKNOWN_US;
	state->cell_ns = now;
	wall_draw(state);
}

static __always_inline bool wall_is_throttled(struct task_struct *task)
{
	if (bpf_core_field_exists(task->throttled))
		return task->throttled;
	return bpf_core_field_exists(task->se.cfs_rq->throttle_count) && task->se.cfs_rq &&
	       task->se.cfs_rq->throttle_count;
}

static __always_inline u64 wall_switches(struct task_struct *task)
{
	return task->nvcsw + task->nivcsw;
}

/* Reads the stack in which the thread begins to wait, and keeps all but its frames. */
static __always_inline void wall_read(struct task_struct *task, struct thread_state *state, u64 now)
{
	u32 tgid = task_tgid(task), at = bpf_get_smp_processor_id(), size, frames;
	struct rbprof_process *process = bpf_map_lookup_elem(&processes, &tgid);
	struct rbprof_counters *c;
	struct scratch *scratch;
	struct rbprof_sample *sample;
	struct rbprof_runtime *runtime;
	const struct ruby_layout *layout = NULL;
	u64 *known_epoch;

	if (!process || process->serial != state->serial || task_drops_memory(task))
		return;
	scratch = bpf_map_lookup_elem(&scratches, &at);
	if (!scratch)
		return;
	c = bpf_map_lookup_elem(&counters, &process->serial);
	sample = &scratch->sample;
	sample->flags = 0;
	sample_stack(process, state, scratch, c, task->thread.fsbase);
	sample_trace(process, state, scratch, c);
	at = process->runtime;
	runtime = bpf_map_lookup_elem(&runtimes, &at);
	if (runtime)
		layout = &runtime->layout;
	wait_read(task, layout, sample->thread, &sample->wait);
	if (sample->wait.vm & RBPROF_WAIT_VM_READ && sample->wait.gvl_owner == sample->thread)
		sample->flags |= RBPROF_SAMPLE_HAS_GVL;
	sample->wait.switches = wall_switches(task);
	sample->wait.since_ns = now;
	known_epoch = emit_known_stack(sample, &frames);
	emit_header(&sample->event, RBPROF_EVENT_STACK, sizeof(*sample), process->serial, task);
	if (sample->frame_count && !is_proved(sample, known_epoch)) {
		if (frames > RBPROF_MAX_FRAMES || !emit_room_for_samples())
			return;
		size = sizeof(*sample) + frames * sizeof(struct rbprof_frame);
		sample->event.size = size;
		if (bpf_ringbuf_output(&events, sample, size,
				       emit_wake(is_urgent(scratch, known_epoch)))) {
			count_error(c, RBPROF_E_LOST_WAIT);
			return;
		}
	}
	__builtin_memcpy(&state->wait, sample, sizeof(state->wait));
	state->has_stack = 1;
}

/*
 * When the thread, off its CPU until now, was woken: `now` if it is not yet, or did not have to
 * wait for the CPU.
 */
static __always_inline u64 wall_woken(struct task_struct *task, const struct thread_state *state,
				      u64 off, u64 now)
{
	u64 queued = task->sched_info.last_queued, delay, clock;
	struct rq *rq = clock_run_queue(task);

	if (state->off_flags & RBPROF_SAMPLE_RUNNABLE)
		return off;
	if (!rq || !queued)
		return now;
	clock = rq->clock;
	delay = clock > queued ? clock - queued : 0;
	if (task->sched_info.run_delay > state->run_delay_ns)
		delay += task->sched_info.run_delay - state->run_delay_ns;
	return delay < now - off ? now - delay : off;
}

/* Tells of the time off the CPU up to now, if ticks fell into it. */
static __always_inline void wall_tell(struct task_struct *task, struct thread_state *state, u64 off,
				      u64 now)
{
	struct rbprof_sample *sample = &state->wait;
	struct rbprof_counters *c;
	u64 untold;

	if (now < state->tick_ns)
		return;
	if (!(config.flags & RBPROF_COLLECT_WALL) || !state->serial) {
		wall_pass(state, now);
		return;
	}
	if (!state->has_stack) {
		sample->flags = RBPROF_SAMPLE_NO_EC | RBPROF_SAMPLE_NOT_READ;
		sample->frame_count = 0;
		sample->thread = 0;
		sample->thread_object = 0;
		sample->error = 0;
		sample->wait.switches = wall_switches(task);
		sample->wait.vm = 0;
		sample->wait.call = -1;
		sample->wait.fd_kind = RBPROF_FD_NONE;
	}
	sample->flags |= RBPROF_SAMPLE_STACK_KNOWN | state->off_flags;
	sample->wait.ticks += wall_pass(state, wall_woken(task, state, off, now));
	sample->wait.late_ticks += wall_pass(state, now);
	untold = __sync_lock_test_and_set(&state->off_ns, 0);
	sample->wall_delta_ns = untold;
	emit_header(&sample->event, RBPROF_EVENT_WAIT, sizeof(*sample), state->serial, task);
	if (bpf_ringbuf_output(&events, sample, sizeof(*sample), emit_wake(false))) {
		__sync_fetch_and_add(&state->off_ns, untold);
		c = bpf_map_lookup_elem(&counters, &state->serial);
		count_error(c, RBPROF_E_LOST_WAIT);
		return;
	}
	sample->wait.ticks = 0;
	sample->wait.late_ticks = 0;
}

/* A wait of the thread's current kind lasted so long. */
static __always_inline void wall_note_length(struct thread_state *state, u64 ns)
{
	u32 at = state->wait_class & (WALL_CLASSES - 1), longest = state->lengths_us[at];
	u64 length = ns / 1000;

	longest -= longest / 16;
	if (length > longest)
		longest = length < WALL_UNKNOWN_US ? length : WALL_UNKNOWN_US;
	state->lengths_us[at] = longest;
}

/* The thread comes onto a CPU. */
static __always_inline void wall_in(struct task_struct *task, struct thread_state *state, u64 now)
{
	u64 off = __sync_lock_test_and_set(&state->off_since_ns, 0);

	if (off && now > off) {
		__sync_fetch_and_add(&state->off_ns, now - off);
		if (state->serial)
			wall_note_length(state, now - off);
		wall_tell(task, state, off, now);
	}
	/* That it went off was not seen: it counts as on. */
	if (!state->on_since_ns)
		state->on_since_ns = now;
}

/*
 * The same, if the switch was not seen: the kernel does not show every one of them. When it came
 * onto the CPU it keeps itself; now is when we find it there.
 */
static __always_inline void wall_is_in(struct task_struct *task, struct thread_state *state,
				       u64 now)
{
	u64 off = state->off_since_ns, arrival = task->sched_info.last_arrival;
	u32 zero = 0;
	struct rbprof_cpu *cpu = bpf_map_lookup_elem(&cpus, &zero);

	if (!off)
		return;
	if (cpu && arrival)
		arrival += cpu->offset_ns;
	wall_in(task, state, arrival > off && arrival < now ? arrival : now);
}

/* Reads the stack in which the thread begins to wait, if it is likely to be asked for. */
static __always_inline void wall_may_read(struct task_struct *task, struct thread_state *state,
					  u64 now)
{
	u64 length;

	state->wait_class = wait_class(wait_call(task), state->off_flags & RBPROF_SAMPLE_RUNNABLE) &
			    (WALL_CLASSES - 1);
	length = state->lengths_us[state->wait_class] * 1000ULL;
	if (config.flags & RBPROF_COLLECT_WALL && state->reads &&
	    state->tick_ns - now <= 2 * length + WALL_NEAR_NS) {
		state->reads--;
		wall_read(task, state, now);
	}
}

/* The thread leaves its CPU. */
static __always_inline void wall_out(struct task_struct *task, struct thread_state *state,
				     bool preempt, u64 now)
{
	u64 since;

	wall_is_in(task, state, now);
	since = __sync_lock_test_and_set(&state->on_since_ns, 0);
	/* A tick may have told of a later instant than the kernel's for this switch: see on_ns. */
	if (since)
		__sync_fetch_and_add(&state->on_ns, now - since);
	state->off_flags = 0;
	if (wait_is_runnable(task, preempt))
		state->off_flags = RBPROF_SAMPLE_RUNNABLE |
				   (wall_is_throttled(task) ? RBPROF_SAMPLE_THROTTLED : 0);
	state->has_stack = 0;
	state->left_ns = now;
	state->run_delay_ns = task->sched_info.run_delay;
	wall_pass(state, now);
	/* Of a process that may yet turn out to be Ruby only the times are kept. */
	if (state->serial)
		wall_may_read(task, state, now);
	state->off_since_ns = now;
}

/* The same for a thread that stays off its CPU, seen from another one. */
static __always_inline void wall_still_off(struct task_struct *task, struct thread_state *state)
{
	u64 now = bpf_ktime_get_ns(), off = state->off_since_ns;

	/* It may come onto a CPU while we look. */
	if (!off || off >= now ||
	    __sync_val_compare_and_swap(&state->off_since_ns, off, now) != off)
		return;
	__sync_fetch_and_add(&state->off_ns, now - off);
	wall_tell(task, state, off, now);
}

/*
 * Takes the time on a CPU that was not told yet; state goes on counting from `now`. Never negative:
 * what was told too much is left for the next time.
 */
static __always_inline u64 wall_take_on(struct thread_state *state, u64 now)
{
	u64 since = state->on_since_ns;
	s64 on = __sync_lock_test_and_set(&state->on_ns, 0);

	if (since && __sync_val_compare_and_swap(&state->on_since_ns, since, now) == since)
		on += now - since;
	if (on >= 0)
		return on;
	__sync_fetch_and_add(&state->on_ns, on);
	return 0;
}

/* Asks user space to read a thread whose stack is not known and that has been waiting. */
static __always_inline void wall_ask(struct task_struct *task, struct thread_state *state)
{
	u64 switches = wall_switches(task), now = bpf_ktime_get_ns();
	struct rbprof_sample ask = {};

	if (!(config.flags & RBPROF_COLLECT_WALL) || !state->serial || !state->off_since_ns ||
	    (state->has_stack && !(state->wait.flags & RBPROF_SAMPLE_NO_EC)) ||
	    (state->asked == switches && switches) || now - state->off_since_ns < WALL_ASK_AFTER_NS)
		return;
	ask.flags = RBPROF_SAMPLE_NO_EC | RBPROF_SAMPLE_NOT_READ;
	ask.wait.switches = switches;
	ask.wait.since_ns = state->off_since_ns;
	emit_header(&ask.event, RBPROF_EVENT_ASK, sizeof(ask), state->serial, task);
	if (!bpf_ringbuf_output(&events, &ask, sizeof(ask), emit_wake(false)))
		state->asked = switches;
}

#endif
