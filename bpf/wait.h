/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a task that leaves its CPU waits for: the words that the VM keeps of its thread, the system
 * call in which it stands, and what the files are that the call waits for.
 *
 * The same is read from outside by user/core/wait_read.c; user/core/wait_state.c makes a state
 * of it.
 */
#ifndef RBPROF_BPF_WAIT_H
#define RBPROF_BPF_WAIT_H

/* System calls, x86-64 (asm/unistd_64.h). */
#define CALL_POLL	     7
#define CALL_SELECT	     23
#define CALL_NANOSLEEP	     35
#define CALL_WAIT4	     61
#define CALL_FUTEX	     202
#define CALL_CLOCK_NANOSLEEP 230
#define CALL_EPOLL_WAIT	     232
#define CALL_WAITID	     247
#define CALL_PSELECT6	     270
#define CALL_PPOLL	     271
#define CALL_SPLICE	     275
#define CALL_EPOLL_PWAIT     281
#define CALL_ACCEPT4	     288
#define CALL_RECVMMSG	     299
#define CALL_SENDMMSG	     307
#define CALL_EPOLL_PWAIT2    441

/*
 * Of the calls below 64, those that wait for the file that is their first argument: read, write,
 * ioctl, pread64, pwrite64, readv, writev, sendfile, connect, accept, sendto, recvfrom, sendmsg,
 * recvmsg.
 */
#define CALLS_OF_ONE_FD                                                                           \
	(1ULL << 0 | 1ULL << 1 | 1ULL << 16 | 1ULL << 17 | 1ULL << 18 | 1ULL << 19 | 1ULL << 20 | \
	 1ULL << 40 | 1ULL << 42 | 1ULL << 43 | 1ULL << 44 | 1ULL << 45 | 1ULL << 46 | 1ULL << 47)

#define WAIT_POLL_FDS 4 /* fds of a poll() that are looked at */

/* Kinds of waits whose lengths are much the same: what statistics are kept by. */
enum wait_class {
	WAIT_CLASS_OTHER = 0,
	WAIT_CLASS_FUTEX, /* the GVL, mutexes, queues, sleeps of threads */
	WAIT_CLASS_POLL,
	WAIT_CLASS_FD, /* one file */
	WAIT_CLASS_SLEEP,
	WAIT_CLASS_CHILD,
	WAIT_CLASS_PREEMPTED,
	WAIT_CLASS_COUNT, /* at most 8 */
};

struct wait_pollfd {
	s32 fd;
	u16 events, revents;
};

static __always_inline u32 wait_task_state(struct task_struct *task)
{
	struct task_struct___before_5_14 *old = (void *)task;

	if (bpf_core_field_exists(task->__state))
		return task->__state;
	return BPF_CORE_READ(old, state);
}

/* Whether a task that is switched off could go on: it only lost its CPU. */
static __always_inline bool wait_is_runnable(struct task_struct *task, bool preempt)
{
	return preempt || !wait_task_state(task);
}

static __always_inline bool wait_is_of_one_fd(s32 call)
{
	if (call < 0)
		return false;
	if (call < 64)
		return CALLS_OF_ONE_FD >> call & 1;
	return call == CALL_ACCEPT4 || call == CALL_RECVMMSG || call == CALL_SENDMMSG ||
	       call == CALL_SPLICE;
}

/* The class of a wait; runnable: see wait_is_runnable(). */
static __always_inline u32 wait_class(s32 call, bool runnable)
{
	if (runnable)
		return WAIT_CLASS_PREEMPTED;
	if (call == CALL_FUTEX)
		return WAIT_CLASS_FUTEX;
	if (wait_is_of_one_fd(call))
		return WAIT_CLASS_FD;
	if (call == CALL_POLL || call == CALL_PPOLL || call == CALL_SELECT ||
	    call == CALL_PSELECT6 || call == CALL_EPOLL_WAIT || call == CALL_EPOLL_PWAIT ||
	    call == CALL_EPOLL_PWAIT2)
		return WAIT_CLASS_POLL;
	if (call == CALL_NANOSLEEP || call == CALL_CLOCK_NANOSLEEP)
		return WAIT_CLASS_SLEEP;
	if (call == CALL_WAIT4 || call == CALL_WAITID)
		return WAIT_CLASS_CHILD;
	return WAIT_CLASS_OTHER;
}

/* The system call in which the task stands, -1: in none. Whatever interrupts user mode sets -1. */
static __always_inline s32 wait_call(struct task_struct *task)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	return (s32)regs->orig_ax;
}

/* Type of the file that is open as fd, as in S_IFMT; 0: none, or one without a type. */
static __always_inline u32 wait_fd_type(struct task_struct *task, s32 fd)
{
	struct fdtable *fds = task->files->fdt;
	struct file *file = NULL;

	if (fd < 0 || (u32)fd >= fds->max_fds ||
	    bpf_probe_read_kernel(&file, sizeof(file),
				  (void *)((u64)fds->fd + (u32)fd * sizeof(void *))) ||
	    !file)
		return 0;
	return BPF_CORE_READ(file, f_inode, i_mode) & S_IFMT;
}

