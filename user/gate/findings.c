/* SPDX-License-Identifier: BSD-2-Clause */
#include "findings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../agg/profile_diff.h"
#include "../out/escape.h"

#define MAX_LINKED 64  /* findings of which it is told whether one is a part of another */
#define PART_SHARE 0.5 /* of its growth that lies in stacks of another one */

struct maker {
	struct gate_findings *findings;
	const struct gate_table *table;
	const struct gate_side *sides[2];
	struct profile *both;
	uint32_t *ids;	  /* by finding: its function in `both`, PROFILE_NONE: a metric */
	double scales[2]; /* from a mean run to the unit of the rows */
};

/* ---- one name for one function ---- */

static uint32_t copy_function(const struct profile *from, uint32_t id, struct profile *to)
{
	const struct profile_function *it = profile__function_at(from, id);
	struct profile_function function = {
		.name = profile__string(to, profile__text(from, it->name),
					profile__text_length(from, it->name)),
		.system_name = profile__cstring(to, ""),
		.file = profile__string(to, profile__text(from, it->file),
					profile__text_length(from, it->file)),
	};

	return profile__failed(to) ? PROFILE_NONE : profile__function(to, &function);
}

static int copy_row(const struct profile *from, const struct profile_row *row,
		    const uint32_t *frames_of, struct profile *to)
{
	struct profile_stack stack = profile__stack_at(from, row->stack);
	uint32_t *frames = calloc(stack.count + 1, sizeof(*frames));
	int error;

	if (!frames)
		return -ENOMEM;
	for (uint32_t i = 0; i < stack.count; i++)
		frames[i] = frames_of[profile__frame_at(from, stack.frames[i])->function];
	error = profile__add(to, profile__stack(to, frames, stack.count),
			     profile__label_set(to, NULL, 0), row->values);
	free(frames);
	return error;
}

/* base's mean run with head's names. */
static int rename_base(struct maker *maker)
{
	const struct profile *base = maker->sides[0]->profile, *head = maker->sides[1]->profile;
	size_t count = profile__function_count(base);
	uint32_t *frames = calloc(count + 1, sizeof(*frames));
	struct profile *to;
	int error = frames ? profile__new(profile__type(base, 0), 1, &to) : -ENOMEM;

	if (error) {
		free(frames);
		return error;
	}
	maker->findings->base = to;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t moved = maker->table->moved[i];

		frames[i] = profile__frame(to,
					   moved == PROFILE_NONE ? copy_function(base, i, to)
								 : copy_function(head, moved, to),
					   0);
	}
	for (size_t i = 0; !error && i < profile__row_count(base); i++)
		error = copy_row(base, profile__row(base, i), frames, to);
	free(frames);
	return profile__failed(to) ? -ENOMEM : error;
}

/* ---- the findings, in order ---- */

static int compare_verdicts(const void *left, const void *right)
{
	const struct gate_verdict *a = ((const struct gate_finding *)left)->verdict;
	const struct gate_verdict *b = ((const struct gate_finding *)right)->verdict;
	bool is_a_function = a->row->kind != GATE_ROW_METRIC;
	bool is_b_function = b->row->kind != GATE_ROW_METRIC;

	if (!a->through != !b->through)
		return a->through ? 1 : -1;
	/* A function says where to look. */
	if (is_a_function != is_b_function)
		return is_a_function ? -1 : 1;
	if (a->change != b->change)
		return a->change < b->change ? 1 : -1;
	return a < b ? -1 : a > b;
}

static int collect(struct maker *maker, const struct gate_result *result)
{
	struct gate_findings *findings = maker->findings;

	findings->items = calloc(result->count + 1, sizeof(*findings->items));
	maker->ids = calloc(result->count + 1, sizeof(*maker->ids));
	if (!findings->items || !maker->ids)
		return -ENOMEM;
	for (size_t i = 0; i < result->count; i++)
		if (result->verdicts[i].state == GATE_REGRESSION)
			findings->items[findings->count++].verdict = &result->verdicts[i];
	qsort(findings->items, findings->count, sizeof(*findings->items), compare_verdicts);
	return 0;
}

