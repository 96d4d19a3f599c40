/* SPDX-License-Identifier: BSD-2-Clause */
#include "sideband.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../util/cpus.h"

#define RING_PAGES 32	/* a CPU; a power of two */
#define MAX_RECORD 4352 /* a mapping's: 72 bytes, and a path of up to PATH_MAX */

struct ring {
	int fd;
	struct perf_event_mmap_page *page; /* NULL: the CPU has none */
};

struct sideband {
	struct sideband_handler handler;
	struct ring *rings; /* by CPU */
	int cpus;
	int epoll_fd;
	size_t page_size;
	char record[65536]; /* a record that wraps round the ring's end; size is 16 bit */
};

struct record_mmap2 {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t start, length, offset;
	uint32_t major, minor;
	uint64_t inode, inode_generation;
	uint32_t protection, flags;
	char path[];
};

struct record_comm {
	struct perf_event_header header;
	uint32_t pid, tid;
	char comm[];
};

struct record_lost {
	struct perf_event_header header;
	uint64_t id, lost;
};

static size_t ring_size(const struct sideband *sideband)
{
	return sideband->page_size * (RING_PAGES + 1);
}

static void close_ring(struct sideband *sideband, struct ring *ring)
{
	if (!ring->page)
		return;
	munmap(ring->page, ring_size(sideband));
	close(ring->fd);
	ring->page = NULL;
}

static int open_ring(struct sideband *sideband, int cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = 0,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.watermark = 1,
		.wakeup_watermark = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	struct ring *ring = &sideband->rings[cpu];
	struct epoll_event event = { .events = EPOLLIN };
	long fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return errno == ENODEV ? 0 : -errno; /* a CPU that is offline */
	ring->fd = (int)fd;
	ring->page =
		mmap(NULL, ring_size(sideband), PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
	if (ring->page == MAP_FAILED) {
		int error = -errno;

		ring->page = NULL;
		close(ring->fd);
		return error;
	}
	if (epoll_ctl(sideband->epoll_fd, EPOLL_CTL_ADD, ring->fd, &event)) {
		int error = -errno;

		close_ring(sideband, ring);
		return error;
	}
	return 0;
}

int sideband__new(const struct sideband_handler *handler, struct sideband **ret_sideband)
{
	int cpu, cpus = cpus__possible(), error = 0;
	struct sideband *sideband = calloc(1, sizeof(*sideband));

	if (!sideband)
		return -ENOMEM;
	sideband->handler = *handler;
	sideband->page_size = (size_t)sysconf(_SC_PAGESIZE);
	sideband->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	sideband->cpus = cpus > 0 ? cpus : 0;
	sideband->rings = calloc((size_t)sideband->cpus + 1, sizeof(*sideband->rings));
	if (sideband->epoll_fd < 0)
		error = -errno;
	else if (!sideband->rings)
		error = -ENOMEM;
	else if (cpus < 0)
		error = cpus;
	for (cpu = 0; cpu < cpus && !error; cpu++)
		error = open_ring(sideband, cpu);
	if (error)
		sideband__free(sideband);
	else
		*ret_sideband = sideband;
	return error;
}

void sideband__free(struct sideband *sideband)
{
	int i;

	if (!sideband)
		return;
	for (i = 0; sideband->rings && i < sideband->cpus; i++)
		close_ring(sideband, &sideband->rings[i]);
	if (sideband->epoll_fd >= 0)
		close(sideband->epoll_fd);
	free(sideband->rings);
	free(sideband);
}

int sideband__fd(const struct sideband *sideband)
{
	return sideband->epoll_fd;
}

static void handle_mmap2(struct sideband *sideband, const struct record_mmap2 *record)
{
	size_t room = record->header.size - sizeof(*record);
	struct mapping mapping = {
		.start = record->start,
		.end = record->start + record->length,
		.offset = record->offset,
		.major = record->major,
		.minor = record->minor,
		.inode = record->inode,
		.path = record->path,
	};

	/* Not of our pid namespace: 0, or -1 when it has ended. */
	if ((pid_t)record->pid <= 0)
		return;
	/* Not files: [vdso], //anon and the like. */
	if (record->header.size <= sizeof(*record) || !memchr(record->path, '\0', room) ||
	    record->path[0] != '/' || record->path[1] == '/' || !record->inode)
		return;
	sideband->handler.mapped(sideband->handler.context, (pid_t)record->pid, &mapping);
}

static void handle(struct sideband *sideband, const struct perf_event_header *header)
{
	void *context = sideband->handler.context;

	switch (header->type) {
	case PERF_RECORD_MMAP2:
		if (header->size > sizeof(struct record_mmap2))
			handle_mmap2(sideband, (const void *)header);
		break;
	case PERF_RECORD_COMM:
		if (header->size >= sizeof(struct record_comm))
			sideband->handler.named(context,
						(pid_t)((const struct record_comm *)header)->pid,
						header->misc & PERF_RECORD_MISC_COMM_EXEC);
		break;
	case PERF_RECORD_LOST:
		if (header->size >= sizeof(struct record_lost))
			sideband->handler.lost(context, ((const struct record_lost *)header)->lost);
		break;
	default:
		break;
	}
}

static bool read_ring(struct sideband *sideband, struct ring *ring)
{
	const char *data = (const char *)ring->page + sideband->page_size;
	uint64_t size = sideband->page_size * RING_PAGES, tail = ring->page->data_tail;
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	bool is_full;

	/* How many were lost the kernel tells with the next record, which may not come for long. */
	is_full = head - tail > size - MAX_RECORD;
	while (head - tail >= sizeof(struct perf_event_header)) {
		uint64_t at = tail & (size - 1), first = size - at;
		const struct perf_event_header *header = (const void *)(data + at);
		uint16_t length = header->size; /* 8-aligned, so the header never wraps */

		if (length < sizeof(*header) || length > head - tail)
			break;
		if (length > first) {
			memcpy(sideband->record, data + at, first);
			memcpy(sideband->record + first, data, length - first);
			header = (const void *)sideband->record;
		}
		handle(sideband, header);
		tail += length;
	}
	if (tail == ring->page->data_tail)
		return false;
	__atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
	if (is_full)
		sideband->handler.lost(sideband->handler.context, 0);
	return true;
}

bool sideband__read(struct sideband *sideband)
{
	bool any = false;
	int i;

	for (i = 0; i < sideband->cpus; i++) {
		if (sideband->rings[i].page)
			any |= read_ring(sideband, &sideband->rings[i]);
	}
	return any;
}

void sideband__follow_cpus(struct sideband *sideband, const bool *is_online)
{
	struct ring *ring;
	int cpu;

	for (cpu = 0; cpu < sideband->cpus; cpu++) {
		ring = &sideband->rings[cpu];
		if (ring->page && !is_online[cpu]) {
			read_ring(sideband, ring);
			close_ring(sideband, ring);
		} else if (!ring->page && is_online[cpu] && !open_ring(sideband, cpu)) {
			/* What it ran until now was not told. */
			sideband->handler.lost(sideband->handler.context, 0);
		}
	}
}
