/* SPDX-License-Identifier: BSD-2-Clause */
/* A command that was given as one string. */
#ifndef RBPROF_GATE_WORDS_H
#define RBPROF_GATE_WORDS_H

/*
 * Splits text at spaces, with quotes and backslashes as a shell has them. What needs a shell for
 * more than that (variables, patterns, pipes, assignments) becomes `sh -c TEXT`. 0 and *ret_argv,
 * which ends in NULL and is freed with words__free(); -EINVAL: no word in it, or a quote that does
 * not end; -ENOMEM.
 */
int words__split(const char *text, char ***ret_argv);
/* NULL is allowed. */
void words__free(char **argv);

#endif
