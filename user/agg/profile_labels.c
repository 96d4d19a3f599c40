/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile_labels.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Keys of spec/samples.md, section 4. Of two with one short name the first is preferred. */
static const struct {
	const char *name, *key;
} short_names[] = {
	{ "thread", "thread name" },
	{ "tid", "thread id" },
	{ "ractor", "ractor id" },
	{ "endpoint", "trace endpoint" },
	{ "span", "span id" },
	{ "span", "span_id" },
	{ "trace", "local root span id" },
	{ "trace", "trace_id" },
	{ "state", "state" },
	{ "holder", "gvl holder" },
	{ "event", "event" },
	{ "process", "process" },
	{ "pid", "pid" },
	{ "ruby", "ruby" },
	{ "service", "service" },
	{ "container", "container" },
	{ "container", "container_id" },
	{ "pod", "pod" },
	{ "namespace", "namespace" },
	{ "class", "allocation class" },
	{ "type", "ruby vm type" },
	{ "overhead", "profiler overhead" },
};

#define SHORT_NAME_COUNT (sizeof(short_names) / sizeof(short_names[0]))

static bool is_name(const char *name, size_t length, const char *text)
{
	return strlen(text) == length && !memcmp(name, text, length);
}

/* As a shell's user writes a key with spaces. */
static bool is_alike(const char *name, size_t length, const char *key)
{
	if (strlen(key) != length)
		return false;
	for (size_t i = 0; i < length; i++) {
		char a = name[i] == '-' || name[i] == '_' ? ' ' : name[i];
		char b = key[i] == '-' || key[i] == '_' ? ' ' : key[i];

		if (a != b)
			return false;
	}
	return true;
}

/* By string id, whether a row has a label with this key. NULL: out of memory. */
static bool *used_keys(const struct profile *profile)
{
	size_t sets = profile__label_set_count(profile);
	bool *keys = calloc(profile__string_count(profile) + 1, sizeof(*keys));
	bool *seen = calloc(sets + 1, sizeof(*seen));

	for (size_t i = 0; keys && seen && i < profile__row_count(profile); i++) {
		uint32_t id = profile__row(profile, i)->label_set;
		struct profile_label_set set;

		if (seen[id])
			continue;
		seen[id] = true;
		set = profile__label_set_at(profile, id);
		for (uint32_t j = 0; j < set.count; j++)
			keys[set.labels[j].key] = true;
	}
	if (!seen) {
		free(keys);
		keys = NULL;
	}
	free(seen);
	return keys;
}

static uint32_t find_key(const struct profile *profile, const bool *keys, const char *name,
			 size_t length, bool (*fits)(const char *, size_t, const char *))
{
	for (uint32_t i = 0; i < profile__string_count(profile); i++)
		if (keys[i] && fits(name, length, profile__text(profile, i)))
			return i;
	return PROFILE_NONE;
}

uint32_t profile_labels__find(const struct profile *profile, const char *name, size_t length)
{
	bool *keys = used_keys(profile);
	uint32_t found;

	if (!keys)
		return PROFILE_NONE;
	found = find_key(profile, keys, name, length, is_name);
	for (size_t i = 0; found == PROFILE_NONE && i < SHORT_NAME_COUNT; i++) {
		const char *key = short_names[i].key;

		if (is_name(name, length, short_names[i].name))
			found = find_key(profile, keys, key, strlen(key), is_name);
	}
	if (found == PROFILE_NONE)
		found = find_key(profile, keys, name, length, is_alike);
	free(keys);
	return found;
}

const char *profile_labels__known(const char *name, size_t length)
{
	for (size_t i = 0; i < SHORT_NAME_COUNT; i++)
		if (is_name(name, length, short_names[i].name))
			return short_names[i].key;
	for (size_t i = 0; i < SHORT_NAME_COUNT; i++)
		if (is_alike(name, length, short_names[i].key))
			return short_names[i].key;
	return NULL;
}

/* What to type for a key: it must lead back to it. */
static const char *name_of(const struct profile *profile, const char *key)
{
	for (size_t i = 0; i < SHORT_NAME_COUNT; i++) {
		const char *name = short_names[i].name;
		const char *text;

		if (strcmp(short_names[i].key, key))
			continue;
		text = profile__text(profile, profile_labels__find(profile, name, strlen(name)));
		if (text && !strcmp(text, key))
			return name;
	}
	return key;
}

static int compare_names(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

int profile_labels__list(const struct profile *profile, char **ret_text)
{
	bool *keys = used_keys(profile);
	const char **names = calloc(profile__string_count(profile) + 1, sizeof(*names));
	char *text = NULL;
	size_t count = 0, length;
	FILE *stream;
	int error = -ENOMEM;

	if (!keys || !names)
		goto out;
	for (uint32_t i = 0; i < profile__string_count(profile); i++)
		if (keys[i])
			names[count++] = name_of(profile, profile__text(profile, i));
	qsort(names, count, sizeof(*names), compare_names);
	stream = open_memstream(&text, &length);
	if (!stream)
		goto out;
	for (size_t i = 0; i < count; i++)
		fprintf(stream, "%s%s", i ? ", " : "", names[i]);
	if (fclose(stream)) {
		free(text);
		goto out;
	}
	*ret_text = text;
	error = 0;
out:
	free(keys);
	free(names);
	return error;
}

const struct profile_label *profile_labels__of(struct profile_label_set set, uint32_t key)
{
	const struct profile_label *labels = set.labels;

	for (uint32_t i = 0; i < set.count; i++)
		if (labels[i].key == key)
			return labels + i;
	return NULL;
}

const char *profile_labels__value(const struct profile *profile, const struct profile_label *label,
				  char number[PROFILE_LABELS_NUMBER])
{
	if (!label)
		return PROFILE_LABELS_NONE;
	if (label->text != PROFILE_NONE)
		return profile__text(profile, label->text);
	snprintf(number, PROFILE_LABELS_NUMBER, "%" PRId64, label->number);
	return number;
}
