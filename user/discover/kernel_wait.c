/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel_wait.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../util/utf8.h"

#define SET_BITS 1024 /* fds of a select() that are looked at */

#ifndef F_OFD_SETLKW
#define F_OFD_SETLKW 38
#endif

enum call_kind {
	CALL_SLEEP,
	CALL_FD, /* argument 0 */
	CALL_EPOLL,
	CALL_POLL,
	CALL_SELECT,
	CALL_FLOCK,
	CALL_FCNTL,
	CALL_DISK,
	CALL_WAIT4,
	CALL_WAITID,
	CALL_FUTEX,
	CALL_SIGNAL,
};

static const struct known_call {
	int64_t number;
	enum call_kind kind;
	const char *name;
} known_calls[] = {
#define CALL(name, kind) { SYS_##name, CALL_##kind, #name }
	CALL(nanosleep, SLEEP),
	CALL(clock_nanosleep, SLEEP),
	CALL(read, FD),
	CALL(write, FD),
	CALL(readv, FD),
	CALL(writev, FD),
	CALL(pread64, FD),
	CALL(pwrite64, FD),
	CALL(preadv, FD),
	CALL(pwritev, FD),
	CALL(preadv2, FD),
	CALL(pwritev2, FD),
	CALL(sendfile, FD),
	CALL(splice, FD),
	CALL(copy_file_range, FD),
	CALL(accept, FD),
	CALL(accept4, FD),
	CALL(connect, FD),
	CALL(recvfrom, FD),
	CALL(recvmsg, FD),
	CALL(recvmmsg, FD),
	CALL(sendto, FD),
	CALL(sendmsg, FD),
	CALL(sendmmsg, FD),
	CALL(ioctl, FD),
	CALL(fsync, FD),
	CALL(fdatasync, FD),
	CALL(ftruncate, FD),
	CALL(getdents64, FD),
	CALL(fstat, FD),
	CALL(io_uring_enter, FD),
	CALL(epoll_pwait, EPOLL),
#ifdef SYS_epoll_pwait2
	CALL(epoll_pwait2, EPOLL),
#endif
	CALL(ppoll, POLL),
	CALL(pselect6, SELECT),
#ifdef SYS_epoll_wait
	CALL(epoll_wait, EPOLL),
#endif
#ifdef SYS_poll
	CALL(poll, POLL),
#endif
#ifdef SYS_select
	CALL(select, SELECT),
#endif
#ifdef SYS_open
	CALL(open, DISK),
	CALL(stat, DISK),
	CALL(lstat, DISK),
	CALL(rename, DISK),
	CALL(unlink, DISK),
	CALL(mkdir, DISK),
#endif
#ifdef SYS_pause
	CALL(pause, SIGNAL),
#endif
	CALL(openat, DISK),
	CALL(newfstatat, DISK),
	CALL(statx, DISK),
	CALL(renameat2, DISK),
	CALL(unlinkat, DISK),
	CALL(mkdirat, DISK),
	CALL(sync, DISK),
	CALL(execve, DISK),
	CALL(flock, FLOCK),
	CALL(fcntl, FCNTL),
	CALL(wait4, WAIT4),
	CALL(waitid, WAITID),
	CALL(futex, FUTEX),
	CALL(rt_sigsuspend, SIGNAL),
	CALL(rt_sigtimedwait, SIGNAL),
#undef CALL
};

static const struct known_call *find_call(int64_t number)
{
	for (size_t i = 0; i < sizeof(known_calls) / sizeof(known_calls[0]); i++)
		if (known_calls[i].number == number)
			return &known_calls[i];
	return NULL;
}

enum kernel_wait_kind kernel_wait__kind(int64_t number)
{
	static const enum kernel_wait_kind kinds[] = {
		[CALL_SLEEP] = KERNEL_WAIT_SLEEP,     [CALL_FD] = KERNEL_WAIT_FD,
		[CALL_EPOLL] = KERNEL_WAIT_FDS_ANY,   [CALL_POLL] = KERNEL_WAIT_FDS_ANY,
		[CALL_SELECT] = KERNEL_WAIT_FDS_ANY,  [CALL_FLOCK] = KERNEL_WAIT_FILE_LOCK,
		[CALL_FCNTL] = KERNEL_WAIT_FILE_LOCK, [CALL_DISK] = KERNEL_WAIT_DISK,
		[CALL_WAIT4] = KERNEL_WAIT_CHILD,     [CALL_WAITID] = KERNEL_WAIT_CHILD,
		[CALL_FUTEX] = KERNEL_WAIT_FUTEX,     [CALL_SIGNAL] = KERNEL_WAIT_SIGNAL,
	};
	const struct known_call *known = find_call(number);

	return known ? kinds[known->kind] : KERNEL_WAIT_UNKNOWN;
}

static void add_fd(struct kernel_wait *wait, int number)
{
	if (number < 0)
		return;
	if (wait->fd_count < KERNEL_WAIT_FDS)
		wait->fds[wait->fd_count].number = number;
	wait->fd_count++;
}

static void read_poll(struct memory *memory, const struct thread_call *call,
		      struct kernel_wait *wait)
{
	struct pollfd fds[SET_BITS];
	uint64_t count = call->arguments[1];

	if (!count) {
		wait->kind = KERNEL_WAIT_SLEEP;
		return;
	}
	if (count > SET_BITS)
		count = SET_BITS;
	if (memory__read(memory, call->arguments[0], fds, count * sizeof(*fds)))
		return;
	for (uint64_t i = 0; i < count; i++)
		add_fd(wait, fds[i].fd);
}

