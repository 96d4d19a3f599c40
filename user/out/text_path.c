/* SPDX-License-Identifier: BSD-2-Clause */
/* The hottest path: from the root on, at each step what takes most of what is left. */
#include "text_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../agg/stack_table.h"
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
	const struct stack_table *stacks;
	int64_t *through;    /* by node: what its stack and those below it take */
	uint32_t *nodes;     /* sorted by depth */
	size_t *levels;	     /* by depth: where its nodes begin there; one more */
	bool *is_on_path;    /* by node */
	int64_t *sums;	     /* by function id: of the next step; zeroed again after each */
	uint32_t *functions; /* of the next step, each once (twice if its sum was zero between) */
	struct step *steps;
	size_t step_count;
};

static uint32_t function_of(const struct walk *walk, uint32_t node)
{
	return profile__frame_at(walk->profile, walk->stacks->nodes[node].frame)->function;
}

/* The step to this depth: what takes most there, if that is more than what ends above it. */
static bool next_step(struct walk *walk, size_t depth, struct step *ret_step)
{
	struct step best = { .function = PROFILE_NONE };
	int64_t ended = depth > 1 ? ret_step[-1].sum : walk->through[0];
	size_t count = 0;

	for (size_t i = walk->levels[depth]; i < walk->levels[depth + 1]; i++) {
		uint32_t node = walk->nodes[i], function;

		if (!walk->is_on_path[walk->stacks->nodes[node].parent] || !walk->through[node])
			continue;
		function = function_of(walk, node);
		if (!walk->sums[function])
			walk->functions[count++] = function;
		walk->sums[function] += walk->through[node];
		ended -= walk->through[node];
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

static void go_on(struct walk *walk, size_t depth, uint32_t function)
{
	for (size_t i = walk->levels[depth]; i < walk->levels[depth + 1]; i++) {
		uint32_t node = walk->nodes[i];

		if (walk->is_on_path[walk->stacks->nodes[node].parent] &&
		    function_of(walk, node) == function)
			walk->is_on_path[node] = true;
	}
}

/* Nodes have higher numbers than their parents: one pass each way. */
static void fill(struct walk *walk, size_t type)
{
	const struct stack_table *stacks = walk->stacks;
	uint32_t count = stacks->node_count, *depths = walk->functions;

	for (size_t i = 0; i < profile__row_count(walk->profile); i++) {
		const struct profile_row *row = profile__row(walk->profile, i);

		walk->through[stacks->stacks[row->stack].node] += row->values[type];
	}
	for (uint32_t i = count; i-- > 1;)
		walk->through[stacks->nodes[i].parent] += walk->through[i];
	for (uint32_t i = 0; i < count; i++) {
		depths[i] = i ? depths[stacks->nodes[i].parent] + 1 : 0;
		walk->levels[depths[i] + 2]++;
	}
	for (uint32_t i = 2; i < stacks->depth + 3; i++)
		walk->levels[i] += walk->levels[i - 1];
	for (uint32_t i = 0; i < count; i++)
		walk->nodes[walk->levels[depths[i] + 1]++] = i;
}

static int walk__init(struct walk *walk, const struct profile *profile, size_t type)
{
	const struct stack_table *stacks = profile__stacks(profile);
	size_t nodes = (size_t)stacks->node_count + 1, depths = (size_t)stacks->depth + 3;

	*walk = (struct walk){ .profile = profile, .stacks = stacks };
	walk->through = calloc(nodes, sizeof(*walk->through));
	walk->nodes = calloc(nodes, sizeof(*walk->nodes));
	walk->levels = calloc(depths, sizeof(*walk->levels));
	walk->is_on_path = calloc(nodes, sizeof(*walk->is_on_path));
	walk->sums = calloc(profile__function_count(profile) + 1, sizeof(*walk->sums));
	walk->functions = calloc(nodes, sizeof(*walk->functions));
	walk->steps = calloc(depths, sizeof(*walk->steps));
	if (!walk->through || !walk->nodes || !walk->levels || !walk->is_on_path || !walk->sums ||
	    !walk->functions || !walk->steps)
		return -ENOMEM;
	fill(walk, type);
	walk->is_on_path[0] = true;
	return 0;
}

static void walk__free(struct walk *walk)
{
	free(walk->through);
	free(walk->nodes);
	free(walk->levels);
	free(walk->is_on_path);
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

	while (!error) {
		struct step *step = &walk.steps[walk.step_count];

		if (!next_step(&walk, walk.step_count + 1, step) ||
		    text__percent(step->sum, text->sum) < COLD_PERCENT)
			break;
		go_on(&walk, walk.step_count + 1, step->function);
		walk.step_count++;
	}
	if (!error && walk.step_count)
		error = print_steps(text, &walk);
	walk__free(&walk);
	return error;
}
