/* SPDX-License-Identifier: BSD-2-Clause */
#include "programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../util/cpus.h"
#include "host.h"
#include "log.h"
#include "privilege.h"
#include "rbprof.skel.h"
#include "uprobes.h"

struct programs {
	struct rbprof_bpf *skeleton;
	struct ring_buffer *ring;
	void (*on_event)(void *context, const struct rbprof_event *event, size_t size);
	void *context;
	struct timers *timers;
	int cpus;
};

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
	programs->cpus = cpus__possible();
	error = programs->cpus > 0 ? load(programs, config) : programs->cpus;
	if (!error) {
		programs->timers =
			timers__new(programs->skeleton->progs.on_tick,
				    bpf_map__fd(programs->skeleton->maps.cpus), programs->cpus);
		error = programs->timers ? 0 : -ENOMEM;
	}
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
	timers__free(programs->timers);
	ring_buffer__free(programs->ring);
	rbprof_bpf__destroy(programs->skeleton);
	free(programs);
}

int programs__start_timers(struct programs *programs, uint32_t hz)
{
	return timers__start(programs->timers, hz);
}

void programs__vary_timers(struct programs *programs)
{
	timers__vary(programs->timers);
}

void programs__follow_cpus(struct programs *programs, const bool *is_online)
{
	timers__follow_cpus(programs->timers, is_online);
}

void programs__stop_timers(struct programs *programs)
{
	timers__stop(programs->timers);
}

void programs__ticks(struct programs *programs, struct timers_ticks *ret_ticks)
{
	timers__ticks(programs->timers, ret_ticks);
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
