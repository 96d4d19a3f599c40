/* SPDX-License-Identifier: BSD-2-Clause */
#include "stack_table.h"
#include "profile_group.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gem_name.h"
#include "profile_import.h"
#include "profile_labels.h"

/* From one profile to the one that is made. */
struct group {
	const struct profile *from;
	struct profile *to;
	struct profile_import *import;
	uint32_t *frames; /* by frame id of from: that of to, PROFILE_NONE: not known or left out */
	uint32_t *stacks; /* the same for stacks */
	uint32_t *scratch;
	size_t room; /* frames that scratch holds */
	bool failed;
};

static int group__init(struct group *group, const struct profile *from)
{
	size_t frames = profile__frame_count(from), stacks = profile__stack_count(from);
	int error;

	*group = (struct group){ .from = from };
	error = profile_import__begin(from, &group->to, &group->import);
	if (error)
		return error;
	/* One more: the root that is put before it. */
	group->room = (size_t)profile__stacks(from)->depth + 1;
	group->frames = malloc((frames + 1) * sizeof(*group->frames));
	group->stacks = malloc((stacks + 1) * sizeof(*group->stacks));
	group->scratch = malloc(group->room * sizeof(*group->scratch));
	if (!group->frames || !group->stacks || !group->scratch)
		return -ENOMEM;
	memset(group->frames, 0xff, frames * sizeof(*group->frames));
	memset(group->stacks, 0xff, stacks * sizeof(*group->stacks));
	return 0;
}

/* What init has begun is ended in any case. */
static int group__end(struct group *group, int error, struct profile **ret_profile)
{
	if (!error && (group->failed || profile__failed(group->to)))
		error = -ENOMEM;
	if (error)
		profile__free(group->to);
	else
		*ret_profile = group->to;
	profile_import__free(group->import);
	free(group->frames);
	free(group->stacks);
	free(group->scratch);
	return error;
}

static uint32_t named_frame(struct profile *to, const char *name, size_t length)
{
	struct profile_function function = {
		.name = profile__string(to, name, length),
		.system_name = profile__cstring(to, ""),
		.file = profile__cstring(to, ""),
	};

	return profile__frame(to, profile__function(to, &function), 0);
}

/* ---- labels ---- */

static uint32_t value_frame(struct group *group, uint32_t label_set, uint32_t key)
{
	struct profile_label_set set = profile__label_set_at(group->from, label_set);
	char number[PROFILE_LABELS_NUMBER];
	const char *value =
		profile_labels__value(group->from, profile_labels__of(set, key), number);

	return named_frame(group->to, value, strlen(value));
}

static int add_below(struct group *group, const struct profile_row *row, uint32_t root,
		     enum profile_group_stack how)
{
	struct profile_stack stack = profile__stack_at(group->from, row->stack);
	size_t count = 0;

	if (how == PROFILE_GROUP_ROOT)
		for (; count < stack.count; count++)
			group->scratch[count] =
				profile_import__frame(group->import, stack.frames[count]);
	group->scratch[count++] = root;
	return profile__add(group->to, profile__stack(group->to, group->scratch, count),
			    profile_import__label_set(group->import, row->label_set), row->values);
}

int profile_group__by_label(const struct profile *from, uint32_t key,
			    enum profile_group_stack stack, struct profile **ret_profile)
{
	size_t sets = profile__label_set_count(from);
	uint32_t *values = malloc((sets + 1) * sizeof(*values)); /* frames, by label set */
	struct group group = { 0 };
	int error = values ? group__init(&group, from) : -ENOMEM;

	if (!values)
		return error;
	memset(values, 0xff, sets * sizeof(*values));
	for (size_t i = 0; !error && i < profile__row_count(from); i++) {
		const struct profile_row *row = profile__row(from, i);
		uint32_t *value = &values[row->label_set];

		if (*value == PROFILE_NONE)
			*value = value_frame(&group, row->label_set, key);
		error = add_below(&group, row, *value, stack);
	}
	free(values);
	return group__end(&group, error, ret_profile);
}

/* ---- frames ---- */

/*
 * Rows with every frame taken to the one that change() gives for it; PROFILE_NONE leaves it out.
 * With is_merged equal neighbours are one, and a stack of which nothing is left gets `empty`.
 */
struct change {
	uint32_t (*change)(struct group *group, uint32_t frame);
	bool is_merged;
	const char *empty;
};

