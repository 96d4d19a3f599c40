/* SPDX-License-Identifier: BSD-2-Clause */
/* How fast this machine is just now. */
#ifndef RBPROF_GATE_CALIBRATE_H
#define RBPROF_GATE_CALIBRATE_H

#include <stdint.h>

/*
 * CPU time, ns, of a fixed piece of work (some 30 ms): arithmetic, branches and memory beyond the
 * first cache, as an interpreter has them. Always the same work, so figures of two releases that
 * do not share CALIBRATE_VERSION cannot be compared. -1: the clock cannot be read.
 */
#define CALIBRATE_VERSION 1
int64_t calibrate__ns(void);

#endif
