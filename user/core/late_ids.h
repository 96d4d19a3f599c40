/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Object ids that threads get after rows of theirs were put aside by the flight recorder: the rows'
 * `thread id` has a number in place of the id, for which the id stands when they are written.
 */
#ifndef RBPROF_LATE_IDS_H
#define RBPROF_LATE_IDS_H

#include <stddef.h>
#include <stdint.h>

struct late_ids;

/* 0 or -ENOMEM; the caller frees it. */
int late_ids__new(struct late_ids **ret_ids);
void late_ids__free(struct late_ids *ids);

/* A number that no other thread has. */
uint64_t late_ids__number(struct late_ids *ids);
/* The thread with that number has an id now. The oldest of very many are forgotten. */
void late_ids__set(struct late_ids *ids, uint64_t number, int64_t object_id);

/* The label of a thread without an id, with its number. */
void late_ids__label(char *text, size_t size, uint32_t tid, uint64_t number);
/* A profile_import_rename: the id, or -1, in place of a number. */
const char *late_ids__resolve(void *ids, const char *key, const char *text, char *into,
			      size_t size);

#endif
