/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The Ruby builds seen so far, and which files are none. Each file is analysed once, each build
 * is kept once, however many files, mounts or containers show it.
 */
#ifndef RBPROF_RUNTIMES_H
#define RBPROF_RUNTIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "mappings.h"
#include "runtime.h"

struct runtimes;

/* 0 or -ENOMEM. The caller frees it. */
int runtimes__new(struct runtimes **ret_runtimes);
void runtimes__free(struct runtimes *runtimes);

/*
 * The build behind a mapping of a process; fd of its file is opened only when the file has not
 * been seen. 0 and *ret_runtime (owned by runtimes) with its *ret_index; a positive enum
 * rbprof_error: not Ruby, or why it cannot be used; -errno: the file cannot be opened now.
 */
int runtimes__find(struct runtimes *runtimes, pid_t pid, const struct mapping *mapping,
		   const struct runtime **ret_runtime, size_t *ret_index);

/* The version that a file which was refused says it is; "" if it has not been seen or says none. */
const char *runtimes__refused_version(const struct runtimes *runtimes,
				      const struct mapping *mapping);

/* runtimes__find() for a file that no process maps yet (the executable of a COMMAND, or its
 * libraries). */
int runtimes__find_path(struct runtimes *runtimes, const char *path,
			const struct runtime **ret_runtime, size_t *ret_index);

/* Whether the mapping is of a file that is known to be Ruby; also when the process is gone. */
bool runtimes__knows(const struct runtimes *runtimes, const struct mapping *mapping);

size_t runtimes__count(const struct runtimes *runtimes);
const struct runtime *runtimes__at(const struct runtimes *runtimes, size_t index);

#endif
