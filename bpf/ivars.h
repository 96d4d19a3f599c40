/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the walkers look up in maps that user space fills: needed before the other maps. */
#ifndef RBPROF_BPF_IVARS_H
#define RBPROF_BPF_IVARS_H

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, RBPROF_MAX_IVARS);
	__type(key, struct rbprof_ivars_key);
	__type(value, struct rbprof_ivars);
} ivars SEC(".maps");

#define trace_ivars(key) bpf_map_lookup_elem(&ivars, key)

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, RBPROF_MAX_RECEIVERS);
	__type(key, struct rbprof_receiver_key);
	__type(value, u8);
} receivers SEC(".maps");

static __noinline int walk_wants_receiver(u64 process, u64 method_serial)
{
	const struct rbprof_receiver_key key = { process, method_serial };

	return bpf_map_lookup_elem(&receivers, &key) != NULL;
}

#endif
