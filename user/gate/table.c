/* SPDX-License-Identifier: BSD-2-Clause */
#include "table.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../out/escape.h"
#include "match.h"

#define HALF_A_TICK 0.5e9 /* over hz */

/* What the making of a table needs beside it. Columns are the runs that are compared. */
struct maker {
	struct gate_table *table;
	const struct gate_config *config;
	const struct gate_side *sides[2]; /* base, head */
	size_t *columns[2];
	size_t counts[2];
	double *scales[2]; /* by column: what a time is multiplied with */
	double cpu[2];	   /* of all functions, over the columns */
};

double gate_table__mean(const double *values, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += values[i];
	return count ? sum / (double)count : 0;
}

/* ---- columns ---- */

static void choose_all(struct maker *maker)
{
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < maker->sides[side]->run_count; i++)
			maker->columns[side][maker->counts[side]++] = i;
}

static void choose_pairs(struct maker *maker)
{
	const struct gate_side *base = maker->sides[0], *head = maker->sides[1];

	for (size_t i = 0; i < base->run_count; i++)
		for (size_t j = 0; j < head->run_count; j++) {
			if (base->runs[i].pair == GATE_RUN_UNKNOWN ||
			    base->runs[i].pair != head->runs[j].pair)
				continue;
			maker->columns[0][maker->counts[0]++] = i;
			maker->columns[1][maker->counts[1]++] = j;
			break;
		}
	maker->table->base_left = base->run_count - maker->counts[0];
	maker->table->head_left = head->run_count - maker->counts[1];
}

static int choose_columns(struct maker *maker, bool are_pairs)
{
	struct gate_table *table = maker->table;

	for (int side = 0; side < 2; side++) {
		/* A pair's number may come twice in what others have written. */
		size_t room = maker->sides[0]->run_count + maker->sides[1]->run_count + 1;

		maker->columns[side] = calloc(room, sizeof(*maker->columns[side]));
		maker->scales[side] = calloc(room, sizeof(*maker->scales[side]));
		if (!maker->columns[side] || !maker->scales[side])
			return -ENOMEM;
	}
	table->is_paired = are_pairs;
	if (are_pairs)
		choose_pairs(maker);
	else
		choose_all(maker);
	table->base_count = maker->counts[0];
	table->head_count = maker->counts[1];
	return 0;
}

static const struct gate_run *run_at(const struct maker *maker, int side, size_t column)
{
	return &maker->sides[side]->runs[maker->columns[side][column]];
}

/* ---- what stands in the way ---- */

static int add_obstacle(struct gate_table *table, bool of_counts, char *text)
{
	struct gate_obstacle *obstacles =
		text ? reallocarray(table->obstacles, table->obstacle_count + 1, sizeof(*obstacles))
		     : NULL;

	if (!obstacles) {
		free(text);
		return -ENOMEM;
	}
	obstacles[table->obstacle_count++] = (struct gate_obstacle){ text, of_counts };
	table->obstacles = obstacles;
	return 0;
}

static int obstacle(struct gate_table *table, bool of_counts, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static int obstacle(struct gate_table *table, bool of_counts, const char *format, ...)
{
	va_list arguments;
	char *text, *clean = NULL;
	int length;

	va_start(arguments, format);
	length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length >= 0) {
		clean = escape__text(text, (size_t)length, ESCAPE_LINE);
		free(text);
	}
	return add_obstacle(table, of_counts, clean);
}

static const char *or_unknown(const char *text)
{
	return text ? text : "unknown";
}

/* The first run whose text is another than that of the first run of base. */
static int compare_texts(struct maker *maker, const char *what, bool of_counts,
			 const char *(*text_of)(const struct gate_run *run))
{
	const char *expected = NULL;

	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < maker->counts[side]; i++) {
			const char *text = or_unknown(text_of(run_at(maker, side, i)));

			if (!expected)
				expected = text;
			if (strcmp(expected, text))
				return obstacle(maker->table, of_counts,
						"the runs are not of one %s: %s, %s", what,
						expected, text);
		}
	return 0;
}

static const char *ruby_of(const struct gate_run *run)
{
	return run->ruby;
}
static const char *kernel_of(const struct gate_run *run)
{
	return run->kernel;
}
static const char *cpu_of(const struct gate_run *run)
{
	return run->cpu;
}
static const char *version_of(const struct gate_run *run)
{
	return run->version;
}

static int compare_hz(struct maker *maker)
{
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < maker->counts[side]; i++) {
			int64_t expected = run_at(maker, maker->counts[0] ? 0 : 1, 0)->hz;
			int64_t hz = run_at(maker, side, i)->hz;

			if (hz != expected)
				return obstacle(maker->table, false,
						"the runs are not of one frequency: %lld Hz, %lld "
						"Hz",
						(long long)expected, (long long)hz);
		}
	return 0;
}

