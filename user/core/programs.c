/* SPDX-License-Identifier: BSD-2-Clause */
#include "programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "host.h"
#include "log.h"
#include "privilege.h"
#include "rbprof.skel.h"
#include "uprobes.h"

/* How far the timers' frequency is from the one asked for, to either side, and for how long. */
#define DETUNE_LEAST 0.01
#define DETUNE_MOST  0.04
#define DETUNE_NS    1000000000ULL
#define DETUNE_TICKS 50

struct timer {
	struct bpf_link *link; /* owns fd */
	int fd;
};

struct programs {
	struct rbprof_bpf *skeleton;
	struct ring_buffer *ring;
	void (*on_event)(void *context, const struct rbprof_event *event, size_t size);
	void *context;
	struct timer *timers; /* one a CPU */
	int cpus, timer_count;
	uint64_t timers_started_ns; /* 0: they do not run */
	uint32_t hz;
	double drawn_hz;   /* of this period, but for half a tick that the next draw costs */
	double detune;	   /* its share of hz, more or less than that */
	bool is_second;	   /* of two periods that differ from the right one to either side */
	uint64_t drawn_ns; /* when, CLOCK_MONOTONIC */
	double due;	   /* ticks that were due, up to due_busy_ns */
	uint64_t due_busy_ns;
	uint64_t ticks_before, idle_before_ns;
	struct programs_ticks ticks; /* of timers that were stopped */
};

static uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int print_libbpf(enum libbpf_print_level level, const char *format, va_list arguments)
{
	/* libbpf's own words are for those who look into the programs themselves. */
	if (level != LIBBPF_DEBUG || log__verbosity() > 1)
		log__vdebug(format, arguments);
	return 0;
}

static int handle_event(void *context, void *data, size_t size)
{
	struct programs *programs = context;
	const struct rbprof_event *event = data;

	if (size >= sizeof(*event) && event->size <= size)
		programs->on_event(programs->context, event, size);
	return 0;
}

/*
 * The clock relation of a CPU is taken at a switch on it: go there once, so that it is known
 * before the first clock is read.
 */
static void visit_every_cpu(int cpus)
{
	cpu_set_t before, one;
	int cpu;

	if (sched_getaffinity(0, sizeof(before), &before))
		return;
	for (cpu = 0; cpu < cpus && cpu < CPU_SETSIZE; cpu++) {
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		if (!sched_setaffinity(0, sizeof(one), &one))
			usleep(50);
	}
	sched_setaffinity(0, sizeof(before), &before);
}

static int learn_pid_namespace(struct programs *programs)
{
	LIBBPF_OPTS(bpf_test_run_opts, run);

	if (bpf_prog_test_run_opts(bpf_program__fd(programs->skeleton->progs.learn_pid_namespace),
				   &run))
		return -errno;
	return run.retval ? -ESRCH : 0;
}

/* The collector's programs are put onto their sites by gc_probes.c: libbpf knows no such links. */
static void prepare_gc(struct programs *programs, const struct rbprof_config *config)
{
	struct bpf_program *const both[] = { programs->skeleton->progs.on_gc_enter,
					     programs->skeleton->progs.on_gc_exit };
	const bool is_wanted = config->flags & RBPROF_PROBE_GC;
	int i;

	for (i = 0; i < 2; i++) {
		bpf_program__set_autoattach(both[i], false);
		bpf_program__set_autoload(both[i], is_wanted);
		bpf_program__set_expected_attach_type(both[i], UPROBES_ATTACH_TYPE);
	}
	if (is_wanted)
		bpf_map__set_max_entries(programs->skeleton->maps.gc_scratches,
					 (uint32_t)programs->cpus);
}

/* Those that read what VMs have counted. */
static void prepare_vm(struct programs *programs, const struct rbprof_config *config)
{
	struct bpf_program *vm_end = programs->skeleton->progs.on_vm_end;
	const bool is_wanted = config->flags & RBPROF_COLLECT_VM;

	bpf_program__set_autoattach(vm_end, false);
	bpf_program__set_autoload(vm_end, is_wanted);
	bpf_program__set_expected_attach_type(vm_end, UPROBES_ATTACH_TYPE);
	/* Where a kernel does not tell of it, counters of processes that exec stay unknown. */
	bpf_program__set_autoload(programs->skeleton->progs.on_program_end,
				  is_wanted && libbpf_find_vmlinux_btf_id("sched_prepare_exec",
									  BPF_TRACE_RAW_TP) > 0);
}

