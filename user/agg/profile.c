/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "../util/utf8.h"
#include "intern.h"
#include "stack_table.h"

#define MAX_COMMENT_BYTES 65535

struct profile {
	struct profile_type types[PROFILE_MAX_TYPES];
	size_t type_count;
	struct profile_info info;
	struct profile_mapping mapping;
	struct intern_table strings;
	struct intern_table functions;
	struct intern_table frames;
	struct stack_table stacks;
	struct intern_table label_sets;
	struct intern_table rows;	       /* key: stack and label set */
	int64_t magnitudes[PROFILE_MAX_TYPES]; /* sum of what was added, signs taken off */
	char **comments;
	size_t comment_count;
	bool failed;
};

static const void *table__data(const struct intern_table *table, size_t id)
{
	return id < table->count ? table->items[id]->data : NULL;
}

static uint32_t intern(struct profile *profile, struct intern_table *table, const void *key,
		       size_t key_size, size_t data_size)
{
	uint32_t id = intern__add(table, key, key_size, data_size);

	if (id != INTERN_NONE)
		return id;
	profile->failed = true;
	return PROFILE_NONE;
}

/* An id that is not there comes from an interning that failed. */
static uint32_t refuse(struct profile *profile)
{
	profile->failed = true;
	return PROFILE_NONE;
}

int profile__new(const struct profile_type *types, size_t count, struct profile **ret_profile)
{
	struct profile *profile;

	if (!count || count > PROFILE_MAX_TYPES)
		return -EINVAL;
	profile = calloc(1, sizeof(*profile));
	if (!profile)
		return -ENOMEM;
	profile->mapping.file = PROFILE_NONE;
	profile->mapping.build_id = PROFILE_NONE;

	profile__cstring(profile, "");
	for (size_t i = 0; i < count; i++) {
		uint32_t type = profile__cstring(profile, types[i].type);
		uint32_t unit = profile__cstring(profile, types[i].unit);

		profile->types[i].type = profile__text(profile, type);
		profile->types[i].unit = profile__text(profile, unit);
	}
	profile->type_count = count;
	if (profile->failed) {
		profile__free(profile);
		return -ENOMEM;
	}
	*ret_profile = profile;
	return 0;
}

void profile__free(struct profile *profile)
{
	if (!profile)
		return;
	intern__free(&profile->strings);
	intern__free(&profile->functions);
	intern__free(&profile->frames);
	stack_table__free(&profile->stacks);
	intern__free(&profile->label_sets);
	intern__free(&profile->rows);
	for (size_t i = 0; i < profile->comment_count; i++)
		free(profile->comments[i]);
	free(profile->comments);
	free(profile);
}

uint32_t profile__string(struct profile *profile, const char *text, size_t length)
{
	if (length >= INT_MAX)
		return refuse(profile);
	return intern(profile, &profile->strings, text, length, length + 1);
}

uint32_t profile__cstring(struct profile *profile, const char *text)
{
	return profile__string(profile, text, strlen(text));
}

uint32_t profile__function(struct profile *profile, const struct profile_function *function)
{
	struct profile_function key;
	uint32_t strings = profile->strings.count;

	if (function->name >= strings || function->system_name >= strings ||
	    function->file >= strings)
		return refuse(profile);
	/* Member by member: the padding is part of the key. */
	memset(&key, 0, sizeof(key));
	key.name = function->name;
	key.system_name = function->system_name;
	key.file = function->file;
	key.start_line = function->start_line;
	return intern(profile, &profile->functions, &key, sizeof(key), sizeof(key));
}

uint32_t profile__frame(struct profile *profile, uint32_t function, int64_t line)
{
	struct profile_frame key;

	if (function >= profile->functions.count)
		return refuse(profile);
	memset(&key, 0, sizeof(key));
	key.function = function;
	key.line = line;
	return intern(profile, &profile->frames, &key, sizeof(key), sizeof(key));
}

uint32_t profile__stack(struct profile *profile, const uint32_t *frames, size_t count)
{
	bool is_known = true;
	uint32_t id;

	for (size_t i = 0; i < count; i++)
		is_known &= frames[i] < profile->frames.count;
	if (!is_known)
		return refuse(profile);
	id = stack_table__add(&profile->stacks, frames, count);
	return id == PROFILE_NONE ? refuse(profile) : id;
}

