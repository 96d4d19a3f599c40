#pragma once
#include "../../include/rbprof_abi.h"
#include "../agg/profile.h"
#define WAIT_STATE_NAMES 4
static inline const char *wait_state__of(const struct rbprof_wait *wait, uint32_t flags, const char *const *names, size_t count){(void)wait;(void)names;(void)count;return flags&RBPROF_SAMPLE_THROTTLED?"throttled":flags&RBPROF_SAMPLE_RUNNABLE?"waiting for cpu":"unknown";}
static inline size_t wait_state__names(const struct profile *profile, uint32_t stack, const char **ret_names){(void)profile;(void)stack;(void)ret_names;return 0;}