static int load(struct programs *programs, const struct rbprof_config *config)
{
	LIBBPF_OPTS(bpf_object_open_opts, options);
	bool is_default_btf;
	const char *btf = host__btf_path(&is_default_btf);
	int error;

	if (!is_default_btf)
		options.btf_custom_path = btf;
	programs->skeleton = rbprof_bpf__open_opts(&options);
	if (!programs->skeleton) {
		error = -errno;
		log__error("cannot open the bpf programs: %s", strerror(-error));
		return error;
	}
	programs->skeleton->rodata->config = *config;
	bpf_program__set_autoload(programs->skeleton->progs.learn_pid_namespace,
				  config->in_pid_namespace);
	prepare_gc(programs, config);
	prepare_vm(programs, config);
	error = bpf_map__set_max_entries(programs->skeleton->maps.scratches,
					 (uint32_t)programs->cpus);
	if (!error)
		error = rbprof_bpf__load(programs->skeleton);
	if (!error && config->in_pid_namespace)
		error = learn_pid_namespace(programs);
	if (!error)
		error = rbprof_bpf__attach(programs->skeleton);
	if (error)
		log__error("the kernel refused the bpf programs: %s; run `rbprof-bpf doctor`, and "
			   "-vv for the kernel's own words",
			   strerror(-error));
	return error;
}

int programs__new(const struct rbprof_config *config,
		  void (*on_event)(void *context, const struct rbprof_event *event, size_t size),
		  void *context, struct programs **ret_programs)
{
	struct programs *programs = calloc(1, sizeof(*programs));
	int error;

	if (!programs)
		return -ENOMEM;
	libbpf_set_print(print_libbpf);
	programs->on_event = on_event;
	programs->context = context;
	programs->cpus = (int)sysconf(_SC_NPROCESSORS_CONF);
	programs->timers = calloc((size_t)programs->cpus, sizeof(*programs->timers));
	error = programs->timers ? load(programs, config) : -ENOMEM;
	if (!error) {
		programs->ring = ring_buffer__new(bpf_map__fd(programs->skeleton->maps.events),
						  handle_event, programs, NULL);
		if (!programs->ring)
			error = -errno;
	}
	if (error) {
		programs__free(programs);
		return error;
	}
	visit_every_cpu(programs->cpus);
	*ret_programs = programs;
	return 0;
}

void programs__free(struct programs *programs)
{
	if (!programs)
		return;
	programs__stop_timers(programs);
	ring_buffer__free(programs->ring);
	rbprof_bpf__destroy(programs->skeleton);
	free(programs->timers);
	free(programs);
}

/* The timer is the kernel's own high-resolution one: exact periods, and no PMU needed. */
static int start_timer(struct programs *programs, int cpu, uint64_t period_ns)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = period_ns,
	};
	struct bpf_link *link;
	long fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return errno == ENODEV ? 0 : -errno; /* a CPU that is offline */
	link = bpf_program__attach_perf_event(programs->skeleton->progs.on_tick, (int)fd);
	if (!link) {
		int error = -errno;

		close((int)fd);
		return error;
	}
	programs->timers[programs->timer_count++] = (struct timer){ link, (int)fd };
	return 0;
}

/* Sums over the CPUs that have a timer: ticks, and the time they were idle until now. */
static void read_cpus(struct programs *programs, uint64_t *ret_ticks, uint64_t *ret_idle_ns)
{
	int cpus = libbpf_num_possible_cpus(), i;
	struct rbprof_cpu *values = calloc(cpus > 0 ? (size_t)cpus : 1, sizeof(*values));
	uint64_t now = monotonic_ns();
	uint32_t zero = 0;

	*ret_ticks = 0;
	*ret_idle_ns = 0;
	if (values &&
	    !bpf_map_lookup_elem(bpf_map__fd(programs->skeleton->maps.cpus), &zero, values)) {
		for (i = 0; i < cpus; i++) {
			*ret_ticks += values[i].ticks;
			*ret_idle_ns += values[i].idle_ns;
			if (values[i].idle_since_ns && values[i].idle_since_ns < now)
				*ret_idle_ns += now - values[i].idle_since_ns;
		}
	}
	free(values);
}

