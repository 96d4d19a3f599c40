/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of --by LABEL: what each value of a label used, and mostly in which method. */
#include "text_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../agg/profile_group.h"
#include "../agg/profile_labels.h"
#include "../util/hash.h"
#include "escape.h"

#define HASH_NONFATAL_OOM		  1
#define HASH_FUNCTION(key, length, value) ((value) = hash__bytes(key, length))
#include <uthash.h>

#define EMPTY  "(empty)"
#define NARROW 100 /* columns below which no other type is shown */

/* A value's sum in one method. */
struct part {
	UT_hash_handle hh;
	struct {
		uint32_t group, method; /* functions */
	} key;
	int64_t sum;
};

struct groups {
	const struct text *text;
	struct profile *profile; /* values are the roots of its stacks */
	struct totals totals;	 /* a root's total is its value's sum */
	struct part *parts;
	uint32_t *best; /* by function id of a value: the method that takes most */
	int64_t *best_sums;
	uint32_t *order;
	size_t count;
	int other; /* another type that is shown, -1: none */
};

static uint32_t function_of(const struct profile *profile, uint32_t frame)
{
	return profile__frame_at(profile, frame)->function;
}

static struct part *part_of(struct groups *groups, uint32_t group, uint32_t method)
{
	struct part *part, wanted = { .key = { group, method } };

	HASH_FIND(hh, groups->parts, &wanted.key, sizeof(wanted.key), part);
	if (part)
		return part;
	part = calloc(1, sizeof(*part));
	if (!part)
		return NULL;
	part->key = wanted.key;
	HASH_ADD(hh, groups->parts, key, sizeof(part->key), part);
	if (part->hh.tbl)
		return part;
	free(part);
	return NULL;
}

/* Values in the order of their first rows. */
static int add_up(struct groups *groups)
{
	const struct profile *profile = groups->profile;
	size_t functions = profile__function_count(profile);
	bool *seen = calloc(functions + 1, sizeof(*seen));
	int error = seen ? 0 : -ENOMEM;

	for (size_t i = 0; !error && i < profile__row_count(profile); i++) {
		const struct profile_row *row = profile__row(profile, i);
		struct profile_stack stack = profile__stack_at(profile, row->stack);
		uint32_t group = function_of(profile, stack.frames[stack.count - 1]);
		struct part *part = part_of(groups, group, function_of(profile, stack.frames[0]));

		if (!part) {
			error = -ENOMEM;
			break;
		}
		part->sum += row->values[groups->text->options->type];
		if (!seen[group])
			groups->order[groups->count++] = group;
		seen[group] = true;
	}
	free(seen);
	for (struct part *part = groups->parts; part; part = part->hh.next) {
		if (part->sum <= groups->best_sums[part->key.group])
			continue;
		groups->best_sums[part->key.group] = part->sum;
		groups->best[part->key.group] = part->key.method;
	}
	return error;
}

static int compare_groups(const void *left, const void *right, void *context)
{
	const struct groups *groups = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	const int64_t *sums_a = groups->totals.total[a].values;
	const int64_t *sums_b = groups->totals.total[b].values;
	size_t type = groups->text->options->type;

	if (sums_a[type] != sums_b[type])
		return sums_a[type] < sums_b[type] ? 1 : -1;
	if (groups->other >= 0 && sums_a[groups->other] != sums_b[groups->other])
		return sums_a[groups->other] < sums_b[groups->other] ? 1 : -1;
	return strcmp(
		profile__text(groups->profile, profile__function_at(groups->profile, a)->name),
		profile__text(groups->profile, profile__function_at(groups->profile, b)->name));
}

static int groups__init(struct groups *groups, const struct text *text)
{
	const char *key = text->options->by, *type = text->type->type;
	struct profile *lines = NULL;
	size_t functions;
	int error = 0;

	*groups = (struct groups){ .text = text };
	groups->other = profile__type_index(text->profile,
					    strcmp(type, "cpu-time") ? "cpu-time" : "wall-time");
	if (text->options->columns && text->options->columns < NARROW)
		groups->other = -1;
	if (text->options->lines)
		error = profile_group__by_line(text->profile, false, &lines);
	if (!error)
		error = profile_group__by_label(
			lines ? lines : text->profile,
			profile_labels__find(lines ? lines : text->profile, key, strlen(key)),
			PROFILE_GROUP_ROOT, &groups->profile);
	profile__free(lines);
	if (!error)
		error = totals__init(&groups->totals, groups->profile);
	if (error)
		return error;
	functions = profile__function_count(groups->profile);
	groups->best = calloc(functions + 1, sizeof(*groups->best));
	groups->best_sums = calloc(functions + 1, sizeof(*groups->best_sums));
	groups->order = calloc(functions + 1, sizeof(*groups->order));
	if (!groups->best || !groups->best_sums || !groups->order)
		return -ENOMEM;
	error = add_up(groups);
	qsort_r(groups->order, groups->count, sizeof(*groups->order), compare_groups, groups);
	return error;
}

