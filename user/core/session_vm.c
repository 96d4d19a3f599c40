/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What VMs have counted themselves (bpf/vm_counters.h reads it), and what a recording's processes
 * add up to. A figure is the sum over all Ruby processes, or it is not there and says why.
 */
#include "session_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"
#include "uprobes.h"

/* A probe on the end of every VM of one file. */
struct session_vm_probe {
	dev_t device;
	ino_t inode;
	int link;
	struct session_vm_probe *next;
};

static int add_probe(struct session *session, const struct uprobes_place *place)
{
	const uint64_t cookie = 0;
	struct session_vm_probe *probe;
	struct stat stat;
	int link;

	if (fstat(place->file, &stat))
		return -errno;
	for (probe = session->vm_probes; probe; probe = probe->next)
		if (probe->device == stat.st_dev && probe->inode == stat.st_ino)
			return 0;
	/* For everybody: a child that ends at once must not end before its probe is there. */
	link = uprobes__link(programs__vm_fd(session->programs), place->file, 0, &place->offset,
			     &cookie, 1);
	if (link < 0)
		return link;
	probe = calloc(1, sizeof(*probe));
	if (!probe) {
		close(link);
		return -ENOMEM;
	}
	probe->device = stat.st_dev;
	probe->inode = stat.st_ino;
	probe->link = link;
	probe->next = session->vm_probes;
	session->vm_probes = probe;
	return 0;
}

void session__probe_vm(struct session *session, const struct tracked_process *process)
{
	const struct ruby_process *found = &process->found;
	struct uprobes_place place;
	int error;

	if (!session->options->vm_counters || session->options->no_uprobes ||
	    process->is_placeholder || !found->runtime || !found->runtime->vm_destruct.address)
		return;
	error = uprobes__find(found->pid, found->bias + found->runtime->vm_destruct.address,
			      &place);
	if (!error) {
		error = add_probe(session, &place);
		close(place.file);
	}
	if (error)
		log__debug("process %d (%s): no probe on the end of its vm: %s", found->pid,
			   found->comm, strerror(-error));
}

void session__free_vm_probes(struct session *session)
{
	while (session->vm_probes) {
		struct session_vm_probe *probe = session->vm_probes;

		session->vm_probes = probe->next;
		close(probe->link);
		free(probe);
	}
}

/* ---- sums ---- */

static bool is_build_proven(const struct session *session, const struct tracked_process *process)
{
	return session->runtimes_proven & 1ULL << process->found.runtime_index;
}

/* Why the VM's figures of a process are not known; NULL: they are. */
static const char *why_unknown(const struct session *session, const struct tracked_process *process)
{
	const uint32_t flags = process->counters.vm.flags;

	if (process->proof == TRACKED_REFUSED || !process->found.runtime)
		return "it could not be read";
	if (!(flags & RBPROF_VM_READ)) {
		if (!process->has_ended && !process->is_exiting)
			return "it still runs";
		if (session->options->no_uprobes)
			return "without probes its vm's end is not seen";
		if (!process->found.runtime->vm_destruct.address)
			return "its file has no ruby_vm_destruct to put a probe on";
		return flags & RBPROF_VM_UNREADABLE ? "its memory could not be read"
						    : "its end was not seen";
	}
	/* One that lives for some milliseconds only goes by others of its build. */
	if (process->proof != TRACKED_PROVEN && !is_build_proven(session, process))
		return "it ended before it was known how to read it";
	if (process->is_found_late || (process->is_forked && !(flags & RBPROF_VM_BASE_READ)))
		return "what it began with was not seen";
	return NULL;
}

static bool counts_objects(const struct tracked_process *process)
{
	const struct ruby_layout *layout = &process->found.runtime->layout;

	return layout->objspace__total_allocated_objects != RUBY_NO_FIELD ||
	       layout->objspace__heaps != RUBY_NO_FIELD;
}

static void explain(struct session_sums *sums, const struct tracked_process *process,
		    const char *what, const char *why)
{
	if (!sums->why[0])
		snprintf(sums->why, sizeof(sums->why), "%s of process %d (%s): %s", what,
			 process->found.pid, process->found.comm, why);
}

static void add_figures(const struct session *session, const struct tracked_process *process,
			struct session_sums *sums)
{
	const struct rbprof_vm_counters *vm = &process->counters.vm;
	const char *why = why_unknown(session, process);

	if (why) {
		sums->lacks_allocated = sums->lacks_gc_count = true;
		explain(sums, process, "counters", why);
		return;
	}
	sums->gc_count += vm->end.gc_count - vm->base.gc_count;
	if (counts_objects(process)) {
		sums->allocated += vm->end.allocated - vm->base.allocated;
		return;
	}
	sums->lacks_allocated = true;
	explain(sums, process, "objects allocated", "where this ruby counts them is not known");
}

/* "3.1.2, 3.3.8": each once, in the order of their names. */
static void add_version(struct session_sums *sums, const char *version)
{
	size_t i, at = 0;

	while (at < sums->version_count && strcmp(sums->versions[at], version) < 0)
		at++;
	if (at < sums->version_count && !strcmp(sums->versions[at], version))
		return;
	if (sums->version_count == SESSION_MAX_VERSIONS)
		return;
	for (i = sums->version_count++; i > at; i--)
		memcpy(sums->versions[i], sums->versions[i - 1], sizeof(sums->versions[i]));
	snprintf(sums->versions[at], sizeof(sums->versions[at]), "%s", version);
}

static void add_gc(const struct session *session, const struct tracked_process *process,
		   struct session_sums *sums)
{
	const char *source = session__gc_source(session, process);
	uint64_t gc_ns = tracked_process__gc_ns(process);

	/* That of a process without collections tells nothing, as long as there is another. */
	if (!sums->gc_source || !sums->gc_ns)
		sums->gc_source = source;
	else if (gc_ns && strcmp(sums->gc_source, source))
		sums->gc_source = "mixed";
	sums->gc_ns += gc_ns;
	if (!session->options->gc || process->proof == TRACKED_REFUSED)
		sums->lacks_gc = true;
}

void session__add_sums(const struct session *session, const struct tracked_process *process,
		       struct session_sums *sums)
{
	if (process->is_placeholder)
		return;
	sums->processes++;
	sums->cpu_ns += tracked_process__kernel_cpu_ns(process);
	if (process->found.runtime)
		add_version(sums, process->found.runtime->version);
	add_gc(session, process, sums);
	add_figures(session, process, sums);
}

void session__sums(const struct session *session, struct session_sums *ret_sums)
{
	const struct tracked_process *process;

	*ret_sums = session->forgotten.sums;
	for (process = session->processes; process; process = process->hh.next)
		session__add_sums(session, process, ret_sums);
	ret_sums->missed = session->missed;
	if (!session->missed)
		return;
	ret_sums->lacks_allocated = ret_sums->lacks_gc_count = true;
	snprintf(ret_sums->why, sizeof(ret_sums->why),
		 "%u ruby process%s ended before %s could be read; %s cpu is missing, too",
		 session->missed, session->missed > 1 ? "es" : "",
		 session->missed > 1 ? "they" : "it", session->missed > 1 ? "their" : "its");
}
