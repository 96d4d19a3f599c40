/* SPDX-License-Identifier: BSD-2-Clause */
/* Separate debug files, found by build-id. */
#ifndef RBPROF_DEBUG_FILE_H
#define RBPROF_DEBUG_FILE_H

#include "elf_file.h"

#define DEBUG_FILE_FOLDER "/usr/lib/debug"

/*
 * Opens FOLDER/.build-id/xx/yyyy.debug, if it is there and really has this build-id (hex). 0 and
 * a file to be closed with debug_file__close(), -ENOENT, or another -errno.
 */
int debug_file__open(const char *folder, const char *build_id, struct elf_file **ret_file);
void debug_file__close(struct elf_file *file);

#endif
