/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile_import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The ids in `to`, by those in `from`; PROFILE_NONE: not brought over yet. */
struct ids {
	uint32_t *known;
	size_t count;
};

struct profile_import {
	const struct profile *from;
	struct profile *to;
	struct ids strings, functions, frames, stacks, label_sets;
	/* Scratch of one stack or label set. */
	uint32_t *stack;
	size_t stack_room;
	struct profile_label *labels;
	size_t label_room;
	profile_import_rename *rename;
	void *context;
};

static int ids__init(struct ids *ids, size_t count)
{
	ids->known = malloc((count ? count : 1) * sizeof(*ids->known));
	if (!ids->known)
		return -ENOMEM;
	memset(ids->known, 0xff, count * sizeof(*ids->known));
	ids->count = count;
	return 0;
}

int profile_import__new(const struct profile *from, struct profile *to,
			struct profile_import **ret_import)
{
	struct profile_import *import = calloc(1, sizeof(*import));

	if (!import)
		return -ENOMEM;
	import->from = from;
	import->to = to;
	if (ids__init(&import->strings, profile__string_count(from)) ||
	    ids__init(&import->functions, profile__function_count(from)) ||
	    ids__init(&import->frames, profile__frame_count(from)) ||
	    ids__init(&import->stacks, profile__stack_count(from)) ||
	    ids__init(&import->label_sets, profile__label_set_count(from))) {
		profile_import__free(import);
		return -ENOMEM;
	}
	*ret_import = import;
	return 0;
}

void profile_import__free(struct profile_import *import)
{
	if (!import)
		return;
	free(import->strings.known);
	free(import->functions.known);
	free(import->frames.known);
	free(import->stacks.known);
	free(import->label_sets.known);
	free(import->stack);
	free(import->labels);
	free(import);
}

/* The id in `to`, PROFILE_NONE where `from` has no such thing; NULL: not brought over yet. */
static const uint32_t *find(const struct ids *ids, uint32_t id)
{
	static const uint32_t none = PROFILE_NONE;

	if (id >= ids->count)
		return &none;
	return ids->known[id] == PROFILE_NONE ? NULL : &ids->known[id];
}

uint32_t profile_import__string(struct profile_import *import, uint32_t id)
{
	const uint32_t *known = find(&import->strings, id);

	if (known)
		return *known;
	return import->strings.known[id] =
		       profile__string(import->to, profile__text(import->from, id),
				       profile__text_length(import->from, id));
}

uint32_t profile_import__function(struct profile_import *import, uint32_t id)
{
	const uint32_t *known = find(&import->functions, id);
	struct profile_function function;

	if (known)
		return *known;
	function = *profile__function_at(import->from, id);
	function.name = profile_import__string(import, function.name);
	function.system_name = profile_import__string(import, function.system_name);
	function.file = profile_import__string(import, function.file);
	return import->functions.known[id] = profile__function(import->to, &function);
}

uint32_t profile_import__frame(struct profile_import *import, uint32_t id)
{
	const uint32_t *known = find(&import->frames, id);
	const struct profile_frame *frame;

	if (known)
		return *known;
	frame = profile__frame_at(import->from, id);
	return import->frames.known[id] = profile__frame(
		       import->to, profile_import__function(import, frame->function), frame->line);
}

uint32_t profile_import__stack(struct profile_import *import, uint32_t id)
{
	const uint32_t *known = find(&import->stacks, id);
	struct profile_stack stack;
	size_t i;

	if (known)
		return *known;
	stack = profile__stack_at(import->from, id);
	if (stack.count > import->stack_room) {
		uint32_t *frames = reallocarray(import->stack, stack.count, sizeof(*frames));

		/* An id that is not there: the profile knows that something failed. */
		if (!frames)
			return profile__stack(import->to, (uint32_t[]){ PROFILE_NONE }, 1);
		import->stack = frames;
		import->stack_room = stack.count;
	}
	for (i = 0; i < stack.count; i++)
		import->stack[i] = profile_import__frame(import, stack.frames[i]);
	return import->stacks.known[id] = profile__stack(import->to, import->stack, stack.count);
}

void profile_import__rename(struct profile_import *import, profile_import_rename *rename,
			    void *context)
{
	import->rename = rename;
	import->context = context;
}

static uint32_t label_text(struct profile_import *import, const struct profile_label *label)
{
	const char *text, *renamed;
	char into[256];

	if (!import->rename || label->text == PROFILE_NONE)
		return profile_import__string(import, label->text);
	text = profile__text(import->from, label->text);
	renamed = import->rename(import->context, profile__text(import->from, label->key), text,
				 into, sizeof(into));
	return renamed == text ? profile_import__string(import, label->text)
			       : profile__cstring(import->to, renamed);
}

uint32_t profile_import__label_set(struct profile_import *import, uint32_t id)
{
	const uint32_t *known = find(&import->label_sets, id);
	struct profile_label_set set;
	size_t i;

	if (known)
		return *known;
	set = profile__label_set_at(import->from, id);
	if (set.count > import->label_room) {
		struct profile_label *labels =
			reallocarray(import->labels, set.count, sizeof(*labels));

		if (!labels)
			return profile__label_set(
				import->to, &(struct profile_label){ .key = PROFILE_NONE }, 1);
		import->labels = labels;
		import->label_room = set.count;
	}
	for (i = 0; i < set.count; i++) {
		import->labels[i] = set.labels[i];
		import->labels[i].key = profile_import__string(import, set.labels[i].key);
		import->labels[i].text = label_text(import, &set.labels[i]);
		import->labels[i].unit = profile_import__string(import, set.labels[i].unit);
	}
	return import->label_sets.known[id] =
		       profile__label_set(import->to, import->labels, set.count);
}

int profile_import__row(struct profile_import *import, const struct profile_row *row)
{
	return profile__add(import->to, profile_import__stack(import, row->stack),
			    profile_import__label_set(import, row->label_set), row->values);
}

int profile_import__about(const struct profile *from, struct profile *to)
{
	/* Reading asks for the same of both, but only one is changed. */
	const struct profile_info *info = profile__info((struct profile *)from);
	const struct profile_mapping *mapping = profile__mapping((struct profile *)from);
	struct profile_import *import;
	int error = profile_import__new(from, to, &import);

	if (error)
		return error;
	*profile__info(to) = *info;
	if (info->period_type.type && info->period_type.unit) {
		profile__info(to)->period_type.type =
			profile__text(to, profile__cstring(to, info->period_type.type));
		profile__info(to)->period_type.unit =
			profile__text(to, profile__cstring(to, info->period_type.unit));
	}
	*profile__mapping(to) = *mapping;
	profile__mapping(to)->file = profile_import__string(import, mapping->file);
	profile__mapping(to)->build_id = profile_import__string(import, mapping->build_id);
	profile_import__free(import);
	for (size_t i = 0; i < profile__comment_count(from); i++)
		profile__comment(to, profile__comment_at(from, i));
	return profile__failed(to) ? -ENOMEM : 0;
}

int profile_import__begin(const struct profile *from, struct profile **ret_to,
			  struct profile_import **ret_import)
{
	struct profile_type types[PROFILE_MAX_TYPES];
	size_t count = profile__type_count(from);
	struct profile *to;
	int error;

	for (size_t i = 0; i < count; i++)
		types[i] = *profile__type(from, i);
	error = profile__new(types, count, &to);
	if (error)
		return error;
	error = profile_import__about(from, to);
	if (!error)
		error = profile_import__new(from, to, ret_import);
	if (error)
		profile__free(to);
	else
		*ret_to = to;
	return error;
}
