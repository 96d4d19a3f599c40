/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A profile in memory: interned strings, functions, frames, stacks and label sets, and one row
 * of values for each pair of stack and label set. Every writer (user/out/) consumes it, every
 * reader produces it; there is no other form in which profiles are handed around.
 *
 * Ids are dense, start at 0 and stay valid for the profile's life. Equal things have equal ids.
 */
#ifndef RBPROF_PROFILE_H
#define RBPROF_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROFILE_MAX_TYPES 8
#define PROFILE_NONE	  UINT32_MAX

struct profile;
struct stack_table;

struct profile_type {
	const char *type; /* "cpu-time" */
	const char *unit; /* "nanoseconds" */
};

struct profile_function {
	uint32_t name; /* string ids */
	uint32_t system_name;
	uint32_t file;
	int64_t start_line; /* 0: unknown */
};

struct profile_frame {
	uint32_t function;
	int64_t line; /* 0: unknown */
};

struct profile_label {
	uint32_t key;  /* string id */
	uint32_t text; /* string id, or PROFILE_NONE for a number */
	int64_t number;
	uint32_t unit; /* string id of a number's unit, or PROFILE_NONE */
};

struct profile_stack {
	const uint32_t *frames; /* frame ids, leaf first */
	uint32_t count;
};

struct profile_label_set {
	const struct profile_label *labels; /* sorted by key's text, each key once */
	uint32_t count;
};

struct profile_row {
	uint32_t stack;
	uint32_t label_set;
	int64_t values[PROFILE_MAX_TYPES];
};

/* The executable that the profile is about; strings owned by the profile. */
struct profile_mapping {
	uint64_t start, limit, offset;
	uint32_t file; /* string ids */
	uint32_t build_id;
};

/* What a profile says about itself. Plain values: set them directly. */
struct profile_info {
	int64_t time_ns; /* start, since the Unix epoch */
	int64_t duration_ns;
	int64_t period;			 /* of period_type */
	uint32_t default_type;		 /* index of a type */
	struct profile_type period_type; /* strings must outlive the profile or be interned */
};

/*
 * A profile without rows. The type strings are copied. 0, -ENOMEM, -EINVAL (no type, or more
 * than PROFILE_MAX_TYPES). The caller frees it.
 */
int profile__new(const struct profile_type *types, size_t count, struct profile **ret_profile);
void profile__free(struct profile *profile);

/*
 * Interning: the id of the thing, made if it is new. PROFILE_NONE if memory ran out (the
 * profile then stays as it was and profile__failed() is true).
 * Strings must be valid UTF-8: see utf8__clean() in user/util/utf8.h; length is in bytes. Id 0 is
 * the empty string. The text of a string stays where it is for the profile's life.
 */
uint32_t profile__string(struct profile *profile, const char *text, size_t length);
uint32_t profile__cstring(struct profile *profile, const char *text);
uint32_t profile__function(struct profile *profile, const struct profile_function *function);
uint32_t profile__frame(struct profile *profile, uint32_t function, int64_t line);
/* Leaf first; not those that profile__stack_at() gave of the same profile. */
uint32_t profile__stack(struct profile *profile, const uint32_t *frames, size_t count);
/* Sorts a copy by key; a key that comes twice keeps the last. */
uint32_t profile__label_set(struct profile *profile, const struct profile_label *labels,
			    size_t count);

/*
 * Adds values (one a type) to the row of stack and label set. 0, -ENOMEM, -EINVAL (no such ids),
 * or -EOVERFLOW: the values of a type, their signs taken off, would no longer sum up to an
 * int64_t (so any sum of values can be formed without a check). On failure nothing is added.
 */
int profile__add(struct profile *profile, uint32_t stack, uint32_t label_set,
		 const int64_t *values);

/*
 * Moves all rows out: the profile has none afterwards, ids stay valid. 0, and *ret_rows (NULL if
 * there are none) is freed by the caller with free(); or -ENOMEM, and nothing has changed.
 */
int profile__take_rows(struct profile *profile, struct profile_row **ret_rows, size_t *ret_count);

/* Heap that all but the rows takes up, roughly. */
size_t profile__bytes(const struct profile *profile);

/* True once an allocation failed: sums may be short, so the profile must not be written. */
bool profile__failed(const struct profile *profile);

/* A line of free text (any bytes; kept as UTF-8, 65,535 bytes at most). 0 or -ENOMEM. */
int profile__comment(struct profile *profile, const char *text);

/* Reading. Pointers stay valid until the profile changes. */
struct profile_info *profile__info(struct profile *profile);
size_t profile__type_count(const struct profile *profile);
const struct profile_type *profile__type(const struct profile *profile, size_t index);
/* Index of the type with this name ("cpu-time"), or -1. */
int profile__type_index(const struct profile *profile, const char *type);
size_t profile__string_count(const struct profile *profile);
const char *profile__text(const struct profile *profile, uint32_t string);
size_t profile__text_length(const struct profile *profile, uint32_t string);
size_t profile__function_count(const struct profile *profile);
const struct profile_function *profile__function_at(const struct profile *profile, uint32_t id);
size_t profile__frame_count(const struct profile *profile);
const struct profile_frame *profile__frame_at(const struct profile *profile, uint32_t id);
size_t profile__stack_count(const struct profile *profile);
/* Until the next call: for all stacks at once see profile__stacks(). */
struct profile_stack profile__stack_at(const struct profile *profile, uint32_t id);
/* Them as one tree: user/agg/stack_table.h. */
const struct stack_table *profile__stacks(const struct profile *profile);
size_t profile__label_set_count(const struct profile *profile);
struct profile_label_set profile__label_set_at(const struct profile *profile, uint32_t id);
size_t profile__row_count(const struct profile *profile);
const struct profile_row *profile__row(const struct profile *profile, size_t index);
size_t profile__comment_count(const struct profile *profile);
const char *profile__comment_at(const struct profile *profile, size_t index);
/* Mapping 1 of the pprof; file PROFILE_NONE while not set. */
struct profile_mapping *profile__mapping(struct profile *profile);

#endif
