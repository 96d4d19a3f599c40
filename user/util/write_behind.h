/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A large file on its way to the disk while it is written, not all at once in fsync(). What is
 * there leaves the page cache, so that a file of gigabytes takes the same few pages over and over:
 * new ones cost more than the copy into them, and push out what others read.
 */
#ifndef RBPROF_WRITE_BEHIND_H
#define RBPROF_WRITE_BEHIND_H

#include <stddef.h>
#include <stdint.h>

/* All zero: nothing is written yet. */
struct write_behind {
	uint64_t written; /* bytes, from the file's start on */
	uint64_t started; /* of them, those that are on their way */
};

/*
 * Tells that size bytes were appended to fd. 0, or -errno of a write that failed on its way, which
 * fsync() does not tell a second time.
 */
int write_behind__add(struct write_behind *behind, int fd, size_t size);

#endif
