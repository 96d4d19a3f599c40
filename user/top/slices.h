/* SPDX-License-Identifier: BSD-2-Clause */
/* Slices of a recording that are kept beyond its next turn. */
#ifndef RBPROF_SLICES_H
#define RBPROF_SLICES_H

#include <stdint.h>

#include "../core/session.h"

/* The first of the newest slices that make up the window; NULL: there are no slices. */
const struct session_slice *slices__window(const struct session_slice *slices, uint64_t window_ns);

/* The window as one slice with a profile of its own. 0; -ENOENT: no slices; -ENOMEM. */
int slices__copy(const struct session_slice *slices, uint64_t window_ns,
		 struct session_slice **ret_slice);
/* Of slices__copy() only; NULL is allowed. */
void slices__free(struct session_slice *slice);

#endif
