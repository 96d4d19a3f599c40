/* SPDX-License-Identifier: BSD-2-Clause */
#include "late_ids.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#define MAX_KNOWN 65536

/* Between the native id and the number: in no other label. */
#define MARK "\x1f#"

struct late_id {
	uint64_t number;
	int64_t object_id;
	UT_hash_handle hh;
};

struct late_ids {
	uint64_t last_number;
	struct late_id *known; /* in the order in which they came */
};

int late_ids__new(struct late_ids **ret_ids)
{
	struct late_ids *ids = calloc(1, sizeof(*ids));

	if (!ids)
		return -ENOMEM;
	*ret_ids = ids;
	return 0;
}

static void drop(struct late_ids *ids, struct late_id *id)
{
	HASH_DEL(ids->known, id);
	free(id);
}

void late_ids__free(struct late_ids *ids)
{
	struct late_id *id, *next;

	if (!ids)
		return;
	HASH_ITER (hh, ids->known, id, next)
		drop(ids, id);
	free(ids);
}

uint64_t late_ids__number(struct late_ids *ids)
{
	return ++ids->last_number;
}

void late_ids__set(struct late_ids *ids, uint64_t number, int64_t object_id)
{
	struct late_id *id = calloc(1, sizeof(*id));

	if (!id)
		return;
	if (HASH_COUNT(ids->known) >= MAX_KNOWN)
		drop(ids, ids->known);
	id->number = number;
	id->object_id = object_id;
	HASH_ADD(hh, ids->known, number, sizeof(id->number), id);
}

void late_ids__label(char *text, size_t size, uint32_t tid, uint64_t number)
{
	snprintf(text, size, "%" PRIu32 MARK "%" PRIu64, tid, number);
}

const char *late_ids__resolve(void *context, const char *key, const char *text, char *into,
			      size_t size)
{
	const struct late_ids *ids = context;
	const char *mark = strstr(text, MARK);
	const struct late_id *id = NULL;
	uint64_t number;

	/* Texts of the program's own may look like anything. */
	if (!mark || (strcmp(key, "thread id") && strcmp(key, "gc thread")))
		return text;
	number = strtoull(mark + strlen(MARK), NULL, 10);
	HASH_FIND(hh, ids->known, &number, sizeof(number), id);
	snprintf(into, size, "%.*s (%" PRId64 ")", (int)(mark - text), text,
		 id ? id->object_id : -1);
	return into;
}
