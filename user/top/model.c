/* SPDX-License-Identifier: BSD-2-Clause */
#include "model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../util/clock.h"
#include "slices.h"

static const struct {
	const char *type, *name;
} values[] = {
	{ "cpu-time", "cpu" },
	{ "wall-time", "wall" },
	{ "timeline", "gc" },
	{ "cpu-samples", "samples" }, /* not among those that follow each other */
};
#define VALUES_IN_TURN 3

static const struct {
	const char *label, *name;
} groups[] = {
	{ NULL, "method" },	     { "process", "process" },
	{ "thread name", "thread" }, { "trace endpoint", "endpoint" },
	{ "state", "state" },
};
#define GROUPS (sizeof(groups) / sizeof(groups[0]))

static bool is_same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* ---- what is asked for ---- */

static struct rule rule_of(enum rule_kind kind, char *text)
{
	char *equals = strchr(text, '=');

	*equals = '\0';
	return (struct rule){ kind, rules__label_name(text), equals + 1 };
}

static int read_rules(struct top_model *model, enum rule_kind kind, const struct options_list *list)
{
	size_t i;

	for (i = 0; i < list->count; i++) {
		char *text = strdup(list->items[i]);

		if (!text)
			return -ENOMEM;
		model->rule_texts[model->rule_text_count++] = text;
		model->rules[model->rule_count++] = rule_of(kind, text);
	}
	return 0;
}

static void add_window(struct top_model *model, uint64_t window_ns)
{
	if (!model->window_count || window_ns > model->windows_ns[model->window_count - 1])
		model->windows_ns[model->window_count++] = window_ns;
}

int top_model__init(struct top_model *model, const struct options *options,
		    const struct recorder *recorder)
{
	size_t rules = options->focuses.count + options->ignores.count + TOP_MAX_ZOOM;
	int error;

	*model = (struct top_model){ .options = options, .recorder = recorder };
	gethostname(model->host, sizeof(model->host) - 1);
	model->value = options->value ? options->value : "cpu-time";
	model->by_line = options->by_line;
	top_model__set_by(model, options->by ? rules__label_name(options->by) : NULL);
	model->options_by = model->by;
	add_window(model, options->interval_ns);
	add_window(model, TOP_RING_NS / 6);
	add_window(model, TOP_RING_NS);
	model->window = model->window_count > 1;
	model->rules = calloc(rules, sizeof(*model->rules));
	model->rule_texts = calloc(rules, sizeof(*model->rule_texts));
	if (!model->rules || !model->rule_texts)
		return -ENOMEM;
	error = read_rules(model, RULE_FOCUS, &options->focuses);
	return error ? error : read_rules(model, RULE_IGNORE, &options->ignores);
}

void top_model__free(struct top_model *model)
{
	while (top_model__zoom_out(model))
		;
	slices__free(model->frozen);
	view__free(model->view);
	while (model->rule_text_count)
		free(model->rule_texts[--model->rule_text_count]);
	free(model->rule_texts);
	free(model->rules);
}

void top_model__set_value(struct top_model *model, const char *value)
{
	model->value = value;
}

void top_model__next_value(struct top_model *model)
{
	size_t i = 0;

	while (i < VALUES_IN_TURN && strcmp(values[i].type, model->value))
		i++;
	model->value = values[i < VALUES_IN_TURN ? (i + 1) % VALUES_IN_TURN : 0].type;
}

void top_model__set_by(struct top_model *model, const char *by)
{
	model->by = by;
}

void top_model__next_by(struct top_model *model)
{
	size_t i = 0;

	while (i < GROUPS && !is_same(groups[i].label, model->by))
		i++;
	if (i == GROUPS) {
		model->by = groups[0].label;
		return;
	}
	if (i + 1 < GROUPS) {
		model->by = groups[i + 1].label;
		return;
	}
	/* One that --by named comes last. */
	model->by = model->options_by;
	for (i = 0; i < GROUPS; i++) {
		if (is_same(groups[i].label, model->by))
			model->by = groups[0].label;
	}
}

void top_model__next_order(struct top_model *model)
{
	model->order = model->order == VIEW_BY_NAME ? VIEW_BY_SELF : model->order + 1;
}

/* ---- zoom ---- */