static uint32_t changed_stack(struct group *group, const struct change *change, uint32_t id)
{
	struct profile_stack stack = profile__stack_at(group->from, id);
	size_t count = 0;

	if (group->stacks[id] != PROFILE_NONE)
		return group->stacks[id];
	for (uint32_t i = 0; i < stack.count; i++) {
		uint32_t *frame = &group->frames[stack.frames[i]];

		if (*frame == PROFILE_NONE)
			*frame = change->change(group, stack.frames[i]);
		if (*frame == PROFILE_NONE)
			continue;
		if (change->is_merged && count && group->scratch[count - 1] == *frame)
			continue;
		group->scratch[count++] = *frame;
	}
	if (!count && stack.count && change->empty)
		group->scratch[count++] =
			named_frame(group->to, change->empty, strlen(change->empty));
	return group->stacks[id] = profile__stack(group->to, group->scratch, count);
}

static int change_rows(const struct profile *from, const struct change *change,
		       struct profile **ret_profile)
{
	struct group group;
	int error = group__init(&group, from);

	for (size_t i = 0; !error && i < profile__row_count(from); i++) {
		const struct profile_row *row = profile__row(from, i);

		error = profile__add(group.to, changed_stack(&group, change, row->stack),
				     profile_import__label_set(group.import, row->label_set),
				     row->values);
	}
	return group__end(&group, error, ret_profile);
}

static uint32_t gem_frame(struct group *group, uint32_t frame)
{
	const struct profile_function *function =
		profile__function_at(group->from, profile__frame_at(group->from, frame)->function);
	const char *file = profile__text(group->from, function->file), *name;
	size_t length;

	/* A native frame has a symbol of its own; other profilers repeat the name there. */
	if (!strcmp(file, "<cfunc>") || (profile__text_length(group->from, function->system_name) &&
					 function->system_name != function->name))
		return PROFILE_NONE;
	if (!strcmp(file, "<rbprof>"))
		return named_frame(group->to, profile__text(group->from, function->name),
				   profile__text_length(group->from, function->name));
	length = gem_name__of(file, profile__text_length(group->from, function->file), &name);
	return named_frame(group->to, name, length);
}

int profile_group__by_gem(const struct profile *from, struct profile **ret_profile)
{
	/* C functions that nothing calls: a native thread's. */
	static const struct change change = { gem_frame, true, "(native)" };

	return change_rows(from, &change, ret_profile);
}

static uint32_t line_frame(struct group *group, uint32_t frame, bool has_place_in_name)
{
	const struct profile_frame *it = profile__frame_at(group->from, frame);
	struct profile_function function = *profile__function_at(group->from, it->function);
	const char *file = profile__text(group->from, function.file);
	char *name = NULL;
	int length = 0;

	if (has_place_in_name && it->line > 0) {
		length = asprintf(&name, "%s (%s:%" PRId64 ")",
				  profile__text(group->from, function.name), file, it->line);
		if (length < 0) {
			group->failed = true;
			return PROFILE_NONE;
		}
		function.name = profile__string(group->to, name, (size_t)length);
		free(name);
	} else {
		function.name = profile_import__string(group->import, function.name);
	}
	function.system_name = profile_import__string(group->import, function.system_name);
	function.file = profile_import__string(group->import, function.file);
	function.start_line = it->line;
	return profile__frame(group->to, profile__function(group->to, &function), it->line);
}

static uint32_t line_frame_with_name(struct group *group, uint32_t frame)
{
	return line_frame(group, frame, true);
}

static uint32_t line_frame_without_name(struct group *group, uint32_t frame)
{
	return line_frame(group, frame, false);
}

int profile_group__by_line(const struct profile *from, bool has_place_in_name,
			   struct profile **ret_profile)
{
	const struct change change = { has_place_in_name ? line_frame_with_name
							 : line_frame_without_name,
				       false, NULL };

	return change_rows(from, &change, ret_profile);
}

static uint32_t name_frame(struct group *group, uint32_t frame)
{
	struct profile_function function =
		*profile__function_at(group->from, profile__frame_at(group->from, frame)->function);

	function.name = profile_import__string(group->import, function.name);
	function.file = profile_import__string(group->import, function.file);
	function.system_name = profile__cstring(group->to, "");
	function.start_line = 0;
	return profile__frame(group->to, profile__function(group->to, &function), 0);
}

int profile_group__by_name(const struct profile *from, struct profile **ret_profile)
{
	static const struct change change = { name_frame, false, NULL };

	return change_rows(from, &change, ret_profile);
}
