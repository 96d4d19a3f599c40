/* SPDX-License-Identifier: BSD-2-Clause */
/* The hottest path: from the root on, at each step what takes most of what is left. */
#include "text_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "escape.h"

/* Of a longer path the beginning and the end are shown. */
#define MAX_STEPS   14
#define FIRST_STEPS 4
/* What takes less is no path that anybody would follow. */
#define COLD_PERCENT 1

struct step {
	uint32_t function;
	int64_t sum;
};

struct walk {
	const struct profile *profile;
	size_t type;
	uint32_t *rows; /* those that have come along the path so far */
	size_t row_count;
	int64_t *sums;	     /* by function id: of the next step; zeroed again after each */
	uint32_t *functions; /* of the next step, each once (twice if its sum was zero between) */
	struct step *steps;
	size_t step_count;
};

/* From the root; PROFILE_NONE: the stack ends before. */
static uint32_t function_at(const struct walk *walk, uint32_t row, size_t depth)
{
	struct profile_stack stack =
		profile__stack_at(walk->profile, profile__row(walk->profile, row)->stack);

	if (depth >= stack.count)
		return PROFILE_NONE;
	return profile__frame_at(walk->profile, stack.frames[stack.count - 1 - depth])->function;
}

/* The function that takes most at this depth, if it takes more than what ends above. */
static bool next_step(struct walk *walk, size_t depth, struct step *ret_step)
{
	struct step best = { .function = PROFILE_NONE };
	int64_t ended = 0;
	size_t count = 0;

	for (size_t i = 0; i < walk->row_count; i++) {
		uint32_t function = function_at(walk, walk->rows[i], depth);
		int64_t value = profile__row(walk->profile, walk->rows[i])->values[walk->type];

		if (function == PROFILE_NONE) {
			ended += value;
			continue;
		}
		if (!walk->sums[function] && value)
			walk->functions[count++] = function;
		walk->sums[function] += value;
	}
	for (size_t i = 0; i < count; i++) {
		uint32_t function = walk->functions[i];

		if (walk->sums[function] > best.sum)
			best = (struct step){ function, walk->sums[function] };
		walk->sums[function] = 0;
	}
	if (best.sum <= 0 || best.sum < ended)
		return false;
	*ret_step = best;
	return true;
}

static void keep_rows(struct walk *walk, size_t depth, uint32_t function)
{
	size_t kept = 0;

	for (size_t i = 0; i < walk->row_count; i++)
		if (function_at(walk, walk->rows[i], depth) == function)
			walk->rows[kept++] = walk->rows[i];
	walk->row_count = kept;
}

static int walk__init(struct walk *walk, const struct profile *profile, size_t type)
{
	size_t rows = profile__row_count(profile), functions = profile__function_count(profile);
	uint32_t depth = 0;

	*walk = (struct walk){ .profile = profile, .type = type, .row_count = rows };
	for (size_t i = 0; i < rows; i++) {
		uint32_t count = profile__stack_at(profile, profile__row(profile, i)->stack).count;

		depth = count > depth ? count : depth;
	}
	walk->rows = calloc(rows + 1, sizeof(*walk->rows));
	walk->sums = calloc(functions + 1, sizeof(*walk->sums));
	walk->functions = calloc(rows + 1, sizeof(*walk->functions));
	walk->steps = calloc((size_t)depth + 1, sizeof(*walk->steps));
	if (!walk->rows || !walk->sums || !walk->functions || !walk->steps)
		return -ENOMEM;
	for (uint32_t i = 0; i < rows; i++)
		walk->rows[i] = i;
	return 0;
}

static void walk__free(struct walk *walk)
{
	free(walk->rows);
	free(walk->sums);
	free(walk->functions);
	free(walk->steps);
}

static bool is_shown(const struct walk *walk, size_t step)
{
	return walk->step_count <= MAX_STEPS || step < FIRST_STEPS ||
	       step >= walk->step_count - (MAX_STEPS - FIRST_STEPS - 1);
}

/* Both passes of the print: widths first. */
static int each_step(const struct text *text, const struct walk *walk, size_t *name_width,
		     size_t *place_width, bool is_printed)
{
	size_t columns = text->options->columns;
	size_t left = columns ? (columns > 11 ? columns - 11 : 1) : 0;

	for (size_t i = 0; i < walk->step_count; i++) {
		const struct step *step = &walk->steps[i];
		char *name, *place;

		if (!is_shown(walk, i)) {
			if (is_printed && is_shown(walk, i - 1))
				fprintf(text->stream, "%9s%zu more\n", "",
					walk->step_count - (MAX_STEPS - 1));
			continue;
		}
		name = text__name(text->profile,
				  profile__function_at(text->profile, step->function)->name);
		place = text__place(text->profile, step->function);
		if (name && place && is_printed) {
			fprintf(text->stream, "%6.1f%%  ", text__percent(step->sum, text->sum));
			text__names(text, left, name, *name_width, place, *place_width);
		} else if (name && place) {
			size_t width = escape__width(name), size = escape__width(place);

			*name_width = width > *name_width ? width : *name_width;
			*place_width = size > *place_width ? size : *place_width;
		}
		free(name);
		free(place);
		if (!name || !place)
			return -ENOMEM;
	}
	if (!is_printed)
		text__fit(left, name_width, place_width);
	return 0;
}

static int print_steps(const struct text *text, const struct walk *walk)
{
	size_t name_width = 0, place_width = 0;
	int error;

	fprintf(text->stream, "\n%shottest path%s by %s\n", text__color(text, TEXT_BOLD),
		text__plain(text), text->type->type);
	error = each_step(text, walk, &name_width, &place_width, false);
	if (!error)
		error = each_step(text, walk, &name_width, &place_width, true);
	return error;
}

int text__hottest_path(const struct text *text)
{
	struct walk walk;
	int error = walk__init(&walk, text->profile, text->options->type);

	while (!error && next_step(&walk, walk.step_count, &walk.steps[walk.step_count])) {
		if (text__percent(walk.steps[walk.step_count].sum, text->sum) < COLD_PERCENT)
			break;
		keep_rows(&walk, walk.step_count, walk.steps[walk.step_count].function);
		walk.step_count++;
	}
	if (!error && walk.step_count)
		error = print_steps(text, &walk);
	walk__free(&walk);
	return error;
}