static int find_failures(struct maker *maker)
{
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < maker->counts[side]; i++) {
			int64_t status = run_at(maker, side, i)->status;

			if (status > 0)
				return obstacle(maker->table, true,
						"run %zu of '%s' ended with status %lld",
						maker->columns[side][i] + 1,
						maker->sides[side]->path, (long long)status);
		}
	return 0;
}

static int find_obstacles(struct maker *maker)
{
	int error = compare_texts(maker, "Ruby", true, ruby_of);

	if (!error)
		error = compare_texts(maker, "kernel", false, kernel_of);
	if (!error)
		error = compare_texts(maker, "CPU", false, cpu_of);
	if (!error)
		error = compare_texts(maker, "rbprof-bpf", false, version_of);
	if (!error)
		error = compare_hz(maker);
	return error ? error : find_failures(maker);
}

/* ---- units ---- */

/* In how many of the runs a figure is known. */
static size_t count_known(const struct maker *maker, int64_t (*figure)(const struct gate_run *))
{
	size_t known = 0;

	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < maker->counts[side]; i++)
			known += figure(run_at(maker, side, i)) > 0;
	return known;
}

static int64_t work_of(const struct gate_run *run)
{
	return run->work;
}
static int64_t calibration_of(const struct gate_run *run)
{
	return run->calibration_ns;
}

static double log_cost(const struct gate_run *run, bool is_calibrated)
{
	double cost = (double)run->cpu_ns;

	if (run->work > 0)
		cost /= (double)run->work;
	if (is_calibrated)
		cost /= (double)run->calibration_ns;
	return cost > 0 ? log(cost) : 0;
}

/*
 * The scatter of the runs' CPU: the sum of squares of the pairs' differences of logarithms, or
 * else about the mean of all. It is the same whichever run is called base, so a choice by it
 * leaves the tests exact.
 */
static double scatter(const struct maker *maker, bool is_calibrated)
{
	bool is_paired = maker->table->is_paired;
	double sum = 0, squares = 0;

	for (int side = is_paired ? 1 : 0; side < 2; side++)
		for (size_t i = 0; i < maker->counts[side]; i++) {
			double value = log_cost(run_at(maker, side, i), is_calibrated);

			if (is_paired)
				value -= log_cost(run_at(maker, 0, i), is_calibrated);
			sum += value;
			squares += value * value;
		}
	return is_paired ? squares
			 : squares - sum * sum / (double)(maker->counts[0] + maker->counts[1]);
}

static int choose_units(struct maker *maker)
{
	struct gate_table *table = maker->table;
	size_t runs = maker->counts[0] + maker->counts[1];
	size_t working = count_known(maker, work_of);
	double reference = 0;
	int64_t hz = maker->counts[0] ? run_at(maker, 0, 0)->hz : 0;

	table->is_per_work = runs && working == runs;
	/* Where it explains none of the scatter, it would only add its own. */
	table->is_calibrated = runs && count_known(maker, calibration_of) == runs &&
			       scatter(maker, true) < scatter(maker, false);
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < maker->counts[side]; i++)
			reference += (double)run_at(maker, side, i)->calibration_ns / (double)runs;
	table->tick_ns = hz > 0 ? HALF_A_TICK / (double)hz : 0;
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < maker->counts[side]; i++) {
			const struct gate_run *run = run_at(maker, side, i);
			double scale = table->is_per_work ? 1 / (double)run->work : 1;

			/* A machine that is slow just now needs longer for the loop, too. */
			if (table->is_calibrated)
				scale *= reference / (double)run->calibration_ns;
			maker->scales[side][i] = scale;
		}
	table->one = table->is_per_work ? 1 / (double)run_at(maker, 0, 0)->work : 1;
	table->tick_ns *= table->one;
	if (working && working != runs)
		return obstacle(table, true, "some runs state their work, others do not");
	return 0;
}

/* ---- rows ---- */

static struct gate_row *add_row(struct gate_table *table, const struct gate_row *row)
{
	struct gate_row *rows =
		reallocarray(table->rows, table->row_count + 1, sizeof(*table->rows));

	if (!rows)
		return NULL;
	table->rows = rows;
	rows[table->row_count] = *row;
	rows[table->row_count].base = calloc(table->base_count + 1, sizeof(double));
	rows[table->row_count].head = calloc(table->head_count + 1, sizeof(double));
	table->row_count++;
	return rows[table->row_count - 1].base && rows[table->row_count - 1].head
		       ? &rows[table->row_count - 1]
		       : NULL;
}

