/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Steps of the garbage collector, between probes on its entries and its exits.
 *
 * What a thread uses of its CPU from an entry to the exit is the collector's and is left out of
 * the thread's clock, which stands still meanwhile (clock.h). The steps of a process are added
 * up; its collector works for one thread at a time, so nobody else writes the sums.
 *
 * Where probes are hit too often, the entry that is hit most and the exits that its steps end at
 * are given up in this process: their hits count nothing from then on, and user space takes the
 * probes out.
 */
#ifndef RBPROF_BPF_GC_H
#define RBPROF_BPF_GC_H

#define GC_FLUSH_NS  10000000
#define GC_WINDOW_NS 100000000
/*
 * A process may be hit more often than it should for a while: this many windows' worth at its
 * begin, and what it left unused, up to as much. After it gave a site up: a little.
 */
#define GC_CREDIT_WINDOWS 100
#define GC_LATER_WINDOWS  3
#define GC_ENTRIES	  RBPROF_GC_EXITS
/* Two probes on one instruction, by two names of its file, run within this time. */
#define GC_TWICE_NS   20000
#define GC_MAJOR_MASK 0xff /* gc.c: enum gpr_flag, the reasons of a major collection */

/* Which exits the steps of each entry end at, by runtime: learnt from what was seen. */
struct gc_pairs {
	u32 exits_of[GC_ENTRIES];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RBPROF_MAX_RUNTIMES);
	__type(key, u32);
	__type(value, struct gc_pairs);
} gc_pairs SEC(".maps");

/*
 * One a CPU (max_entries is set at load). These programs may be preempted, and the timer's
 * may come between: they share no scratch with it, and find this one taken at times.
 */
struct gc_scratch {
	u64 is_taken;
	struct scratch scratch;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct gc_scratch);
} gc_scratches SEC(".maps");

/* What a probe is put on behalf of: found anew at each hit. */
struct gc_hit {
	struct task_struct *task;
	struct rbprof_process *process;
	struct thread_state *state;
	struct rbprof_counters *c;
	u64 cpu_ns; /* the kernel's clock of the thread */
	u64 now_ns; /* CLOCK_MONOTONIC */
	u32 site;
};

/* A step that has ended. */
struct gc_step {
	u64 cpu_ns, wall_ns;
	u32 flags; /* the objspace's */
	u32 info;
	bool replaces, flushes;
	bool has_probes; /* what they cost is in it */
};

/*
 * Where the VM takes the time of its steps outside of our probes, it counts them as the
 * collector's (3.1 and 3.2). So do we then: there is one figure for it.
 */
static __always_inline bool gc_vm_counts_probes(const struct gc_hit *hit)
{
	u32 index = hit->process->runtime;
	struct rbprof_runtime *runtime = bpf_map_lookup_elem(&runtimes, &index);

	return runtime && runtime->layout.objspace__total_time != RUBY_NO_FIELD;
}

/* Our part of the thread's CPU. Atomic, since the timer's program may come between. */
static __always_inline void gc_overhead(struct thread_state *state, u64 ns)
{
	__sync_fetch_and_add(&state->overhead_ns, ns);
	__sync_fetch_and_add(&state->excluded_ns, ns);
}

/* What this program has cost the thread so far: while it was preempted, nothing. */
static __always_inline u64 gc_cost(const struct gc_hit *hit)
{
	u64 cpu = clock_cpu(hit->task);

	return cpu > hit->cpu_ns ? cpu - hit->cpu_ns : 0;
}

/* False: the hit is of nobody's that is profiled. (Not inline: what it needs of the stack ends with
 * it.) */
static __noinline bool gc_hit(void *ctx, struct gc_hit *hit)
{
	u32 tgid;

	hit->now_ns = bpf_ktime_get_ns();
	hit->task = bpf_get_current_task_btf();
	hit->cpu_ns = clock_cpu(hit->task);
	hit->site = bpf_get_attach_cookie(ctx) & (RBPROF_GC_SITES - 1);
	tgid = task_tgid(hit->task);
	hit->process = bpf_map_lookup_elem(&processes, &tgid);
	if (!hit->process || hit->process->flags & RBPROF_PROCESS_REFUSED)
		return false;
	hit->c = bpf_map_lookup_elem(&counters, &hit->process->serial);
	if (!hit->c || hit->c->gc.removed_sites & (1U << hit->site))
		return false;
	hit->state = thread_of(hit->task);
	/* Probes may be there before the clocks are started: steps count from then on. */
	if (!hit->state)
		return false;
	thread_attach(hit->task, hit->state, hit->process, hit->cpu_ns, hit->c);
	return true;
}

