/* SPDX-License-Identifier: BSD-2-Clause */
/* The CPUs of the host: they may go and come while we run. */
#ifndef RBPROF_CPUS_H
#define RBPROF_CPUS_H

#include <stdbool.h>

/*
 * Reads a list of CPUs as the kernel writes it ("0-3,8\n"): is_in[cpu] for each of count CPUs;
 * others are left out. 0, or -EINVAL: it is no such list, and is_in is not to be used.
 */
int cpus__parse(const char *text, bool *is_in, int count);

/* How many CPUs there may ever be: all are numbered below it. Negative: -errno. */
int cpus__possible(void);

/* Those that are online now. 0 or -errno; then is_in is not to be used. */
int cpus__online(bool *is_in, int count);

#endif
