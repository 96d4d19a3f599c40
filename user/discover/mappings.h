/* SPDX-License-Identifier: BSD-2-Clause */
/* Executable file mappings of a process, from /proc. */
#ifndef RBPROF_MAPPINGS_H
#define RBPROF_MAPPINGS_H

#include <stdint.h>
#include <sys/types.h>

struct mapping {
	uint64_t start, end; /* addresses in the process */
	uint64_t offset;     /* in the file, bytes */
	uint32_t major, minor;
	uint64_t inode;
	const char *path; /* as the process sees it, " (deleted)" removed; valid in the callback */
};

/*
 * Calls each for every executable mapping of a file, until it returns non-zero. Reads through
 * any live thread where the main thread has exited (its own list is then empty).
 * 0, what each returned, or -errno: -ESRCH no such process, -EACCES no permission.
 */
int mappings__each(pid_t pid, int (*each)(const struct mapping *mapping, void *context),
		   void *context);

/* Parses one line of /proc/PID/maps; path points into line. 0, or -EINVAL. */
int mappings__parse(char *line, struct mapping *ret_mapping);

/*
 * Opens the file behind a mapping, whatever mount namespace it was found in and whether or not
 * it still has a name: through map_files, else through the root of the process. fd or -errno.
 */
int mappings__open(pid_t pid, const struct mapping *mapping);

#endif
