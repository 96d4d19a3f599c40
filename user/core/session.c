/* SPDX-License-Identifier: BSD-2-Clause */
#include "session_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "../util/cpus.h"
#include "host.h"
#include "log.h"

#define SWEEP_NS     1000000000ULL
#define EXIT_WAIT_MS 100
#define QUIET_MS     100	   /* events that are not urgent wait this long */
#define REST_MS	     3		   /* while Rubies start */
#define OTHERS_MS    6		   /* while only others do, at first */
#define MAX_REST_MS  24		   /* when they go on */
#define ATTACHING_NS 2000000000ULL /* since the last Ruby that started */
#define SCAN_PAUSE   100 /* between two looks at all processes, in times of one's own CPU */
#define LOADING_NS   500000000ULL /* in which a new program has mapped its libraries */

static uint64_t own_cpu_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

/* Distance of the wall clock, taken close to the monotonic one: once a profile. */
static uint64_t realtime_offset_ns(void)
{
	struct timespec before, real, after;

	clock_gettime(CLOCK_MONOTONIC, &before);
	clock_gettime(CLOCK_REALTIME, &real);
	clock_gettime(CLOCK_MONOTONIC, &after);
	return (uint64_t)real.tv_sec * 1000000000 + (uint64_t)real.tv_nsec -
	       ((uint64_t)before.tv_sec * 1000000000 + (uint64_t)before.tv_nsec +
		(uint64_t)after.tv_sec * 1000000000 + (uint64_t)after.tv_nsec) /
		       2;
}

static uint32_t special_stack(struct session *session, const char *name)
{
	uint32_t frame = names__special(session->profile, name);

	return profile__stack(session->profile, &frame, 1);
}

int session__make_profile(struct session *session)
{
	struct profile_type types[PROFILE_MAX_TYPES];
	size_t count = session__types(session, types);
	int error = profile__new(types, count, &session->profile);

	if (error)
		return error;
	session->stack_none = profile__stack(session->profile, NULL, 0);
	session->stack_no_ruby = special_stack(session, "(no ruby frames)");
	session->stack_not_sampled = special_stack(session, "(not sampled)");
	session->stack_not_known = special_stack(session, "(runtime not yet known)");
	session->stack_unreadable = special_stack(session, "(unreadable)");
	session->stack_not_read = special_stack(session, "(wait not read)");
	session->stack_gc = special_stack(session, "Garbage Collection");
	session->stack_overhead = special_stack(session, "Profiler Overhead");
	session->frame_truncated = names__special(session->profile, "(truncated)");
	session->frame_unreadable = names__special(session->profile, "(unreadable)");
	session->frame_gc = names__special(session->profile, "Garbage Collection");
	return profile__failed(session->profile) ? -ENOMEM : 0;
}

