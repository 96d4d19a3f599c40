/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What processes of the host map, run and fork, as the kernel tells it: perf side-band records of
 * a dummy event on every CPU. No polling, and nothing is put into any process.
 */
#ifndef RBPROF_SIDEBAND_H
#define RBPROF_SIDEBAND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "mappings.h"

struct sideband;

struct sideband_handler {
	/* An executable mapping of a file was made. mapping->end is start + length. */
	void (*mapped)(void *context, pid_t pid, const struct mapping *mapping);
	/* A process took a new name; by_exec: because it runs a new program. */
	void (*named)(void *context, pid_t pid, bool by_exec);
	/*
	 * Records were lost: /proc has to be read again. count may be 0: how many is told later,
	 * with the next record.
	 */
	void (*lost)(void *context, uint64_t count);
	void *context;
};

/* 0 or -errno; the caller frees *ret_sideband. The handler is copied. */
int sideband__new(const struct sideband_handler *handler, struct sideband **ret_sideband);
void sideband__free(struct sideband *sideband);

/* An epoll descriptor that is readable when there are records. */
int sideband__fd(const struct sideband *sideband);

/* Calls the handler for all records there are. True if there were any. */
bool sideband__read(struct sideband *sideband);

/*
 * The kernel takes the ring of a CPU that goes offline away for good, so one that came gets
 * another. is_online: of all CPUs (see cpus.h).
 */
void sideband__follow_cpus(struct sideband *sideband, const bool *is_online);

#endif
