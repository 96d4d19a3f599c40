/* SPDX-License-Identifier: BSD-2-Clause */
#include "view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pairs.h"
#include "slices.h"

#define FIRST_ROWS 64

/* What is known of a label set. */
#define SET_KNOWN    1
#define SET_FITS     2
#define SET_OVERHEAD 4

/* Slices that have one profile, which is read as one. */
struct run {
	const struct view_query *query;
	struct view *view;
	const struct profile *profile;
	int type;	      /* index of the value that is looked at */
	size_t first_row;     /* of the view's rows, the first of this run */
	uint8_t *sets;	      /* by label set */
	uint32_t *set_rows;   /* by label set: 1 + its row, where rows are of a label */
	uint32_t *text_rows;  /* the same by the label's text, a string id */
	uint32_t *frame_rows; /* by function or frame: 1 + its row, where they are of methods */
	uint32_t *seen;	      /* by row: 1 + the stack it was last found in */
	size_t seen_room;
	struct pairs stacks;  /* stack and label set: sums */
	struct pairs hottest; /* row of a label, and function: sums */
};

/* ---- rows ---- */

static int add_row(struct view *view, const char *name, const char *file, int64_t line,
		   enum view_kind kind)
{
	struct view_row row = { .line = line, .kind = kind };

	if (view->count == view->room) {
		size_t room = view->room ? view->room * 2 : FIRST_ROWS;
		struct view_row *rows = realloc(view->rows, room * sizeof(*rows));

		if (!rows)
			return -ENOMEM;
		view->rows = rows;
		view->room = room;
	}
	row.name = strdup(name);
	row.file = strdup(file);
	if (!row.name || !row.file) {
		free(row.name);
		free(row.file);
		return -ENOMEM;
	}
	view->rows[view->count++] = row;
	return 0;
}

static const struct profile_function *function_of(const struct run *run, uint32_t frame)
{
	return profile__function_at(run->profile, profile__frame_at(run->profile, frame)->function);
}

static enum view_kind kind_of(const char *file)
{
	if (!strcmp(file, "<cfunc>"))
		return VIEW_C;
	return !strcmp(file, "<rbprof>") ? VIEW_SPECIAL : VIEW_RUBY;
}

/* The row of a frame's method, or of its line. NULL: no memory. */
static struct view_row *frame_row(struct run *run, uint32_t frame)
{
	const struct profile_frame *at = profile__frame_at(run->profile, frame);
	uint32_t *row = &run->frame_rows[run->query->by_line ? frame : at->function];

	if (!*row) {
		const struct profile_function *function = function_of(run, frame);
		const char *file = profile__text(run->profile, function->file);

		if (add_row(run->view, profile__text(run->profile, function->name), file,
			    run->query->by_line ? at->line : function->start_line, kind_of(file)))
			return NULL;
		*row = (uint32_t)run->view->count;
	}
	return &run->view->rows[*row - 1];
}

/* 1 + the row of the label that has no text but a number, or of none; 0: there is none yet. */
static uint32_t find_row(const struct run *run, const char *name)
{
	for (size_t i = run->first_row; i < run->view->count; i++) {
		if (!strcmp(run->view->rows[i].name, name))
			return (uint32_t)i + 1;
	}
	return 0;
}

/* The row of the set's label. */
static int label_row(struct run *run, uint32_t set, uint32_t *ret_row)
{
	const struct profile_label *label = rules__label(run->profile, set, run->query->by);
	char number[PROFILE_LABELS_NUMBER];
	const char *text = profile_labels__value(run->profile, label, number);
	uint32_t row, *known = NULL;

	if (label && label->text != PROFILE_NONE)
		known = &run->text_rows[label->text];
	row = known ? *known : find_row(run, text);
	if (!row) {
		if (add_row(run->view, text, "", 0, VIEW_LABEL))
			return -ENOMEM;
		row = (uint32_t)run->view->count;
	}
	if (known)
		*known = row;
	*ret_row = row;
	return 0;
}

/* ---- what a run has ---- */

static unsigned int know_set(struct run *run, uint32_t set)
{
	if (!run->sets[set]) {
		run->sets[set] = SET_KNOWN;
		if (rules__fit_labels(&run->query->rules, run->profile, set))
			run->sets[set] |= SET_FITS;
		if (rules__label(run->profile, set, "profiler overhead"))
			run->sets[set] |= SET_OVERHEAD;
	}
	return run->sets[set];
}

