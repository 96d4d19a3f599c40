/* SPDX-License-Identifier: BSD-2-Clause */
#include "session_internal.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../ruby/layout.h"
#include "error_names.h"
#include "log.h"

struct tracked_process *session__find(const struct session *session, uint64_t serial)
{
	struct tracked_process *process;

	HASH_FIND(hh, session->processes, &serial, sizeof(serial), process);
	return process;
}

struct tracked_process *session__find_pid(const struct session *session, pid_t pid)
{
	struct rbprof_process entry;

	/* The kernel side has the last word on which image of a pid is the living one. */
	if (programs__get_process(session->programs, pid, &entry))
		return NULL;
	return session__find(session, entry.serial);
}

bool session__add_member(struct session *session, pid_t pid)
{
	struct session_member *member;

	HASH_FIND(hh, session->tree, &pid, sizeof(pid), member);
	if (member)
		return true;
	member = calloc(1, sizeof(*member));
	if (!member)
		return false;
	member->pid = pid;
	HASH_ADD(hh, session->tree, pid, sizeof(member->pid), member);
	return true;
}

void session__remove_member(struct session *session, pid_t pid)
{
	struct session_member *member;

	HASH_FIND(hh, session->tree, &pid, sizeof(pid), member);
	if (member)
		HASH_DEL(session->tree, member);
	free(member);
}

static bool is_member(const struct session *session, pid_t pid)
{
	struct session_member *member;

	HASH_FIND(hh, session->tree, &pid, sizeof(pid), member);
	return member;
}

void session__depart(struct session *session, pid_t pid)
{
	struct session_member *member, *before;

	HASH_FIND(hh, session->tree, &pid, sizeof(pid), member);
	if (!member)
		return;
	HASH_DEL(session->tree, member);
	HASH_REPLACE(hh, session->departed, pid, sizeof(member->pid), member, before);
	free(before);
}

static bool has_departed(const struct session *session, pid_t pid)
{
	struct session_member *member;

	HASH_FIND(hh, session->departed, &pid, sizeof(pid), member);
	return member;
}

void session__forget_departed(struct session *session)
{
	struct session_member *member, *next;

	HASH_ITER (hh, session->departed, member, next) {
		HASH_DEL(session->departed, member);
		free(member);
	}
}

/* Whether a process is one that was asked for. */
static bool is_wanted(const struct session *session, pid_t pid, const char *comm)
{
	if (pid == getpid())
		return false;
	if (session->options->all || is_member(session, pid))
		return true;
	return options__selects(session->options, pid, comm);
}

/* The kernel side must have a build before a process points to it. */
static int tell_runtimes(struct session *session)
{
	int error = 0;

	while (session->runtimes_told < runtimes__count(session->runtimes) && !error) {
		struct rbprof_runtime runtime;

		runtime.layout = runtimes__at(session->runtimes, session->runtimes_told)->layout;
		error = programs__set_runtime(session->programs, (uint32_t)session->runtimes_told,
					      &runtime);
		if (!error)
			session->runtimes_told++;
	}
	return error;
}

static void remember_executable(struct session *session, pid_t pid)
{
	char path[64];
	ssize_t length;

	if (session->executable[0])
		return;
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	length = readlink(path, session->executable, sizeof(session->executable) - 1);
	session->executable[length > 0 ? length : 0] = '\0';
}

static struct tracked_process *track(struct session *session, uint64_t serial,
				     const struct ruby_process *found)
{
	struct tracked_process *process = tracked_process__new(serial, found);

	if (!process)
		return NULL;
	process->first_ns = clock__now_ns();
	process->last_ns = process->first_ns;
	HASH_ADD(hh, session->processes, serial, sizeof(process->serial), process);
	return process;
}

static void untrack(struct session *session, struct tracked_process *process)
{
	HASH_DEL(session->processes, process);
	tracked_process__free(process);
}

/* A release that is newer than its table: it works if the proof does, and people should know. */
static void note_layout(const struct ruby_process *found)
{
	int exact = 1;

	if (found->runtime && layout__find(found->runtime->version, &exact) && !exact)
		log__info("process %d (%s): ruby %s is newer than the tables (%s): read as that, "
			  "if it proves right",
			  found->pid, found->comm, found->runtime->version,
			  found->runtime->layout_version);
}

