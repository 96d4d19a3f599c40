/* SPDX-License-Identifier: BSD-2-Clause */
#include "timers.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../include/rbprof_abi.h"
#include "../util/clock.h"
#include "log.h"

/* How far the timers' frequency is from the one asked for, to either side, and for how long. */
#define DETUNE_LEAST 0.01
#define DETUNE_MOST  0.04
#define DETUNE_NS    1000000000ULL
#define DETUNE_TICKS 50

struct timer {
	struct bpf_link *link; /* owns fd; NULL: the CPU has none */
	int fd;
	bool is_refused;	 /* and that was said */
	uint64_t started_ns;	 /* CLOCK_MONOTONIC */
	uint64_t idle_before_ns; /* of the CPU, when it was started */
};

struct timers {
	struct bpf_program *program;
	int cpus_fd;
	int cpus;
	struct timer *of_cpu;
	struct rbprof_cpu *values; /* of all CPUs, as last read */
	bool is_running;
	uint32_t hz;
	uint64_t period_ns;
	double drawn_hz;   /* of this period, but for half a tick that the next draw costs */
	double detune;	   /* its share of hz, more or less than that */
	bool is_second;	   /* of two periods that differ from the right one to either side */
	uint64_t drawn_ns; /* when, CLOCK_MONOTONIC */
	double due;	   /* ticks that were due, up to due_busy_ns */
	uint64_t due_busy_ns;
	uint64_t past_busy_ns; /* of timers that are no more */
	uint64_t ticks_before;
	struct timers_ticks ticks; /* as last counted */
};

struct timers *timers__new(struct bpf_program *program, int cpus_fd, int cpus)
{
	struct timers *timers = calloc(1, sizeof(*timers));

	if (!timers)
		return NULL;
	timers->program = program;
	timers->cpus_fd = cpus_fd;
	timers->cpus = cpus;
	timers->of_cpu = calloc((size_t)cpus, sizeof(*timers->of_cpu));
	timers->values = calloc((size_t)cpus, sizeof(*timers->values));
	if (timers->of_cpu && timers->values)
		return timers;
	timers__free(timers);
	return NULL;
}

void timers__free(struct timers *timers)
{
	if (!timers)
		return;
	if (timers->of_cpu)
		timers__stop(timers);
	free(timers->of_cpu);
	free(timers->values);
	free(timers);
}

/* ---- how often they came ---- */

/* What the CPUs have counted. Where they cannot be read it is what they had. */
static void read_cpus(struct timers *timers)
{
	uint32_t zero = 0;

	if (bpf_map_lookup_elem(timers->cpus_fd, &zero, timers->values))
		log__debug("cannot read the counts of CPUs: %s", strerror(errno));
}

static uint64_t all_ticks(const struct timers *timers)
{
	uint64_t ticks = 0;
	int cpu;

	for (cpu = 0; cpu < timers->cpus; cpu++)
		ticks += timers->values[cpu].ticks;
	return ticks;
}

static uint64_t idle_ns(const struct timers *timers, int cpu, uint64_t now)
{
	const struct rbprof_cpu *value = &timers->values[cpu];

	if (value->idle_since_ns && value->idle_since_ns < now)
		return value->idle_ns + now - value->idle_since_ns;
	return value->idle_ns;
}

/* How long a CPU was busy since its timer was started. One that is offline is idle. */
static uint64_t busy_ns(const struct timers *timers, int cpu, uint64_t now)
{
	const struct timer *timer = &timers->of_cpu[cpu];
	uint64_t elapsed, idle;

	if (!timer->link)
		return 0;
	elapsed = now - timer->started_ns;
	idle = idle_ns(timers, cpu, now) - timer->idle_before_ns;
	return elapsed > idle ? elapsed - idle : 0;
}

/* Up to now, with the period that they have had since this was last called. */
static void count(struct timers *timers)
{
	uint64_t now, busy;
	int cpu;

	read_cpus(timers);
	now = clock__now_ns();
	busy = timers->past_busy_ns;
	for (cpu = 0; cpu < timers->cpus; cpu++)
		busy += busy_ns(timers, cpu, now);
	timers->ticks.all = all_ticks(timers) - timers->ticks_before;
	if (busy > timers->due_busy_ns) {
		timers->due += (double)(busy - timers->due_busy_ns) * timers->drawn_hz / 1e9;
		timers->due_busy_ns = busy;
	}
	timers->ticks.due = (uint64_t)timers->due;
}

