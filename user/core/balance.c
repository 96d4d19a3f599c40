/* SPDX-License-Identifier: BSD-2-Clause */
/* The balance sheet: what the kernel charged against what the samples carry. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "error_names.h"
#include "log.h"
#include "session_internal.h"

/* spec: per process over the recording, within half a percent or a millisecond a thread. */
#define LIMIT_SHARE 200
#define LIMIT_NS    1000000

static json_t *integer(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static int64_t cpu_diff(uint64_t kernel, uint64_t samples, uint64_t gc, uint64_t overhead)
{
	return (int64_t)(kernel - samples - gc - overhead);
}

static json_t *thread_json(const struct session *session, const struct tracked_process *process,
			   const struct tracked_thread *thread)
{
	uint64_t kernel = tracked_thread__kernel_cpu_ns(thread);
	uint32_t name = tracked_process__thread_name(process, thread);

	return json_pack("{s:I, s:s*, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "tid",
			 (json_int_t)thread->tid, "name",
			 name == PROFILE_NONE ? NULL : profile__text(session->profile, name),
			 "ended", thread->has_ended, "samples", (json_int_t)thread->samples,
			 "kernel_cpu_ns", (json_int_t)kernel, "samples_cpu_ns",
			 (json_int_t)thread->samples_cpu_ns, "gc_cpu_ns",
			 (json_int_t)thread->gc_cpu_ns, "overhead_cpu_ns",
			 (json_int_t)thread->overhead_ns, "cpu_diff_ns",
			 (json_int_t)cpu_diff(kernel, thread->samples_cpu_ns, thread->gc_cpu_ns,
					      thread->overhead_ns),
			 "wall_ns", (json_int_t)thread->wall_ns, "life_ns",
			 (json_int_t)(thread->start_ns ? thread->last_ns - thread->start_ns : 0));
}

static json_t *errors_json(const uint64_t *errors)
{
	json_t *object = json_object();
	int i;

	for (i = 1; i < RBPROF_E_COUNT; i++) {
		if (errors[i])
			json_object_set_new(object, rbprof_error__label(i), integer(errors[i]));
	}
	return object;
}

static json_t *process_json(const struct session *session, const struct tracked_process *process)
{
	uint64_t kernel = tracked_process__kernel_cpu_ns(process);
	uint64_t samples = tracked_process__samples_cpu_ns(process);
	uint64_t gc_ns = tracked_process__gc_ns(process);
	uint64_t overhead = tracked_process__overhead_ns(process);
	const struct runtime *runtime = process->found.runtime;
	const struct tracked_gc *gc = &process->gc;
	const struct tracked_thread *thread;
	uint64_t errors[RBPROF_E_COUNT];
	json_t *threads = json_array();

	for (thread = process->threads; thread; thread = thread->hh.next)
		json_array_append_new(threads, thread_json(session, process, thread));
	for (thread = process->ended; thread; thread = thread->hh.next)
		json_array_append_new(threads, thread_json(session, process, thread));
	tracked_process__errors(process, errors);
	return json_pack(
		"{s:i, s:s, s:s*, s:b, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:I, "
		"s:I, s:I, s:I, s:I, s:I, s:o, s:o}",
		"pid", process->found.pid, "comm", process->found.comm, "ruby",
		runtime ? runtime->version : NULL, "ok", process->proof != TRACKED_REFUSED, "ended",
		process->has_ended || process->is_exiting, "kernel_cpu_ns", (json_int_t)kernel,
		"samples_cpu_ns", (json_int_t)samples, "gc_cpu_ns", (json_int_t)gc_ns,
		"overhead_cpu_ns", (json_int_t)overhead, "cpu_diff_ns",
		(json_int_t)cpu_diff(kernel, samples, gc_ns, overhead), "wall_ns",
		(json_int_t)tracked_process__wall_ns(process), "vm_gc_ns",
		(json_int_t)(gc->clock_last_ns - gc->clock_first_ns), "gc_source",
		session__gc_source(session, process), "gc_samples", (json_int_t)gc->samples,
		"gc_steps", (json_int_t)process->counters.gc.steps, "life_ns",
		(json_int_t)(process->last_ns - process->first_ns), "fired",
		(json_int_t)process->counters.fired, "taken", (json_int_t)process->counters.taken,
		"forgotten_threads", (json_int_t)process->forgotten_threads, "errors",
		errors_json(errors), "threads", threads);
}

static json_t *processes_json(const struct session *session)
{
	const struct tracked_process *process;
	json_t *processes = json_array();

	for (process = session->processes; process; process = process->hh.next) {
		if (!process->is_placeholder)
			json_array_append_new(processes, process_json(session, process));
	}
	return processes;
}

json_t *session__stats(struct session *session)
{
	uint64_t errors[RBPROF_E_COUNT], hz = session->options->frequency_hz;
	uint64_t end = session->stop_ns ? session->stop_ns : clock__now_ns();
	struct session_summary summary;
	struct timers_ticks ticks;
	json_t *lost;

	session__errors(session, errors);
	session__summary(session, &summary);
	programs__ticks(session->programs, &ticks);
	/* Kinds of lost ticks only: with `taken` they make up `fired`. */
	lost = json_pack("{s:I, s:I}", "sample", (json_int_t)errors[RBPROF_E_LOST_SAMPLE],
			 "storage_busy", (json_int_t)errors[RBPROF_E_STORAGE_BUSY]);
	return json_pack("{s:i, s:I, s:I, s:I, s:I, s:{s:I, s:I, s:I, s:I}, s:o, s:o, s:I, s:o}",
			 "schema", 1, "started_monotonic_ns", (json_int_t)session->start_ns,
			 "first_sample_monotonic_ns", (json_int_t)session->first_sample_ns, "hz",
			 (json_int_t)hz, "elapsed_ns", (json_int_t)(end - session->start_ns),
			 "ticks", "fired", (json_int_t)summary.fired, "taken",
			 (json_int_t)summary.samples, "missed",
			 (json_int_t)(ticks.due > ticks.all ? ticks.due - ticks.all : 0), "all",
			 (json_int_t)ticks.all, "lost", lost, "errors", errors_json(errors),
			 "forgotten_processes", (json_int_t)session->forgotten.processes,
			 "processes", processes_json(session));
}

json_t *session__state(struct session *session)
{
	json_t *state = session__stats(session), *processes, *runtimes = json_array();
	struct tracked_process *process;
	size_t i = 0, count;

	if (!state)
		return NULL;
	processes = json_object_get(state, "processes");
	for (process = session->processes; process; process = process->hh.next) {
		static const char *const proofs[] = { "not yet", "proved", "refused" };
		json_t *object;

		if (process->is_placeholder)
			continue;
		object = json_array_get(processes, i++);
		json_object_set_new(object, "proof", json_string(proofs[process->proof]));
		json_object_set_new(object, "serial", integer(process->serial));
		json_object_set_new(object, "bias", integer(process->found.bias));
		json_object_set_new(object, "vm_ptr_address",
				    integer(ruby_process__vm_ptr(&process->found)));
		json_object_set_new(object, "symbols_address",
				    integer(ruby_process__symbols(&process->found)));
		session__describe_tracer(session, process, object);
	}
	count = runtimes__count(session->runtimes);
	for (i = 0; i < count; i++) {
		const struct runtime *runtime = runtimes__at(session->runtimes, i);

		json_array_append_new(runtimes,
				      json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "version",
						runtime->version, "build_id", runtime->build_id,
						"layout", runtime->layout_version, "ec",
						runtime_tier__name(runtime->ec.tier), "vm",
						runtime_tier__name(runtime->vm.tier), "symbols",
						runtime_tier__name(runtime->symbols.tier)));
	}
	json_object_set_new(state, "runtimes", runtimes);
	json_object_set_new(state, "options",
			    json_pack("{s:i, s:i, s:b, s:I, s:b}", "hz",
				      (int)session->options->frequency_hz, "max_frames",
				      (int)session->options->max_frames, "all",
				      session->options->all, "duration_ns",
				      (json_int_t)session->options->duration_ns, "follows_tree",
				      session->follows_tree));
	json_object_set_new(state, "clock",
			    json_pack("{s:I, s:I}", "start_monotonic_ns",
				      (json_int_t)session->start_ns, "realtime_offset_ns",
				      (json_int_t)session->boot_offset_ns));
	if (session->ring)
		json_object_set_new(state, "ring", ring__state(session->ring, session->profile));
	json_object_set_new(state, "stacks", integer(HASH_COUNT(session->stacks)));
	json_object_set_new(state, "strings", integer(profile__string_count(session->profile)));
	return state;
}