static int64_t figure_of(const struct gate_run *run, enum gate_metric metric)
{
	switch (metric) {
	case GATE_CPU:
		return run->cpu_ns;
	case GATE_WALL:
		return run->wall_ns;
	case GATE_GC:
		return run->gc_ns;
	case GATE_GC_COUNT:
		return run->gc_count;
	case GATE_ALLOCATED:
		return run->allocated;
	default:
		return GATE_RUN_UNKNOWN;
	}
}

/* Counts are exact: how fast the machine was has no part in them. */
static double scale_of(const struct maker *maker, int side, size_t column, bool is_count)
{
	if (!is_count)
		return maker->scales[side][column];
	if (!maker->table->is_per_work)
		return 1;
	return 1 / (double)run_at(maker, side, column)->work;
}

static int add_metric(struct maker *maker, enum gate_metric metric)
{
	const struct gate_row start = {
		.metric = metric,
		.name = gate_metric__name(metric),
		.file = "",
		.base_id = PROFILE_NONE,
		.head_id = PROFILE_NONE,
	};
	struct gate_row *row = add_row(maker->table, &start);
	size_t missing = 0;

	if (!row)
		return -ENOMEM;
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < maker->counts[side]; i++) {
			int64_t figure = figure_of(run_at(maker, side, i), metric);
			double *values = side ? row->head : row->base;

			missing += figure < 0;
			values[i] =
				(double)figure * scale_of(maker, side, i, gate_row__is_count(row));
		}
	row->is_missing_on_both = missing == maker->counts[0] + maker->counts[1];
	if (missing)
		row->missing =
			row->is_missing_on_both ? "no run has it" : "some runs do not have it";
	return 0;
}

/* A text that lives as long as the table. NULL: out of memory. */
static const char *keep(struct gate_table *table, const struct profile *profile, uint32_t string)
{
	char **texts = reallocarray(table->texts, table->text_count + 1, sizeof(*texts));
	char *text;

	if (!texts)
		return NULL;
	table->texts = texts;
	text = escape__text(profile__text(profile, string), profile__text_length(profile, string),
			    ESCAPE_LINE);
	texts[table->text_count++] = text;
	return text;
}

/* A function on either side, whose figures may be missing on the other. */
struct function_pair {
	const struct gate_function *functions[2];
	uint32_t ids[2];
};

static double cpu_of_function(const struct maker *maker, int side, const struct function_pair *pair,
			      enum gate_row_kind kind)
{
	const struct gate_function *function = pair->functions[side];
	double sum = 0;

	if (!function)
		return 0;
	for (size_t i = 0; i < maker->counts[side]; i++)
		sum += (kind == GATE_ROW_SELF ? function->self
					      : function->total)[maker->columns[side][i]];
	return sum;
}

static double share(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

/* Of the CPU of all runs, base's and head's. */
static double share_of_all(const struct maker *maker, const struct function_pair *pair,
			   enum gate_row_kind kind)
{
	return share(cpu_of_function(maker, 0, pair, kind) + cpu_of_function(maker, 1, pair, kind),
		     maker->cpu[0] + maker->cpu[1]);
}

static int add_function_row(struct maker *maker, const struct function_pair *pair,
			    enum gate_row_kind kind, const char *name, const char *file)
{
	int newer = pair->functions[1] ? 1 : 0;
	const double *cpu = maker->cpu, base = cpu_of_function(maker, 0, pair, kind),
		     head = cpu_of_function(maker, 1, pair, kind);
	struct gate_row start = {
		.kind = kind,
		.metric = GATE_FUNCTIONS,
		.name = name,
		.file = file,
		.line = pair->functions[newer]->line,
		.base_share = share(base, cpu[0]),
		.head_share = share(head, cpu[1]),
		.share = share_of_all(maker, pair, kind),
		.base_id = pair->ids[0],
		.head_id = pair->ids[1],
	};
	struct gate_row *row;

	if (start.share < maker->config->min_share)
		return 0;
	row = add_row(maker->table, &start);
	if (!row)
		return -ENOMEM;
	for (int side = 0; side < 2; side++) {
		const struct gate_function *function = pair->functions[side];
		double *values = side ? row->head : row->base;

		for (size_t i = 0; function && i < maker->counts[side]; i++)
			values[i] =
				(kind == GATE_ROW_SELF ? function->self
						       : function->total)[maker->columns[side][i]] *
				maker->scales[side][i];
	}
	return 0;
}

/* What a function calls is a part of it: two rows, unless it calls nothing. */
static int add_function(struct maker *maker, const struct function_pair *pair)
{
	int newer = pair->functions[1] ? 1 : 0;
	const struct profile *profile = maker->sides[newer]->profile;
	const struct profile_function *function = profile__function_at(profile, pair->ids[newer]);
	bool is_leaf = true;
	const char *name, *file;
	int error;

	/* By what does not tell base from head, so that the tests stay exact. */
	if (share_of_all(maker, pair, GATE_ROW_TOTAL) < maker->config->min_share)
		return 0;
	name = keep(maker->table, profile, function->name);
	file = keep(maker->table, profile, function->file);
	if (!name || !file)
		return -ENOMEM;
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; pair->functions[side] && i < maker->sides[side]->run_count; i++)
			is_leaf &=
				pair->functions[side]->self[i] == pair->functions[side]->total[i];
	error = add_function_row(maker, pair, GATE_ROW_TOTAL, name, file);
	if (!error && !is_leaf)
		error = add_function_row(maker, pair, GATE_ROW_SELF, name, file);
	return error;
}