static int add_slice(struct run *run, const struct session_slice *slice)
{
	int cpu = profile__type_index(run->profile, "cpu-time");
	int gc = profile__type_index(run->profile, "timeline");
	struct view *view = run->view;
	size_t i;

	for (i = 0; i < slice->count; i++) {
		const struct profile_row *row = &slice->rows[i];
		unsigned int set = know_set(run, row->label_set);

		view->cpu_ns += cpu < 0 ? 0 : row->values[cpu];
		view->gc_ns += gc < 0 ? 0 : row->values[gc];
		if (set & SET_OVERHEAD)
			view->overhead_ns += cpu < 0 ? 0 : row->values[cpu];
		if (!(set & SET_FITS) || run->type < 0 || !row->values[run->type])
			continue;
		if (pairs__add(&run->stacks, row->stack, row->label_set, row->values[run->type]))
			return -ENOMEM;
	}
	return 0;
}

/* The stack as it is shown: the collector's own frame is not what set it off. */
static struct profile_stack shown_stack(const struct run *run, uint32_t id)
{
	struct profile_stack stack = profile__stack_at(run->profile, id);

	if (stack.count > 1 && !strcmp(run->query->value, "timeline") &&
	    !strcmp(profile__text(run->profile, function_of(run, stack.frames[0])->name),
		    "Garbage Collection")) {
		stack.frames++;
		stack.count--;
	}
	return stack;
}

static bool has_methods(const struct run *run, const struct profile_stack *stack)
{
	const struct rules *rules = &run->query->rules;
	size_t i;
	uint32_t j;

	for (i = 0; i < rules->count; i++) {
		if (rules->rules[i].kind != RULE_METHOD)
			continue;
		for (j = 0; j < stack->count; j++) {
			const struct profile_frame *frame =
				profile__frame_at(run->profile, stack->frames[j]);

			if (rule__is_function(&rules->rules[i], run->profile, frame->function))
				break;
		}
		if (j == stack->count)
			return false;
	}
	return true;
}

static int make_room(struct run *run)
{
	size_t room = run->view->room;
	uint32_t *seen;

	if (room <= run->seen_room)
		return 0;
	seen = realloc(run->seen, room * sizeof(*seen));
	if (!seen)
		return -ENOMEM;
	memset(seen + run->seen_room, 0, (room - run->seen_room) * sizeof(*seen));
	run->seen = seen;
	run->seen_room = room;
	return 0;
}

/* A method counts once in a stack, however often it is in it. */
static int add_methods(struct run *run, const struct profile_stack *stack, size_t serial,
		       int64_t value)
{
	uint32_t i;

	for (i = 0; i < stack->count; i++) {
		struct view_row *row = frame_row(run, stack->frames[i]);
		size_t at;

		if (!row || make_room(run))
			return -ENOMEM;
		at = (size_t)(row - run->view->rows);
		if (!i)
			row->self += value;
		if (run->seen[at] == serial + 1)
			continue;
		run->seen[at] = (uint32_t)serial + 1;
		row->total += value;
	}
	return 0;
}

static int add_to_label(struct run *run, const struct profile_stack *stack, uint32_t set,
			int64_t value)
{
	uint32_t *row = &run->set_rows[set];

	if (!*row && label_row(run, set, row))
		return -ENOMEM;
	run->view->rows[*row - 1].self += value;
	run->view->rows[*row - 1].total += value;
	if (!stack->count)
		return 0;
	return pairs__add(&run->hottest, *row - 1,
			  profile__frame_at(run->profile, stack->frames[0])->function, value);
}

static int add_stacks(struct run *run)
{
	size_t i;
	int error = 0;

	for (i = 0; i < run->stacks.count && !error; i++) {
		const struct pair *pair = &run->stacks.pairs[i];
		struct profile_stack stack = shown_stack(run, pair->first);

		if (!has_methods(run, &stack))
			continue;
		run->view->sum += pair->sum;
		if (run->query->by)
			error = add_to_label(run, &stack, pair->second, pair->sum);
		else
			error = add_methods(run, &stack, i, pair->sum);
	}
	return error;
}

static int name_hottest(struct run *run)
{
	size_t i;

	for (i = 0; i < run->hottest.count; i++) {
		const struct pair *pair = &run->hottest.pairs[i];
		const struct profile_function *function =
			profile__function_at(run->profile, pair->second);
		struct view_row *row = &run->view->rows[pair->first];
		char *name;

		if (pair->sum <= row->hottest)
			continue;
		name = strdup(profile__text(run->profile, function->name));
		if (!name)
			return -ENOMEM;
		free(row->file);
		row->file = name;
		row->hottest = pair->sum;
	}
	return 0;
}

