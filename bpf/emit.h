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

/* CPU of a thread without a stack. False if it found no room; then its CPU is kept in c. */
static __always_inline bool emit_clock(struct task_struct *task, const struct thread_state *state,
				       u64 serial, u64 delta, u64 total, u32 reason,
				       struct rbprof_counters *c)
{
	struct rbprof_clock clock = {};

	emit_header(&clock.event, RBPROF_EVENT_CLOCK, sizeof(clock), serial, task);
	clock.cpu_delta_ns = delta;
	clock.cpu_total_ns = total;
	clock.cpu_start_ns = state->started_ns;
	clock.reason = reason;
	clock.tid_inside = state->tid_inside;
	clock.thread_pointer = task->thread.fsbase;
	bpf_probe_read_kernel(clock.comm, sizeof(clock.comm), task->comm);
	if (!bpf_ringbuf_output(&events, &clock, sizeof(clock), emit_wake(false)))
		return true;
	count_error(c, RBPROF_E_LOST_CLOCK);
	if (c)
		__sync_fetch_and_add(&c->lost_cpu_ns, delta);
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