static int compare_labels(const void *left, const void *right, void *context)
{
	const struct profile *profile = context;
	const struct profile_label *a = left, *b = right;

	if (a->key == b->key)
		return 0;
	return strcmp(profile__text(profile, a->key), profile__text(profile, b->key));
}

/* One form for each meaning, padding included: equal labels are equal bytes. */
static bool normalize_label(const struct profile *profile, const struct profile_label *label,
			    struct profile_label *ret_label)
{
	uint32_t strings = profile->strings.count;

	if (label->key >= strings)
		return false;
	memset(ret_label, 0, sizeof(*ret_label));
	ret_label->key = label->key;
	ret_label->text = label->text;
	ret_label->unit = PROFILE_NONE;
	if (label->text != PROFILE_NONE)
		return label->text < strings;
	ret_label->number = label->number;
	if (label->unit == PROFILE_NONE)
		return true;
	if (label->unit >= strings)
		return false;
	if (profile__text_length(profile, label->unit))
		ret_label->unit = label->unit;
	return true;
}

/* Inserts into sorted[0..count); a key that is there gets the new value. Returns the new count. */
static size_t insert_label(const struct profile *profile, struct profile_label *sorted,
			   size_t count, const struct profile_label *label)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_labels(&sorted[middle], label, (void *)profile) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < count && sorted[low].key == label->key) {
		sorted[low] = *label;
		return count;
	}
	memmove(&sorted[low + 1], &sorted[low], (count - low) * sizeof(*sorted));
	sorted[low] = *label;
	return count + 1;
}

uint32_t profile__label_set(struct profile *profile, const struct profile_label *labels,
			    size_t count)
{
	struct profile_label few[16] = { { 0 } }, *sorted = few;
	uint32_t id = PROFILE_NONE;
	size_t distinct = 0;

	if (count > INT_MAX / sizeof(*labels))
		return refuse(profile);
	if (count > sizeof(few) / sizeof(*few)) {
		sorted = malloc(count * sizeof(*sorted));
		if (!sorted)
			return refuse(profile);
	}
	for (size_t i = 0; i < count; i++) {
		struct profile_label label;

		if (!normalize_label(profile, &labels[i], &label)) {
			refuse(profile);
			goto out;
		}
		distinct = insert_label(profile, sorted, distinct, &label);
	}
	id = intern(profile, &profile->label_sets, sorted, distinct * sizeof(*sorted),
		    distinct * sizeof(*sorted));
out:
	if (sorted != few)
		free(sorted);
	return id;
}

/* 0 and what the magnitude becomes, or -EOVERFLOW. */
static int add_magnitude(int64_t magnitude, int64_t value, int64_t *ret_magnitude)
{
	int64_t sum;

	if (value == INT64_MIN ||
	    __builtin_add_overflow(magnitude, value < 0 ? -value : value, &sum))
		return -EOVERFLOW;
	*ret_magnitude = sum;
	return 0;
}

int profile__add(struct profile *profile, uint32_t stack, uint32_t label_set, const int64_t *values)
{
	uint32_t key[2] = { stack, label_set };
	int64_t magnitudes[PROFILE_MAX_TYPES];
	struct profile_row *row;
	uint32_t id;

	if (stack >= profile->stacks.count || label_set >= profile->label_sets.count) {
		refuse(profile);
		return -EINVAL;
	}
	for (size_t i = 0; i < profile->type_count; i++)
		if (add_magnitude(profile->magnitudes[i], values[i], &magnitudes[i]))
			return -EOVERFLOW;

	id = intern__add(&profile->rows, key, sizeof(key), sizeof(*row));
	if (id == INTERN_NONE) {
		refuse(profile);
		return -ENOMEM;
	}
	row = (struct profile_row *)profile->rows.items[id]->data;
	for (size_t i = 0; i < profile->type_count; i++) {
		row->values[i] += values[i];
		profile->magnitudes[i] = magnitudes[i];
	}
	return 0;
}

