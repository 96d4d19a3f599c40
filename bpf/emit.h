/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Events into the ring buffer. What finds no room is counted, and its CPU time is kept. */
#ifndef RBPROF_BPF_EMIT_H
#define RBPROF_BPF_EMIT_H

/* The ring's last part is for events of processes: without them samples mean nothing. */
static __always_inline bool emit_room_for_samples(void)
{
	u64 used = bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA);
	u64 size = bpf_ringbuf_query(&events, BPF_RB_RING_SIZE);

	return used < size - (size >> RBPROF_RING_RESERVE_SHIFT);
}

/* Whether a quiet event should wake the reader all the same: there is much to read. */
static __always_inline u64 emit_wake(bool urgent)
{
	u64 used = bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA);
	u64 size = bpf_ringbuf_query(&events, BPF_RB_RING_SIZE);

	return urgent || used > size / 4 ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
}

static __always_inline void emit_header(struct rbprof_event *event, u32 kind, u32 size, u64 serial,
					struct task_struct *task)
{
	event->kind = kind;
	event->size = size;
	event->serial = serial;
	event->time_ns = bpf_ktime_get_ns();
	event->pid = task_tgid(task);
	event->tid = task_tid(task);
}

/*
 * Looks for the sample's stack in known_stacks: its entry there, or NULL. *ret_frames: how many
 * frames have to follow the sample, none if user space holds the stack.
 */
static __always_inline u64 *emit_known_stack(struct rbprof_sample *sample, u32 *ret_frames)
{
	u64 *known_epoch = NULL;

	*ret_frames = sample->frame_count;
	if (sample->frame_count)
		known_epoch = bpf_map_lookup_elem(&known_stacks, &sample->stack_hash);
	if (known_epoch) {
		sample->flags |= RBPROF_SAMPLE_STACK_KNOWN;
		*ret_frames = 0;
	}
	return known_epoch;
}

/* Whether user space has proved the names of the sample's stack, as that stands in known_stacks. */
static __always_inline bool is_proved(const struct rbprof_sample *sample, const u64 *known_epoch)
{
	return known_epoch &&
	       (*known_epoch == RBPROF_EPOCH_ANY || *known_epoch == rbprof_gc_epoch(&sample->gc));
}

/* Whether the reader should look at a sample at once: a name in it may soon be freed. */
static __always_inline bool is_urgent(const struct scratch *scratch, const u64 *known_epoch)
{
	const struct rbprof_sample *sample = &scratch->sample;
	u32 zero = 0;
	struct rbprof_cpu *cpu;
	u64 now;

	if (!sample->frame_count || is_proved(sample, known_epoch))
		return false;
	cpu = bpf_map_lookup_elem(&cpus, &zero);
	if (!cpu)
		return true;
	now = bpf_ktime_get_ns();
	/* Beside the main script's, code of no method is soon freed: it cannot wait. */
	if (scratch->walk.unowned <= 1 && now - cpu->woken_ns <= RBPROF_WAKE_PAUSE_NS)
		return false;
	cpu->woken_ns = now;
	return true;
}

/* What the clock event of a thread tells beside the kernel's figure. */
struct clock_deltas {
	u64 cpu_ns, on_ns, off_ns, overhead_ns;
};

/* Clocks of a thread without a stack. False if it found no room; then its CPU is kept in c. */
static __always_inline bool emit_clock(struct task_struct *task, const struct thread_state *state,
				       u64 serial, const struct clock_deltas *deltas, u64 total,
				       u32 reason, struct rbprof_counters *c)
{
	struct rbprof_clock clock = {};

	emit_header(&clock.event, RBPROF_EVENT_CLOCK, sizeof(clock), serial, task);
	clock.cpu_delta_ns = deltas->cpu_ns;
	clock.on_delta_ns = deltas->on_ns;
	clock.off_delta_ns = deltas->off_ns;
	clock.overhead_delta_ns = deltas->overhead_ns;
	clock.gc_total_ns = state->gc_total_ns;
	clock.cpu_total_ns = total;
	clock.cpu_start_ns = state->started_ns;
	clock.start_ns = state->start_ns;
	clock.ran_ns = state->off_since_ns ? state->left_ns : clock.event.time_ns;
	clock.reason = reason;
	clock.tid_inside = state->tid_inside;
	clock.thread_pointer = task->thread.fsbase;
	bpf_probe_read_kernel(clock.comm, sizeof(clock.comm), task->comm);
	if (!bpf_ringbuf_output(&events, &clock, sizeof(clock), emit_wake(false)))
		return true;
	count_error(c, RBPROF_E_LOST_CLOCK);
	if (c)
		__sync_fetch_and_add(&c->lost_cpu_ns, deltas->cpu_ns + deltas->overhead_ns);
	return false;
}

static __always_inline void emit_lifecycle(struct task_struct *task, u32 kind, u64 serial,
					   u32 known, u32 parent_pid, u64 parent_serial)
{
	struct rbprof_lifecycle event = {};

	emit_header(&event.event, kind, sizeof(event), serial, task);
	event.known = known;
	event.parent_pid = parent_pid;
	event.parent_serial = parent_serial;
	bpf_probe_read_kernel(event.comm, sizeof(event.comm), task->comm);
	if (bpf_ringbuf_output(&events, &event, sizeof(event), BPF_RB_FORCE_WAKEUP))
		__sync_fetch_and_add(&lost_lifecycle, 1);
}

#endif
