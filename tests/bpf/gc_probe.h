/* SPDX-License-Identifier: BSD-2-Clause */
/* What the probes of tests/bpf/gc_probe count; shared by the kernel side and the other. */
#ifndef GC_PROBE_H
#define GC_PROBE_H

#define GC_PROBE_SITES 32 /* entries, then exits */

struct gc_probe_totals {
	unsigned long long entries, exits;
	unsigned long long nested;    /* an entry while the thread is inside already */
	unsigned long long unmatched; /* an exit without an entry */
	unsigned long long lost;      /* the thread could not be kept */
	unsigned long long cpu_ns;
	unsigned long long hits[GC_PROBE_SITES];
};

#endif
