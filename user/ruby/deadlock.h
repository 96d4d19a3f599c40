/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads that wait for each other in a circle. */
#ifndef RBPROF_DEADLOCK_H
#define RBPROF_DEADLOCK_H

#include <stddef.h>
#include <stdint.h>

#define DEADLOCK_NONE UINT32_MAX

/*
 * waits_for[i] is the thread without which thread i cannot go on, or DEADLOCK_NONE. Calls each
 * for every circle, until it returns non-zero: members in the order in which they wait for each
 * other, beginning with the lowest; valid in the callback. A thread that waits for itself is a
 * circle of one; one that waits for a circle is not part of it.
 * 0, what each returned, or -ENOMEM.
 */
int deadlock__find(const uint32_t *waits_for, size_t count,
		   int (*each)(const uint32_t *members, size_t count, void *context),
		   void *context);

#endif