/* The same hit by another link. (While links are exchanged for fewer there are two of them.) */
static __always_inline bool gc_is_twice(const struct gc_hit *hit)
{
	if (hit->state->gc_site != hit->site || hit->now_ns - hit->state->gc_seen_ns >= GC_TWICE_NS)
		return false;
	if (!hit->c->gc.removed_sites)
		count_error(hit->c, RBPROF_E_GC_HIT_TWICE);
	return true;
}

static __always_inline void gc_count_hit(struct gc_hit *hit)
{
	hit->c->gc.window_hits++;
	hit->c->gc.hits[hit->site & (RBPROF_GC_SITES - 1)]++;
}

/* ---- too many hits ---- */

/* Gives up the busiest entry and its exits; all, if those belong to other entries as well. */
static __always_inline void gc_give_up(struct rbprof_gc_sums *sums, const struct gc_pairs *pairs)
{
	u32 busiest = 0, hits = 0, sites, others = 0, i;

	for (i = 0; i < GC_ENTRIES; i++) {
		if (sums->hits[i] > hits) {
			hits = sums->hits[i];
			busiest = i;
		}
	}
	busiest &= GC_ENTRIES - 1;
	sites = pairs->exits_of[busiest];
	for (i = 0; i < GC_ENTRIES; i++)
		if (i != busiest && !(sums->removed_sites & (1U << i)))
			others |= pairs->exits_of[i];
	sums->removed_sites |= !hits || sites & others ? ~0U : sites | (1U << busiest);
}

/*
 * At the end of a step, so that none is given up half. True if sites were given up now: all that
 * was added up is to be told, so that user space knows what the VM's clock goes on from.
 * A function that the verifier looks at on its own: the ways through its loops are many.
 */
__noinline int gc_watch(struct rbprof_gc_sums *sums, const struct gc_pairs *pairs, u64 now_ns)
{
	s64 most = GC_CREDIT_WINDOWS * (s64)config.gc_window_hits, credit;
	bool gives_up = false;
	u64 elapsed;

	if (!sums || !pairs)
		return 0;
	elapsed = now_ns - sums->window_ns;
	if (!sums->window_ns)
		goto open;
	if (elapsed < GC_WINDOW_NS)
		return 0;
	credit = sums->credit + config.gc_window_hits * elapsed / GC_WINDOW_NS - sums->window_hits;
	if (credit > most)
		credit = most;
	if (config.gc_window_hits && credit < 0) {
		gc_give_up(sums, pairs);
		credit = GC_LATER_WINDOWS * config.gc_window_hits;
		gives_up = true;
	}
	sums->credit = credit;
	goto next;
open:
	sums->credit = most;
next:
	sums->window_ns = now_ns;
	sums->window_hits = 0;
	__builtin_memset(sums->hits, 0, sizeof(sums->hits));
	return gives_up;
}

/* ---- the entry ---- */

static __always_inline void gc_enter(void *ctx)
{
	struct gc_hit hit;
	struct thread_state *state;

	if (!gc_hit(ctx, &hit))
		return;
	state = hit.state;
	if (state->in_gc) {
		if (gc_is_twice(&hit))
			return;
		count_error(hit.c, RBPROF_E_GC_STEP_WITHOUT_EXIT);
	}
	gc_count_hit(&hit);
	/* The timer's program may come between any two lines: in_gc makes the others count. */
	state->gc_site = hit.site;
	state->gc_enter_wall_ns = hit.now_ns;
	state->gc_enter_ns = clock_own(state, hit.cpu_ns);
	barrier();
	state->in_gc = 1;
	state->gc_seen_ns = bpf_ktime_get_ns();
	/* The rest of the trap falls into the step. */
	if (!gc_vm_counts_probes(&hit))
		gc_overhead(state, gc_cost(&hit) + config.gc_trap_ns / 2);
}

/* ---- the exit ---- */

/* Whether this step's stack takes the kept one's place: by its share of all CPU since the flush. */
static __always_inline bool gc_draw(u64 step, u64 all)
{
	if (all >> 32) {
		all >>= 16;
		step >>= 16;
	}
	return step >= all || bpf_get_prandom_u32() * all < step << 32;
}

