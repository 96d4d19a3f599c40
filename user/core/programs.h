/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel side as seen from user space: the BPF programs, their maps, the timers. Nothing of
 * it outlives the struct: when we end, the kernel takes everything away.
 */
#ifndef RBPROF_PROGRAMS_H
#define RBPROF_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../include/rbprof_abi.h"
#include "timers.h"

struct programs;

/*
 * Loads the programs and attaches all but the timers. on_event is called by
 * programs__consume(); the event and what follows it lie in size bytes, valid during the call.
 * 0, or -errno after a message on stderr. The caller frees *ret_programs.
 */
int programs__new(const struct rbprof_config *config,
		  void (*on_event)(void *context, const struct rbprof_event *event, size_t size),
		  void *context, struct programs **ret_programs);
void programs__free(struct programs *programs);

/* The sampling timers (timers.h). */
int programs__start_timers(struct programs *programs, uint32_t hz);
void programs__vary_timers(struct programs *programs);
void programs__follow_cpus(struct programs *programs, const bool *is_online);
void programs__stop_timers(struct programs *programs);
void programs__ticks(struct programs *programs, struct timers_ticks *ret_ticks);

/* The programs for the collector's entries and exits (loaded with RBPROF_PROBE_GC), for gc_probes.
 */
void programs__gc_fds(const struct programs *programs, int *ret_enter, int *ret_exit);
/* The program for the end of a VM (loaded with RBPROF_COLLECT_VM), for probes. */
int programs__vm_fd(const struct programs *programs);

/* Readable when events wait that should not wait long. */
int programs__fd(const struct programs *programs);
/* Hands out all events there are. 0 or -errno. */
int programs__consume(struct programs *programs);

/* Tells the programs of a Ruby build. 0 or -errno. */
int programs__set_runtime(struct programs *programs, uint32_t index,
			  const struct rbprof_runtime *runtime);
/* A number that no process image has had. */
uint64_t programs__next_serial(struct programs *programs);
/* Starts to profile a process: makes its counters, then its entry. 0 or -errno. */
int programs__add_process(struct programs *programs, pid_t pid,
			  const struct rbprof_process *process);
/* The entry of a process. 0 or -ENOENT. */
int programs__get_process(struct programs *programs, pid_t pid, struct rbprof_process *ret_process);
/* Changes the entry of a process that has this serial. 0 or -errno. */
int programs__change_process(struct programs *programs, pid_t pid,
			     const struct rbprof_process *process);
/* Takes the process out if it still has this serial; its counters stay. */
void programs__remove_process(struct programs *programs, pid_t pid, uint64_t serial);
/* 0 or -errno. */
int programs__counters(struct programs *programs, uint64_t serial,
		       struct rbprof_counters *ret_counters);
void programs__forget_counters(struct programs *programs, uint64_t serial);
/* Events of processes that were lost before they could be counted for one. */
uint64_t programs__lost_lifecycle(const struct programs *programs);

/* Tells the programs that names of the stack were proved in this GC epoch. */
void programs__stack_known(struct programs *programs, uint64_t hash, uint64_t epoch);

/* The stack is to be sent whole when it is next seen. */
void programs__stack_forgotten(struct programs *programs, uint64_t hash);

/* Tells the programs where objects of a kind have their instance variables. 0 or -errno. */
int programs__set_ivars(struct programs *programs, const struct rbprof_ivars_key *key,
			const struct rbprof_ivars *ivars);

/* Has samples carry the class of the object that a method was called on. 0 or -errno. */
int programs__add_receiver(struct programs *programs, const struct rbprof_receiver_key *key);
bool programs__has_receiver(struct programs *programs, const struct rbprof_receiver_key *key);

/* Starts the clocks of threads of known processes that have none yet. 0 or -errno. */
int programs__start_clocks(struct programs *programs);
/* Has each thread of each known process report its CPU (events of RBPROF_CLOCK_READ). */
int programs__read_clocks(struct programs *programs);
/* Has it name the threads that sleep since before they were seen (events of RBPROF_EVENT_ASK). */
int programs__ask_waits(struct programs *programs);

#endif