/* Makes a found process known to the kernel side. 0 or -errno. */
static int begin(struct session *session, const struct ruby_process *found, bool is_placeholder)
{
	struct tracked_process *process;
	struct rbprof_process entry;
	uint64_t cpu_ns = 0;
	int error = tell_runtimes(session);

	if (error)
		return error;
	process = track(session, programs__next_serial(session->programs), found);
	if (!process)
		return -ENOMEM;
	process->is_placeholder = is_placeholder;
	if (!is_placeholder)
		container__of(found->pid, &process->container);
	ruby_process__describe(found, &entry);
	entry.serial = process->serial;
	ruby_process__cpu_ns(found->pid, &cpu_ns);
	entry.cpu_at_attach_ns = cpu_ns;
	error = programs__add_process(session->programs, found->pid, &entry);
	if (error) {
		untrack(session, process);
		return error == -E2BIG ? RBPROF_E_TOO_MANY_PROCESSES : error;
	}
	if (is_placeholder)
		return 0;
	session__probe(session, process);
	session__probe_vm(session, process);
	session->processes_seen++;
	session->attached_ns = clock__now_ns();
	if (found->runtime)
		session->runtimes_seen |= 1ULL << found->runtime_index;
	remember_executable(session, found->pid);
	note_layout(found);
	/* While we record, others wait: its turn comes when what has come is read. */
	if (session->start_ns)
		session->has_unproven = true;
	else
		session__proved(session, process);
	log__debug("process %d (%s): ruby %s%s%s", found->pid, found->comm,
		   found->runtime ? found->runtime->version : "unknown",
		   process->found.error ? ", refused: " : "",
		   process->found.error ? rbprof_error__text(process->found.error) : "");
	return 0;
}

static void attach_late(struct session *session, pid_t pid)
{
	bool is_known = session__find_pid(session, pid);
	struct tracked_process *process;

	session__attach(session, pid);
	process = is_known ? NULL : session__find_pid(session, pid);
	if (process)
		process->is_found_late = true;
}

/* Children that were forked between the process's own mapping of Ruby and our knowing it. */
static void attach_children(struct session *session, pid_t pid)
{
	char path[64];
	FILE *file;
	int child;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	file = fopen(path, "re");
	if (!file)
		return;
	while (fscanf(file, "%d", &child) == 1) {
		if (session->follows_tree && !session__add_member(session, child))
			continue;
		attach_late(session, child);
	}
	fclose(file);
}

int session__attach(struct session *session, pid_t pid)
{
	struct tracked_process *known = session__find_pid(session, pid);
	struct ruby_process found;
	int error;

	if (known && !known->is_placeholder)
		return 0;
	error = ruby_process__find(session->runtimes, pid, &found);
	if (error)
		return error;
	if (!is_wanted(session, pid, found.comm))
		return 0;
	if (session->start_ns)
		ruby_process__note_mapped(&found);
	error = begin(session, &found, false);
	if (error || !session->start_ns)
		return error;
	/* Found while we run: it may have threads and children that no event told us about. */
	error = programs__start_clocks(session->programs);
	attach_children(session, pid);
	return error;
}

static int attach_scanned(const struct ruby_process *found, void *context)
{
	struct session *session = context;

	struct tracked_process *process;

	if (!is_wanted(session, found->pid, found->comm) || session__find_pid(session, found->pid))
		return 0;
	begin(session, found, false);
	process = session->start_ns ? session__find_pid(session, found->pid) : NULL;
	if (process)
		process->is_found_late = true;
	return 0;
}

void session__scan(struct session *session)
{
	int error = ruby_process__scan(session->runtimes, attach_scanned, session);

	if (error < 0)
		log__warn("cannot read the process list: %s", strerror(-error));
	else if (session->start_ns)
		programs__start_clocks(session->programs);
}

/*
 * Analyses what the COMMAND will most likely load, so that nothing is left to do when it does:
 * the interpreter itself, else the libruby beside it and those in the usual places. One that is
 * missed here is analysed when it is mapped.
 */
static void open_runtimes_of(struct session *session, const char *interpreter)
{
	static const char *const places[] = {
		"/usr/lib/*-linux-gnu/libruby*.so.*", "/lib/*-linux-gnu/libruby*.so.*",
		"/usr/lib64/libruby*.so.*",	      "/usr/lib/libruby*.so.*",
		"/usr/local/lib/libruby*.so.*",
	};
	const char *slash = strrchr(interpreter, '/');
	const struct runtime *runtime;
	char beside[PATH_MAX];
	glob_t found = { 0 };
	size_t i, index;

	if (!runtimes__find_path(session->runtimes, interpreter, &runtime, &index))
		return;
	snprintf(beside, sizeof(beside), "%.*s/../lib/libruby*.so.*",
		 slash ? (int)(slash - interpreter) : 1, slash ? interpreter : ".");
	glob(beside, GLOB_NOSORT, NULL, &found);
	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		glob(places[i], GLOB_NOSORT | GLOB_APPEND, NULL, &found);
	for (i = 0; i < found.gl_pathc; i++)
		runtimes__find_path(session->runtimes, found.gl_pathv[i], &runtime, &index);
	globfree(&found);
}

