/* SPDX-License-Identifier: BSD-2-Clause */
/* What COMMAND prints, kept in case that somebody has to see it. */
#ifndef RBPROF_GATE_CAPTURED_H
#define RBPROF_GATE_CAPTURED_H

struct captured;

/* A file without a name, in $TMPDIR. 0 or -errno. */
int captured__new(struct captured **ret_captured);
void captured__free(struct captured *captured);

/* For COMMAND to write to; owned by captured. */
int captured__fd(const struct captured *captured);

/* To be called now and then: what is there is forgotten when it has become too much. */
void captured__limit(struct captured *captured);
void captured__forget(struct captured *captured);

/* Prints the end of it on stderr, under a line that names the run. */
void captured__show(const struct captured *captured, const char *run);

#endif