/* What the timers have seen since they were started. */
static void count_ticks(struct programs *programs, struct programs_ticks *ret_ticks)
{
	uint64_t ticks, idle_ns, elapsed_ns, busy_ns;

	elapsed_ns = (monotonic_ns() - programs->timers_started_ns) * programs->timer_count;
	read_cpus(programs, &ticks, &idle_ns);
	idle_ns -= programs->idle_before_ns;
	ret_ticks->all = ticks - programs->ticks_before;
	busy_ns = elapsed_ns > idle_ns ? elapsed_ns - idle_ns : 0;
	if (busy_ns > programs->due_busy_ns) {
		programs->due +=
			(double)(busy_ns - programs->due_busy_ns) * programs->drawn_hz / 1e9;
		programs->due_busy_ns = busy_ns;
	}
	ret_ticks->due = (uint64_t)programs->due;
}

static uint64_t detune_ns(const struct programs *programs)
{
	uint64_t ticks_ns = DETUNE_TICKS * 1000000000ULL / programs->hz;

	return ticks_ns > DETUNE_NS ? ticks_ns : DETUNE_NS;
}

/*
 * Draws a period by lot, and the next so that both together make the frequency asked for. A timer
 * that is given another period begins it anew: half a tick is lost on the average, and made up for.
 */
static uint64_t draw_period(struct programs *programs, uint64_t now)
{
	uint32_t lot = 0;

	if (!programs->is_second && getrandom(&lot, sizeof(lot), GRND_NONBLOCK) == sizeof(lot))
		programs->detune =
			DETUNE_LEAST + (DETUNE_MOST - DETUNE_LEAST) * lot / (double)UINT32_MAX;
	else
		programs->detune = -programs->detune;
	programs->is_second = !programs->is_second;
	programs->drawn_ns = now;
	programs->drawn_hz = programs->hz * (1 + programs->detune);
	return (uint64_t)(1e9 / (programs->drawn_hz + 0.5e9 / (double)detune_ns(programs)));
}

void programs__vary_timers(struct programs *programs)
{
	uint64_t now = monotonic_ns(), period_ns;
	struct programs_ticks ticks;
	int i;

	if (!programs->timers_started_ns || now - programs->drawn_ns < detune_ns(programs))
		return;
	count_ticks(programs, &ticks);
	period_ns = draw_period(programs, now);
	/* A timer that cannot be changed goes on as it was. */
	for (i = 0; i < programs->timer_count; i++)
		ioctl(programs->timers[i].fd, PERF_EVENT_IOC_PERIOD, &period_ns);
}

int programs__start_timers(struct programs *programs, uint32_t hz)
{
	int cpu, error = 0;
	uint64_t period_ns;

	read_cpus(programs, &programs->ticks_before, &programs->idle_before_ns);
	programs->timers_started_ns = monotonic_ns();
	programs->hz = hz;
	period_ns = draw_period(programs, programs->timers_started_ns);
	for (cpu = 0; cpu < programs->cpus && !error; cpu++)
		error = start_timer(programs, cpu, period_ns);
	if (!error && !programs->timer_count)
		error = -ENODEV;
	return error;
}

void programs__stop_timers(struct programs *programs)
{
	int i;

	if (programs->timers_started_ns)
		count_ticks(programs, &programs->ticks);
	programs->timers_started_ns = 0;
	for (i = 0; i < programs->timer_count; i++)
		bpf_link__destroy(programs->timers[i].link);
	programs->timer_count = 0;
}

void programs__ticks(struct programs *programs, struct programs_ticks *ret_ticks)
{
	if (programs->timers_started_ns)
		count_ticks(programs, ret_ticks);
	else
		*ret_ticks = programs->ticks;
}

void programs__gc_fds(const struct programs *programs, int *ret_enter, int *ret_exit)
{
	*ret_enter = bpf_program__fd(programs->skeleton->progs.on_gc_enter);
	*ret_exit = bpf_program__fd(programs->skeleton->progs.on_gc_exit);
}

int programs__vm_fd(const struct programs *programs)
{
	return bpf_program__fd(programs->skeleton->progs.on_vm_end);
}

int programs__fd(const struct programs *programs)
{
	return ring_buffer__epoll_fd(programs->ring);
}

int programs__consume(struct programs *programs)
{
	int result = ring_buffer__consume(programs->ring);

	return result < 0 ? result : 0;
}

int programs__set_runtime(struct programs *programs, uint32_t index,
			  const struct rbprof_runtime *runtime)
{
	return bpf_map_update_elem(bpf_map__fd(programs->skeleton->maps.runtimes), &index, runtime,
				   BPF_ANY)
		       ? -errno
		       : 0;
}

