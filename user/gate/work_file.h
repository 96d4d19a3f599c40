/* SPDX-License-Identifier: BSD-2-Clause */
/* The file that COMMAND may write into how many units of work it did. */
#ifndef RBPROF_GATE_WORK_FILE_H
#define RBPROF_GATE_WORK_FILE_H

#include <stddef.h>
#include <stdint.h>

#define WORK_FILE_VARIABLE "RBPROF_WORK"

struct work_file;

/*
 * A folder of its own, in which the user that COMMAND runs as can make the file; sets
 * RBPROF_WORK in our environment. 0 or -errno.
 */
int work_file__new(struct work_file **ret_work);
/* Removes it all; NULL is allowed. */
void work_file__free(struct work_file *work);

/*
 * Reads the file and removes it. 0 and *ret_units (above 0); -ENOENT: nobody wrote one; -EINVAL: it
 * holds something else, text then begins as it does; -errno of reading.
 */
int work_file__take(struct work_file *work, int64_t *ret_units, char *text, size_t size);

#endif
