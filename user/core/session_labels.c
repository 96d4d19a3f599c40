/* SPDX-License-Identifier: BSD-2-Clause */
#include "session_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "../ruby/gc_info.h"
#include "../ruby/trace_read.h"
#include "../util/utf8.h"
#include "error_names.h"
#include "version.h"

#define MAX_LABELS 32

struct labels {
	struct session *session;
	struct profile *profile;
	struct profile_label labels[MAX_LABELS];
	size_t count;
};

static void add_text(struct labels *labels, const char *key, uint32_t text)
{
	labels->labels[labels->count++] = (struct profile_label){
		.key = profile__cstring(labels->profile, key),
		.text = text,
		.unit = PROFILE_NONE,
	};
}

static void add_number(struct labels *labels, const char *key, int64_t number)
{
	labels->labels[labels->count++] = (struct profile_label){
		.key = profile__cstring(labels->profile, key),
		.text = PROFILE_NONE,
		.number = number,
		.unit = PROFILE_NONE,
	};
}

/* A name from outside; none if it is empty. */
static void add_name(struct labels *labels, const char *key, const char *name)
{
	char text[UTF8_LIMIT_NAME + 1];
	size_t length = utf8__clean(name, strlen(name), text, UTF8_LIMIT_NAME);

	if (length)
		add_text(labels, key, profile__string(labels->profile, text, length));
}

static uint32_t comm_text(struct profile *profile, const char *comm)
{
	char text[RBPROF_COMM_LEN * 3 + 1];
	size_t length = utf8__clean(comm, strnlen(comm, RBPROF_COMM_LEN), text, sizeof(text) - 1);

	return profile__string(profile, text, length);
}

/* What is the same for all samples of a process. */
static void add_process(struct labels *labels, const struct tracked_process *process)
{
	char text[sizeof(process->found.comm) + 32];

	snprintf(text, sizeof(text), "%s (%d)", process->found.comm, process->found.pid);
	add_text(labels, "process", profile__cstring(labels->profile, text));
	add_number(labels, "pid", process->found.pid);
	if (process->found.runtime)
		add_text(labels, "ruby",
			 profile__cstring(labels->profile, process->found.runtime->version));
	add_name(labels, "container_id", process->container.id);
	add_name(labels, "service", process->container.service);
}

static void add_thread(struct labels *labels, const struct tracked_process *process,
		       const struct tracked_thread *thread, const struct tracked_row *row)
{
	uint32_t name = row->key.name;

	if (name == PROFILE_NONE)
		name = tracked_process__thread_name(process, thread);
	if (name == PROFILE_NONE)
		name = comm_text(labels->profile, thread->comm);
	add_text(labels, "thread id",
		 session__thread_id(labels->session, process, thread, row->key.ruby));
	add_text(labels, "thread name", name);
	if (row->key.ractor)
		add_number(labels, "ractor id", row->key.ractor);
}

/* By the VM's record; none where a release has it elsewhere, or nothing was collected yet. */
static void add_gc_info(struct labels *labels, uint32_t info)
{
	struct profile *profile = labels->profile;
	const char *reason = gc_info__reason(info), *cause = gc_info__cause(info);

	if (!info)
		return;
	add_text(labels, "gc type", profile__cstring(profile, gc_info__type(info)));
	if (reason)
		add_text(labels, "gc reason", profile__cstring(profile, reason));
	if (cause)
		add_text(labels, "gc cause", profile__cstring(profile, cause));
}

static void add_gc(struct labels *labels, const struct tracked_row *row)
{
	struct profile *profile = labels->profile;

	add_text(labels, "thread id", profile__cstring(profile, "GC"));
	add_text(labels, "thread name", profile__cstring(profile, "Garbage Collection"));
	add_text(labels, "event", profile__cstring(profile, "gc"));
	add_text(labels, "gc source", row->key.gc_source);
	add_gc_info(labels, row->key.gc_info);
	if (row->key.ruby)
		add_text(labels, "gc thread", session__ruby_id(labels->session, row->key.ruby));
}

static void add_hex(struct labels *labels, const char *key, const void *bytes, size_t count)
{
	char text[2 * 16 + 1];

	trace_read__hex(bytes, count, text);
	add_text(labels, key, profile__cstring(labels->profile, text));
}

/*
 * The span that was worked for, and its endpoint, true if that is known. It may still change:
 * session__profile() adds that.
 */
