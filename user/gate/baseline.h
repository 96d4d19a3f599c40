/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A baseline: one file with what comparing needs of several runs, so that it can be kept in a
 * repository. JSON, as rbprof-bpf-gate(8) tells, packed with gzip where the name ends in .gz;
 * read either way.
 */
#ifndef RBPROF_GATE_BASELINE_H
#define RBPROF_GATE_BASELINE_H

#include "side.h"

#define GATE_BASELINE_FORMAT 1
#define GATE_BASELINE_KIND   "rbprof-bpf gate baseline"
#define GATE_BASELINE_FILE   ".rbprof-baseline.json.gz" /* unless told otherwise */

/* As gate_side__read(), which calls this for what is no directory. */
int gate_baseline__read(const char *path, struct gate_side *ret_side);

/* Whole or not at all. CMD_DONE, or CMD_FILE: what is wrong has been said. */
int gate_baseline__write(const struct gate_side *side, const char *path);

#endif
