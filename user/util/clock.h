/* SPDX-License-Identifier: BSD-2-Clause */
/* The clock of all our times but those of day: the kernel side's, too. */
#ifndef RBPROF_CLOCK_H
#define RBPROF_CLOCK_H

#include <stdint.h>

/* CLOCK_MONOTONIC, ns. */
uint64_t clock__now_ns(void);

#endif
