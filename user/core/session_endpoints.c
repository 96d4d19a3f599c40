/* SPDX-License-Identifier: BSD-2-Clause */
/* Endpoints of local root spans: the one last seen goes on all rows of a profile. */
#include "session_internal.h"

#include <stdlib.h>
#include <string.h>

#define MAX_ROOTS  16384
#define MAX_LABELS 32

struct tracked_root {
	uint64_t id;
	char *endpoint;
	UT_hash_handle hh; /* in the order in which they were last seen */
};

void tracked_roots__free(struct tracked_root *roots)
{
	struct tracked_root *root, *next;

	HASH_ITER (hh, roots, root, next) {
		HASH_DEL(roots, root);
		free(root->endpoint);
		free(root);
	}
}

static void forget_oldest(struct tracked_process *process)
{
	struct tracked_root *oldest = process->roots;

	HASH_DEL(process->roots, oldest);
	free(oldest->endpoint);
	free(oldest);
	process->errors[RBPROF_E_ROOT_FORGOTTEN]++;
}

void session__keep_endpoint(struct tracked_process *process, uint64_t id, const char *endpoint)
{
	struct tracked_root *root;

	HASH_FIND(hh, process->roots, &id, sizeof(id), root);
	if (root) {
		HASH_DEL(process->roots, root);
	} else {
		root = calloc(1, sizeof(*root));
		if (!root)
			return;
		root->id = id;
		if (HASH_COUNT(process->roots) >= MAX_ROOTS)
			forget_oldest(process);
	}
	if (!root->endpoint || strcmp(root->endpoint, endpoint)) {
		free(root->endpoint);
		root->endpoint = strdup(endpoint);
	}
	HASH_ADD(hh, process->roots, id, sizeof(root->id), root);
}

const char *tracked_process__endpoint(const struct tracked_process *process, uint64_t root_id)
{
	struct tracked_root *root;

	HASH_FIND(hh, process->roots, &root_id, sizeof(root_id), root);
	return root ? root->endpoint : NULL;
}

/* The endpoint that rows of the pid with this root span are to have now; NULL: none is known. */
static const char *endpoint_of(const struct session *session, int64_t pid, uint64_t root)
{
	const struct tracked_process *process;
	const char *endpoint = NULL;

	for (process = session->processes; process && !endpoint; process = process->hh.next) {
		if (process->found.pid == pid)
			endpoint = tracked_process__endpoint(process, root);
	}
	return endpoint;
}

/* What a label set says of its row's local root span. */
struct rooted {
	int64_t pid;
	uint64_t id;
	bool has_root;
	bool has_mark; /* SESSION_ROOT_MARK is among its labels */
};

static struct rooted root_of(const struct profile *profile, const struct profile_label_set *set)
{
	struct rooted rooted = { .has_root = false };
	uint32_t i;

	for (i = 0; i < set->count; i++) {
		const char *key = profile__text(profile, set->labels[i].key);
		const bool is_mark = !strcmp(key, SESSION_ROOT_MARK);

		if (!strcmp(key, "pid"))
			rooted.pid = set->labels[i].number;
		if (!is_mark && strcmp(key, "local root span id"))
			continue;
		rooted.has_root = true;
		rooted.has_mark |= is_mark;
		rooted.id = (uint64_t)set->labels[i].number;
	}
	return rooted;
}

static struct profile_label text_label(struct profile *profile, const char *key, const char *text)
{
	return (struct profile_label){
		.key = profile__cstring(profile, key),
		.text = profile__cstring(profile, text),
		.unit = PROFILE_NONE,
	};
}

/* The label set with the endpoint that it is to have; itself, if it has that or none is known. */
static uint32_t with_endpoint(const struct session *session, struct profile *profile,
			      uint32_t label_set)
{
	const struct profile_label_set set = profile__label_set_at(profile, label_set);
	const struct rooted rooted = root_of(profile, &set);
	struct profile_label labels[MAX_LABELS];
	const char *endpoint = NULL;
	uint32_t i, count = 0;

	if (rooted.has_root)
		endpoint = endpoint_of(session, rooted.pid, rooted.id);
	if ((!endpoint && !rooted.has_mark) || set.count + 2 > MAX_LABELS)
		return label_set;
	/* It takes the place of the one that was known before, or that frames told. */
	for (i = 0; i < set.count; i++) {
		const char *key = profile__text(profile, set.labels[i].key);

		if (strcmp(key, SESSION_ROOT_MARK) &&
		    (!endpoint ||
		     (strcmp(key, "trace endpoint") && strcmp(key, "endpoint source"))))
			labels[count++] = set.labels[i];
	}
	if (endpoint) {
		labels[count++] = text_label(profile, "trace endpoint", endpoint);
		labels[count++] = text_label(profile, "endpoint source", "trace");
	}
	return profile__label_set(profile, labels, count);
}

void session__set_endpoints(const struct session *session, struct profile *profile)
{
	struct profile_row *rows;
	size_t count, i;

	if (session->options->no_trace || profile__take_rows(profile, &rows, &count))
		return;
	for (i = 0; i < count; i++)
		profile__add(profile, rows[i].stack,
			     with_endpoint(session, profile, rows[i].label_set), rows[i].values);
	free(rows);
}