static void warn_balance(const struct tracked_process *process)
{
	uint64_t kernel = tracked_process__kernel_cpu_ns(process);
	uint64_t samples = tracked_process__samples_cpu_ns(process) +
			   tracked_process__gc_ns(process) + tracked_process__overhead_ns(process);
	uint64_t diff = kernel > samples ? kernel - samples : samples - kernel;
	uint64_t threads = HASH_COUNT(process->threads) + process->ended_count;
	uint64_t limit = kernel / LIMIT_SHARE;

	if (limit < LIMIT_NS * (threads ? threads : 1))
		limit = LIMIT_NS * (threads ? threads : 1);
	if (diff > limit)
		log__warn("process %d (%s): samples carry %.3f s of cpu, the kernel charged %.3f s",
			  process->found.pid, process->found.comm, (double)samples / 1e9,
			  (double)kernel / 1e9);
}

/* spec: a thread's wall-time is its life, within a tenth of a percent or two milliseconds. */
#define WALL_SHARE 1000
#define WALL_NS	   2000000

static void warn_wall(const struct tracked_process *process)
{
	const struct tracked_thread *thread;

	for (thread = process->threads; thread; thread = thread->hh.next) {
		uint64_t life = thread->start_ns ? thread->last_ns - thread->start_ns : 0;
		uint64_t diff =
			life > thread->wall_ns ? life - thread->wall_ns : thread->wall_ns - life;

		if (!life || diff <= WALL_NS || diff <= life / WALL_SHARE)
			continue;
		log__warn("thread %" PRIu32
			  " of process %d (%s): %.3f s of wall-time, but it lived "
			  "%.3f s",
			  thread->tid, process->found.pid, process->found.comm,
			  (double)thread->wall_ns / 1e9, (double)life / 1e9);
	}
}