static int find_ids(struct maker *maker)
{
	for (size_t i = 0; i < maker->findings->count; i++) {
		const struct gate_row *row = maker->findings->items[i].verdict->row;

		maker->ids[i] = PROFILE_NONE;
		if (row->kind == GATE_ROW_METRIC)
			continue;
		maker->ids[i] = copy_function(maker->sides[1]->profile, row->head_id, maker->both);
		if (maker->ids[i] == PROFILE_NONE)
			return -ENOMEM;
	}
	return 0;
}

/* ---- what is a part of what ---- */

static bool is_self(const struct maker *maker, size_t finding)
{
	return maker->findings->items[finding].verdict->row->kind == GATE_ROW_SELF;
}

static bool is_on_stack(const struct maker *maker, size_t finding, struct profile_stack stack)
{
	uint32_t count = is_self(maker, finding) && stack.count ? 1 : stack.count;

	if (maker->ids[finding] == PROFILE_NONE)
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (profile__frame_at(maker->both, stack.frames[i])->function ==
		    maker->ids[finding])
			return true;
	return false;
}

/* Of a function that calls itself the outermost frame is meant. */
static bool find_frame(const struct maker *maker, size_t finding, struct profile_stack stack,
		       uint32_t *ret_place)
{
	if (!is_on_stack(maker, finding, stack))
		return false;
	for (uint32_t i = stack.count; i-- > 0;)
		if (profile__frame_at(maker->both, stack.frames[i])->function ==
		    maker->ids[finding]) {
			*ret_place = i;
			return true;
		}
	return false;
}

/* In the unit of the rows. */
static double growth_of(const struct maker *maker, const struct profile_row *row)
{
	return (double)row->values[PROFILE_DIFF_HEAD] * maker->scales[1] -
	       (double)row->values[PROFILE_DIFF_BASE] * maker->scales[0];
}

/* By row and finding: the place of its outermost frame on the stack, PROFILE_NONE: it is not there.
 */
struct places {
	uint32_t *at;
	size_t findings;
};

static int places__init(struct places *places, const struct maker *maker, size_t findings)
{
	size_t rows = profile__row_count(maker->both);

	places->findings = findings;
	places->at = calloc(rows * findings + 1, sizeof(*places->at));
	if (!places->at)
		return -ENOMEM;
	for (size_t i = 0; i < rows; i++) {
		struct profile_stack stack =
			profile__stack_at(maker->both, profile__row(maker->both, i)->stack);

		for (size_t j = 0; j < findings; j++) {
			uint32_t *place = &places->at[i * findings + j];

			if (!find_frame(maker, j, stack, place))
				*place = PROFILE_NONE;
		}
	}
	return 0;
}

/*
 * Whether on the stack of a row the finding `by` is called by the finding `of`. The function's own
 * part counts as called by the function with all that it calls.
 */
static bool is_called(const struct maker *maker, const struct places *places, size_t row, size_t by,
		      size_t of)
{
	uint32_t place = places->at[row * places->findings + of];
	uint32_t other = places->at[row * places->findings + by];

	if (by == of || place == PROFILE_NONE || other == PROFILE_NONE)
		return false;
	if (maker->ids[by] == maker->ids[of])
		return is_self(maker, by) && !is_self(maker, of);
	return other < place;
}

/* Whether somebody can look at its source: a C function or the collector has none. */
static bool has_source(const struct gate_verdict *verdict)
{
	return *verdict->row->file && *verdict->row->file != '<';
}

/*
 * The finding of source that takes the largest part in the growth of this one, if for the greater
 * half it lies in others that it calls and that are no parts of others themselves; else itself.
 */