static void groups__free(struct groups *groups)
{
	struct part *part, *next;

	HASH_ITER (hh, groups->parts, part, next) {
		HASH_DEL(groups->parts, part);
		free(part);
	}
	free(groups->best);
	free(groups->best_sums);
	free(groups->order);
	totals__free(&groups->totals);
	profile__free(groups->profile);
}

/* ---- print ---- */

/* "block in Foo#bar 62%", or nothing. The caller frees it; NULL: out of memory. */
static char *best_text(const struct groups *groups, uint32_t group)
{
	int64_t sum = groups->totals.total[group].values[groups->text->options->type];
	char *name, *place, *text;
	int length;

	if (groups->best_sums[group] <= 0)
		return strdup("");
	name = text__name(groups->profile,
			  profile__function_at(groups->profile, groups->best[group])->name);
	place = groups->text->options->lines ? text__place(groups->profile, groups->best[group])
					     : strdup("");
	if (!name || !place) {
		free(name);
		free(place);
		return NULL;
	}
	/* The spaces are room for a cut. */
	length = asprintf(&text, "%.0f%% %s%s%s    ", text__percent(groups->best_sums[group], sum),
			  name, *place ? " " : "", place);
	free(name);
	free(place);
	if (length < 0)
		return NULL;
	text[length - 4] = '\0';
	return text;
}

static char *group_text(const struct groups *groups, uint32_t group)
{
	uint32_t name = profile__function_at(groups->profile, group)->name;

	if (!profile__text_length(groups->profile, name))
		return strdup(EMPTY);
	return text__name(groups->profile, name);
}

static void print_figure(const struct groups *groups, uint32_t group, size_t type, int64_t sum)
{
	int64_t value = groups->totals.total[group].values[type];
	char text[TEXT_VALUE_BYTES];

	text__value(text, value, profile__type(groups->profile, type)->unit);
	fprintf(groups->text->stream, "%11s %6.1f%%  ", text, text__percent(value, sum));
}

static int widths(const struct groups *groups, size_t shown, size_t *name_width, size_t *best_width)
{
	*name_width = strlen(groups->text->options->by);
	for (size_t i = 0; i < shown; i++) {
		char *name = group_text(groups, groups->order[i]);
		char *best = best_text(groups, groups->order[i]);
		size_t name_size = name ? escape__width(name) : 0;
		size_t best_size = best ? escape__width(best) : 0;

		free(name);
		free(best);
		if (!name || !best)
			return -ENOMEM;
		*name_width = name_size > *name_width ? name_size : *name_width;
		*best_width = best_size > *best_width ? best_size : *best_width;
	}
	return 0;
}

static int print_groups(const struct groups *groups)
{
	const struct text *text = groups->text;
	size_t columns = text->options->columns, figures = groups->other >= 0 ? 42 : 21;
	size_t left = columns ? (columns > figures + 2 ? columns - figures - 2 : 1) : 0;
	size_t name_width = 0, best_width = 9, shown = groups->count;
	int error;

	if (text->options->rows && shown > text->options->rows)
		shown = text->options->rows;
	error = widths(groups, shown, &name_width, &best_width);
	if (error)
		return error;
	text__fit(left, &name_width, &best_width);
	fprintf(text->stream, "\n%s%11.11s %7s  ", text__color(text, TEXT_BOLD), text->type->type,
		"%");
	if (groups->other >= 0)
		fprintf(text->stream, "%11s %7s  ",
			profile__type(groups->profile, (size_t)groups->other)->type, "%");
	fprintf(text->stream, "%-*s  %s%s\n", (int)name_width, text->options->by, "mostly in",
		text__plain(text));
	for (size_t i = 0; i < shown; i++) {
		uint32_t group = groups->order[i];
		char *name = group_text(groups, group), *best = best_text(groups, group);

		if (name && best) {
			/* As a method's share is told first, its name's end is what can go. */
			if (left)
				escape__cut_end(best, best_width);
			print_figure(groups, group, text->options->type, text->sum);
			if (groups->other >= 0)
				print_figure(groups, group, (size_t)groups->other,
					     groups->totals.all.values[groups->other]);
			text__names(text, left, name, name_width, best, best_width);
		}
		free(name);
		free(best);
		if (!name || !best)
			return -ENOMEM;
	}
	if (shown < groups->count)
		fprintf(text->stream, "%11s %zu more, all of them in a file or pipe\n", "",
			groups->count - shown);
	return 0;
}

int text__groups(const struct text *text)
{
	struct groups groups;
	int error = groups__init(&groups, text);

	if (!error)
		error = print_groups(&groups);
	groups__free(&groups);
	return error;
}