/* spec: the collector's CPU is what the VM's clock says, within 2 % or 5 ms. */
#define GC_SHARE 50
#define GC_NS	 5000000

static void warn_gc(const struct tracked_process *process)
{
	const struct tracked_gc *gc = &process->gc;
	uint64_t ours = tracked_process__gc_ns(process);
	uint64_t vms = gc->clock_last_ns - gc->clock_first_ns;
	uint64_t diff = ours > vms ? ours - vms : vms - ours;

	/* One that has ended took the last reading along. */
	if (!gc->has_clock || process->has_ended || process->is_exiting || diff <= GC_NS ||
	    diff <= vms / GC_SHARE)
		return;
	log__warn("process %d (%s): %.3f s of garbage collection, %.3f s by the vm's own clock",
		  process->found.pid, process->found.comm, (double)ours / 1e9, (double)vms / 1e9);
}

static void warn_refused(const struct tracked_process *process)
{
	char reason[256];

	ruby_process__reason(&process->found, process->found.error, reason, sizeof(reason));
	log__warn("process %d (%s) is ruby but could not be read: %s; its cpu time is under "
		  "(unreadable)",
		  process->found.pid, process->found.comm, reason);
}

void session__warn(struct session *session)
{
	const struct tracked_process *process;
	struct session_summary summary;

	session__summary(session, &summary);
	if (summary.lost)
		log__warn("%" PRIu64 " of %" PRIu64
			  " samples were lost; their cpu time is on the next sample of the thread",
			  summary.lost, summary.fired);
	if (session->lost_sideband)
		log__warn("%" PRIu64 " mapping records were lost; the process list was read again",
			  session->lost_sideband);
	for (process = session->processes; process; process = process->hh.next) {
		if (process->is_placeholder)
			continue;
		if (process->proof == TRACKED_REFUSED)
			warn_refused(process);
		else
			warn_balance(process);
		if (process->proof != TRACKED_REFUSED && session->options->wall)
			warn_wall(process);
		if (process->proof != TRACKED_REFUSED && session->options->gc)
			warn_gc(process);
	}
}
