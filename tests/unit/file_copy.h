/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies of files in memory, to be damaged by tests. */
#ifndef RBPROF_TEST_FILE_COPY_H
#define RBPROF_TEST_FILE_COPY_H

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define INSTALLED_LIBRUBY "/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1"

struct file_copy {
	unsigned char *bytes;
	size_t size;
};

/* 0, or -1 if the file is not there. */
static inline int file_copy__read(const char *path, struct file_copy *copy)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;

	if (fd < 0 || fstat(fd, &status))
		return -1;
	copy->size = (size_t)status.st_size;
	copy->bytes = malloc(copy->size + 1);
	for (size_t done = 0; done < copy->size;) {
		ssize_t count = read(fd, copy->bytes + done, copy->size - done);

		if (count <= 0)
			return -1;
		done += (size_t)count;
	}
	close(fd);
	return 0;
}

static inline void file_copy__free(struct file_copy *copy)
{
	free(copy->bytes);
}

/* The first size bytes as a file. */
static inline int file_copy__open(const struct file_copy *copy, size_t size)
{
	int fd = memfd_create("copy", MFD_CLOEXEC);

	for (size_t done = 0; done < size;) {
		ssize_t count = write(fd, copy->bytes + done, size - done);

		if (count <= 0)
			abort();
		done += (size_t)count;
	}
	return fd;
}

/* Replaces every occurrence; both are of the same length. Returns how many there were. */
static inline size_t file_copy__replace(struct file_copy *copy, const char *from, const char *to)
{
	size_t length = strlen(from), count = 0;
	unsigned char *at = copy->bytes;

	while ((at = memmem(at, (size_t)(copy->bytes + copy->size - at), from, length))) {
		memcpy(at, to, length);
		at += length;
		count++;
	}
	return count;
}

#endif
