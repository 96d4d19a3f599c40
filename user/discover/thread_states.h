/* SPDX-License-Identifier: BSD-2-Clause */
/* What the kernel says about the threads of a process at one moment. */
#ifndef RBPROF_THREAD_STATES_H
#define RBPROF_THREAD_STATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define THREAD_STATES_MAX 65536

struct thread_state {
	pid_t tid;	   /* as /proc names it: the host's */
	pid_t tid_inside;  /* in the innermost pid namespace of the process */
	char letter;	   /* of proc_pid_status(5): R, S, D, T, t, Z, X, I */
	uint64_t switches; /* times that it left a CPU */
};

/*
 * All threads, in the order of their ids. 0; then the caller frees *ret_states. -ESRCH, -ENOMEM,
 * -E2BIG (more than THREAD_STATES_MAX).
 */
int thread_states__list(pid_t pid, struct thread_state **ret_states, size_t *ret_count);

/* One thread. 0 or -ESRCH. */
int thread_state__read(pid_t pid, pid_t tid, struct thread_state *ret_state);

/* The same, to be read more than once: a descriptor for the caller to close, or -ESRCH. */
int thread_state__open(pid_t pid, pid_t tid);
int thread_state__read_open(int fd, pid_t tid, struct thread_state *ret_state);

/* The content of a `status` file; tid is left 0. 0 or -EINVAL. */
int thread_state__parse(const char *text, struct thread_state *ret_state);

/* Whether the thread was off the CPU all the time between the two. */
bool thread_state__stood_still(const struct thread_state *before, const struct thread_state *after);

/* Its comm as clean UTF-8; empty if it is gone. */
void thread_state__comm(pid_t pid, pid_t tid, char *comm, size_t size);

/* The system call in which a thread stands. */
struct thread_call {
	int64_t number; /* SYS_*; -1: in none, or not known */
	uint64_t arguments[6];
};

/* Of a thread that is off the CPU. 0; -EAGAIN (it runs); -ESRCH; -EPERM. */
int thread_call__read(pid_t pid, pid_t tid, struct thread_call *ret_call);

/* The content of a `syscall` file. 0, -EAGAIN (it runs) or -EINVAL. */
int thread_call__parse(const char *text, struct thread_call *ret_call);

/* The kernel function in which it waits, "hrtimer_nanosleep"; empty if that is not known. */
void thread_call__function(pid_t pid, pid_t tid, char *name, size_t size);

#endif