void timers__ticks(struct timers *timers, struct timers_ticks *ret_ticks)
{
	if (timers->is_running)
		count(timers);
	*ret_ticks = timers->ticks;
}

/* ---- timers ---- */

/* The kernel's own high-resolution timer: exact periods, and no PMU needed. */
static int start_timer(struct timers *timers, int cpu)
{
	struct timer *timer = &timers->of_cpu[cpu];
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = timers->period_ns,
	};
	long fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return errno == ENODEV ? 0 : -errno; /* a CPU that is offline */
	timer->link = bpf_program__attach_perf_event(timers->program, (int)fd);
	if (!timer->link) {
		int error = -errno;

		close((int)fd);
		return error;
	}
	timer->fd = (int)fd;
	timer->started_ns = clock__now_ns();
	timer->idle_before_ns = idle_ns(timers, cpu, timer->started_ns);
	return 0;
}

static void stop_timer(struct timers *timers, int cpu)
{
	struct timer *timer = &timers->of_cpu[cpu];

	timers->past_busy_ns += busy_ns(timers, cpu, clock__now_ns());
	bpf_link__destroy(timer->link);
	timer->link = NULL;
}

static void begin_timer(struct timers *timers, int cpu)
{
	struct timer *timer = &timers->of_cpu[cpu];
	int error = start_timer(timers, cpu);

	if (error && !timer->is_refused)
		log__warn("CPU %d came online, and cannot be sampled: %s", cpu, strerror(-error));
	timer->is_refused = error != 0;
}

void timers__follow_cpus(struct timers *timers, const bool *is_online)
{
	bool is_counted = false;
	int cpu;

	for (cpu = 0; timers->is_running && cpu < timers->cpus; cpu++) {
		const bool has_timer = timers->of_cpu[cpu].link;

		if (has_timer == is_online[cpu])
			continue;
		/* Up to now with the timers that there were. */
		if (!is_counted)
			count(timers);
		is_counted = true;
		if (has_timer)
			stop_timer(timers, cpu);
		else
			begin_timer(timers, cpu);
	}
}

static uint64_t detune_ns(const struct timers *timers)
{
	uint64_t ticks_ns = DETUNE_TICKS * 1000000000ULL / timers->hz;

	return ticks_ns > DETUNE_NS ? ticks_ns : DETUNE_NS;
}

/*
 * Draws a period by lot, and the next so that both together make the frequency asked for. A timer
 * that is given another period begins it anew: half a tick is lost on the average, and made up for.
 */
static void draw_period(struct timers *timers, uint64_t now)
{
	uint32_t lot = 0;

	if (!timers->is_second && getrandom(&lot, sizeof(lot), GRND_NONBLOCK) == sizeof(lot))
		timers->detune =
			DETUNE_LEAST + (DETUNE_MOST - DETUNE_LEAST) * lot / (double)UINT32_MAX;
	else
		timers->detune = -timers->detune;
	timers->is_second = !timers->is_second;
	timers->drawn_ns = now;
	timers->drawn_hz = timers->hz * (1 + timers->detune);
	timers->period_ns =
		(uint64_t)(1e9 / (timers->drawn_hz + 0.5e9 / (double)detune_ns(timers)));
}

void timers__vary(struct timers *timers)
{
	uint64_t now = clock__now_ns();
	int cpu;

	if (!timers->is_running || now - timers->drawn_ns < detune_ns(timers))
		return;
	count(timers);
	draw_period(timers, now);
	/* A timer that cannot be changed goes on as it was. */
	for (cpu = 0; cpu < timers->cpus; cpu++) {
		if (timers->of_cpu[cpu].link)
			ioctl(timers->of_cpu[cpu].fd, PERF_EVENT_IOC_PERIOD, &timers->period_ns);
	}
}

int timers__start(struct timers *timers, uint32_t hz)
{
	int cpu, error = 0, started = 0;

	read_cpus(timers);
	timers->ticks_before = all_ticks(timers);
	timers->hz = hz;
	timers->is_running = true;
	draw_period(timers, clock__now_ns());
	for (cpu = 0; cpu < timers->cpus && !error; cpu++) {
		error = start_timer(timers, cpu);
		started += timers->of_cpu[cpu].link != NULL;
	}
	return !error && !started ? -ENODEV : error;
}

void timers__stop(struct timers *timers)
{
	int cpu;

	if (timers->is_running)
		count(timers);
	timers->is_running = false;
	for (cpu = 0; cpu < timers->cpus; cpu++) {
		bpf_link__destroy(timers->of_cpu[cpu].link);
		timers->of_cpu[cpu].link = NULL;
	}
}