/* Adds a run of slices, of which the first is given. *ret_next: the first that is not in it. */
static int add_run(struct view *view, const struct view_query *query,
		   const struct session_slice *slice, const struct session_slice **ret_next)
{
	const struct profile *profile = slice->profile;
	size_t sets = profile__label_set_count(profile);
	size_t frames =
		query->by_line ? profile__frame_count(profile) : profile__function_count(profile);
	struct run run = {
		.query = query,
		.view = view,
		.profile = profile,
		.type = profile__type_index(profile, query->value),
		.first_row = view->count,
		.sets = calloc(sets + 1, sizeof(*run.sets)),
		.set_rows = query->by ? calloc(sets + 1, sizeof(*run.set_rows)) : NULL,
		.text_rows =
			query->by ? calloc(profile__string_count(profile), sizeof(*run.text_rows))
				  : NULL,
		.frame_rows = query->by ? NULL : calloc(frames + 1, sizeof(*run.frame_rows)),
	};
	int error = 0;

	if (!run.sets || (query->by ? !run.set_rows || !run.text_rows : !run.frame_rows))
		error = -ENOMEM;
	for (; slice && slice->profile == profile && !error; slice = slice->next)
		error = add_slice(&run, slice);
	if (!error)
		error = add_stacks(&run);
	if (!error)
		error = name_hottest(&run);
	if (run.type >= 0)
		view->unit = !strcmp(profile__type(profile, (size_t)run.type)->unit, "count")
				     ? "count"
				     : "nanoseconds";
	*ret_next = slice;
	free(run.sets);
	free(run.set_rows);
	free(run.text_rows);
	free(run.frame_rows);
	free(run.seen);
	pairs__free(&run.stacks);
	pairs__free(&run.hottest);
	return error;
}

/* ---- order ---- */

static int by_identity(const void *left, const void *right)
{
	const struct view_row *a = left, *b = right;
	int order = strcmp(a->name, b->name);

	/* The hottest method of a label is not a part of its name. */
	if (!order && a->kind != VIEW_LABEL)
		order = strcmp(a->file, b->file);
	return order ? order : (a->line > b->line) - (a->line < b->line);
}

static int by_total(const void *left, const void *right)
{
	const struct view_row *a = left, *b = right;

	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	if (a->self != b->self)
		return a->self > b->self ? -1 : 1;
	return by_identity(left, right);
}

static int by_self(const void *left, const void *right)
{
	const struct view_row *a = left, *b = right;

	if (a->self != b->self)
		return a->self > b->self ? -1 : 1;
	return by_total(left, right);
}

void view__sort(struct view *view, enum view_order order)
{
	static int (*const orders[])(const void *left, const void *right) = {
		[VIEW_BY_SELF] = by_self,
		[VIEW_BY_TOTAL] = by_total,
		[VIEW_BY_NAME] = by_identity,
	};

	if (view->count)
		qsort(view->rows, view->count, sizeof(*view->rows), orders[order]);
}

static void free_row(struct view_row *row)
{
	free(row->name);
	free(row->file);
}

/* Several runs have rows of the same things: what is equal becomes one. */
static void unite_rows(struct view *view)
{
	size_t kept = 0, i;

	view__sort(view, VIEW_BY_NAME);
	for (i = 1; i < view->count; i++) {
		struct view_row *row = &view->rows[kept], *next = &view->rows[i];

		if (by_identity(row, next)) {
			view->rows[++kept] = *next;
			continue;
		}
		row->self += next->self;
		row->total += next->total;
		if (next->hottest > row->hottest) {
			char *file = row->file;

			row->file = next->file;
			next->file = file;
			row->hottest = next->hottest;
		}
		free_row(next);
	}
	view->count = view->count ? kept + 1 : 0;
}

/* ---- the whole ---- */

int view__new(const struct session_slice *slices, const struct view_query *query,
	      struct view **ret_view)
{
	struct view *view = calloc(1, sizeof(*view));
	size_t runs = 0;
	int error = 0;

	if (!view)
		return -ENOMEM;
	view->unit = "nanoseconds";
	slices = slices__window(slices, query->window_ns);
	for (const struct session_slice *slice = slices; slice; slice = slice->next)
		view->window_ns = slice->end_ns - slices->begin_ns;
	for (; slices && !error; runs++)
		error = add_run(view, query, slices, &slices);
	if (error) {
		view__free(view);
		return error;
	}
	if (runs > 1)
		unite_rows(view);
	view__sort(view, VIEW_BY_SELF);
	*ret_view = view;
	return 0;
}

void view__free(struct view *view)
{
	size_t i;

	if (!view)
		return;
	for (i = 0; i < view->count; i++)
		free_row(&view->rows[i]);
	free(view->rows);
	free(view);
}
