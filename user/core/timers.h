/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sampling timers: one on every CPU that is online, and how often they ought to have come. The
 * kernel takes the timer of a CPU that goes offline away for good, so CPUs are followed.
 */
#ifndef RBPROF_TIMERS_H
#define RBPROF_TIMERS_H

#include <stdbool.h>
#include <stdint.h>

struct bpf_program;
struct timers;

struct timers_ticks {
	uint64_t all; /* entries of the timer program, but those that hit an idle CPU */
	uint64_t due; /* those that the time calls for in which CPUs were not idle */
};

/* For a program that runs at each tick; cpus_fd: of the map "cpus". NULL: no memory. */
struct timers *timers__new(struct bpf_program *program, int cpus_fd, int cpus);
void timers__free(struct timers *timers);

/* Starts a timer on every CPU, hz times a second on the average. 0 or -errno. */
int timers__start(struct timers *timers, uint32_t hz);
void timers__stop(struct timers *timers);

/*
 * To be called about once a second: gives the timers another period, close to the one asked for, so
 * that no program's rhythm goes with ours for longer than a second or fifty ticks.
 */
void timers__vary(struct timers *timers);

/* CPUs that are online, of all (see cpus.h), get a timer; those that are not lose it. */
void timers__follow_cpus(struct timers *timers, const bool *is_online);

/* Since they were started, up to now or to when they were stopped. */
void timers__ticks(struct timers *timers, struct timers_ticks *ret_ticks);

#endif
