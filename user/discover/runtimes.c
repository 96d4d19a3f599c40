/* SPDX-License-Identifier: BSD-2-Clause */
#include "runtimes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <uthash.h>

#define MAX_FILES 65536 /* remembered; past that they are forgotten and analysed anew */

/* A file is known by what its mapping shows, so that it need not be opened to be recognised. */
struct file_key {
	uint64_t device, inode;
};

struct known_file {
	struct file_key key;
	int64_t changed_ns; /* ctime: another file may get the inode */
	int result;	    /* 0 or enum rbprof_error */
	size_t index;	    /* of the runtime, if result is 0 */
	char version[16];   /* else, what it says it is */
	UT_hash_handle hh;
};

struct runtimes {
	struct known_file *files;
	struct runtime *builds[RBPROF_MAX_RUNTIMES];
	size_t count;
};

int runtimes__new(struct runtimes **ret_runtimes)
{
	struct runtimes *runtimes = calloc(1, sizeof(*runtimes));

	if (!runtimes)
		return -ENOMEM;
	*ret_runtimes = runtimes;
	return 0;
}

static void forget_files(struct runtimes *runtimes)
{
	struct known_file *file, *next;

	HASH_ITER (hh, runtimes->files, file, next) {
		HASH_DEL(runtimes->files, file);
		free(file);
	}
}

void runtimes__free(struct runtimes *runtimes)
{
	size_t i;

	if (!runtimes)
		return;
	forget_files(runtimes);
	for (i = 0; i < runtimes->count; i++)
		runtime__free(runtimes->builds[i]);
	free(runtimes);
}

/* Takes the runtime over. Its index, or enum rbprof_error negated. */
static int keep_build(struct runtimes *runtimes, struct runtime *runtime, size_t *ret_index)
{
	size_t i;

	for (i = 0; i < runtimes->count; i++) {
		if (runtimes->builds[i]->size == runtime->size &&
		    !strcmp(runtimes->builds[i]->build_id, runtime->build_id) &&
		    !strcmp(runtimes->builds[i]->version, runtime->version)) {
			runtime__free(runtime);
			*ret_index = i;
			return 0;
		}
	}
	if (runtimes->count == RBPROF_MAX_RUNTIMES) {
		runtime__free(runtime);
		return RBPROF_E_TOO_MANY_RUNTIMES;
	}
	runtimes->builds[runtimes->count] = runtime;
	*ret_index = runtimes->count++;
	return 0;
}

static int find_open_file(struct runtimes *runtimes, int fd, struct file_key key,
			  int64_t changed_ns, size_t *ret_index)
{
	struct runtime *runtime;
	struct known_file *file;
	int result = runtime__open(fd, &runtime);

	if (result < 0)
		return result;
	file = calloc(1, sizeof(*file));
	if (!file) {
		if (!result)
			runtime__free(runtime);
		return -ENOMEM;
	}
	file->key = key;
	file->changed_ns = changed_ns;
	file->result = result ? result : keep_build(runtimes, runtime, &file->index);
	if (result > 0 && result != RBPROF_E_NOT_RUBY)
		runtime__version(fd, file->version, sizeof(file->version));
	if (HASH_COUNT(runtimes->files) >= MAX_FILES)
		forget_files(runtimes);
	HASH_ADD(hh, runtimes->files, key, sizeof(file->key), file);
	if (!file->result)
		*ret_index = file->index;
	return file->result;
}

static int64_t changed_ns(const struct stat *stat)
{
	return (int64_t)stat->st_ctim.tv_sec * 1000000000 + stat->st_ctim.tv_nsec;
}

static int find_fd(struct runtimes *runtimes, int fd, struct file_key key,
		   const struct runtime **ret_runtime, size_t *ret_index)
{
	struct known_file *file;
	struct stat stat;
	int result;

	if (fstat(fd, &stat))
		return -errno;
	if (!S_ISREG(stat.st_mode))
		return RBPROF_E_NOT_RUBY;
	HASH_FIND(hh, runtimes->files, &key, sizeof(key), file);
	if (file && file->changed_ns != changed_ns(&stat)) {
		HASH_DEL(runtimes->files, file);
		free(file);
		file = NULL;
	}
	if (file) {
		result = file->result;
		if (!result)
			*ret_index = file->index;
	} else {
		result = find_open_file(runtimes, fd, key, changed_ns(&stat), ret_index);
	}
	if (!result)
		*ret_runtime = runtimes->builds[*ret_index];
	return result;
}

int runtimes__find(struct runtimes *runtimes, pid_t pid, const struct mapping *mapping,
		   const struct runtime **ret_runtime, size_t *ret_index)
{
	struct file_key key = { makedev(mapping->major, mapping->minor), mapping->inode };
	struct known_file *file;
	int fd, result;

	/*
	 * A file that was not Ruby is not looked at again: it would have to be replaced in
	 * place. A Ruby is: its file may have been overwritten.
	 */
	HASH_FIND(hh, runtimes->files, &key, sizeof(key), file);
	if (file && file->result == RBPROF_E_NOT_RUBY)
		return file->result;
	fd = mappings__open(pid, mapping);
	if (fd < 0)
		return fd;
	result = find_fd(runtimes, fd, key, ret_runtime, ret_index);
	close(fd);
	return result;
}

const char *runtimes__refused_version(const struct runtimes *runtimes,
				      const struct mapping *mapping)
{
	struct file_key key = { makedev(mapping->major, mapping->minor), mapping->inode };
	struct known_file *file;

	HASH_FIND(hh, runtimes->files, &key, sizeof(key), file);
	return file ? file->version : "";
}

bool runtimes__knows(const struct runtimes *runtimes, const struct mapping *mapping)
{
	struct file_key key = { makedev(mapping->major, mapping->minor), mapping->inode };
	struct known_file *file;

	HASH_FIND(hh, runtimes->files, &key, sizeof(key), file);
	return file && file->result != RBPROF_E_NOT_RUBY;
}

int runtimes__find_path(struct runtimes *runtimes, const char *path,
			const struct runtime **ret_runtime, size_t *ret_index)
{
	struct file_key key;
	struct stat stat;
	int fd, result;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &stat)) {
		result = -errno;
	} else {
		key.device = stat.st_dev;
		key.inode = stat.st_ino;
		result = find_fd(runtimes, fd, key, ret_runtime, ret_index);
	}
	close(fd);
	return result;
}

size_t runtimes__count(const struct runtimes *runtimes)
{
	return runtimes->count;
}

const struct runtime *runtimes__at(const struct runtimes *runtimes, size_t index)
{
	return index < runtimes->count ? runtimes->builds[index] : NULL;
}
