/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of a live process. Bytes are copied by process_vm_readv, many ranges a call; the open
 * /proc/PID/mem only says whose they were: the kernel ties it to the address space it was opened
 * for, and reads nothing through it once that is gone. So neither a pid that is used again nor an
 * exec can put other bytes in place of those that were asked for.
 */
#include "memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#define LIVE_BATCH 1024 /* the most ranges that the kernel takes in one call */

_Static_assert(LIVE_BATCH <= IOV_MAX, "one call takes at most IOV_MAX ranges");

struct memory_live {
	struct memory memory;
	pid_t pid;
	pid_t via;    /* the thread through which memory is read: pid while its main thread lives */
	int identity; /* /proc/PID/mem */
	struct iovec local[LIVE_BATCH];
	struct iovec remote[LIVE_BATCH];
};

/* Another thread of the process than its main one and than `not`; 0 if there is none. */
static pid_t live_other_thread(pid_t pid, pid_t not)
{
	char path[64];
	struct dirent *entry;
	pid_t found = 0;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	if (!tasks)
		return 0;
	while (!found && (entry = readdir(tasks))) {
		char *end;
		long tid = strtol(entry->d_name, &end, 10);

		if (end != entry->d_name && !*end && tid > 0 && tid != not&&tid != pid)
			found = (pid_t)tid;
	}
	closedir(tasks);
	return found;
}

/* 0 if the address space is still the one that was opened; address is mapped in it. */
static int live_check(const struct memory_live *live, uint64_t address)
{
	char byte;
	ssize_t got = pread(live->identity, &byte, 1, (off_t)address);

	if (got == 1)
		return 0;
	return got == 0 ? -ESRCH : -EFAULT;
}

static int live_read_batch(struct memory_live *live, const struct memory_range *ranges,
			   size_t count)
{
	ssize_t total = 0, got = 0;
	int tries, err = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		if (ranges[i].size > SSIZE_MAX / LIVE_BATCH)
			return -EINVAL;
		if (ranges[i].address > INT64_MAX - ranges[i].size)
			return -EFAULT;
		live->local[i].iov_base = ranges[i].into;
		live->local[i].iov_len = ranges[i].size;
		live->remote[i].iov_base = (void *)(uintptr_t)ranges[i].address;
		live->remote[i].iov_len = ranges[i].size;
		total += (ssize_t)ranges[i].size;
	}
	if (!total)
		return 0;
	/* The main thread may exit before the others: then memory is not readable through it. */
	for (tries = 0; tries < 3; tries++) {
		pid_t other;

		got = process_vm_readv(live->via, live->local, count, live->remote, count, 0);
		err = got < 0 ? -errno : 0;
		if (err != -ESRCH)
			break;
		other = live_other_thread(live->pid, live->via);
		if (!other)
			return -ESRCH;
		live->via = other;
	}
	if (err == -EINVAL)
		err = -EFAULT;
	if (!err && got != total)
		err = -EFAULT;
	for (i = 0; i < count && !ranges[i].size; i++)
		;
	/* A fault is no news if it was met in another address space. */
	if (!err || err == -EFAULT) {
		int identity = live_check(live, ranges[i].address);

		if (identity == -ESRCH || !err)
			err = identity;
	}
	return err;
}

/* One range: the file of the address space itself, which needs no second look. */
static int live_read_one(const struct memory_live *live, const struct memory_range *range)
{
	ssize_t got;

	if (!range->size)
		return 0;
	if (range->address > INT64_MAX - range->size)
		return -EFAULT;
	got = pread(live->identity, range->into, range->size, (off_t)range->address);
	if (got == 0)
		return -ESRCH;
	if (got < 0)
		return errno == EIO ? -EFAULT : -errno;
	return (size_t)got == range->size ? 0 : -EFAULT;
}

static int live_read(struct memory *memory, const struct memory_range *ranges, size_t count)
{
	struct memory_live *live = (struct memory_live *)memory;

	if (count == 1)
		return live_read_one(live, ranges);
	while (count) {
		size_t batch = count < LIVE_BATCH ? count : LIVE_BATCH;
		int err = live_read_batch(live, ranges, batch);

		if (err)
			return err;
		ranges += batch;
		count -= batch;
	}
	return 0;
}

static void live_close(struct memory *memory)
{
	struct memory_live *live = (struct memory_live *)memory;

	close(live->identity);
	free(live);
}

static const struct memory_ops live_ops = { .read = live_read, .close = live_close };

static int live_open_identity(pid_t pid, pid_t tid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/mem", pid, tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	if (errno == ENOENT || errno == ESRCH)
		return -ESRCH;
	return errno == EACCES ? -EPERM : -errno;
}

int memory__open_process(pid_t pid, struct memory **ret_memory)
{
	struct memory_live *live;
	uint64_t none = 0;
	pid_t via = pid;
	int fd;

	if (pid <= 0)
		return -ESRCH;
	fd = live_open_identity(pid, pid);
	/* Older kernels open the file of a thread without memory, and read nothing from it. */
	if (fd == -ESRCH || (fd >= 0 && pread(fd, &none, 1, 0) == 0)) {
		if (fd >= 0)
			close(fd);
		via = live_other_thread(pid, pid);
		fd = via ? live_open_identity(pid, via) : -ESRCH;
	}
	if (fd < 0)
		return fd;
	live = calloc(1, sizeof(*live));
	if (!live) {
		close(fd);
		return -ENOMEM;
	}
	live->memory.ops = &live_ops;
	live->pid = pid;
	live->via = via;
	live->identity = fd;
	*ret_memory = &live->memory;
	return 0;
}
