/* SPDX-License-Identifier: BSD-2-Clause */
/* What a thread that is off the CPU waits for, by the system call in which it stands. */
#ifndef RBPROF_KERNEL_WAIT_H
#define RBPROF_KERNEL_WAIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../util/memory.h"
#include "thread_states.h"

#define KERNEL_WAIT_FDS	     16
#define KERNEL_WAIT_FD_BYTES 256

enum kernel_wait_kind {
	KERNEL_WAIT_UNKNOWN = 0,
	KERNEL_WAIT_SLEEP,
	KERNEL_WAIT_FD,	       /* one file, socket or pipe */
	KERNEL_WAIT_FDS_ANY,   /* any of several */
	KERNEL_WAIT_FILE_LOCK, /* flock, fcntl: on an fd */
	KERNEL_WAIT_DISK,
	KERNEL_WAIT_CHILD,
	KERNEL_WAIT_FUTEX, /* a lock or condition of the C library */
	KERNEL_WAIT_SIGNAL,
	KERNEL_WAIT_STOPPED,
};

struct kernel_wait_fd {
	int number;
	char name[KERNEL_WAIT_FD_BYTES]; /* "pipe:[123]", a path; clean UTF-8; empty: unknown */
};

struct kernel_wait {
	enum kernel_wait_kind kind;
	const char *call; /* "read"; NULL: none, or one without a name here */
	int64_t number;	  /* of the call, -1: none */
	pid_t child;	  /* KERNEL_WAIT_CHILD; 0: any. In the namespace of the process */
	bool is_network;  /* all fds are sockets */
	uint32_t fd_count;
	struct kernel_wait_fd fds[KERNEL_WAIT_FDS];
};

/*
 * Fills what can be known; what a call waits for in arrays is read from memory. letter: of the
 * thread's state. Never fails: kind is KERNEL_WAIT_UNKNOWN then.
 */
void kernel_wait__read(struct memory *memory, pid_t pid, pid_t tid, char letter,
		       struct kernel_wait *ret_wait);

/* What a call alone says, its arguments not known; number as in struct thread_call. */
enum kernel_wait_kind kernel_wait__kind(int64_t number);

/* The same for a given call. Names of fds stay empty. */
void kernel_wait__of_call(struct memory *memory, const struct thread_call *call,
			  struct kernel_wait *ret_wait);

#endif
