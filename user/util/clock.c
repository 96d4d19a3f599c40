/* SPDX-License-Identifier: BSD-2-Clause */
#include "clock.h"

#include <time.h>

uint64_t clock__now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
