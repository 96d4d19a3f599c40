/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The `state` of a thread off the CPU (spec/samples.md section 4): the one definition, for
 * samples and for `dump`.
 */
#ifndef RBPROF_WAIT_STATE_H
#define RBPROF_WAIT_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../include/rbprof_abi.h"
#include "../agg/profile.h"
#include "../discover/kernel_wait.h"
#include "../ruby/waits.h"

#define WAIT_STATE_NAMES 4 /* innermost frames that can matter */

/*
 * Of a sample: flags as in rbprof_sample (RUNNABLE, THROTTLED and HAS_GVL matter), names those of
 * the innermost frames, leaf first (NULL: one without a name). Never NULL.
 */
const char *wait_state__of(const struct rbprof_wait *wait, uint32_t flags, const char *const *names,
			   size_t count);

/*
 * Names of the innermost frames of a stack of the profile, as wait_state__of() takes them.
 * ret_names has room for WAIT_STATE_NAMES. Returns how many there are.
 */
size_t wait_state__names(const struct profile *profile, uint32_t stack, const char **ret_names);

/* ---- the parts of it, where more is known than a sample keeps ---- */

/* What the VM says, corrected by what the kernel says; call: number of the system call, or -1. */
enum wait_kind wait_state__kind(enum wait_kind vm, enum kernel_wait_kind kernel, int64_t call);

/* Whether a wait of this kind in these frames is one for a name server or a peer. */
bool wait_state__is_network(enum kernel_wait_kind kernel, const char *const *names, size_t count);

/* The state, all being known; is_network: what the kernel waits for are sockets. */
const char *wait_state__text(enum wait_kind vm, enum kernel_wait_kind kernel, bool is_network);

#endif
