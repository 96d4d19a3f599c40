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

struct folder {
	const struct profile *profile;
	uint32_t *names; /* by frame id: string id of the function's name */
	char **escaped;	 /* by string id, made when first used */
	int64_t *sums;	 /* by stack id; of a second value behind those of the first */
	uint32_t *ranks; /* by frame id: of its name among all names */
	struct stack_order order;
};

static int folder__init(struct folder *folder, const struct profile *profile, size_t values)
{
	size_t frames = profile__frame_count(profile);
	size_t stacks = profile__stack_count(profile);

	folder->profile = profile;
	folder->names = calloc(frames + 1, sizeof(*folder->names));
	folder->escaped = calloc(profile__string_count(profile) + 1, sizeof(*folder->escaped));
	folder->sums = calloc(values * stacks + 1, sizeof(*folder->sums));
	folder->ranks = calloc(frames + 1, sizeof(*folder->ranks));
	if (!folder->names || !folder->escaped || !folder->sums || !folder->ranks)
		return -ENOMEM;
	for (uint32_t i = 0; i < frames; i++) {
		uint32_t function = profile__frame_at(profile, i)->function;

		folder->names[i] = profile__function_at(profile, function)->name;
	}
	return 0;
}

static void folder__free(struct folder *folder)
{
	if (folder->escaped)
		for (size_t i = 0; i < profile__string_count(folder->profile); i++)
			free(folder->escaped[i]);
	free(folder->names);
	free(folder->escaped);
	free(folder->sums);
	free(folder->ranks);
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

/* Names in the order of their bytes: then stacks can be sorted by numbers. */
static int rank_names(struct folder *folder)
{
	size_t count = profile__frame_count(folder->profile);
	uint32_t *frames = calloc(count + 1, sizeof(*frames)), rank = 0;

	if (!frames)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		frames[i] = i;
	qsort_r(frames, count, sizeof(*frames), compare_names, folder);
	for (size_t i = 0; i < count; i++) {
		if (i && compare_names(&frames[i - 1], &frames[i], folder))
			rank++;
		folder->ranks[frames[i]] = rank;
	}
	free(frames);
	return 0;
}

static bool has_equal_names(const struct folder *folder, struct profile_stack a,
			    struct profile_stack b)
{
	if (a.count != b.count)
		return false;
	for (uint32_t i = 0; i < a.count; i++)
		if (folder->ranks[a.frames[i]] != folder->ranks[b.frames[i]])
			return false;
	return true;
}

static const char *escaped_name(struct folder *folder, uint32_t name)
{
	const char *text = profile__text(folder->profile, name);

	if (!folder->escaped[name])
		folder->escaped[name] =
			*text ? escape__text(text, profile__text_length(folder->profile, name),
					     ESCAPE_FOLDED)
			      : strdup("(unnamed)");
	return folder->escaped[name];
}

static int write_stack(struct folder *folder, struct profile_stack stack, FILE *stream)
{
	if (!stack.count)
		fputs("(no stack)", stream);
	for (uint32_t i = stack.count; i-- > 0;) {
		const char *name = escaped_name(folder, folder->names[stack.frames[i]]);

		if (!name)
			return -ENOMEM;
		fputs_unlocked(name, stream);
		if (i)
			putc_unlocked(';', stream);
	}
	return 0;
}

/* Stacks that differ only in lines or files come one after the other. */
static int write_lines(struct folder *folder, size_t values, FILE *stream)
{
	const struct stack_order_entry *entries = folder->order.entries;
	size_t stacks = profile__stack_count(folder->profile);
	int error = 0;

	for (size_t i = 0, next; i < folder->order.count && !error; i = next) {
		int64_t sums[FOLDED_MAX_VALUES] = { 0 };
		bool is_used = false;

		for (next = i; next < folder->order.count; next++) {
			if (!has_equal_names(folder, entries[i].stack, entries[next].stack))
				break;
			for (size_t j = 0; j < values; j++)
				sums[j] += folder->sums[j * stacks + entries[next].id];
		}
		for (size_t j = 0; j < values; j++)
			is_used |= sums[j] != 0;
		if (!is_used)
			continue;
		error = write_stack(folder, entries[i].stack, stream);
		for (size_t j = 0; j < values; j++)
			fprintf(stream, " %" PRId64, sums[j]);
		putc('\n', stream);
	}
	return error;
}

static int write_values(const struct profile *profile, const size_t *types, size_t values,
			FILE *stream)
{
	size_t stacks = profile__stack_count(profile);
	struct folder folder = { 0 };
	int error = folder__init(&folder, profile, values);

	if (!error)
		error = rank_names(&folder);
	if (!error)
		error = stack_order__init(&folder.order, profile, folder.ranks);
	for (size_t i = 0; !error && i < profile__row_count(profile); i++) {
		const struct profile_row *row = profile__row(profile, i);

		for (size_t j = 0; j < values; j++)
			folder.sums[j * stacks + row->stack] += row->values[types[j]];
	}
	if (!error)
		error = write_lines(&folder, values, stream);
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