static __always_inline u32 wait_poll_kind(struct task_struct *task, u64 address, u64 count)
{
	struct wait_pollfd fd;
	u32 sockets = 0, type;

	if (!count)
		return RBPROF_FD_NONE;
	if (count > WAIT_POLL_FDS)
		return RBPROF_FD_OTHER;
	for (u32 i = 0; i < WAIT_POLL_FDS && i < count; i++) {
		if (bpf_probe_read_user(&fd, sizeof(fd), (void *)(address + i * sizeof(fd))))
			return RBPROF_FD_OTHER;
		if (fd.fd < 0)
			continue;
		type = wait_fd_type(task, fd.fd);
		/*
		 * The VM adds an eventfd of its own, which has no type, or that of a plain file
		 * since 6.16: a plain file is always ready, so nobody sleeps for one.
		 */
		if (type == S_IFSOCK)
			sockets++;
		else if (type && type != S_IFREG)
			return RBPROF_FD_OTHER;
	}
	return sockets ? RBPROF_FD_SOCKET : RBPROF_FD_OTHER;
}

/* What the call waits for; is_current: its memory can be read. */
static __always_inline u32 wait_fd_kind(struct task_struct *task, s32 call, bool is_current)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	if (wait_is_of_one_fd(call))
		return wait_fd_type(task, (s32)regs->di) == S_IFSOCK ? RBPROF_FD_SOCKET
								     : RBPROF_FD_OTHER;
	if (call == CALL_POLL || call == CALL_PPOLL)
		return is_current ? wait_poll_kind(task, regs->di, regs->si) : RBPROF_FD_OTHER;
	if (call == CALL_SELECT || call == CALL_PSELECT6)
		return regs->di ? RBPROF_FD_OTHER : RBPROF_FD_NONE;
	return wait_class(call, false) == WAIT_CLASS_POLL ? RBPROF_FD_OTHER : RBPROF_FD_NONE;
}

/* The thread that has the GVL of the thread's ractor. 0, or negative: not readable. */
static __always_inline int wait_gvl_owner(const struct ruby_layout *layout, u64 thread,
					  u64 *ret_owner)
{
	bool is_vms = layout->vm__gvl_owner != RUBY_NO_FIELD;
	u16 link = is_vms ? layout->th__vm : layout->th__ractor;
	u16 at = is_vms ? layout->vm__gvl_owner : layout->ractor__gvl_owner;
	u64 from;

	if (link == RUBY_NO_FIELD || at == RUBY_NO_FIELD ||
	    bpf_probe_read_user(&from, sizeof(from), (void *)(thread + link)))
		return -1;
	return (int)bpf_probe_read_user(ret_owner, sizeof(*ret_owner), (void *)(from + at));
}

static __always_inline void wait_read_vm(const struct ruby_layout *layout, u64 thread,
					 struct rbprof_wait *wait)
{
	u64 unblock, mutex, region, owner;
	u32 status;

	if (bpf_probe_read_user(&status, sizeof(status), (void *)(thread + layout->th__status)) ||
	    bpf_probe_read_user(&unblock, sizeof(unblock),
				(void *)(thread + layout->th__unblock_func)) ||
	    bpf_probe_read_user(&mutex, sizeof(mutex),
				(void *)(thread + layout->th__locking_mutex)) ||
	    bpf_probe_read_user(&region, sizeof(region),
				(void *)(thread + layout->th__blocking_region_buffer)) ||
	    wait_gvl_owner(layout, thread, &owner))
		return;
	wait->vm |= RBPROF_WAIT_VM_READ;
	if (unblock)
		wait->vm |= RBPROF_WAIT_CAN_BE_WOKEN;
	if (mutex && mutex != layout->qnil)
		wait->vm |= RBPROF_WAIT_LOCKS_MUTEX;
	if (region)
		wait->vm |= RBPROF_WAIT_IN_REGION;
	wait->vm_status = status >> (layout->th__status_shift & 31) & 3;
	wait->gvl_owner = owner;
}

/*
 * Fills vm, vm_status, gvl_owner, call and fd_kind for a task that is off its CPU or about to leave
 * it; the other fields are the caller's. layout NULL or thread (rb_thread_t) 0: the VM is not
 * asked. Neither is it for another task than the current one, whose memory is not readable here.
 */
static __always_inline void wait_read(struct task_struct *task, const struct ruby_layout *layout,
				      u64 thread, struct rbprof_wait *wait)
{
	bool is_current = task->pid == (s32)bpf_get_current_pid_tgid();
	u32 state = wait_task_state(task);

	wait->vm = 0;
	wait->vm_status = 0;
	wait->gvl_owner = 0;
	wait->call = wait_call(task);
	wait->fd_kind = wait_fd_kind(task, wait->call, is_current);
	if (state & (TASK_STOPPED | TASK_TRACED))
		wait->vm |= RBPROF_WAIT_STOPPED;
	if (state & TASK_UNINTERRUPTIBLE)
		wait->vm |= RBPROF_WAIT_UNINTERRUPTIBLE;
	if (layout && thread && is_current)
		wait_read_vm(layout, thread, wait);
}

#endif
