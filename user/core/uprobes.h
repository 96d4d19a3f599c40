/* SPDX-License-Identifier: BSD-2-Clause */
/* Probes on instructions of files, many by one link (Linux 6.6); libbpf knows no such links yet. */
#ifndef RBPROF_UPROBES_H
#define RBPROF_UPROBES_H

#include <stdint.h>
#include <sys/types.h>

/* include/uapi/linux/bpf.h, enum bpf_attach_type: BPF_TRACE_UPROBE_MULTI. Programs are loaded with
 * it.
 */
#define UPROBES_ATTACH_TYPE 48

/* A file, and where in it something lies. */
struct uprobes_place {
	pid_t pid;
	uint64_t address; /* as the process sees it */
	int file;	  /* the caller closes it */
	uint64_t offset;
};

/*
 * The file that is mapped at an address of a process, opened by whatever name the process knows it.
 * 0, -ESRCH: nothing is mapped there, or the process is gone; -errno.
 */
int uprobes__find(pid_t pid, uint64_t address, struct uprobes_place *ret_place);

/*
 * Probes at file offsets, in one process or (pid 0) in every one that maps the file, now or later.
 * The fd of a link, which holds the probes until it is closed; or -errno: -EINVAL and -EOPNOTSUPP
 * where the kernel has no such links.
 */
int uprobes__link(int program, int file, pid_t pid, const uint64_t *offsets,
		  const uint64_t *cookies, uint32_t count);

#endif
