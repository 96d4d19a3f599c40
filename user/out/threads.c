/* SPDX-License-Identifier: BSD-2-Clause */
#include "threads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../util/hash.h"

#define HASH_NONFATAL_OOM		  1
#define HASH_FUNCTION(key, length, value) ((value) = hash__bytes(key, length))
#include <uthash.h>

/* Above any native id (PID_MAX_LIMIT is 2^22). */
#define FIRST_MADE_TID (1 << 24)

struct thread_key {
	int64_t pid;
	uint64_t id; /* string id */
};

struct thread_item {
	UT_hash_handle hh;
	struct thread_key key;
	uint32_t index;
};

/* The ids of the keys that are looked for in every label set: no texts are compared. */
struct keys {
	uint32_t pid, id, name, process, end;
};

static const struct profile_label *find_key(struct profile_label_set set, uint32_t key)
{
	for (uint32_t i = 0; i < set.count; i++)
		if (set.labels[i].key == key)
			return set.labels + i;
	return NULL;
}

const struct profile_label *out_label(const struct profile *profile, uint32_t label_set,
				      const char *key)
{
	struct profile_label_set set = profile__label_set_at(profile, label_set);

	for (uint32_t i = 0; i < set.count; i++)
		if (!strcmp(profile__text(profile, set.labels[i].key), key))
			return set.labels + i;
	return NULL;
}

uint32_t out_label_text(const struct profile *profile, uint32_t label_set, const char *key)
{
	const struct profile_label *label = out_label(profile, label_set, key);

	return label ? label->text : PROFILE_NONE;
}

static struct keys find_keys(const struct profile *profile)
{
	struct keys keys = { PROFILE_NONE, PROFILE_NONE, PROFILE_NONE, PROFILE_NONE, PROFILE_NONE };

	for (uint32_t i = 0; i < profile__string_count(profile); i++) {
		const char *text = profile__text(profile, i);

		if (!strcmp(text, "pid"))
			keys.pid = i;
		else if (!strcmp(text, "thread id"))
			keys.id = i;
		else if (!strcmp(text, "thread name"))
			keys.name = i;
		else if (!strcmp(text, "process"))
			keys.process = i;
		else if (!strcmp(text, "end_timestamp_ns"))
			keys.end = i;
	}
	return keys;
}

static uint32_t text_of(struct profile_label_set set, uint32_t key)
{
	const struct profile_label *label = find_key(set, key);

	return label ? label->text : PROFILE_NONE;
}

static struct thread_item *add_thread(struct out_threads *threads, struct thread_item **items,
				      const struct thread_key *key)
{
	struct thread_item *item;

	/* Doubled at each power of two. */
	if (!(threads->count & (threads->count - 1))) {
		size_t capacity = threads->count ? threads->count * 2 : 1;
		struct out_thread *grown =
			realloc(threads->threads, capacity * sizeof(*threads->threads));

		if (!grown)
			return NULL;
		threads->threads = grown;
	}
	item = calloc(1, sizeof(*item));
	if (!item)
		return NULL;
	item->key = *key;
	item->index = (uint32_t)threads->count;
	HASH_ADD(hh, *items, key, sizeof(item->key), item);
	if (!item->hh.tbl) {
		free(item);
		return NULL;
	}
	threads->threads[threads->count++] = (struct out_thread){ .pid = key->pid };
	return item;
}

/* The thread of a label set, made if it is new; NULL: no memory. */
static struct thread_item *find_thread(struct out_threads *threads, struct thread_item **items,
				       const struct profile *profile, const struct keys *keys,
				       uint32_t label_set)
{
	struct profile_label_set set = profile__label_set_at(profile, label_set);
	const struct profile_label *pid = find_key(set, keys->pid);
	struct thread_key key;
	struct thread_item *item;
	struct out_thread *thread;

	memset(&key, 0, sizeof(key));
	key.pid = pid && pid->text == PROFILE_NONE ? pid->number : 0;
	key.id = text_of(set, keys->id);
	HASH_FIND(hh, *items, &key, sizeof(key), item);
	if (item)
		return item;
	item = add_thread(threads, items, &key);
	if (!item)
		return NULL;
	thread = &threads->threads[item->index];
	thread->id = (uint32_t)key.id;
	thread->process = text_of(set, keys->process);
	return item;
}

/* "1234 (8)": 1234; 0: no number. */
static int64_t native_id(const struct profile *profile, uint32_t id)
{
	const char *text = id == PROFILE_NONE ? "" : profile__text(profile, id);
	int64_t number = 0;

	while (*text >= '0' && *text <= '9' && number < FIRST_MADE_TID)
		number = number * 10 + (*text++ - '0');
	return number < FIRST_MADE_TID ? number : 0;
}

static int compare_tids(const void *left, const void *right)
{
	const struct out_thread *a = *(struct out_thread *const *)left;
	const struct out_thread *b = *(struct out_thread *const *)right;

	if (a->pid != b->pid)
		return (a->pid > b->pid) - (a->pid < b->pid);
	if (a->tid != b->tid)
		return (a->tid > b->tid) - (a->tid < b->tid);
	return (a->first > b->first) - (a->first < b->first);
}

