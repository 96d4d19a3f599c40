/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Folded stacks, as flame graph tools read them: one line a stack, root first, `;` between the
 * names, a space and the value. Stacks with the same names are one line; lines are sorted.
 */
#include "out.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "diff.h"
#include "escape.h"
#include "stack_order.h"

#define FOLDED_MAX_VALUES 2

/*
 * Names are sorted first, so that stacks can be sorted by numbers: a rank stands for all frames
 * whose functions have one name.
 */
struct folder {
	const struct profile *profile;
	size_t values;
	uint32_t *names; /* by frame id: string id of the function's name */
	uint32_t *ranks; /* by frame id */
	struct name {
		char *text; /* escaped */
		size_t length;
	} *ranked; /* by rank */
	uint32_t rank_count;
	struct stack_table stacks; /* of ranks in place of frames */
	struct sums {
		int64_t values[FOLDED_MAX_VALUES];
	} *sums; /* by stack id there */
	struct stack_order order;
	char *text;   /* names of the stack that was put last */
	size_t room;  /* bytes */
	size_t *ends; /* in it, by depth */
};

static int folder__init(struct folder *folder, const struct profile *profile, size_t values)
{
	size_t frames = profile__frame_count(profile);

	folder->profile = profile;
	folder->values = values;
	folder->names = calloc(frames + 1, sizeof(*folder->names));
	folder->ranks = calloc(frames + 1, sizeof(*folder->ranks));
	folder->ranked = calloc(frames + 1, sizeof(*folder->ranked));
	folder->sums = calloc(profile__stack_count(profile) + 1, sizeof(*folder->sums));
	folder->ends = calloc((size_t)profile__stacks(profile)->depth + 1, sizeof(*folder->ends));
	if (!folder->names || !folder->ranks || !folder->ranked || !folder->sums || !folder->ends)
		return -ENOMEM;
	for (uint32_t i = 0; i < frames; i++) {
		uint32_t function = profile__frame_at(profile, i)->function;

		folder->names[i] = profile__function_at(profile, function)->name;
	}
	return 0;
}

static void folder__free(struct folder *folder)
{
	for (uint32_t i = 0; i < folder->rank_count; i++)
		free(folder->ranked[i].text);
	free(folder->names);
	free(folder->ranks);
	free(folder->ranked);
	free(folder->sums);
	free(folder->text);
	free(folder->ends);
	stack_table__free(&folder->stacks);
	stack_order__free(&folder->order);
}

static int compare_names(const void *left, const void *right, void *context)
{
	const struct folder *folder = context;
	uint32_t a = folder->names[*(const uint32_t *)left];
	uint32_t b = folder->names[*(const uint32_t *)right];

	if (a == b)
		return 0;
	return strcmp(profile__text(folder->profile, a), profile__text(folder->profile, b));
}

static int add_name(struct folder *folder, uint32_t string)
{
	const char *text = profile__text(folder->profile, string);
	struct name name = { 0 };

	name.text = *text ? escape__text(text, profile__text_length(folder->profile, string),
					 ESCAPE_FOLDED)
			  : strdup("(unnamed)");
	if (!name.text)
		return -ENOMEM;
	name.length = strlen(name.text);
	folder->ranked[folder->rank_count++] = name;
	return 0;
}

/* In the order of the names' bytes. */
static int rank_names(struct folder *folder)
{
	size_t count = profile__frame_count(folder->profile);
	uint32_t *frames = calloc(count + 1, sizeof(*frames));
	int error = frames ? 0 : -ENOMEM;

	for (uint32_t i = 0; frames && i < count; i++)
		frames[i] = i;
	if (!error)
		qsort_r(frames, count, sizeof(*frames), compare_names, folder);
	for (size_t i = 0; i < count && !error; i++) {
		if (!i || compare_names(&frames[i - 1], &frames[i], folder))
			error = add_name(folder, folder->names[frames[i]]);
		folder->ranks[frames[i]] = folder->rank_count - 1;
	}
	free(frames);
	return error;
}

/* Stacks with the same names become one. */
static int add_rows(struct folder *folder, const size_t *types)
{
	const struct profile *profile = folder->profile;
	const struct stack_table *stacks = profile__stacks(profile);
	uint32_t *folded = calloc((size_t)stacks->count + 1, sizeof(*folded)); /* by stack id */
	int error = -ENOMEM;

	if (folded)
		error = stack_table__add_all(&folder->stacks, stacks, folder->ranks, folded);
	for (size_t i = 0; !error && i < profile__row_count(profile); i++) {
		const struct profile_row *row = profile__row(profile, i);

		for (size_t j = 0; j < folder->values; j++)
			folder->sums[folded[row->stack]].values[j] += row->values[types[j]];
	}
	free(folded);
	return error;
}

/* Puts the name that is at this depth, from 0 at the root, behind those above it. */
static int put_name(struct folder *folder, uint32_t depth, const struct name *name)
{
	size_t end = depth ? folder->ends[depth - 1] : 0, needed = end + name->length + 1;
	char *text;

	if (needed > folder->room) {
		text = realloc(folder->text, 2 * needed);
		if (!text)
			return -ENOMEM;
		folder->text = text;
		folder->room = 2 * needed;
	}
	if (depth)
		folder->text[end++] = ';';
	memcpy(folder->text + end, name->text, name->length);
	folder->ends[depth] = end + name->length;
	return 0;
}

static int put_stack(struct folder *folder, const struct stack_order_entry *entry)
{
	const uint32_t *ranks = folder->order.frames + entry->first;
	int error = 0;

	for (uint32_t i = entry->common; i < entry->depth && !error; i++)
		error = put_name(folder, i, &folder->ranked[*ranks++]);
	return error;
}

static void write_line(const struct folder *folder, const struct stack_order_entry *entry,
		       FILE *stream)
{
	const int64_t *values = folder->sums[entry->id].values;
	bool has_value = false;

	for (size_t i = 0; i < folder->values; i++)
		has_value |= values[i] != 0;
	if (!has_value)
		return;
	if (entry->depth)
		fwrite_unlocked(folder->text, 1, folder->ends[entry->depth - 1], stream);
	else
		fputs("(no stack)", stream);
	for (size_t i = 0; i < folder->values; i++)
		fprintf(stream, " %" PRId64, values[i]);
	putc_unlocked('\n', stream);
}

static int write_values(const struct profile *profile, const size_t *types, size_t values,
			FILE *stream)
{
	struct folder folder = { 0 };
	int error = folder__init(&folder, profile, values);

	if (!error)
		error = rank_names(&folder);
	if (!error)
		error = add_rows(&folder, types);
	if (!error)
		error = stack_order__init(&folder.order, &folder.stacks, NULL, NULL);
	for (size_t i = 0; i < folder.order.count && !error; i++) {
		error = put_stack(&folder, &folder.order.entries[i]);
		if (!error)
			write_line(&folder, &folder.order.entries[i], stream);
	}
	folder__free(&folder);
	return error;
}

int folded__write(struct profile *profile, const struct out_options *options, FILE *stream)
{
	return write_values(profile, &options->type, 1, stream);
}

int diff__folded(const struct diff *diff, const struct out_options *options, FILE *stream)
{
	static const size_t types[] = { PROFILE_DIFF_BASE, PROFILE_DIFF_HEAD };

	(void)options;
	return write_values(diff->both, types, 2, stream);
}