static __always_inline void gc_read(struct gc_hit *hit, struct gc_step *step)
{
	u32 index = hit->process->runtime;
	struct rbprof_runtime *runtime = bpf_map_lookup_elem(&runtimes, &index);
	const struct ruby_layout *layout;
	u64 objspace;

	step->flags = RUBY_GC_MODE_MASK; /* no mode that ends a collection */
	step->info = 0;
	if (!runtime)
		return;
	layout = &runtime->layout;
	objspace = sample_objspace(hit->process, layout, hit->state);
	if (!objspace || layout->objspace__latest_gc_info == RUBY_NO_FIELD)
		return;
	if (bpf_probe_read_user(&step->flags, sizeof(step->flags),
				(void *)(objspace + layout->objspace__flags)) ||
	    bpf_probe_read_user(&step->info, sizeof(step->info),
				(void *)(objspace + layout->objspace__latest_gc_info))) {
		step->flags = RUBY_GC_MODE_MASK;
		count_error(hit->c, RBPROF_E_GC_STATE_FAULT);
	}
}

/* What the event tells beside the stack. */
static __always_inline void gc_fill(struct rbprof_sample *sample, const struct gc_hit *hit,
				    const struct gc_step *step, u32 size)
{
	const struct rbprof_gc_sums *sums = &hit->c->gc;

	emit_header(&sample->event, RBPROF_EVENT_GC, size, hit->process->serial, hit->task);
	sample->event.time_ns = hit->now_ns;
	sample->cpu_delta_ns = sums->cpu_ns;
	sample->wall_delta_ns = sums->wall_ns;
	sample->overhead_delta_ns = 0;
	sample->gc_steps = sums->steps - sums->told_steps;
	sample->gc_info = step->info;
	if (step->flushes)
		sample->flags |= RBPROF_SAMPLE_GC_FLUSH;
	if (sums->removed_sites)
		sample->flags |= RBPROF_SAMPLE_GC_PARTIAL;
}

static __always_inline void gc_told(const struct gc_hit *hit, const struct gc_step *step)
{
	struct rbprof_gc_sums *sums = &hit->c->gc;

	sums->cpu_ns = 0;
	sums->wall_ns = 0;
	sums->told_steps = sums->steps;
	if (step->flushes) {
		sums->flush_cpu_ns = 0;
		sums->flushed_ns = hit->now_ns;
	}
}

/* Tells what has been added up, with the thread's stack. */
static __always_inline void gc_send_stack(const struct gc_hit *hit, const struct gc_step *step,
					  struct scratch *scratch)
{
	struct rbprof_sample *sample = &scratch->sample;
	u32 size, frames;
	u64 *known_epoch;

	sample->flags = RBPROF_SAMPLE_GC_STACK;
	sample->cpu = bpf_get_smp_processor_id();
	sample_stack(hit->process, hit->state, scratch, hit->c, hit->task->thread.fsbase);
	sample_trace(hit->process, hit->state, scratch, hit->c);
	/* The step is over but for the flag: what the stack holds stays as it is. */
	sample->gc.flags &= ~RUBY_GC_DURING_GC;
	known_epoch = emit_known_stack(sample, &frames);
	if (frames > RBPROF_MAX_FRAMES)
		return;
	size = sizeof(*sample) + frames * sizeof(struct rbprof_frame);
	gc_fill(sample, hit, step, size);
	if (emit_room_for_samples() &&
	    !bpf_ringbuf_output(&events, sample, size, emit_wake(is_urgent(scratch, known_epoch))))
		gc_told(hit, step);
	else
		count_error(hit->c, RBPROF_E_LOST_GC);
}

/* The same without a stack: the kept one stays. */
static __noinline void gc_send_plain(const struct gc_hit *hit, const struct gc_step *step)
{
	struct rbprof_sample *sample = NULL;

	if (emit_room_for_samples())
		sample = bpf_ringbuf_reserve(&events, sizeof(*sample), 0);
	if (!sample) {
		count_error(hit->c, RBPROF_E_LOST_GC);
		return;
	}
	__builtin_memset(sample, 0, sizeof(*sample));
	sample->flags = RBPROF_SAMPLE_STACK_KNOWN | RBPROF_SAMPLE_NO_EC;
	sample->gc.count = RBPROF_GC_STATE_UNKNOWN;
	gc_fill(sample, hit, step, sizeof(*sample));
	bpf_ringbuf_submit(sample, emit_wake(false));
	gc_told(hit, step);
}

static __always_inline void gc_tell(const struct gc_hit *hit, const struct gc_step *step)
{
	u32 at = bpf_get_smp_processor_id();
	struct gc_scratch *scratch = NULL;

	if (step->replaces)
		scratch = bpf_map_lookup_elem(&gc_scratches, &at);
	if (scratch && !__sync_val_compare_and_swap(&scratch->is_taken, 0, 1)) {
		gc_send_stack(hit, step, &scratch->scratch);
		__sync_lock_test_and_set(&scratch->is_taken, 0);
	} else if (step->flushes) {
		gc_send_plain(hit, step);
	}
}

