/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads pprof, gzip or not, our own or another tool's. Nothing in the file is trusted: memory and
 * time are bounded, and what does not hold together is an error, never a part of a profile.
 *
 * Of a location with inlined functions each becomes a frame; an address without a function is
 * named after its mapping. Of the mappings only the first one is kept, of labels with the same
 * key on one sample only the last one.
 */
#ifndef RBPROF_PPROF_READ_H
#define RBPROF_PPROF_READ_H

#include <stddef.h>

#include "../agg/profile.h"

#define PPROF_READ_REASON 256

/*
 * Both: 0 and *ret_profile, which the caller frees. -EBADMSG: not a profile, corrupt or cut off;
 * -EFBIG: larger than we handle; -ENOMEM; -errno of the read. Then ret_why says what is wrong:
 * lower case, no full stop.
 */
int pprof_read__fd(int fd, struct profile **ret_profile, char ret_why[static PPROF_READ_REASON]);
int pprof_read__bytes(const void *bytes, size_t length, struct profile **ret_profile,
		      char ret_why[static PPROF_READ_REASON]);

#endif