int session__follow_command(struct session *session, pid_t pid, const char *interpreter)
{
	struct ruby_process found = { .pid = pid, .error = RBPROF_E_NOT_RUBY };

	if (!session__add_member(session, pid))
		return -ENOMEM;
	if (interpreter)
		open_runtimes_of(session, interpreter);
	return begin(session, &found, true);
}

void session__forked(struct session *session, const struct rbprof_lifecycle *event)
{
	struct tracked_process *parent = session__find(session, event->parent_serial), *child;
	struct ruby_process found;

	if (session->follows_tree)
		session__add_member(session, (pid_t)event->event.pid);
	if (!event->known || !parent)
		return;
	found = parent->found;
	found.pid = (pid_t)event->event.pid;
	child = track(session, event->event.serial, &found);
	if (!child)
		return;
	child->proof = parent->proof;
	child->container = parent->container;
	child->is_placeholder = parent->is_placeholder;
	child->is_forked = true;
	child->forked_tid = event->event.tid;
	child->first_ns = event->event.time_ns;
	session__fork_trace(session, parent, child, event->event.time_ns);
	session->has_unproven |= child->proof == TRACKED_UNPROVEN;
	session->processes_seen += !child->is_placeholder;
	session__probe(session, child);
}

bool session__proved(struct session *session, struct tracked_process *process)
{
	struct rbprof_process entry;
	char reason[256];
	int result;

	if (process->proof != TRACKED_UNPROVEN)
		return process->proof == TRACKED_PROVEN;
	result = ruby_process__prove(&process->found);
	if (!result) {
		process->proof = TRACKED_PROVEN;
		session->runtimes_proven |= 1ULL << process->found.runtime_index;
	} else if (result > 0) {
		process->proof = TRACKED_REFUSED;
		ruby_process__reason(&process->found, result, reason, sizeof(reason));
		log__warn("process %d (%s) cannot be read: %s", process->found.pid,
			  process->found.comm, reason);
		/* Its CPU is still accounted for; its memory is left alone. */
		if (!programs__get_process(session->programs, process->found.pid, &entry) &&
		    entry.serial == process->serial) {
			entry.ec_source = RBPROF_EC_NONE;
			entry.vm_ptr_address = 0;
			entry.flags |= RBPROF_PROCESS_REFUSED;
			programs__change_process(session->programs, process->found.pid, &entry);
		}
	}
	return process->proof == TRACKED_PROVEN;
}

/* Of a process that is gone, so that the file cannot be opened through it. */
static bool is_ruby(const struct session *session, const struct mapping *mapping)
{
	return runtimes__knows(session->runtimes, mapping) || strstr(mapping->path, "/libruby");
}

static void on_mapped(void *context, pid_t pid, const struct mapping *mapping)
{
	struct session *session = context;
	const struct runtime *runtime;
	size_t index;
	int result;

	if (session->follows_tree && has_departed(session, pid)) {
		session->missed += is_ruby(session, mapping);
		return;
	}
	if (session->follows_tree && !is_member(session, pid))
		return;
	result = runtimes__find(session->runtimes, pid, mapping, &runtime, &index);
	if (result < 0)
		session->missed += session->follows_tree && is_ruby(session, mapping);
	if (result && (result < 0 || result == RBPROF_E_NOT_RUBY || result == RBPROF_E_ELF_INVALID))
		return;
	if (session__attach(session, pid) && session->follows_tree)
		session->missed++;
}

static void on_named(void *context, pid_t pid, bool by_exec)
{
	struct session *session = context;

	/* A process may take the name that was asked for at any time. */
	if (!by_exec && session->options->comms.count)
		session__attach(session, pid);
}

static void on_lost(void *context, uint64_t count)
{
	struct session *session = context;

	session->lost_sideband += count;
	session->must_scan = true;
}

const struct sideband_handler session_sideband_handler = {
	.mapped = on_mapped,
	.named = on_named,
	.lost = on_lost,
};