static void sum_up_cpu(struct maker *maker)
{
	for (int side = 0; side < 2; side++)
		for (uint32_t i = 0; i < maker->sides[side]->function_count; i++)
			for (size_t j = 0; j < maker->counts[side]; j++)
				maker->cpu[side] += maker->sides[side]
							    ->functions[i]
							    .self[maker->columns[side][j]];
}

static int add_functions(struct maker *maker)
{
	const struct gate_side *base = maker->sides[0], *head = maker->sides[1];
	bool *is_in_base = calloc(head->function_count + 1, sizeof(*is_in_base));
	int error = is_in_base ? 0 : -ENOMEM;

	sum_up_cpu(maker);
	for (uint32_t i = 0; !error && i < base->function_count; i++) {
		uint32_t id = maker->table->moved[i];
		struct function_pair pair = { { &base->functions[i], NULL }, { i, id } };

		if (id != PROFILE_NONE) {
			is_in_base[id] = true;
			pair.functions[1] = &head->functions[id];
		}
		if (!gate_side__is_special(base, i))
			error = add_function(maker, &pair);
	}
	for (uint32_t i = 0; !error && i < head->function_count; i++) {
		struct function_pair pair = { { NULL, &head->functions[i] }, { PROFILE_NONE, i } };

		if (!is_in_base[i] && !gate_side__is_special(head, i))
			error = add_function(maker, &pair);
	}
	free(is_in_base);
	return error;
}

/* A row that stands for all functions where there are no figures of them. */
static int add_no_functions(struct maker *maker)
{
	const struct gate_row start = {
		.metric = GATE_FUNCTIONS,
		.name = gate_metric__name(GATE_FUNCTIONS),
		.file = "",
		.base_id = PROFILE_NONE,
		.head_id = PROFILE_NONE,
		.missing = "there are profiles without cpu-time",
		.is_missing_on_both = !maker->sides[0]->has_cpu && !maker->sides[1]->has_cpu,
	};

	return add_row(maker->table, &start) ? 0 : -ENOMEM;
}

static int fill(struct maker *maker, bool are_pairs)
{
	int error = choose_columns(maker, are_pairs);

	if (!error)
		error = find_obstacles(maker);
	if (!error)
		error = choose_units(maker);
	if (!error)
		error = gate_match(maker->sides[0]->profile, maker->sides[1]->profile,
				   &maker->table->moved);
	for (int i = 0; !error && i < GATE_FUNCTIONS; i++)
		if (maker->config->has_metric[i])
			error = add_metric(maker, i);
	if (error || !maker->config->has_metric[GATE_FUNCTIONS])
		return error;
	if (!maker->sides[0]->has_cpu || !maker->sides[1]->has_cpu)
		return add_no_functions(maker);
	return add_functions(maker);
}

int gate_table__new(const struct gate_side *base, const struct gate_side *head, bool are_pairs,
		    const struct gate_config *config, struct gate_table *ret_table)
{
	struct gate_table table = { 0 };
	struct maker maker = { .table = &table, .config = config, .sides = { base, head } };
	int error = fill(&maker, are_pairs);

	for (int side = 0; side < 2; side++) {
		free(maker.columns[side]);
		free(maker.scales[side]);
	}
	if (error)
		gate_table__free(&table);
	else
		*ret_table = table;
	return error;
}

void gate_table__free(struct gate_table *table)
{
	for (size_t i = 0; i < table->row_count; i++) {
		free(table->rows[i].base);
		free(table->rows[i].head);
	}
	for (size_t i = 0; i < table->obstacle_count; i++)
		free(table->obstacles[i].text);
	for (size_t i = 0; i < table->text_count; i++)
		free(table->texts[i]);
	free(table->rows);
	free(table->obstacles);
	free(table->texts);
	free(table->moved);
	*table = (struct gate_table){ 0 };
}