static bool add_trace(struct labels *labels, const struct tracked_process *process,
		      const struct tracked_row_key *key)
{
	const char *endpoint;

	if (key->trace_kind == RBPROF_TRACE_DATADOG) {
		add_number(labels, "local root span id", (int64_t)key->root);
		add_number(labels, "span id", (int64_t)key->span);
	} else if (key->trace_kind == RBPROF_TRACE_OTEL) {
		add_hex(labels, "trace_id", key->trace, sizeof(key->trace));
		add_hex(labels, "span_id", &key->span, sizeof(key->span));
		add_number(labels, SESSION_ROOT_MARK, (int64_t)key->root);
	} else {
		return false;
	}
	endpoint = tracked_process__endpoint(process, key->root);
	if (!endpoint)
		return false;
	add_text(labels, "trace endpoint", profile__cstring(labels->profile, endpoint));
	add_text(labels, "endpoint source", profile__cstring(labels->profile, "trace"));
	return true;
}

/* What the sample worked for: what a trace says goes before what the frames do. */
static void add_work(struct labels *labels, const struct tracked_process *process,
		     const struct tracked_row_key *key)
{
	if (key->kind == TRACKED_OVERHEAD || add_trace(labels, process, key) ||
	    key->endpoint == PROFILE_NONE)
		return;
	add_text(labels, "trace endpoint", key->endpoint);
	add_text(labels, "endpoint source", profile__cstring(labels->profile, "frames"));
}

static uint32_t row_labels(struct session *session, const struct tracked_process *process,
			   const struct tracked_thread *thread, const struct tracked_row *row)
{
	struct labels labels = { .session = session, .profile = session->profile };
	const struct tracked_row_key *key = &row->key;

	if (key->kind == TRACKED_GC)
		add_gc(&labels, row);
	else
		add_thread(&labels, process, thread, row);
	add_process(&labels, process);
	if (key->kind == TRACKED_WAIT)
		add_text(&labels, "state", key->state);
	else if (key->kind != TRACKED_OVERHEAD)
		add_text(&labels, "state", profile__cstring(session->profile, "had cpu"));
	else
		add_number(&labels, "profiler overhead", 1);
	if (key->kind == TRACKED_WAIT && key->holder != PROFILE_NONE)
		add_text(&labels, "gvl holder", key->holder);
	add_work(&labels, process, key);
	if (key->time_ns)
		add_number(&labels, "end_timestamp_ns",
			   (int64_t)(key->time_ns + session->boot_offset_ns));
	if (key->omitted)
		add_number(&labels, "omitted frames", key->omitted);
	return profile__label_set(session->profile, labels.labels, labels.count);
}

static int by_time(const struct tracked_row *a, const struct tracked_row *b)
{
	return a->key.time_ns < b->key.time_ns ? -1 : a->key.time_ns > b->key.time_ns;
}

void session__flush_rows(struct session *session, struct tracked_process *process,
			 struct tracked_thread *thread)
{
	struct tracked_row *row, *next;

	if (session->options->timeline)
		HASH_SORT(thread->rows, by_time);
	HASH_ITER (hh, thread->rows, row, next) {
		const struct tracked_values *had = &row->values;
		int64_t values[PROFILE_MAX_TYPES] = { 0 };
		bool is_used = had->samples || had->cpu_ns || had->wall_ns;

		/* A value that is not collected may be all that the row has. */
		if (session__values(session, row, values))
			profile__add(session->profile, row->key.stack,
				     row_labels(session, process, thread, row), values);
		/* What did not come again for a whole period may never come again. */
		if (row->key.time_ns || !is_used) {
			tracked_thread__drop_row(thread, row);
			continue;
		}
		row->values = (struct tracked_values){ 0 };
	}
}

void session__flush_thread(struct session *session, struct tracked_process *process,
			   struct tracked_thread *thread)
{
	session__share_waits(session, thread);
	session__flush_rows(session, process, thread);
}

/* CPU of events that found no room: it was used, so it is in the profile. */
void session__flush_lost(struct session *session, struct tracked_process *process)
{
	struct tracked_thread lost = {
		.comm = "(lost)",
		.last_name = PROFILE_NONE,
		.last_stack = PROFILE_NONE,
		.last_endpoint = PROFILE_NONE,
	};

	const struct tracked_row_key key = {
		.stack = session->stack_not_sampled,
		.name = PROFILE_NONE,
		.holder = PROFILE_NONE,
		.endpoint = PROFILE_NONE,
	};
	const uint64_t lost_ns = process->counters.lost_cpu_ns - process->lost_told_ns;
	const struct tracked_values values = { .cpu_ns = (int64_t)lost_ns };

	if (!lost_ns)
		return;
	process->errors[RBPROF_E_CPU_UNATTRIBUTED]++;
	tracked_thread__add(&lost, &key, &values);
	session__flush_thread(session, process, &lost);
	process->forgotten_samples_cpu_ns += lost_ns;
	process->lost_told_ns += lost_ns;
	tracked_thread__clear(&lost);
}

