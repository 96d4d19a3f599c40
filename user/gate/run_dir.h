/* SPDX-License-Identifier: BSD-2-Clause */
/* The folder that runs are kept in (run_json.h tells what it looks like). */
#ifndef RBPROF_GATE_RUN_DIR_H
#define RBPROF_GATE_RUN_DIR_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Makes the folder, or finds it empty; with the two that it has when runs are interleaved. An exit
 * status: CMD_USAGE where it is not empty, CMD_FILE where it cannot be made or written to; what is
 * wrong has been said.
 */
int run_dir__prepare(const char *path, bool is_interleaved);

/* "001" or "head/001"; side: NULL, or GATE_RUN_BASE, GATE_RUN_HEAD. */
void run_dir__name(const char *side, unsigned int number, char *name, size_t size);

/* The folder of one run: made, or removed with what it holds. 0 or -errno. */
int run_dir__make(const char *path, const char *name);
void run_dir__remove(const char *path, const char *name);

/* Path of a file of a run. NULL: out of memory; freed by the caller. */
char *run_dir__file(const char *path, const char *name, const char *file);

#endif