uint64_t programs__next_serial(struct programs *programs)
{
	return __atomic_add_fetch(&programs->skeleton->bss->last_serial, 1, __ATOMIC_RELAXED);
}

int programs__change_process(struct programs *programs, pid_t pid,
			     const struct rbprof_process *process)
{
	uint32_t key = (uint32_t)pid;

	return bpf_map_update_elem(bpf_map__fd(programs->skeleton->maps.processes), &key, process,
				   BPF_ANY)
		       ? -errno
		       : 0;
}

int programs__add_process(struct programs *programs, pid_t pid,
			  const struct rbprof_process *process)
{
	struct rbprof_counters counters = { 0 };
	int error;

	if (bpf_map_update_elem(bpf_map__fd(programs->skeleton->maps.counters), &process->serial,
				&counters, BPF_ANY))
		return -errno;
	error = programs__change_process(programs, pid, process);
	if (error)
		programs__forget_counters(programs, process->serial);
	return error;
}

int programs__get_process(struct programs *programs, pid_t pid, struct rbprof_process *ret_process)
{
	uint32_t key = (uint32_t)pid;

	return bpf_map_lookup_elem(bpf_map__fd(programs->skeleton->maps.processes), &key,
				   ret_process)
		       ? -errno
		       : 0;
}

void programs__remove_process(struct programs *programs, pid_t pid, uint64_t serial)
{
	struct rbprof_process process;
	uint32_t key = (uint32_t)pid;

	if (!programs__get_process(programs, pid, &process) && process.serial == serial)
		bpf_map_delete_elem(bpf_map__fd(programs->skeleton->maps.processes), &key);
}

int programs__counters(struct programs *programs, uint64_t serial,
		       struct rbprof_counters *ret_counters)
{
	return bpf_map_lookup_elem(bpf_map__fd(programs->skeleton->maps.counters), &serial,
				   ret_counters)
		       ? -errno
		       : 0;
}

void programs__forget_counters(struct programs *programs, uint64_t serial)
{
	bpf_map_delete_elem(bpf_map__fd(programs->skeleton->maps.counters), &serial);
}

uint64_t programs__lost_lifecycle(const struct programs *programs)
{
	return programs->skeleton->bss->lost_lifecycle;
}

void programs__stack_known(struct programs *programs, uint64_t hash, uint64_t epoch)
{
	bpf_map_update_elem(bpf_map__fd(programs->skeleton->maps.known_stacks), &hash, &epoch,
			    BPF_ANY);
}

void programs__stack_forgotten(struct programs *programs, uint64_t hash)
{
	bpf_map_delete_elem(bpf_map__fd(programs->skeleton->maps.known_stacks), &hash);
}

int programs__set_ivars(struct programs *programs, const struct rbprof_ivars_key *key,
			const struct rbprof_ivars *ivars)
{
	return bpf_map_update_elem(bpf_map__fd(programs->skeleton->maps.ivars), key, ivars, BPF_ANY)
		       ? -errno
		       : 0;
}

int programs__add_receiver(struct programs *programs, const struct rbprof_receiver_key *key)
{
	const uint8_t yes = 1;

	return bpf_map_update_elem(bpf_map__fd(programs->skeleton->maps.receivers), key, &yes,
				   BPF_ANY)
		       ? -errno
		       : 0;
}

bool programs__has_receiver(struct programs *programs, const struct rbprof_receiver_key *key)
{
	uint8_t yes;

	return !bpf_map_lookup_elem(bpf_map__fd(programs->skeleton->maps.receivers), key, &yes);
}

/* Runs an iterator over all tasks of the host; its programs write no text. */
static int run_iterator(struct bpf_link *link)
{
	char nothing[64];
	ssize_t got;
	int fd = bpf_iter_create(bpf_link__fd(link)), error = 0;

	if (fd < 0)
		return -errno;
	do {
		got = read(fd, nothing, sizeof(nothing));
		if (got < 0 && errno != EINTR && errno != EAGAIN)
			error = -errno;
	} while (!error && (got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN))));
	close(fd);
	return error;
}

int programs__start_clocks(struct programs *programs)
{
	visit_every_cpu(programs->cpus);
	return run_iterator(programs->skeleton->links.start_clocks);
}

int programs__read_clocks(struct programs *programs)
{
	visit_every_cpu(programs->cpus);
	return run_iterator(programs->skeleton->links.read_clocks);
}

int programs__ask_waits(struct programs *programs)
{
	return run_iterator(programs->skeleton->links.ask_waits);
}