void session__flush(struct session *session)
{
	struct tracked_process *process;
	struct tracked_thread *thread;

	for (process = session->processes; process; process = process->hh.next) {
		if (process->is_placeholder)
			continue;
		/* First: it may leave something to the threads. */
		session__end_gc(session, process);
		for (thread = process->threads; thread; thread = thread->hh.next) {
			/* One that lives has a name; one that has ended may have taken it along. */
			if (thread->is_ruby && !process->has_ended && !process->is_exiting &&
			    tracked_process__thread_name(process, thread) == PROFILE_NONE)
				process->errors[RBPROF_E_THREAD_NAME]++;
			session__flush_thread(session, process, thread);
		}
		session__flush_lost(session, process);
	}
}

static void add_comments(struct session *session, struct profile *profile, const char *command_line)
{
	uint64_t errors[RBPROF_E_COUNT];
	const struct tracked_process *process;
	struct session_summary summary;
	struct utsname host;
	char text[512];
	size_t i;

	snprintf(text, sizeof(text), "rbprof-bpf %s: %s", RBPROF_VERSION, command_line);
	profile__comment(profile, text);
	if (!uname(&host)) {
		snprintf(text, sizeof(text), "host: %s", host.nodename);
		profile__comment(profile, text);
		snprintf(text, sizeof(text), "kernel: %s %s", host.release, host.machine);
		profile__comment(profile, text);
	}
	for (i = 0; i < runtimes__count(session->runtimes); i++) {
		const struct runtime *runtime = runtimes__at(session->runtimes, i);

		if (!(session->runtimes_seen & 1ULL << i))
			continue;
		snprintf(text, sizeof(text), "ruby: %s build-id %s", runtime->version,
			 runtime->build_id);
		profile__comment(profile, text);
	}
	for (process = session->processes; process; process = process->hh.next) {
		if (!process->has_shared_threads)
			continue;
		snprintf(text, sizeof(text),
			 "process %d: M:N threads: cpu is exact by native thread (thread id), by "
			 "ruby thread (thread name) in proportion to ticks",
			 process->found.pid);
		profile__comment(profile, text);
	}
	session__summary(session, &summary);
	snprintf(text, sizeof(text),
		 "ticks: %" PRIu64 " fired, %" PRIu64 " taken, %" PRIu64 " lost", summary.fired,
		 summary.samples, summary.lost);
	profile__comment(profile, text);
	session__errors(session, errors);
	for (i = 1; i < RBPROF_E_COUNT; i++) {
		if (!errors[i])
			continue;
		snprintf(text, sizeof(text), "%s: %" PRIu64, rbprof_error__text((int)i), errors[i]);
		profile__comment(profile, text);
	}
}

struct profile *session__profile(struct session *session, const char *command_line)
{
	uint64_t begin_ns = session->start_ns, end_ns = session->stop_ns;
	struct profile *profile = session->profile;
	char path[UTF8_LIMIT_PATH + 1];
	struct profile_mapping *mapping;
	struct profile_info *info;

	if (session->ring)
		profile = ring__profile(session->ring, session, &begin_ns, &end_ns);
	else
		session__flush(session);
	if (!profile)
		return NULL;
	session__set_endpoints(session, profile);
	info = profile__info(profile);
	info->time_ns = (int64_t)(begin_ns + session->boot_offset_ns);
	info->duration_ns = (int64_t)(end_ns - begin_ns);
	info->period = 1000000000 / session->options->frequency_hz;
	info->period_type = (struct profile_type){ "cpu-time", "nanoseconds" };
	info->default_type = session->types[SESSION_CPU] > 0 ? 1 : 0;
	if (session->executable[0]) {
		utf8__clean(session->executable, strlen(session->executable), path,
			    UTF8_LIMIT_PATH);
		mapping = profile__mapping(profile);
		mapping->file = profile__cstring(profile, path);
		mapping->build_id = profile__cstring(profile, "");
	}
	add_comments(session, profile, command_line);
	return profile__failed(profile) ? NULL : profile;
}