static size_t find_cause(const struct maker *maker, const struct places *places, size_t finding)
{
	const struct gate_finding *items = maker->findings->items;
	double growth = 0, covered = 0, shared[MAX_LINKED] = { 0 };
	size_t best = finding;

	for (size_t i = 0; i < profile__row_count(maker->both); i++) {
		double row_growth = growth_of(maker, profile__row(maker->both, i));
		bool is_covered = false;

		if (places->at[i * places->findings + finding] == PROFILE_NONE)
			continue;
		growth += row_growth;
		for (size_t j = 0; j < places->findings; j++) {
			if (items[j].verdict->through || !has_source(items[j].verdict) ||
			    !is_called(maker, places, i, j, finding))
				continue;
			shared[j] += row_growth;
			is_covered = true;
		}
		covered += is_covered ? row_growth : 0;
	}
	if (covered < PART_SHARE * growth)
		return finding;
	for (size_t j = 0; j < places->findings; j++)
		if (shared[j] > 0 && (best == finding || shared[j] > shared[best]))
			best = j;
	return best;
}

/*
 * Of a finding without source: the finding of source that calls it and has the greater half of its
 * growth, of several the one that grew least in all, which is the nearest; else itself.
 */
static size_t find_caller(const struct maker *maker, const struct places *places, size_t finding)
{
	const struct gate_finding *items = maker->findings->items;
	double growth = 0, own[MAX_LINKED] = { 0 }, shared[MAX_LINKED] = { 0 };
	size_t best = finding;

	for (size_t i = 0; i < profile__row_count(maker->both); i++) {
		const uint32_t *places_of_row = &places->at[i * places->findings];
		double row_growth = growth_of(maker, profile__row(maker->both, i));

		growth += places_of_row[finding] == PROFILE_NONE ? 0 : row_growth;
		for (size_t j = 0; j < places->findings; j++) {
			own[j] += places_of_row[j] == PROFILE_NONE ? 0 : row_growth;
			if (is_called(maker, places, i, finding, j))
				shared[j] += row_growth;
		}
	}
	for (size_t j = 0; j < places->findings; j++)
		if (has_source(items[j].verdict) && shared[j] > 0 &&
		    shared[j] >= PART_SHARE * growth && (best == finding || own[j] < own[best]))
			best = j;
	return best;
}

/*
 * A function that grew because of those that it calls is a part of what these tell, and what has no
 * source is a part of the function that calls it. None with source is made a part by what has
 * none, nor by what is a part already, so there are no circles.
 */
static int link_findings(struct maker *maker, struct gate_result *result)
{
	size_t count = maker->findings->count < MAX_LINKED ? maker->findings->count : MAX_LINKED;
	const struct gate_finding *items = maker->findings->items;
	struct places places;
	int error = places__init(&places, maker, count);

	for (size_t i = 0; !error && i < count; i++) {
		size_t cause = i;

		if (maker->ids[i] == PROFILE_NONE)
			continue;
		cause = has_source(items[i].verdict) ? find_cause(maker, &places, i)
						     : find_caller(maker, &places, i);
		if (cause != i)
			result->verdicts[items[i].verdict - result->verdicts].through =
				items[cause].verdict;
	}
	for (size_t i = 0; !error && i < count; i++) {
		struct gate_verdict *own = &result->verdicts[items[i].verdict - result->verdicts];

		while (own->through && own->through->through)
			own->through = own->through->through;
	}
	free(places.at);
	return error;
}

/* ---- neighbours ---- */

struct sums {
	double values[2]; /* base, head */
};

static double sums__growth(const struct sums *sums)
{
	return sums->values[1] - sums->values[0];
}

static const char *keep(struct gate_findings *findings, const struct profile *profile,
			uint32_t string)
{
	char **texts = reallocarray(findings->texts, findings->text_count + 1, sizeof(*texts));

	if (!texts)
		return NULL;
	findings->texts = texts;
	texts[findings->text_count] = escape__text(
		profile__text(profile, string), profile__text_length(profile, string), ESCAPE_LINE);
	return texts[findings->text_count++];
}

/* Those that grew most; sums are by function of `both` and lose what is taken. */
static int take_largest(struct maker *maker, struct sums *sums,
			struct gate_neighbour neighbours[static GATE_NEIGHBOURS], size_t *ret_count)
{
	size_t functions = profile__function_count(maker->both);

