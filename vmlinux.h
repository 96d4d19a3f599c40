/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel types that the BPF programs use, kept by hand: this file is the list of what we
 * rely on. Members are found by name in the running kernel's BTF (CO-RE), so order and offsets
 * here mean nothing.
 */
#ifndef RBPROF_VMLINUX_H
#define RBPROF_VMLINUX_H

typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
typedef __u8 u8;
typedef __u16 u16;
typedef __s32 s32;
typedef __u32 u32;
typedef __s64 s64;
typedef __u64 u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef int pid_t;
typedef _Bool bool;

#define true	       1
#define false	       0
#define NULL	       ((void *)0)
#define offsetof(t, m) __builtin_offsetof(t, m)

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};

enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
};

enum {
	BPF_F_NO_PREALLOC = 1,
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
};

enum {
	BPF_RB_NO_WAKEUP = 1,
	BPF_RB_FORCE_WAKEUP = 2,
};

enum {
	BPF_RB_AVAIL_DATA = 0,
	BPF_RB_RING_SIZE = 1,
};

#define PF_EXITING 0x04 /* include/linux/sched.h, flags: gives its memory back */

/* include/linux/sched.h, state of a task that leaves its CPU; 0: it could go on */
#define TASK_UNINTERRUPTIBLE 0x02
#define TASK_STOPPED	     0x04
#define TASK_TRACED	     0x08
#define TASK_DEAD	     0x80 /* it left for good */

/* include/uapi/linux/stat.h, type of a file */
#define S_IFMT	 0xf000
#define S_IFREG	 0x8000
#define S_IFSOCK 0xc000

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	int counter;
} atomic_t;

struct rq {
	u64 clock;
	u64 clock_task;
	u64 prev_irq_time; /* only with CONFIG_IRQ_TIME_ACCOUNTING */
};

struct cfs_rq {
	struct rq *rq;
	int throttle_count; /* only with CONFIG_CFS_BANDWIDTH */
};

/* Of a kernel with CONFIG_SCHED_INFO; kept up to date where sched_info_on(). */
struct sched_info {
	u64 run_delay;
	u64 last_arrival;
	u64 last_queued;
};

struct sched_entity {
	u64 exec_start;
	u64 sum_exec_runtime;
	struct cfs_rq *cfs_rq; /* only with CONFIG_FAIR_GROUP_SCHED */
};

struct thread_struct {
	unsigned long fsbase;
};

struct thread_info {
	u32 cpu;
};

struct signal_struct {
	atomic_t live;
};

struct pid_namespace;

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct inode {
	unsigned short i_mode;
};

struct file {
	struct inode *f_inode;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct bpf_local_storage;

struct task_struct {
	struct pid *thread_pid;
	struct thread_info thread_info;
	unsigned int __state;
	unsigned int flags;
	unsigned int in_execve : 1;
	unsigned int cpu; /* before 5.16; thread_info.cpu since */
	int on_cpu;
	struct sched_entity se;
	pid_t pid;
	pid_t tgid;
	struct task_struct *group_leader;
	unsigned long nvcsw;
	unsigned long nivcsw;
	u64 start_boottime;
	struct signal_struct *signal;
	struct files_struct *files;
	struct thread_struct thread;
	struct sched_info sched_info;
	struct bpf_local_storage *bpf_storage; /* NULL: no program keeps anything about it */
	bool throttled; /* since 6.18, with CONFIG_CFS_BANDWIDTH */
	char comm[16];
};

/* Before 5.14 the state had another name. */
struct task_struct___before_5_14 {
	long state;
};

struct linux_binprm;

struct bpf_iter_meta {
	u64 session_id;
	u64 seq_num;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

/* x86: of user mode, as they were at the entry into the kernel */
struct pt_regs {
	unsigned long si;
	unsigned long di;
	unsigned long orig_ax; /* number of the system call, -1: it came in by none */
	unsigned long ip;
};

struct bpf_perf_event_data {
	u64 sample_period;
};

#pragma clang attribute pop

#endif
