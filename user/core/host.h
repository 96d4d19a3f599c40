/* SPDX-License-Identifier: BSD-2-Clause */
/* Facts about the host that decide whether and how it can be profiled. Nothing is changed. */
#ifndef RBPROF_HOST_H
#define RBPROF_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOST_UNKNOWN (-100) /* a setting whose file is not there or makes no sense */

enum host_lockdown {
	HOST_LOCKDOWN_UNKNOWN = 0, /* no lockdown in this kernel, or securityfs is not mounted */
	HOST_LOCKDOWN_NONE,
	HOST_LOCKDOWN_INTEGRITY,
	HOST_LOCKDOWN_CONFIDENTIALITY,
};

enum host_option {
	HOST_OPTION_UNKNOWN = 0,
	HOST_OPTION_SET,
	HOST_OPTION_NOT_SET,
};

enum host_pids {
	HOST_PIDS_ALL = 0, /* the host's own: we see all of its processes */
	HOST_PIDS_OWN,	   /* those of a pid namespace of our own, whose processes we see */
	HOST_PIDS_FOREIGN, /* /proc shows those of another pid namespace than ours, or is not there
			    */
};

/* What files say. */
struct host {
	char release[65]; /* uname -r */
	unsigned int major, minor;
	char btf_path[4096];
	int btf_error;	  /* 0: can be read and looks like BTF; -errno */
	int paranoid;	  /* perf_event_paranoid, or HOST_UNKNOWN */
	int ptrace_scope; /* Yama's, or HOST_UNKNOWN: no Yama */
	enum host_lockdown lockdown;
	char config_path[4096]; /* of the kernel's configuration; empty: not found */
	enum host_option irq_time_accounting;
	enum host_option steal_time_accounting; /* CONFIG_PARAVIRT_TIME_ACCOUNTING */
};

/*
 * Reads the facts. root stands in front of every path but the BTF's where RBPROF_BTF names it:
 * "" for the host itself, a directory of made-up files in tests. release NULL: of the running
 * kernel. What cannot be read is unknown, never an error.
 */
void host__read(const char *root, const char *release, struct host *ret_host);

/* Whether the kernel's version is at least this. */
bool host__is_since(const struct host *host, unsigned int major, unsigned int minor);

/*
 * Where the kernel's BTF is: /sys/kernel/btf/vmlinux, or what RBPROF_BTF says. Hand it to libbpf
 * (btf_custom_path) when it is not the default: *ret_is_default.
 */
const char *host__btf_path(bool *ret_is_default);

/* What btf_error says, for people. */
const char *host__btf_error_text(int error);

/* Tries on the running kernel. 0 or -errno. */
int host__try_memory_read(void);  /* process_vm_readv() from a child of ours */
int host__try_tracing(void);	  /* loads a tp_btf program for sched_switch */
int host__try_perf_program(void); /* loads a perf event program */
int host__try_clock(void);	  /* opens cpu-clock on one CPU for every process */
int host__try_counters(void);	  /* opens cpu-cycles: -ENOENT, -EOPNOTSUPP without a PMU */
/* Whose process ids we use. */
enum host_pids host__pids(void);
bool host__has_loop(void); /* bpf_loop(); true also where the kernel does not tell */

#endif
