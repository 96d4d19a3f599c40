/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Folded stacks, as flame graph tools read them: one line a stack, root first, `;` between the
 * names, a space and the value. Stacks with the same names are one line; lines are sorted.
 */
#include "out.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "diff.h"
#include "escape.h"

#define FOLDED_MAX_VALUES 2

struct folder {
	const struct profile *profile;
	uint32_t *names; /* by frame id: string id of the function's name */
	char **escaped;	 /* by string id, made when first used */
	int64_t *sums;	 /* by stack id; of a second value behind those of the first */
	uint32_t *order; /* stack ids, by their names */
};

static int folder__init(struct folder *folder, const struct profile *profile, size_t values)
{
	size_t frames = profile__frame_count(profile);
	size_t stacks = profile__stack_count(profile);

	folder->profile = profile;
	folder->names = calloc(frames + 1, sizeof(*folder->names));
	folder->escaped = calloc(profile__string_count(profile) + 1, sizeof(*folder->escaped));
	folder->sums = calloc(values * stacks + 1, sizeof(*folder->sums));
	folder->order = calloc(stacks + 1, sizeof(*folder->order));
	if (!folder->names || !folder->escaped || !folder->sums || !folder->order)
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
	free(folder->order);
}

/* From the root on; equal ids are equal names. */
static int compare_stacks(const void *left, const void *right, void *context)
{
	const struct folder *folder = context;
	struct profile_stack a = profile__stack_at(folder->profile, *(const uint32_t *)left);
	struct profile_stack b = profile__stack_at(folder->profile, *(const uint32_t *)right);

	while (a.count && b.count) {
		uint32_t name_a = folder->names[a.frames[--a.count]];
		uint32_t name_b = folder->names[b.frames[--b.count]];

		if (name_a != name_b)
			return strcmp(profile__text(folder->profile, name_a),
				      profile__text(folder->profile, name_b));
	}
	return (a.count > b.count) - (a.count < b.count);
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

static int write_stack(struct folder *folder, uint32_t id, FILE *stream)
{
	struct profile_stack stack = profile__stack_at(folder->profile, id);

	if (!stack.count)
		fputs("(no stack)", stream);
	for (uint32_t i = stack.count; i-- > 0;) {
		const char *name = escaped_name(folder, folder->names[stack.frames[i]]);

		if (!name)
			return -ENOMEM;
		fputs(name, stream);
		if (i)
			putc(';', stream);
	}
	return 0;
}

/* Stacks in which any value is not 0, by their names. */
static uint32_t order_stacks(struct folder *folder, size_t values)
{
	size_t stacks = profile__stack_count(folder->profile);
	uint32_t used = 0;

	for (uint32_t i = 0; i < stacks; i++) {
		bool is_used = false;

		for (size_t j = 0; j < values; j++)
			is_used |= folder->sums[j * stacks + i] != 0;
		if (is_used)
			folder->order[used++] = i;
	}
	qsort_r(folder->order, used, sizeof(*folder->order), compare_stacks, folder);
	return used;
}

/* Stacks that differ only in lines or files come one after the other. */
static int write_lines(struct folder *folder, size_t values, FILE *stream)
{
	size_t stacks = profile__stack_count(folder->profile);
	uint32_t used = order_stacks(folder, values);
	int error = 0;

	for (uint32_t i = 0, next; i < used && !error; i = next) {
		int64_t sums[FOLDED_MAX_VALUES] = { 0 };
		bool is_used = false;

		for (next = i; next < used; next++) {
			if (compare_stacks(&folder->order[i], &folder->order[next], folder))
				break;
			for (size_t j = 0; j < values; j++)
				sums[j] += folder->sums[j * stacks + folder->order[next]];
		}
		for (size_t j = 0; j < values; j++)
			is_used |= sums[j] != 0;
		if (!is_used)
			continue;
		error = write_stack(folder, folder->order[i], stream);
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
