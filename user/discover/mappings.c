/* SPDX-License-Identifier: BSD-2-Clause */
#include "mappings.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define DELETED " (deleted)"

static void strip_deleted(char *path)
{
	size_t length = strlen(path), suffix = strlen(DELETED);

	if (length > suffix && !strcmp(path + length - suffix, DELETED))
		path[length - suffix] = '\0';
}

int mappings__parse(char *line, struct mapping *ret_mapping)
{
	struct mapping mapping = { 0 };
	char permissions[5];
	int path = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
		   &mapping.start, &mapping.end, permissions, &mapping.offset, &mapping.major,
		   &mapping.minor, &mapping.inode, &path) < 7 ||
	    !path || strlen(permissions) != 4 || permissions[2] != 'x')
		return -EINVAL;
	if (mapping.start >= mapping.end || !mapping.inode || line[path] != '/')
		return -EINVAL;
	line[path + strcspn(line + path, "\n")] = '\0';
	strip_deleted(line + path);
	mapping.path = line + path;
	*ret_mapping = mapping;
	return 0;
}

/* The number of mappings seen, or -errno; *ret_result is what each returned. */
static int each_in_file(const char *path, int (*each)(const struct mapping *, void *),
			void *context, int *ret_result)
{
	FILE *file = fopen(path, "re");
	struct mapping mapping;
	size_t size = 0;
	char *line = NULL;
	int seen = 0;

	if (!file)
		return -errno;
	*ret_result = 0;
	while (getline(&line, &size, file) > 0) {
		seen++;
		if (mappings__parse(line, &mapping))
			continue;
		*ret_result = each(&mapping, context);
		if (*ret_result)
			break;
	}
	free(line);
	fclose(file);
	return seen;
}

int mappings__each(pid_t pid, int (*each)(const struct mapping *mapping, void *context),
		   void *context)
{
	struct dirent *entry;
	char path[64];
	int seen, result = 0;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	seen = each_in_file(path, each, context, &result);
	if (seen > 0)
		return result;
	if (seen < 0 && seen != -ESRCH)
		return seen == -ENOENT ? -ESRCH : seen;
	/* The main thread has exited, or it is a kernel thread. */
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	if (!tasks)
		return -ESRCH;
	seen = 0;
	while (seen <= 0 && (entry = readdir(tasks))) {
		char task_path[sizeof("/proc//task//maps") + 2 * 12];
		long tid = strtol(entry->d_name, NULL, 10);

		if (tid <= 0 || tid == pid)
			continue;
		snprintf(task_path, sizeof(task_path), "/proc/%d/task/%ld/maps", pid, tid);
		seen = each_in_file(task_path, each, context, &result);
	}
	closedir(tasks);
	return seen > 0 ? result : 0;
}

/* As a thread sees the process: it answers by its own id, too. fd or -errno. */
static int open_through(pid_t tid, const struct mapping *mapping)
{
	char path[PATH_MAX + 32];
	struct stat stat;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, tid, mapping->start,
		 mapping->end);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/%d/root%s", tid, mapping->path);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	/* Another file may have taken the name. (On overlayfs the devices differ.) */
	if (fstat(fd, &stat) || !S_ISREG(stat.st_mode) || stat.st_ino != mapping->inode) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

int mappings__open(pid_t pid, const struct mapping *mapping)
{
	int fd = open_through(pid, mapping);
	struct dirent *entry;
	char path[64];
	DIR *tasks;

	if (fd >= 0 || (fd != -ENOENT && fd != -ESRCH))
		return fd;
	/* A main thread that has exited shows neither mappings nor a root. */
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	if (!tasks)
		return fd;
	while (fd < 0 && (entry = readdir(tasks))) {
		long tid = strtol(entry->d_name, NULL, 10);

		if (tid > 0 && tid != pid)
			fd = open_through((pid_t)tid, mapping);
	}
	closedir(tasks);
	return fd;
}