int profile__take_rows(struct profile *profile, struct profile_row **ret_rows, size_t *ret_count)
{
	uint32_t count = profile->rows.count;
	struct profile_row *rows = NULL;

	if (count) {
		rows = calloc(count, sizeof(*rows));
		if (!rows)
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < count; i++)
		memcpy(&rows[i], profile->rows.items[i]->data, sizeof(*rows));
	intern__free(&profile->rows);
	memset(profile->magnitudes, 0, sizeof(profile->magnitudes));
	*ret_rows = rows;
	*ret_count = count;
	return 0;
}

size_t profile__bytes(const struct profile *profile)
{
	return profile->strings.bytes + profile->functions.bytes + profile->frames.bytes +
	       stack_table__bytes(&profile->stacks) + profile->label_sets.bytes;
}

bool profile__failed(const struct profile *profile)
{
	return profile->failed;
}

int profile__comment(struct profile *profile, const char *text)
{
	size_t count = profile->comment_count;
	size_t length = strnlen(text, MAX_COMMENT_BYTES + 1);
	/* Each byte may become U+FFFD, three bytes. */
	char *copy = malloc(3 * length + 1);
	char **comments;

	if (!copy)
		goto failed;
	utf8__clean(text, length, copy,
		    3 * length < MAX_COMMENT_BYTES ? 3 * length : MAX_COMMENT_BYTES);
	/* Doubled at each power of two. */
	if (!(count & (count - 1))) {
		comments = realloc(profile->comments, (count ? count * 2 : 1) * sizeof(*comments));
		if (!comments)
			goto failed;
		profile->comments = comments;
	}
	profile->comments[profile->comment_count++] = copy;
	return 0;
failed:
	free(copy);
	profile->failed = true;
	return -ENOMEM;
}

struct profile_info *profile__info(struct profile *profile)
{
	return &profile->info;
}

size_t profile__type_count(const struct profile *profile)
{
	return profile->type_count;
}

const struct profile_type *profile__type(const struct profile *profile, size_t index)
{
	return index < profile->type_count ? &profile->types[index] : NULL;
}

int profile__type_index(const struct profile *profile, const char *type)
{
	for (size_t i = 0; i < profile->type_count; i++)
		if (!strcmp(profile->types[i].type, type))
			return (int)i;
	return -1;
}

size_t profile__string_count(const struct profile *profile)
{
	return profile->strings.count;
}

const char *profile__text(const struct profile *profile, uint32_t string)
{
	return table__data(&profile->strings, string);
}

size_t profile__text_length(const struct profile *profile, uint32_t string)
{
	return string < profile->strings.count ? profile->strings.items[string]->size : 0;
}

size_t profile__function_count(const struct profile *profile)
{
	return profile->functions.count;
}

const struct profile_function *profile__function_at(const struct profile *profile, uint32_t id)
{
	return table__data(&profile->functions, id);
}

size_t profile__frame_count(const struct profile *profile)
{
	return profile->frames.count;
}

const struct profile_frame *profile__frame_at(const struct profile *profile, uint32_t id)
{
	return table__data(&profile->frames, id);
}

size_t profile__stack_count(const struct profile *profile)
{
	return profile->stacks.count;
}

struct profile_stack profile__stack_at(const struct profile *profile, uint32_t id)
{
	return stack_table__at(&profile->stacks, id);
}

const struct stack_table *profile__stacks(const struct profile *profile)
{
	return &profile->stacks;
}

size_t profile__label_set_count(const struct profile *profile)
{
	return profile->label_sets.count;
}

struct profile_label_set profile__label_set_at(const struct profile *profile, uint32_t id)
{
	struct profile_label_set set = { .labels = table__data(&profile->label_sets, id) };

	if (set.labels)
		set.count = (uint32_t)(profile->label_sets.items[id]->size / sizeof(*set.labels));
	return set;
}

size_t profile__row_count(const struct profile *profile)
{
	return profile->rows.count;
}

const struct profile_row *profile__row(const struct profile *profile, size_t index)
{
	return table__data(&profile->rows, index);
}

size_t profile__comment_count(const struct profile *profile)
{
	return profile->comment_count;
}

const char *profile__comment_at(const struct profile *profile, size_t index)
{
	return index < profile->comment_count ? profile->comments[index] : NULL;
}

struct profile_mapping *profile__mapping(struct profile *profile)
{
	return &profile->mapping;
}
