/* SPDX-License-Identifier: BSD-2-Clause */
#include "match.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

/* How much of a path counts. */
enum precision {
	WHOLE_PATH = 0,
	END_OF_PATH,
	NAME_ALONE,
	PRECISIONS,
};

#define END_COMPONENTS 2

struct candidate {
	char *key;
	uint32_t ids[2]; /* of base and head */
	size_t counts[2];
	UT_hash_handle hh;
};

struct matcher {
	const struct profile *sides[2];
	uint32_t *moved;
	bool *is_taken; /* by head's ids */
	struct candidate *candidates;
};

static const char *end_of(const char *path)
{
	const char *at = path + strlen(path);

	for (int left = END_COMPONENTS; at > path; at--)
		if (at[-1] == '/' && !--left)
			break;
	return at;
}

/* Name and path with a byte between that no UTF-8 has. NULL: out of memory. */
static char *key_of(const struct profile *profile, uint32_t id, enum precision precision)
{
	const struct profile_function *function = profile__function_at(profile, id);
	const char *file = profile__text(profile, function->file);
	size_t name = profile__text_length(profile, function->name), path;
	char *key;

	if (precision == END_OF_PATH)
		file = end_of(file);
	else if (precision == NAME_ALONE)
		file = "";
	path = strlen(file);
	key = malloc(name + path + 2);
	if (!key)
		return NULL;
	memcpy(key, profile__text(profile, function->name), name);
	/* Names with a NUL in them are told apart up to it only. */
	for (size_t i = 0; i < name; i++)
		if (!key[i])
			key[i] = '\xfe';
	key[name] = '\xff';
	memcpy(key + name + 1, file, path + 1);
	return key;
}

static int add(struct matcher *matcher, int side, uint32_t id, enum precision precision)
{
	char *key = key_of(matcher->sides[side], id, precision);
	struct candidate *candidate;

	if (!key)
		return -ENOMEM;
	HASH_FIND_STR(matcher->candidates, key, candidate);
	if (candidate) {
		free(key);
	} else {
		candidate = calloc(1, sizeof(*candidate));
		if (!candidate) {
			free(key);
			return -ENOMEM;
		}
		candidate->key = key;
		HASH_ADD_KEYPTR(hh, matcher->candidates, key, strlen(key), candidate);
	}
	candidate->ids[side] = id;
	candidate->counts[side]++;
	return 0;
}

static void take(struct matcher *matcher)
{
	struct candidate *candidate, *next;

	HASH_ITER (hh, matcher->candidates, candidate, next) {
		if (candidate->counts[0] == 1 && candidate->counts[1] == 1) {
			matcher->moved[candidate->ids[0]] = candidate->ids[1];
			matcher->is_taken[candidate->ids[1]] = true;
		}
		HASH_DEL(matcher->candidates, candidate);
		free(candidate->key);
		free(candidate);
	}
}

static int match_by(struct matcher *matcher, enum precision precision)
{
	int error = 0;

	for (uint32_t i = 0; !error && i < profile__function_count(matcher->sides[0]); i++)
		if (matcher->moved[i] == PROFILE_NONE)
			error = add(matcher, 0, i, precision);
	for (uint32_t i = 0; !error && i < profile__function_count(matcher->sides[1]); i++)
		if (!matcher->is_taken[i])
			error = add(matcher, 1, i, precision);
	take(matcher);
	return error;
}

int gate_match(const struct profile *base, const struct profile *head, uint32_t **ret_moved)
{
	struct matcher matcher = { .sides = { base, head } };
	size_t count = profile__function_count(base);
	int error = 0;

	matcher.moved = malloc((count + 1) * sizeof(*matcher.moved));
	matcher.is_taken = calloc(profile__function_count(head) + 1, sizeof(*matcher.is_taken));
	if (!matcher.moved || !matcher.is_taken)
		error = -ENOMEM;
	for (size_t i = 0; !error && i < count; i++)
		matcher.moved[i] = PROFILE_NONE;
	for (int i = 0; !error && i < PRECISIONS; i++)
		error = match_by(&matcher, i);
	free(matcher.is_taken);
	if (error)
		free(matcher.moved);
	else
		*ret_moved = matcher.moved;
	return error;
}