static int watch(struct session *session, int fd, uint32_t how)
{
	struct epoll_event event = { .events = EPOLLIN | how };

	return epoll_ctl(session->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int open_kernel_side(struct session *session)
{
	struct rbprof_config config = {
		.max_frames = session->options->max_frames,
		.follow_execs = session->follows_tree ? RBPROF_FOLLOW_TREE : RBPROF_FOLLOW_ALL,
		.period_ns = 1000000000 / session->options->frequency_hz,
		.flags = (session->options->wall ? RBPROF_COLLECT_WALL : 0) |
			 (session->options->gc ? RBPROF_COLLECT_GC : 0) |
			 (session->options->no_endpoint ? 0 : RBPROF_COLLECT_ENDPOINT) |
			 (session->options->vm_counters ? RBPROF_COLLECT_VM : 0),
		.in_pid_namespace = host__pids() == HOST_PIDS_OWN,
	};
	struct sideband_handler handler = session_sideband_handler;
	int error;

	session__measure_probes(session, &config);
	error = programs__new(&config, session__on_event, session, &session->programs);
	if (!error)
		error = session__open_probes(session, &config);
	if (error)
		return error;
	handler.context = session;
	error = sideband__new(&handler, &session->sideband);
	if (!error)
		error = watch(session, programs__fd(session->programs), 0);
	if (!error && !session->follows_tree)
		error = watch(session, sideband__fd(session->sideband), 0);
	if (error)
		log__error("cannot follow the host's processes: %s", strerror(-error));
	return error;
}

int session__new(const struct options *options, struct session **ret_session)
{
	struct session *session = calloc(1, sizeof(*session));
	int error;

	if (!session)
		return -ENOMEM;
	session->options = options;
	session->rest_ms = REST_MS;
	session->follows_tree = !options__selects_by_kind(options);
	session->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	error = session->epoll_fd < 0 ? -errno : session__make_profile(session);
	if (!error && options->ring_ns)
		error = ring__new(options->ring_ns,
				  options->interval_ns ? options->interval_ns
						       : ring__slice_ns(options->ring_ns),
				  &session->ring);
	if (!error && options->ring_ns)
		error = late_ids__new(&session->late_ids);
	if (!error)
		error = runtimes__new(&session->runtimes);
	if (!error)
		error = open_kernel_side(session);
	if (error)
		session__free(session);
	else
		*ret_session = session;
	return error;
}

static void free_tables(struct session *session)
{
	struct tracked_process *process, *next_process;
	struct session_member *member, *next_member;
	struct session_stack *stack, *next_stack;

	HASH_ITER (hh, session->processes, process, next_process) {
		HASH_DEL(session->processes, process);
		tracked_process__free(process);
	}
	HASH_ITER (hh, session->stacks, stack, next_stack) {
		HASH_DEL(session->stacks, stack);
		free(stack);
	}
	session__forget_departed(session);
	HASH_ITER (hh, session->tree, member, next_member) {
		HASH_DEL(session->tree, member);
		free(member);
	}
}

void session__free(struct session *session)
{
	if (!session)
		return;
	free_tables(session);
	sideband__free(session->sideband);
	gc_probes__free(session->gc_probes);
	session__free_vm_probes(session);
	programs__free(session->programs);
	runtimes__free(session->runtimes);
	ring__free(session->ring, session->profile);
	late_ids__free(session->late_ids);
	profile__free(session->profile);
	free(session->asks);
	if (session->epoll_fd >= 0)
		close(session->epoll_fd);
	free(session);
}

/* 0, or -ESRCH when none of the pids asked for can be profiled. */
static int attach_pids(struct session *session)
{
	const struct options *options = session->options;
	const struct ruby_process unknown = { 0 };
	size_t i, attached = 0;
	char reason[256];

	for (i = 0; i < options->pid_count; i++) {
		pid_t pid = options->pids[i];
		struct tracked_process *process;
		int error;

		session__add_member(session, pid);
		error = session__attach(session, pid);
		process = session__find_pid(session, pid);
		if (!error && process && process->proof == TRACKED_REFUSED)
			error = process->found.error;
		if (!error) {
			attached++;
			continue;
		}
		session__remove_member(session, pid);
		ruby_process__reason(process ? &process->found : &unknown, error, reason,
				     sizeof(reason));
		log__error("cannot profile process %d: %s", pid, reason);
	}
	return attached || !options->pid_count ? 0 : -ESRCH;
}

static bool is_measured(const struct tracked_process *process)
{
	return !process->is_placeholder && !process->has_ended && !process->is_exiting;
}

/* Reads the processes' clocks before and after those of their threads. */
static int read_around(struct session *session, size_t witness_at,
		       int (*read)(struct programs *programs))
{
	struct tracked_process *process;
	struct tracked_witness *witness;
	int error;

	for (process = session->processes; process; process = process->hh.next) {
		witness = (void *)((char *)process + witness_at);
		witness->is_known = is_measured(process) &&
				    !ruby_process__cpu_ns(process->found.pid, &witness->before_ns);
	}
	error = read(session->programs);
	for (process = session->processes; process; process = process->hh.next) {
		witness = (void *)((char *)process + witness_at);
		if (witness->is_known &&
		    ruby_process__cpu_ns(process->found.pid, &witness->after_ns))
			witness->is_known = false;
	}
	return error;
}

static void begin_processes(struct session *session)
{
	struct tracked_process *process;

	for (process = session->processes; process; process = process->hh.next) {
		process->first_ns = session->start_ns;
		if (!process->is_placeholder && session->options->gc &&
		    session__has_names(session, process))
			session__read_gc_clock(process);
	}
}

int session__start(struct session *session)
{
	const struct options *options = session->options;
	int error = 0;

	if (!session->follows_tree)
		session__scan(session);
	if (options->pid_count)
		error = attach_pids(session);
	if (error && session->follows_tree)
		return error;
	session->boot_offset_ns = realtime_offset_ns();
	error = read_around(session, offsetof(struct tracked_process, cpu_at_start),
			    programs__start_clocks);
	session->start_ns = clock__now_ns();
	begin_processes(session);
	if (!error)
		error = programs__start_timers(session->programs, options->frequency_hz);
	if (error)
		log__error("cannot start the timers: %s; run `rbprof-bpf doctor`",
			   strerror(-error));
	return error;
}

int session__fd(const struct session *session)
{
	return session->epoll_fd;
}

/* Lets go of processes that have ended, once the kernel has told all about them. */
static void sweep(struct session *session, uint64_t now)
{
	struct tracked_process *process, *next;
	struct rbprof_counters counters;

	HASH_ITER (hh, session->processes, process, next) {
		if (process->has_ended)
			continue;
		if (process->is_exiting && now - process->exiting_since_ns > SWEEP_NS) {
			session__end_process(session, process);
			continue;
		}
		session__trim_rubies(session, process);
		if (programs__counters(session->programs, process->serial, &counters))
			continue;
		process->counters = counters;
		session__watch_probes(session, process);
		if (counters.threads_started != process->threads_started_seen) {
			process->threads_started_seen = counters.threads_started;
			session__name_threads(session, process);
		}
	}
}

/*
 * Records of the side-band come for every mapping of every process of the host. While they do,
 * they are looked at every few milliseconds only, not each on its own: a Ruby that has just been
 * mapped takes longer than that to get to its first line. Where only others start, less often.
 */
static void read_sideband(struct session *session)
{
	struct epoll_event event = { 0 };
	bool rested = session->sideband_rests;

	session->sideband_rests = sideband__read(session->sideband);
	session__forget_departed(session);
	if (session->follows_tree || clock__now_ns() - session->attached_ns < ATTACHING_NS)
		session->rest_ms = REST_MS;
	else if (!rested || !session->sideband_rests)
		session->rest_ms = OTHERS_MS;
	else if (session->rest_ms < MAX_REST_MS)
		session->rest_ms *= 2;
	if (rested == session->sideband_rests || session->follows_tree)
		return;
	event.events = session->sideband_rests ? 0 : EPOLLIN;
	epoll_ctl(session->epoll_fd, EPOLL_CTL_MOD, sideband__fd(session->sideband), &event);
}

/* Of processes that are followed the kernel side tells when they run a new program. */
static bool is_loading(const struct session *session)
{
	if (!session->follows_tree)
		return session->sideband_rests || session->has_unproven;
	return session->exec_ns && clock__now_ns() - session->exec_ns < LOADING_NS;
}

int session__wait_ms(const struct session *session)
{
	return is_loading(session) ? session->rest_ms : QUIET_MS;
}

/* So that the first sample of a new process finds all in place: its names may not wait. */
static void prepare_names(struct session *session)
{
	struct tracked_process *process;
	bool is_left = false;

	for (process = session->processes; process; process = process->hh.next) {
		if (process->proof == TRACKED_UNPROVEN)
			is_left |= !session__prepare(session, process);
	}
	session->has_unproven = is_left;
}

/* Records were lost. Where they are lost all the time, looking for what they said is rationed. */
static void scan_again(struct session *session)
{
	uint64_t used_ns;

	if (clock__now_ns() < session->next_scan_ns)
		return;
	session->must_scan = false;
	used_ns = own_cpu_ns();
	session__scan(session);
	used_ns = own_cpu_ns() - used_ns;
	session->next_scan_ns = clock__now_ns() + used_ns * SCAN_PAUSE;
}

/* CPUs that came while we run: the kernel side is told in one reading. */
static void follow_cpus(struct session *session)
{
	const int count = cpus__possible();
	bool *is_online = count > 0 ? calloc((size_t)count, sizeof(*is_online)) : NULL;

	if (is_online && !cpus__online(is_online, count)) {
		programs__follow_cpus(session->programs, is_online);
		sideband__follow_cpus(session->sideband, is_online);
	}
	free(is_online);
}

void session__poll(struct session *session)
{
	uint64_t now;

	/* Names first. */
	programs__consume(session->programs);
	/* Before waits: what is read once stays what it is. */
	session__look_for_tracers(session);
	session__read_waits(session);
	read_sideband(session);
	if (session->has_unproven)
		prepare_names(session);
	if (session->must_scan)
		scan_again(session);
	/* Not before: what has just been told to end did not end in the future. */
	now = clock__now_ns();
	if (now - session->swept_ns >= SWEEP_NS) {
		session->swept_ns = now;
		sweep(session, now);
		follow_cpus(session);
		programs__vary_timers(session->programs);
	}
	if (session->ring)
		ring__poll(session->ring, session);
}

const struct session_slice *session__slices(const struct session *session)
{
	return session->ring ? ring__slices(session->ring) : NULL;
}

void session__read_clocks(struct session *session)
{
	programs__consume(session->programs);
	if (programs__read_clocks(session->programs))
		log__debug("cannot read the clocks: what they have comes later");
	programs__consume(session->programs);
}

#define MAX_ENDED_PROCESSES 1024

void session__forget_ended(struct session *session)
{
	struct session_forgotten *forgotten = &session->forgotten;
	struct tracked_process *process, *next;
	uint64_t errors[RBPROF_E_COUNT];
	int i;

	if (++session->ended_count <= MAX_ENDED_PROCESSES)
		return;
	/* The table keeps the order in which processes came. */
	HASH_ITER (hh, session->processes, process, next) {
		if (!process->has_ended)
			continue;
		tracked_process__errors(process, errors);
		for (i = 1; i < RBPROF_E_COUNT && !process->is_placeholder; i++)
			forgotten->errors[i] += errors[i];
		forgotten->processes += !process->is_placeholder;
		forgotten->fired += process->counters.fired;
		forgotten->taken += process->counters.taken;
		forgotten->samples_cpu_ns += tracked_process__samples_cpu_ns(process) +
					     tracked_process__gc_ns(process) +
					     tracked_process__overhead_ns(process);
		forgotten->kernel_cpu_ns += tracked_process__kernel_cpu_ns(process);
		session__add_sums(session, process, &forgotten->sums);
		HASH_DEL(session->processes, process);
		tracked_process__free(process);
		session->ended_count--;
		break;
	}
}

bool session__has_ended(const struct session *session)
{
	return session->follows_tree && !session->tree;
}

/* Whether a process that ends has not yet told the CPU of all its threads. */
static bool is_exit_pending(const struct session *session)
{
	const struct tracked_process *process;

	for (process = session->processes; process; process = process->hh.next) {
		if (!process->is_exiting || process->has_ended || process->is_placeholder)
			continue;
		if (process->threads || !(process->ended_count + process->forgotten_threads))
			return true;
	}
	return false;
}

/* The last words of a thread come a little later than the end of its process. */
static void wait_for_exits(struct session *session)
{
	int tries;

	for (tries = 0; tries < EXIT_WAIT_MS && is_exit_pending(session); tries++) {
		usleep(1000);
		programs__consume(session->programs);
	}
}

void session__stop(struct session *session)
{
	struct tracked_process *process;

	programs__stop_timers(session->programs);
	/* Who ended just now may have been Ruby: then sums lack it. */
	if (session->options->vm_counters) {
		programs__consume(session->programs);
		sideband__read(session->sideband);
	}
	for (process = session->processes; process; process = process->hh.next) {
		if (process->has_ended)
			continue;
		session__name_threads(session, process);
		session__read_thread_ids(session, process);
	}
	/* What waits first, so that the last readings find room. */
	programs__consume(session->programs);
	session__read_waits(session);
	wait_for_exits(session);
	if (read_around(session, offsetof(struct tracked_process, cpu_at_end),
			programs__read_clocks))
		log__warn("cannot read the clocks a last time: the last moments are missing");
	session->stop_ns = clock__now_ns();
	for (process = session->processes; process; process = process->hh.next) {
		if (is_measured(process) && session->options->gc)
			session__read_gc_clock(process);
	}
	programs__consume(session->programs);
	for (process = session->processes; process; process = process->hh.next) {
		struct rbprof_counters counters;

		if (!process->has_ended &&
		    !programs__counters(session->programs, process->serial, &counters))
			process->counters = counters;
		if (!process->has_ended && !process->is_exiting)
			process->last_ns = session->stop_ns;
	}
}

void session__errors(const struct session *session, uint64_t *ret_errors)
{
	const struct tracked_process *process;
	uint64_t errors[RBPROF_E_COUNT];
	int i;

	memcpy(ret_errors, session->forgotten.errors, sizeof(errors));
	for (process = session->processes; process; process = process->hh.next) {
		tracked_process__errors(process, errors);
		for (i = 1; i < RBPROF_E_COUNT && !process->is_placeholder; i++)
			ret_errors[i] += errors[i];
	}
	ret_errors[RBPROF_E_LOST_SIDEBAND] += session->lost_sideband;
	ret_errors[RBPROF_E_LOST_LIFECYCLE] += programs__lost_lifecycle(session->programs);
}

void session__summary(struct session *session, struct session_summary *ret_summary)
{
	struct session_summary summary = {
		.processes_seen = session->processes_seen,
		.fired = session->forgotten.fired,
		.samples = session->forgotten.taken,
		.cpu_ns = session->forgotten.samples_cpu_ns,
	};
	struct tracked_process *process;
	uint64_t errors[RBPROF_E_COUNT];
	int i;

	session__errors(session, errors);
	for (i = 1; i < RBPROF_E_COUNT; i++)
		summary.errors += i == RBPROF_E_LOST_SAMPLE ? 0 : errors[i];

	for (process = session->processes; process; process = process->hh.next) {
		if (process->is_placeholder)
			continue;
		if (!process->has_ended && !session->stop_ns)
			programs__counters(session->programs, process->serial, &process->counters);
		summary.fired += process->counters.fired;
		summary.samples += process->counters.taken;
		summary.cpu_ns += tracked_process__samples_cpu_ns(process) +
				  tracked_process__gc_ns(process) +
				  tracked_process__overhead_ns(process);
		summary.processes += !process->has_ended && process->proof != TRACKED_REFUSED;
		if (!process->has_ended)
			summary.threads += HASH_COUNT(process->threads);
		summary.refused += process->proof == TRACKED_REFUSED;
	}
	summary.lost = summary.fired > summary.samples ? summary.fired - summary.samples : 0;
	*ret_summary = summary;
}
