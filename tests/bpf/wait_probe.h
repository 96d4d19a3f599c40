/* SPDX-License-Identifier: BSD-2-Clause */
/* What tests/bpf/wait_probe keeps of a thread; shared by the kernel side and the other. */
#ifndef WAIT_PROBE_H
#define WAIT_PROBE_H

struct wait_probe_seen {
	struct rbprof_wait wait; /* at its last switch */
	__u32 is_runnable;
	__u32 wait_class;
	__u32 reads;
	__s32 call_from_outside; /* by an iterator */
	__u64 read_ns;		 /* all reads together */
};

#endif
