/* SPDX-License-Identifier: BSD-2-Clause */
/* Which container and which systemd service a process belongs to, from its cgroup's path. */
#ifndef RBPROF_CONTAINER_H
#define RBPROF_CONTAINER_H

#include <stdbool.h>
#include <sys/types.h>

#define CONTAINER_ID_MAX 128

struct container {
	char id[CONTAINER_ID_MAX + 1]; /* empty: none */
	char service[256];	       /* unit without `.service`; empty: none */
};

/*
 * Reads one path of a cgroup, as in /proc/PID/cgroup behind the second colon. What it does not
 * tell stays as it was in *container. An id that is not surely one is none.
 */
void container__parse_path(const char *path, struct container *container);

/* All lines of /proc/PID/cgroup, version 1, 2 or both; text is changed. */
void container__parse(char *text, struct container *ret_container);

/* Of a process. 0 or -errno; *ret_container is empty on failure. */
int container__of(pid_t pid, struct container *ret_container);

/*
 * Whether the process is in the cgroup or below it; path as below a cgroup mount point, or with
 * the mount point in front.
 */
bool container__is_in_cgroup(pid_t pid, const char *path);

#endif