static void read_select(struct memory *memory, const struct thread_call *call,
			struct kernel_wait *wait)
{
	uint64_t sets[3][SET_BITS / 64], count = call->arguments[0];
	int set;

	memset(sets, 0, sizeof(sets));
	if (!count) {
		wait->kind = KERNEL_WAIT_SLEEP;
		return;
	}
	if (count > SET_BITS)
		count = SET_BITS;
	for (set = 0; set < 3; set++) {
		const uint64_t address = call->arguments[1 + set];

		if (address && memory__read(memory, address, sets[set], (count + 63) / 64 * 8))
			return;
	}
	for (uint64_t fd = 0; fd < count; fd++)
		if ((sets[0][fd / 64] | sets[1][fd / 64] | sets[2][fd / 64]) >> fd % 64 & 1)
			add_fd(wait, (int)fd);
}

static void read_child(const struct thread_call *call, bool has_type, struct kernel_wait *wait)
{
	/* waitid(): P_PID is 1; wait4(): a process's own id is positive. */
	int32_t id = (int32_t)call->arguments[has_type ? 1 : 0];

	if (id > 0 && (!has_type || call->arguments[0] == 1))
		wait->child = id;
}

void kernel_wait__of_call(struct memory *memory, const struct thread_call *call,
			  struct kernel_wait *ret_wait)
{
	const struct known_call *known = find_call(call->number);
	struct kernel_wait wait = { .number = call->number,
				    .call = known ? known->name : NULL,
				    .kind = kernel_wait__kind(call->number) };

	if (!known) {
		*ret_wait = wait;
		return;
	}
	switch (known->kind) {
	case CALL_FCNTL:
		if (call->arguments[1] != F_SETLKW && call->arguments[1] != F_OFD_SETLKW) {
			wait.kind = KERNEL_WAIT_UNKNOWN;
			break;
		}
		/* fallthrough */
	case CALL_FLOCK:
	case CALL_FD:
	case CALL_EPOLL:
		add_fd(&wait, (int)call->arguments[0]);
		break;
	case CALL_POLL:
		read_poll(memory, call, &wait);
		break;
	case CALL_SELECT:
		read_select(memory, call, &wait);
		break;
	case CALL_WAIT4:
	case CALL_WAITID:
		read_child(call, known->kind == CALL_WAITID, &wait);
		break;
	case CALL_SLEEP:
	case CALL_DISK:
	case CALL_FUTEX:
	case CALL_SIGNAL:
		break;
	}
	*ret_wait = wait;
}

static void name_fd(pid_t pid, struct kernel_wait_fd *fd)
{
	char path[64], link[KERNEL_WAIT_FD_BYTES + 4];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd->number);
	length = readlink(path, link, sizeof(link));
	utf8__clean(link, length > 0 ? (size_t)length : 0, fd->name, sizeof(fd->name) - 1);
}

/* The VM adds an eventfd of its own to what a thread of it polls: it is not what Ruby asked for. */
static void drop_own_fds(struct kernel_wait *wait)
{
	uint32_t kept = 0, own = 0;

	if (wait->fd_count > KERNEL_WAIT_FDS)
		return;
	for (uint32_t i = 0; i < wait->fd_count; i++)
		own += !strcmp(wait->fds[i].name, "anon_inode:[eventfd]");
	if (own == wait->fd_count)
		return;
	for (uint32_t i = 0; i < wait->fd_count; i++)
		if (strcmp(wait->fds[i].name, "anon_inode:[eventfd]"))
			wait->fds[kept++] = wait->fds[i];
	wait->fd_count = kept;
}

static void name_fds(pid_t pid, struct kernel_wait *wait)
{
	const bool is_poll = wait->call && strstr(wait->call, "poll");
	bool are_sockets = wait->fd_count && wait->fd_count <= KERNEL_WAIT_FDS;

	for (uint32_t i = 0; i < wait->fd_count && i < KERNEL_WAIT_FDS; i++)
		name_fd(pid, &wait->fds[i]);
	if (wait->kind == KERNEL_WAIT_FDS_ANY)
		drop_own_fds(wait);
	for (uint32_t i = 0; i < wait->fd_count && i < KERNEL_WAIT_FDS; i++)
		are_sockets = are_sockets && !strncmp(wait->fds[i].name, "socket:", 7);
	wait->is_network = are_sockets && (wait->kind == KERNEL_WAIT_FD || is_poll);
	if (wait->kind == KERNEL_WAIT_FDS_ANY && wait->fd_count == 1)
		wait->kind = KERNEL_WAIT_FD;
}

void kernel_wait__read(struct memory *memory, pid_t pid, pid_t tid, char letter,
		       struct kernel_wait *ret_wait)
{
	struct thread_call call = { .number = -1 };
	char function[64];

	memset(ret_wait, 0, sizeof(*ret_wait));
	ret_wait->number = -1;
	if (letter == 'R' || letter == 'Z' || letter == 'X')
		return;
	if (letter == 'T' || letter == 't') {
		ret_wait->kind = KERNEL_WAIT_STOPPED;
		return;
	}
	if (thread_call__read(pid, tid, &call))
		call.number = -1;
	kernel_wait__of_call(memory, &call, ret_wait);
	if (ret_wait->kind == KERNEL_WAIT_UNKNOWN && letter == 'D')
		ret_wait->kind = KERNEL_WAIT_DISK;
	if (ret_wait->kind == KERNEL_WAIT_UNKNOWN) {
		/* A sleep that goes on after a stop stands in another call than it began with. */
		thread_call__function(pid, tid, function, sizeof(function));
		if (strstr(function, "nanosleep"))
			ret_wait->kind = KERNEL_WAIT_SLEEP;
	}
	name_fds(pid, ret_wait);
}