/* Ends the step on the thread's clocks. The time of the trap that ended it is ours. */
static __always_inline void gc_end(const struct gc_hit *hit, struct gc_step *step)
{
	struct thread_state *state = hit->state;
	u64 clock = clock_own(state, hit->cpu_ns), trap = config.gc_trap_ns / 2;

	step->cpu_ns = (s64)(clock - state->gc_enter_ns) > 0 ? clock - state->gc_enter_ns : 0;
	if (step->has_probes)
		trap = 0;
	if (trap > step->cpu_ns)
		trap = step->cpu_ns;
	step->cpu_ns -= trap;
	step->wall_ns = hit->now_ns - state->gc_enter_wall_ns;
	if (step->wall_ns < step->cpu_ns)
		step->wall_ns = step->cpu_ns;
	state->gc_total_ns += step->cpu_ns;
	gc_overhead(state, trap);
	__sync_fetch_and_add(&state->excluded_ns, step->cpu_ns);
	barrier();
	state->in_gc = 0;
}

static __noinline void gc_add(struct gc_hit *hit, struct gc_step *step)
{
	struct rbprof_gc_sums *sums = &hit->c->gc;

	sums->cpu_ns += step->cpu_ns;
	sums->wall_ns += step->wall_ns;
	sums->total_cpu_ns += step->cpu_ns;
	sums->flush_cpu_ns += step->cpu_ns;
	sums->steps++;
	gc_read(hit, step);
	step->replaces = gc_draw(step->cpu_ns, sums->flush_cpu_ns);
	step->flushes = hit->now_ns - sums->flushed_ns >= GC_FLUSH_NS ||
			(!(step->flags & RUBY_GC_MODE_MASK) && step->info & GC_MAJOR_MASK);
}

/* The rest of the exit's trap, and what of the entry's came before its program. */
static __always_inline void gc_settle(const struct gc_hit *hit, const struct gc_step *step)
{
	struct thread_state *state = hit->state;
	struct rbprof_gc_sums *sums = &hit->c->gc;
	u64 cost = gc_cost(hit) + config.gc_trap_ns;

	if (!step->has_probes) {
		gc_overhead(state, cost);
		return;
	}
	__sync_fetch_and_add(&state->excluded_ns, cost);
	state->gc_total_ns += cost;
	/* Told with the next step. */
	sums->cpu_ns += cost;
	sums->wall_ns += cost;
	sums->total_cpu_ns += cost;
}

static __always_inline void gc_exit(void *ctx)
{
	struct gc_hit hit;
	struct gc_step step;
	struct thread_state *state;
	struct gc_pairs *pairs;
	u32 index;

	if (!gc_hit(ctx, &hit))
		return;
	state = hit.state;
	index = hit.process->runtime;
	pairs = bpf_map_lookup_elem(&gc_pairs, &index);
	if (!pairs)
		return;
	if (!state->in_gc) {
		if (!gc_is_twice(&hit) && !hit.c->gc.removed_sites)
			count_error(hit.c, RBPROF_E_GC_STEP_WITHOUT_ENTRY);
		return;
	}
	pairs->exits_of[state->gc_site & (GC_ENTRIES - 1)] |= 1U << hit.site;
	step.has_probes = gc_vm_counts_probes(&hit);
	gc_end(&hit, &step);
	gc_count_hit(&hit);
	gc_add(&hit, &step);
	if (gc_watch(&hit.c->gc, pairs, hit.now_ns))
		step.flushes = true;
	if (step.replaces || step.flushes)
		gc_tell(&hit, &step);
	state->gc_site = hit.site;
	state->gc_seen_ns = bpf_ktime_get_ns();
	gc_settle(&hit, &step);
}

/* ---- what others see of it ---- */

/*
 * For the timer's program, between reading the stack and the clock: marks a sample that falls into
 * a step. A step that the VM knows nothing of any more has lost its exit.
 */
static __always_inline void gc_tick(struct thread_state *state, struct rbprof_sample *sample,
				    struct rbprof_counters *c)
{
	if (c && c->gc.removed_sites)
		sample->flags |= RBPROF_SAMPLE_GC_PARTIAL;
	if (!state->in_gc)
		return;
	if (sample->gc.count == RBPROF_GC_STATE_UNKNOWN || sample->gc.flags & RUBY_GC_DURING_GC) {
		sample->flags |= RBPROF_SAMPLE_IN_STEP;
		return;
	}
	state->in_gc = 0;
	count_error(c, RBPROF_E_GC_STEP_WITHOUT_EXIT);
}

#endif
