/* SPDX-License-Identifier: BSD-2-Clause */
/* What this process is allowed to do, by the names that the kernel's documents use. */
#ifndef RBPROF_PRIVILEGE_H
#define RBPROF_PRIVILEGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The set of effective capabilities, bit by number (CAP_BPF is bit 39). 0 or -errno. */
int privilege__capabilities(uint64_t *ret_set);

/* CAP_SYS_ADMIN stands for CAP_BPF, CAP_PERFMON and CAP_CHECKPOINT_RESTORE too, CAP_DAC_OVERRIDE
 * for CAP_DAC_READ_SEARCH. */
bool privilege__has(uint64_t set, int capability);

/* "CAP_PERFMON"; NULL for one that we have no use for. */
const char *privilege__name(int capability);

struct host;

/*
 * Whether profiling is possible at all, so that a missing privilege is named before a library
 * says something confusing. Cheap: reads some files, forks once, loads
 * one small program. 0; else -EPERM
 * (capability, ptrace scope, lockdown) or -ENOTSUP (kernel too old or without something), and
 * one line in why: what is missing and what to do.
 */
int privilege__check(char *why, size_t size);

/* Of that, whether /proc gives processes the ids by which we may name them. 0 or -ENOTSUP. */
int privilege__check_pids(char *why, size_t size);

/*
 * The judgement behind it. memory_read: of host__try_memory_read(). Touches nothing but its
 * arguments.
 */
int privilege__judge(uint64_t set, bool is_root, const struct host *host, int memory_read,
		     char *why, size_t size);

/*
 * Raises the limit of locked memory, which kernels before 5.11 charge maps to. 0 or -errno: a
 * failure is nothing to stop for, where it matters loading fails.
 */
int privilege__raise_memlock(void);

#endif
