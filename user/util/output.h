/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An output file that is there as a whole or not at all: written under a temporary name in the
 * directory of its final one, synced, renamed. What is not a regular file (a pipe, a device) is
 * written in place. A reader that goes away is an error (-EPIPE), not a signal.
 */
#ifndef RBPROF_OUTPUT_H
#define RBPROF_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

struct output;

/*
 * Starts an output to path, or to stdout if path is "-". A symbolic link is followed; a file
 * that is there stays untouched until output__commit() and passes on its mode and, where
 * possible, its owner. 0 or -errno: -ENOENT (no such directory), -EACCES, -EISDIR, -EROFS,
 * -ENOSPC, ... End it with output__commit() or output__abort().
 */
int output__open(const char *path, struct output **ret_output);

/*
 * While fd is readable, writing to what is no regular file does not wait for its reader any more:
 * it fails with -ECANCELED. fd stays the caller's.
 */
void output__cancel_on(struct output *output, int fd);

/* Where to write; owned by the output. Errors may be ignored here: output__commit() has them. */
FILE *output__stream(struct output *output);

/* Whether what is written goes to a terminal. */
bool output__is_terminal(const struct output *output);

/*
 * Puts the file in its place and frees the output. 0, or -errno of the first thing that failed
 * (-ENOSPC, -EPIPE, -EIO, ...): then nothing has changed in the directory.
 */
int output__commit(struct output *output);

/* Removes what was written and frees the output; NULL is allowed. */
void output__abort(struct output *output);

#endif