/* A native id that the kernel gave twice stays with the first thread that had it. */
static int give_tids(struct out_threads *threads, const struct profile *profile)
{
	struct out_thread **sorted = calloc(threads->count + 1, sizeof(struct out_thread *));
	int64_t made = FIRST_MADE_TID, pid = 0, tid = 0;

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < threads->count; i++) {
		sorted[i] = &threads->threads[i];
		sorted[i]->tid = native_id(profile, sorted[i]->id);
	}
	qsort(sorted, threads->count, sizeof(struct out_thread *), compare_tids);
	for (size_t i = 0; i < threads->count; i++) {
		struct out_thread *thread = sorted[i];
		bool is_taken = i && thread->pid == pid && thread->tid == tid;

		pid = thread->pid;
		tid = thread->tid;
		if (!tid || is_taken)
			thread->tid = made++;
	}
	free(sorted);
	return 0;
}

static int compare_rows(const void *left, const void *right)
{
	const struct out_row *a = left, *b = right;

	if (a->thread != b->thread)
		return (a->thread > b->thread) - (a->thread < b->thread);
	if (a->end_ns != b->end_ns) {
		if (a->end_ns == OUT_NO_TIME || b->end_ns == OUT_NO_TIME)
			return a->end_ns == OUT_NO_TIME ? 1 : -1;
		return (a->end_ns > b->end_ns) - (a->end_ns < b->end_ns);
	}
	return (a->row > b->row) - (a->row < b->row);
}

static int fill_rows(struct out_threads *threads, struct thread_item **items,
		     const struct profile *profile, const struct keys *keys)
{
	size_t count = profile__row_count(profile);

	for (uint32_t i = 0; i < count; i++) {
		const struct profile_row *row = profile__row(profile, i);
		struct profile_label_set set = profile__label_set_at(profile, row->label_set);
		const struct profile_label *end = find_key(set, keys->end);
		struct thread_item *item =
			find_thread(threads, items, profile, keys, row->label_set);

		if (!item)
			return -ENOMEM;
		threads->rows[i] = (struct out_row){ i, item->index, OUT_NO_TIME };
		if (end && end->text == PROFILE_NONE) {
			threads->rows[i].end_ns = end->number;
			threads->has_times = true;
		}
		threads->threads[item->index].count++;
	}
	qsort(threads->rows, count, sizeof(*threads->rows), compare_rows);
	for (size_t i = 1; i < threads->count; i++)
		threads->threads[i].first =
			threads->threads[i - 1].first + threads->threads[i - 1].count;
	return 0;
}

/* The row that tells what a thread is called: its latest one, or the one with the most samples. */
static uint32_t naming_row(const struct out_threads *threads, const struct out_thread *thread,
			   const struct profile *profile)
{
	const struct out_row *rows = &threads->rows[thread->first];
	uint32_t best = rows[0].row;

	for (size_t i = 1; i < thread->count; i++) {
		int64_t most = profile__row(profile, best)->values[0];

		if (threads->has_times ? rows[i].end_ns != OUT_NO_TIME
				       : profile__row(profile, rows[i].row)->values[0] > most)
			best = rows[i].row;
	}
	return best;
}

/* A thread may have had several names. */
static void name_threads(struct out_threads *threads, const struct profile *profile,
			 const struct keys *keys)
{
	for (size_t i = 0; i < threads->count; i++) {
		struct out_thread *thread = &threads->threads[i];
		uint32_t row = naming_row(threads, thread, profile);

		thread->labels = profile__row(profile, row)->label_set;
		thread->name = text_of(profile__label_set_at(profile, thread->labels), keys->name);
	}
}

int out_threads__init(struct out_threads *threads, const struct profile *profile)
{
	struct thread_item *items = NULL, *item, *next;
	struct keys keys = find_keys(profile);
	int error = -ENOMEM;

	memset(threads, 0, sizeof(*threads));
	threads->rows = calloc(profile__row_count(profile) + 1, sizeof(*threads->rows));
	if (threads->rows)
		error = fill_rows(threads, &items, profile, &keys);
	if (!error)
		error = give_tids(threads, profile);
	if (!error)
		name_threads(threads, profile, &keys);
	HASH_ITER (hh, items, item, next) {
		HASH_DEL(items, item);
		free(item);
	}
	if (error)
		out_threads__free(threads);
	return error;
}

void out_threads__free(struct out_threads *threads)
{
	free(threads->threads);
	free(threads->rows);
	memset(threads, 0, sizeof(*threads));
}

bool out_threads__has_times(const struct profile *profile)
{
	uint32_t end = find_keys(profile).end;

	for (size_t i = 0; i < profile__row_count(profile); i++) {
		uint32_t set = profile__row(profile, i)->label_set;

		if (find_key(profile__label_set_at(profile, set), end))
			return true;
	}
	return false;
}
