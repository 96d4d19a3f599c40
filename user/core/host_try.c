/* SPDX-License-Identifier: BSD-2-Clause */
/* What the running kernel lets us do, found out by doing it. */
#include "host.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- memory of another process ---- */

#define BYTES_BEFORE 0x5242u
#define BYTES_AFTER  0x50726f66u

/* Changed by the child only, so that what is read can come from nowhere else. */
static volatile uint32_t bytes = BYTES_BEFORE;

static _Noreturn void be_read(int ready_fd, int end_fd)
{
	char end;

	bytes = BYTES_AFTER;
	if (write(ready_fd, "", 1) == 1)
		/* Until the parent has read us and closes its end. */
		while (read(end_fd, &end, 1) < 0 && errno == EINTR)
			;
	_exit(0);
}

static int read_child(pid_t pid, int ready_fd)
{
	uint32_t value = 0;
	struct iovec here = { &value, sizeof(value) };
	struct iovec there = { (void *)&bytes, sizeof(value) };
	ssize_t length;
	char ready;

	do {
		length = read(ready_fd, &ready, 1);
	} while (length < 0 && errno == EINTR);
	if (length != 1)
		return -ECHILD;
	length = process_vm_readv(pid, &here, 1, &there, 1, 0);
	if (length < 0)
		return -errno;
	return length == sizeof(value) && value == BYTES_AFTER ? 0 : -EIO;
}

int host__try_memory_read(void)
{
	int ready[2], end[2];
	pid_t pid;
	int error;

	if (pipe2(ready, O_CLOEXEC))
		return -errno;
	if (pipe2(end, O_CLOEXEC)) {
		error = -errno;
		close(ready[0]);
		close(ready[1]);
		return error;
	}
	pid = fork();
	if (!pid) {
		close(end[1]);
		be_read(ready[1], end[0]);
	}
	error = pid < 0 ? -errno : 0;
	close(ready[1]);
	close(end[0]);
	if (!error)
		error = read_child(pid, ready[0]);
	close(ready[0]);
	close(end[1]);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return error;
}

/* ---- BPF ---- */

static int silence(enum libbpf_print_level level, const char *format, va_list arguments)
{
	(void)level;
	(void)format;
	(void)arguments;
	return 0;
}

/* `return 0`, as a program of this type. 0 or -errno. */
static int load_nothing(enum bpf_prog_type type, const struct bpf_prog_load_opts *options)
{
	const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd = bpf_prog_load(type, "rbprof_try", "GPL", code, sizeof(code) / sizeof(code[0]),
			       options);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

int host__try_perf_program(void)
{
	return load_nothing(BPF_PROG_TYPE_PERF_EVENT, NULL);
}

int host__try_tracing(void)
{
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_TRACE_RAW_TP);
	libbpf_print_fn_t print = libbpf_set_print(silence);
	bool is_default;
	const char *path = host__btf_path(&is_default);
	struct btf *btf = btf__parse(path, NULL);
	int error, id;

	error = libbpf_get_error(btf) ? -errno : 0;
	if (!error) {
		id = btf__find_by_name_kind(btf, "btf_trace_sched_switch", BTF_KIND_TYPEDEF);
		error = id < 0 ? id : 0;
		options.attach_btf_id = id < 0 ? 0 : (uint32_t)id;
		btf__free(btf);
	}
	if (!error)
		error = load_nothing(BPF_PROG_TYPE_TRACING, &options);
	libbpf_set_print(print);
	return error;
}

bool host__has_loop(void)
{
	libbpf_print_fn_t print = libbpf_set_print(silence);
	bool has = libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_loop, NULL) == 1;

	libbpf_set_print(print);
	return has;
}

/* ---- perf events ---- */

/* Opens it and lets it go at once. 0 or -errno. */
static int try_event(uint32_t type, uint64_t config, pid_t pid, int cpu)
{
	struct perf_event_attr attributes = {
		.type = type,
		.size = sizeof(attributes),
		.config = config,
		.sample_freq = 99,
		.freq = 1,
		.disabled = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attributes, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

int host__try_clock(void)
{
	return try_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, -1, sched_getcpu());
}

int host__try_counters(void)
{
	return try_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 0, -1);
}

/* Whether /proc gives each process of our pid namespace the id that it has there. */
static bool has_own_proc(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	char line[256];
	int first, second, count = 0;

	/* One id a namespace, from that of /proc inwards to ours. */
	while (file && count < 1 && fgets(line, sizeof(line), file))
		count = sscanf(line, "NSpid: %d %d", &first, &second);
	if (file)
		fclose(file);
	return count == 1;
}

enum host_pids host__pids(void)
{
	/* The number of the first pid namespace never changes: PROC_PID_INIT_INO, proc_ns.h. */
	static const char first[] = "pid:[4026531836]";
	char name[64];
	ssize_t length = readlink("/proc/self/ns/pid", name, sizeof(name));

	if (!has_own_proc())
		return HOST_PIDS_FOREIGN;
	return length == (ssize_t)sizeof(first) - 1 && !memcmp(name, first, sizeof(first) - 1)
		       ? HOST_PIDS_ALL
		       : HOST_PIDS_OWN;
}
