/* SPDX-License-Identifier: BSD-2-Clause */
/* The bytes of a profile file: read in whole, unpacked if they are gzip. */
#ifndef RBPROF_PPROF_BYTES_H
#define RBPROF_PPROF_BYTES_H

#include <stddef.h>
#include <stdint.h>

#define PPROF_BYTES_MAX	   (1ULL << 30) /* of a file, packed and unpacked */
#define PPROF_BYTES_REASON 256

/*
 * Reads fd to its end. 0 and the bytes, which the caller frees. -EFBIG (more than
 * PPROF_BYTES_MAX), -ENOMEM, or -errno of the read.
 */
int pprof_bytes__read(int fd, uint8_t **ret_bytes, size_t *ret_length);

/*
 * Unpacks gzip (any number of members). 0 and the bytes, which the caller frees. -EBADMSG
 * (corrupt or cut off), -EFBIG (more than PPROF_BYTES_MAX, or so much out of so little that it is
 * no profile), -ENOMEM; ret_why then has the reason as text.
 */
int pprof_bytes__gunzip(const uint8_t *packed, size_t packed_length, uint8_t **ret_bytes,
			size_t *ret_length, char ret_why[static PPROF_BYTES_REASON]);

#endif
