/* SPDX-License-Identifier: BSD-2-Clause */
/* Which processes have probes on their garbage collector, and which must give some up. */
#include "session_internal.h"

#include <errno.h>
#include <string.h>

#include "log.h"

#define LOOK_NS 100000000 /* the kernel side takes longer to give up another site */

void session__measure_probes(struct session *session, struct rbprof_config *config)
{
	int error;

	if (!session->options->gc || session->options->no_uprobes)
		return;
	error = gc_probes__measure(&config->gc_trap_ns);
	if (error) {
		log__info("no probes on garbage collectors: %s",
			  error == -ENOTSUP ? "the kernel has no uprobes of many sites (Linux 6.6)"
					    : strerror(-error));
		return;
	}
	session->gc_trap_ns = config->gc_trap_ns;
	config->flags |= RBPROF_PROBE_GC;
	config->gc_window_hits = gc_probes__window_hits(config->gc_trap_ns);
	log__debug("a probe's hit costs %u ns: at most %u in 100 ms", config->gc_trap_ns,
		   config->gc_window_hits);
}

int session__open_probes(struct session *session, const struct rbprof_config *config)
{
	int enter, exit;

	if (!(config->flags & RBPROF_PROBE_GC))
		return 0;
	programs__gc_fds(session->programs, &enter, &exit);
	return gc_probes__new(enter, exit, session->options->all, &session->gc_probes);
}

void session__probe(struct session *session, struct tracked_process *process)
{
	int error;

	if (!session->gc_probes || process->is_placeholder || !process->found.runtime)
		return;
	error = gc_probes__add(session->gc_probes, process->serial, &process->found, 0);
	process->gc.is_probed = !error;
	if (error)
		log__debug("process %d (%s): no gc probes: %s", process->found.pid,
			   process->found.comm,
			   error == -ENOTSUP && process->found.runtime->gc.why
				   ? process->found.runtime->gc.why
				   : strerror(-error));
}

void session__watch_probes(struct session *session, struct tracked_process *process)
{
	uint32_t removed = process->counters.gc.removed_sites;
	int error;

	if (!session->gc_probes || !process->gc.is_probed || removed == process->gc.removed_sites)
		return;
	process->gc.is_partial = true;
	error = gc_probes__take_out(session->gc_probes, process->serial, removed);
	if (error && error != -ESRCH)
		log__debug("process %d: gc probes stay: %s", process->found.pid, strerror(-error));
	else
		log__debug("process %d: gc probes taken out: %#x", process->found.pid, removed);
	process->gc.removed_sites = removed;
}

void session__gave_up(struct session *session, struct tracked_process *process, uint64_t now)
{
	struct rbprof_counters counters;

	process->gc.is_partial = true;
	if (now - process->gc.looked_ns < LOOK_NS)
		return;
	process->gc.looked_ns = now;
	if (programs__counters(session->programs, process->serial, &counters))
		return;
	process->counters = counters;
	session__watch_probes(session, process);
}

void session__unprobe(struct session *session, struct tracked_process *process)
{
	if (session->gc_probes)
		gc_probes__forget(session->gc_probes, process->serial);
}
