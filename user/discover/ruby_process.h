/* SPDX-License-Identifier: BSD-2-Clause */
/* A process that runs Ruby, as it is found on the host; or why it cannot be profiled. */
#ifndef RBPROF_RUBY_PROCESS_H
#define RBPROF_RUBY_PROCESS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../include/rbprof_abi.h"
#include "runtimes.h"

struct ruby_process {
	pid_t pid;
	uint64_t start_ns;  /* since boot, as /proc/PID/stat says (10 ms steps) */
	uint64_t mapped_ns; /* since boot: when its runtime was seen being mapped; 0: it was not */
	char comm[64];	    /* clean UTF-8 */
	char path[256];	    /* of the file that is the runtime, as the process sees it */
	char version[16];   /* that the file says it is, also where it is refused; or empty */
	const struct runtime *runtime; /* NULL: it cannot be used, see error */
	size_t runtime_index;
	uint64_t bias;	 /* load bias of the runtime in this process */
	int error;	 /* 0 or enum rbprof_error */
	const char *why; /* static text for some errors, or NULL */
};

/*
 * Looks at one process. 0: it runs Ruby, or seems to, and *ret_process says whether it can be
 * read (error). A positive enum rbprof_error: NOT_RUBY, NO_SUCH_PROCESS, NO_PERMISSION.
 */
int ruby_process__find(struct runtimes *runtimes, pid_t pid, struct ruby_process *ret_process);

/*
 * Looks at every process of the host and calls each for those that run Ruby, until it returns
 * non-zero. 0, what each returned, or -errno.
 */
int ruby_process__scan(struct runtimes *runtimes,
		       int (*each)(const struct ruby_process *process, void *context),
		       void *context);

/* Why it cannot be profiled, for people: "ruby version not supported: 3.9.9, ...". */
void ruby_process__reason(const struct ruby_process *process, int error, char *text, size_t size);

/* Addresses in the process. 0: not known. */
uint64_t ruby_process__vm_ptr(const struct ruby_process *process);
uint64_t ruby_process__symbols(const struct ruby_process *process);
uint64_t ruby_process__shape_tree(const struct ruby_process *process);
uint64_t ruby_process__shapes(const struct ruby_process *process);
/* Of RUNTIME_GENERIC_MAX candidates. */
uint64_t ruby_process__generic_ivars(const struct ruby_process *process, size_t index);

/* What the BPF programs have to know; serial, cpu_at_attach_ns and flags are the caller's. */
void ruby_process__describe(const struct ruby_process *process, struct rbprof_process *ret);

/* The runtime was mapped just now: its VM is yet to be set up, however old the process is. */
void ruby_process__note_mapped(struct ruby_process *process);

/*
 * Lets the layout prove itself on the process, which goes on meanwhile: what fails is tried
 * again some times. 0; -EAGAIN: its VM is not up yet, or (process started, or its runtime mapped,
 * within the last seconds) is still being set up; a positive enum rbprof_error (also set in
 * process->error and why); -errno of reading.
 */
int ruby_process__prove(struct ruby_process *process);

/* Start time of a process, ns since boot, and its comm (clean). 0 or -ESRCH. */
int ruby_process__identity(pid_t pid, uint64_t *ret_start_ns, char *comm, size_t size);

/* CPU time that all threads of a process ever used, ns, by its CPU clock. 0 or -errno. */
int ruby_process__cpu_ns(pid_t pid, uint64_t *ret_ns);

#endif
