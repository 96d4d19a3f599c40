/* SPDX-License-Identifier: BSD-2-Clause */
#include "write_behind.h"

#include <errno.h>
#include <fcntl.h>

#define PART_BYTES     (8ULL << 20)
#define PARTS_UNDERWAY 2 /* a disk that is busy is never out of work */

/* Where the kernel or a sandbox does not know the call, fsync() does all of it. */
static int sync_part(int fd, uint64_t part, unsigned int flags)
{
	if (!sync_file_range(fd, (off_t)part, PART_BYTES, flags))
		return 0;
	return errno == ENOSYS || errno == EPERM || errno == EINVAL || errno == ESPIPE ? 0 : -errno;
}

/* Waits until a part is on the disk; only clean pages can be dropped. */
static int drop(int fd, uint64_t part)
{
	int error = sync_part(fd, part,
			      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
				      SYNC_FILE_RANGE_WAIT_AFTER);

	posix_fadvise(fd, (off_t)part, PART_BYTES, POSIX_FADV_DONTNEED);
	return error;
}

int write_behind__add(struct write_behind *behind, int fd, size_t size)
{
	int error = 0;

	behind->written += size;
	while (!error && behind->written - behind->started >= PART_BYTES) {
		uint64_t part = behind->started;

		error = sync_part(fd, part, SYNC_FILE_RANGE_WRITE);
		if (!error && part >= PARTS_UNDERWAY * PART_BYTES)
			error = drop(fd, part - PARTS_UNDERWAY * PART_BYTES);
		behind->started += PART_BYTES;
	}
	return error;
}