int top_model__zoom_in(struct top_model *model, const struct view_row *row)
{
	struct top_zoom *zoom = &model->zooms[model->zoom_count];
	bool is_label = row->kind == VIEW_LABEL;

	if (model->zoom_count == TOP_MAX_ZOOM)
		return 0;
	zoom->by = model->by;
	zoom->label = strdup(is_label ? model->by : row->name);
	zoom->text = strdup(is_label ? row->name : row->file);
	if (!zoom->label || !zoom->text) {
		free(zoom->label);
		free(zoom->text);
		return -ENOMEM;
	}
	zoom->rule = (struct rule){ is_label ? RULE_VALUE : RULE_METHOD, zoom->label, zoom->text };
	model->rules[model->rule_count++] = zoom->rule;
	model->zoom_count++;
	if (is_label)
		model->by = NULL;
	return 0;
}

bool top_model__zoom_out(struct top_model *model)
{
	struct top_zoom *zoom;

	if (!model->zoom_count)
		return false;
	zoom = &model->zooms[--model->zoom_count];
	model->rule_count--;
	model->by = zoom->by;
	free(zoom->label);
	free(zoom->text);
	return true;
}

/* ---- the table ---- */

static const struct session_slice *slices_of(const struct top_model *model)
{
	return model->frozen ? model->frozen : session__slices(model->recorder->session);
}

static int refresh(struct top_model *model, uint64_t window_ns)
{
	struct view_query query = {
		.value = model->value,
		.by = model->by,
		.by_line = model->by_line,
		.rules = { model->rules, model->rule_count },
		.window_ns = window_ns,
	};
	struct view *view;
	int error = view__new(slices_of(model), &query, &view);

	if (error)
		return error;
	view__sort(view, model->order);
	view__free(model->view);
	model->view = view;
	return 0;
}

int top_model__refresh(struct top_model *model)
{
	return refresh(model, model->windows_ns[model->window]);
}

int top_model__refresh_slice(struct top_model *model)
{
	return refresh(model, 0);
}

int top_model__freeze(struct top_model *model, bool is_frozen)
{
	slices__free(model->frozen);
	model->frozen = NULL;
	if (!is_frozen)
		return 0;
	return slices__copy(slices_of(model), model->windows_ns[model->window], &model->frozen);
}

bool top_model__shows(const struct top_model *model, const struct view_row *row)
{
	return !*model->filter || strcasestr(row->name, model->filter) ||
	       strcasestr(row->file, model->filter);
}

/* ---- the figures ---- */

static uint64_t own_cpu_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

static void read_counters(struct top_model *model)
{
	session__summary(model->recorder->session, &model->summary);
	memmove(&model->readings[1], &model->readings[0], TOP_RATES * sizeof(model->readings[0]));
	model->readings[0] = (struct top_reading){
		.time_ns = clock__now_ns(),
		.samples = model->summary.samples,
		.own_cpu_ns = own_cpu_ns(),
	};
	if (model->reading_count <= TOP_RATES)
		model->reading_count++;
}

bool top_model__poll(struct top_model *model)
{
	const struct session_slice *slice = session__slices(model->recorder->session);

	while (slice && slice->next)
		slice = slice->next;
	/* A first reading, to compare with. */
	if (!model->reading_count)
		read_counters(model);
	if (!slice || slice->end_ns == model->slice_ns)
		return false;
	model->slice_ns = slice->end_ns;
	read_counters(model);
	return true;
}

/* What a counter gains a second. */
static double rate(const struct top_model *model, uint64_t newest, uint64_t oldest)
{
	const struct top_reading *first = &model->readings[model->reading_count - 1];
	uint64_t time_ns = model->readings[0].time_ns - first->time_ns;

	return time_ns && newest > oldest ? (double)(newest - oldest) * 1e9 / (double)time_ns : 0;
}

double top_model__samples_per_second(const struct top_model *model)
{
	if (model->reading_count < 2)
		return 0;
	return rate(model, model->readings[0].samples,
		    model->readings[model->reading_count - 1].samples);
}

double top_model__own_cpu(const struct top_model *model)
{
	if (model->reading_count < 2)
		return 0;
	return rate(model, model->readings[0].own_cpu_ns,
		    model->readings[model->reading_count - 1].own_cpu_ns) /
	       1e9;
}

uint64_t top_model__elapsed_ns(const struct top_model *model)
{
	return clock__now_ns() - model->recorder->started_ns;
}

const char *top_model__value_name(const struct top_model *model)
{
	size_t i;

	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		if (!strcmp(values[i].type, model->value))
			return values[i].name;
	}
	return model->value;
}

const char *top_model__by_name(const struct top_model *model)
{
	size_t i;

	for (i = 0; i < GROUPS; i++) {
		if (is_same(groups[i].label, model->by))
			return groups[i].name;
	}
	return model->by;
}
