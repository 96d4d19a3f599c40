/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Probes on the entries and exits of the garbage collector (uprobes, many by one link: Linux 6.6).
 *
 * While a build has probes for everybody, one pair of links per file serves all processes that
 * map it, whenever they start. Where only some processes are to be profiled, or one of them hits
 * its probes too often, each process has links of its own, and others are not touched: there is
 * no way to take a probe for everybody out of one process.
 */
#ifndef RBPROF_GC_PROBES_H
#define RBPROF_GC_PROBES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../discover/ruby_process.h"

struct gc_probes;

/*
 * What a probe costs a thread, beside the program that it runs: measured in some milliseconds on
 * an instruction of our own. 0, -ENOTSUP (the kernel has no such probes), -EPERM or -errno.
 */
int gc_probes__measure(uint32_t *ret_trap_ns);

/* How often probes may be hit in 100 ms, for a hundredth of one CPU. */
uint32_t gc_probes__window_hits(uint32_t trap_ns);

/*
 * The programs' fds stay the caller's. for_everybody: all processes of a build are profiled.
 * 0 or -ENOMEM. The caller frees it, which takes all probes out.
 */
int gc_probes__new(int enter_fd, int exit_fd, bool for_everybody, struct gc_probes **ret_probes);
void gc_probes__free(struct gc_probes *probes);

/*
 * Puts probes into a process (serial: of its image). Does nothing where they are there for
 * everybody already. removed_sites: those that it has given up (struct
 * rbprof_gc_sums). 0, -ENOTSUP (the build has no known sites, or the kernel no such probes),
 * -ESRCH (the process is gone), or -errno.
 */
int gc_probes__add(struct gc_probes *probes, uint64_t serial, const struct ruby_process *found,
		   uint32_t removed_sites);

/* The process has given up these sites: takes their probes out of it. 0 or -errno. */
int gc_probes__take_out(struct gc_probes *probes, uint64_t serial, uint32_t removed_sites);

/* The process image has ended. */
void gc_probes__forget(struct gc_probes *probes, uint64_t serial);

/* Links that hold probes now; for people. */
size_t gc_probes__links(const struct gc_probes *probes);

#endif
