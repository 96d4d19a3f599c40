/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where objects of each kind have their instance variables: trace.h needs it before other maps. */
#ifndef RBPROF_BPF_IVARS_H
#define RBPROF_BPF_IVARS_H

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, RBPROF_MAX_IVARS);
	__type(key, struct rbprof_ivars_key);
	__type(value, struct rbprof_ivars);
} ivars SEC(".maps");

#define trace_ivars(key) bpf_map_lookup_elem(&ivars, key)

#endif
