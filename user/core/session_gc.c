/* SPDX-License-Identifier: BSD-2-Clause */
/* The collector's samples: steps that are added up, and whose stack they fall on. */
#include "session_internal.h"

#include <stdlib.h>
#include <string.h>

#include "../ruby/gc_info.h"

static const char probe[] = "probe", clock_source[] = "vm clock", sampled[] = "sampled";

/* The stack with the collector as its leaf. */
static uint32_t gc_stack(struct session *session, uint32_t stack)
{
	struct profile_stack frames = profile__stack_at(session->profile, stack);

	if (!session->options->max_frames)
		return session->stack_none;
	if (session->options->no_gc_stack || frames.count > RBPROF_MAX_FRAMES)
		return session->stack_gc;
	session->scratch[0] = session->frame_gc;
	memcpy(session->scratch + 1, frames.frames, frames.count * sizeof(*frames.frames));
	return profile__stack(session->profile, session->scratch, frames.count + 1);
}

/* The collector alone, on nobody's stack. */
static struct tracked_row_key placeholder(const struct session *session, uint64_t time_ns)
{
	return (struct tracked_row_key){
		.kind = TRACKED_GC,
		.stack = session->options->max_frames ? session->stack_gc : session->stack_none,
		.name = PROFILE_NONE,
		.holder = PROFILE_NONE,
		.endpoint = PROFILE_NONE,
		.time_ns = session__time(session, time_ns),
	};
}

static struct tracked_thread *rows_of(struct tracked_process *process)
{
	if (!process->gc.rows)
		process->gc.rows = calloc(1, sizeof(*process->gc.rows));
	return process->gc.rows;
}

/* One sample. */
static void add(struct tracked_process *process, const struct tracked_row_key *key, uint64_t cpu_ns,
		uint64_t wall_ns)
{
	struct tracked_values values = {
		.samples = 1,
		.cpu_ns = (int64_t)cpu_ns,
		.wall_ns = (int64_t)(wall_ns > cpu_ns ? wall_ns : cpu_ns),
	};
	struct tracked_thread *rows = rows_of(process);

	if (rows)
		tracked_thread__add(rows, key, &values);
	process->gc.samples++;
}

static void flush(struct session *session, struct tracked_process *process, uint64_t time_ns)
{
	struct tracked_gc *gc = &process->gc;
	struct tracked_row_key key = placeholder(session, time_ns);

	if (!gc->cpu_ns && !gc->wall_ns)
		return;
	if (gc->has_kept) {
		key = gc->kept;
		key.time_ns = session__time(session, time_ns);
	}
	key.gc_info = gc->info;
	key.gc_source = profile__cstring(session->profile, probe);
	add(process, &key, gc->cpu_ns, gc->wall_ns);
	gc->cpu_ns = 0;
	gc->wall_ns = 0;
}

/* A reading of the VM's clock. What it says from the first one on is told by us. */
static void note_clock(struct tracked_gc *gc, uint64_t clock_ns)
{
	if (!gc->has_clock) {
		gc->has_clock = true;
		gc->clock_first_ns = clock_ns;
		gc->told_before_ns = gc->probed_ns + gc->moved_ns;
	}
	gc->clock_last_ns = clock_ns;
}

void session__read_gc_clock(struct tracked_process *process)
{
	uint64_t clock_ns;

	if (process->memory && !gc_info__clock(process->memory, &process->found.runtime->layout,
					       ruby_process__vm_ptr(&process->found), &clock_ns))
		note_clock(&process->gc, clock_ns);
}

/* What was told since the VM's clock was first read. */
static uint64_t told_ns(const struct tracked_gc *gc)
{
	return gc->probed_ns + gc->moved_ns - gc->returned_ns - gc->told_before_ns;
}

/* Takes a part of a sample's CPU for the collector. */
static void move(struct tracked_gc *gc, struct tracked_thread *thread, uint64_t part)
{
	gc->moved_ns += part;
	thread->gc_moved_ns += (int64_t)part;
	thread->gc_cpu_ns += part;
}

/* Of what was told too much, as much as no sample carries yet and probes can have cost. */
static void give_back(struct session *session, struct tracked_gc *gc, struct tracked_thread *thread)
{
	const uint64_t cost = 2 * gc->steps * session->gc_trap_ns;
	uint64_t part = gc->excess_ns;

	if (part > gc->cpu_ns)
		part = gc->cpu_ns;
	if (part > thread->gc_cpu_ns)
		part = thread->gc_cpu_ns;
	if (part + gc->returned_ns > cost)
		part = cost > gc->returned_ns ? cost - gc->returned_ns : 0;
	gc->excess_ns -= part;
	gc->cpu_ns -= part;
	gc->returned_ns += part;
	thread->gc_moved_ns -= (int64_t)part;
	thread->gc_cpu_ns -= part;
	session__add_overhead(session, thread, part);
}

void session__on_gc(struct session *session, struct tracked_process *process,
		    struct tracked_thread *thread, const struct rbprof_sample *sample)
{
	struct tracked_gc *gc = &process->gc;
	struct tracked_row_key key = { .kind = TRACKED_GC,
				       .name = PROFILE_NONE,
				       .holder = PROFILE_NONE };
	struct tracked_row_key name = { 0 };

	gc->cpu_ns += sample->cpu_delta_ns;
	gc->wall_ns += sample->wall_delta_ns;
	gc->steps += sample->gc_steps;
	gc->probed_ns += sample->cpu_delta_ns;
	gc->info = sample->gc_info;
	if (sample->flags & RBPROF_SAMPLE_GC_STACK) {
		session__stack(session, process, sample, &key);
		key.stack = gc_stack(session, key.stack);
		session__name(session, process, thread, sample, &name);
		tracked_row_key__set_trace(&key, &sample->trace);
		key.ruby = session__ruby(session, process, thread, sample);
		tracked_row_key__keep(&gc->kept, &key);
		gc->has_kept = true;
	}
	thread->gc_cpu_ns += sample->cpu_delta_ns;
	give_back(session, gc, thread);
	if (sample->flags & RBPROF_SAMPLE_GC_FLUSH)
		flush(session, process, sample->event.time_ns);
}

