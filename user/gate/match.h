/* SPDX-License-Identifier: BSD-2-Clause */
/* Which function of head is which of base. */
#ifndef RBPROF_GATE_MATCH_H
#define RBPROF_GATE_MATCH_H

#include <stdint.h>

#include "../agg/profile.h"

/*
 * By name and file; of what is left over, by name and the end of the path (the two sides were
 * checked out into different folders), then by name alone (a gem was updated, a file moved), where
 * that is the only one left over on either side. 0 and an array by base's function ids, which the
 * caller frees: head's id, or PROFILE_NONE. -ENOMEM.
 */
int gate_match(const struct profile *base, const struct profile *head, uint32_t **ret_moved);

#endif