	for (*ret_count = 0; *ret_count < GATE_NEIGHBOURS; (*ret_count)++) {
		struct gate_neighbour *neighbour = &neighbours[*ret_count];
		const struct profile_function *function;
		size_t largest = functions;

		for (size_t i = 0; i < functions; i++)
			if (sums__growth(&sums[i]) > 0 &&
			    (largest == functions ||
			     sums__growth(&sums[i]) > sums__growth(&sums[largest])))
				largest = i;
		if (largest == functions)
			return 0;
		function = profile__function_at(maker->both, (uint32_t)largest);
		neighbour->name = keep(maker->findings, maker->both, function->name);
		neighbour->file = keep(maker->findings, maker->both, function->file);
		neighbour->before = sums[largest].values[0];
		neighbour->after = sums[largest].values[1];
		if (!neighbour->name || !neighbour->file)
			return -ENOMEM;
		sums[largest] = (struct sums){ 0 };
	}
	return 0;
}

static int find_neighbours(struct maker *maker, size_t finding)
{
	struct gate_finding *it = &maker->findings->items[finding];
	size_t functions = profile__function_count(maker->both);
	struct sums *callers = calloc(functions + 1, sizeof(*callers));
	struct sums *callees = calloc(functions + 1, sizeof(*callees));
	int error = callers && callees ? 0 : -ENOMEM;

	for (size_t i = 0; !error && i < profile__row_count(maker->both); i++) {
		const struct profile_row *row = profile__row(maker->both, i);
		struct profile_stack stack = profile__stack_at(maker->both, row->stack);
		uint32_t place;

		if (!find_frame(maker, finding, stack, &place))
			continue;
		for (int side = 0; side < 2; side++) {
			double value = (double)row->values[side] * maker->scales[side];

			if (place + 1 < stack.count)
				callers[profile__frame_at(maker->both, stack.frames[place + 1])
						->function]
					.values[side] += value;
			if (place && it->verdict->row->kind == GATE_ROW_TOTAL)
				callees[profile__frame_at(maker->both, stack.frames[place - 1])
						->function]
					.values[side] += value;
		}
	}
	if (!error)
		error = take_largest(maker, callers, it->callers, &it->caller_count);
	if (!error)
		error = take_largest(maker, callees, it->callees, &it->callee_count);
	free(callers);
	free(callees);
	return error;
}

/* ---- all ---- */

static double mean_work(const struct gate_side *side)
{
	double sum = 0;

	for (size_t i = 0; i < side->run_count; i++)
		sum += (double)side->runs[i].work;
	return sum / (double)side->run_count;
}

static int make(struct maker *maker, struct gate_result *result)
{
	struct gate_findings *findings = maker->findings;
	struct profile_diff diff = { .head = maker->sides[1]->profile };
	int error = rename_base(maker);

	for (int side = 0; side < 2; side++)
		maker->scales[side] =
			maker->table->is_per_work ? 1 / mean_work(maker->sides[side]) : 1;
	diff.base = findings->base;
	if (!error)
		error = profile_diff__new(&diff, &maker->both);
	if (!error)
		error = collect(maker, result);
	if (!error)
		error = find_ids(maker);
	if (error)
		return error;
	error = link_findings(maker, result);
	for (size_t i = 0; !error && i < findings->count; i++)
		if (maker->ids[i] != PROFILE_NONE)
			error = find_neighbours(maker, i);
	qsort(findings->items, findings->count, sizeof(*findings->items), compare_verdicts);
	return error;
}

int gate_findings__new(struct gate_result *result, const struct gate_side *base,
		       const struct gate_side *head, struct gate_findings *ret_findings)
{
	struct gate_findings findings = { .head = head->profile };
	struct maker maker = {
		.findings = &findings,
		.table = result->table,
		.sides = { base, head },
	};
	int error = make(&maker, result);

	profile__free(maker.both);
	free(maker.ids);
	if (error)
		gate_findings__free(&findings);
	else
		*ret_findings = findings;
	return error;
}

void gate_findings__free(struct gate_findings *findings)
{
	for (size_t i = 0; i < findings->text_count; i++)
		free(findings->texts[i]);
	free(findings->texts);
	free(findings->items);
	profile__free(findings->base);
	*findings = (struct gate_findings){ 0 };
}