/*
 * Where probes see every step and the VM has a clock, that has the last word on how much it was:
 * the VM begins and ends its own measuring somewhat outside of our probes (3.1, 3.2) or inside of
 * them (since 3.3). What it counts more is the same steps', taken out of the sample; what it counts
 * less is what our probes cost within them, and no more than they can have cost. Returns the rest
 * of the sample's CPU.
 */
static uint64_t settle_by_clock(struct session *session, struct tracked_gc *gc,
				struct tracked_thread *thread, uint64_t clock_ns,
				uint64_t untold_ns, uint64_t cpu_ns)
{
	uint64_t said = clock_ns - gc->clock_first_ns, told = told_ns(gc) + untold_ns, part;

	if (said > told) {
		gc->excess_ns = 0;
		part = said - told < cpu_ns ? said - told : cpu_ns;
		move(gc, thread, part);
		gc->cpu_ns += part;
		return cpu_ns - part;
	}
	gc->excess_ns = told - said;
	give_back(session, gc, thread);
	return cpu_ns;
}

/*
 * What of a sample's CPU is the collector's by the VM's clock. That goes on only when a step (or
 * its marking) ends. Where it stands still between two samples inside, all of the second is the
 * collector's: told before the clock says it.
 */
static uint64_t part_by_clock(struct tracked_gc *gc, uint64_t clock_ns, bool is_inside,
			      uint64_t cpu_ns)
{
	const bool is_same_step = is_inside && gc->is_inside && gc->inside_ns == clock_ns;
	uint64_t said, told, part;

	gc->is_inside = is_inside;
	gc->inside_ns = clock_ns;
	if (is_same_step)
		return cpu_ns;
	said = clock_ns - gc->clock_first_ns;
	told = told_ns(gc);
	part = said > told ? said - told : 0;
	return part < cpu_ns ? part : cpu_ns;
}

uint64_t session__gc_of_sample(struct session *session, struct tracked_process *process,
			       struct tracked_thread *thread, const struct rbprof_sample *sample,
			       const struct tracked_row_key *of)
{
	const bool has_gvl = sample->flags & RBPROF_SAMPLE_HAS_GVL;
	const bool is_inside =
		sample->gc.flags & RUBY_GC_DURING_GC && !(sample->flags & RBPROF_SAMPLE_IN_STEP);
	struct tracked_gc *gc = &process->gc;
	uint64_t cpu = sample->cpu_delta_ns, part;
	struct tracked_row_key key = placeholder(session, sample->event.time_ns);

	key.gc_info = sample->gc_info;
	if (sample->flags & RBPROF_SAMPLE_GC_PARTIAL)
		session__gave_up(session, process, sample->event.time_ns);
	if (sample->vm_gc_ns)
		note_clock(gc, sample->vm_gc_ns);
	if (!session->options->gc || !has_gvl)
		return cpu;
	if (gc->is_probed && !gc->is_partial) {
		if (!sample->vm_gc_ns || sample->gc.flags & RUBY_GC_DURING_GC)
			return cpu;
		return settle_by_clock(session, gc, thread, sample->vm_gc_ns, sample->gc_untold_ns,
				       cpu);
	}
	if (sample->vm_gc_ns) {
		part = part_by_clock(gc, sample->vm_gc_ns, is_inside, cpu);
		key.gc_source = profile__cstring(session->profile, clock_source);
	} else if (is_inside) {
		part = cpu;
		key.gc_source = profile__cstring(session->profile, sampled);
		key.stack = gc_stack(session, of->stack);
		key.omitted = of->omitted;
		key.endpoint = of->endpoint;
		key.ruby = session__ruby(session, process, thread, sample);
		tracked_row_key__set_trace(&key, &sample->trace);
	} else {
		return cpu;
	}
	if (!part)
		return cpu;
	move(gc, thread, part);
	add(process, &key, part, part);
	return cpu - part;
}

const char *session__gc_source(const struct session *session, const struct tracked_process *process)
{
	const struct tracked_gc *gc = &process->gc;

	if (!session->options->gc)
		return "none";
	if (!gc->is_probed)
		return gc->has_clock ? clock_source : sampled;
	if (!gc->is_partial)
		return probe;
	return gc->has_clock ? "probe and vm clock" : "probe and sampled";
}

void session__flush_gc(struct session *session, struct tracked_process *process)
{
	flush(session, process, process->last_ns);
	if (process->gc.rows)
		session__flush_rows(session, process, process->gc.rows);
}

void session__end_gc(struct session *session, struct tracked_process *process)
{
	const uint32_t pid = (uint32_t)process->found.pid;
	struct tracked_gc *gc = &process->gc;
	struct tracked_thread *main;

	/* What the kernel side had added up but not told. */
	gc->cpu_ns += process->counters.gc.cpu_ns;
	gc->wall_ns += process->counters.gc.wall_ns;
	gc->probed_ns += process->counters.gc.cpu_ns;
	process->counters.gc.cpu_ns = 0;
	process->counters.gc.wall_ns = 0;
	HASH_FIND(hh, process->threads, &pid, sizeof(pid), main);
	if (main && gc->has_clock && gc->is_probed && !gc->is_partial)
		settle_by_clock(session, gc, main, gc->clock_last_ns, 0, 0);
	session__flush_gc(session, process);
}
