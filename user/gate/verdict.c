/* SPDX-License-Identifier: BSD-2-Clause */
#include "verdict.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cmd.h"
#include "stats.h"

#define SEED		0x7262707266ULL /* any but always one: the same runs must have the same verdict */
#define WEIGHT_EXPONENT 0.25		/* of a row's share: 30 % has 2.3 times the weight of 1 % */
#define COUNTER_SHARE	0.001
#define COUNTER_RANGES	2
#define MOVED_SHARE	0.5 /* of a function's growth that must show in its total */

static const char *const states[GATE_STATES] = {
	[GATE_PASS] = "pass",
	[GATE_REGRESSION] = "regression",
	[GATE_IMPROVEMENT] = "improvement",
	[GATE_INCONCLUSIVE] = "inconclusive",
	[GATE_IGNORED] = "ignored",
	[GATE_NEW] = "new",
	[GATE_GONE] = "gone",
	[GATE_MOVED] = "moved",
	[GATE_NOT_MEASURED] = "not measured",
};

const char *gate_state__name(enum gate_state state)
{
	return states[state];
}

/* ---- reasons ---- */

static int give_reason(struct gate_result *result, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static int give_reason(struct gate_result *result, const char *format, ...)
{
	char **reasons = reallocarray(result->reasons, result->reason_count + 1, sizeof(*reasons));
	va_list arguments;
	char *text;
	int length;

	if (!reasons)
		return -ENOMEM;
	result->reasons = reasons;
	va_start(arguments, format);
	length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length < 0)
		return -ENOMEM;
	reasons[result->reason_count++] = text;
	return 0;
}

/* ---- counters ---- */

static int compare_doubles(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

/* Smallest, median (the mean of two in the middle), largest. */
static int find_order(const double *values, size_t count, double ret_order[static 3])
{
	double *sorted = calloc(count + 1, sizeof(*sorted));

	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, values, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), compare_doubles);
	ret_order[0] = sorted[0];
	ret_order[1] = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
	ret_order[2] = sorted[count - 1];
	free(sorted);
	return 0;
}

static double share_of_change(double from, double to)
{
	if (from > 0)
		return to / from - 1;
	return to > 0 ? INFINITY : 0;
}

static int judge_counter(struct gate_result *result, struct gate_verdict *verdict)
{
	const struct gate_table *table = result->table;
	const struct gate_row *row = verdict->row;
	double base[3], head[3], margin;
	double given = result->config->limits[row->metric];

	if (table->base_count < GATE_COUNTER_RUNS || table->head_count < GATE_COUNTER_RUNS) {
		verdict->state = GATE_INCONCLUSIVE;
		return give_reason(
			result, "%s: %d runs of each side are needed, there are %zu and %zu",
			row->name, GATE_COUNTER_RUNS, table->base_count, table->head_count);
	}
	if (find_order(row->base, table->base_count, base) ||
	    find_order(row->head, table->head_count, head))
		return -ENOMEM;
	margin = fmax(COUNTER_SHARE * base[2], COUNTER_RANGES * (base[2] - base[0]));
	/* Whether a collection falls into a run or after its end is chance. */
	if (row->metric == GATE_GC_COUNT)
		margin = fmax(margin, table->one);
	verdict->change = share_of_change(base[1], head[1]);
	verdict->limit = base[1] > 0 ? (base[2] + margin) / base[1] - 1 : 0;
	verdict->low = share_of_change(base[2], head[0]);
	verdict->high = share_of_change(base[0], head[2]);
	if (given >= 0)
		verdict->limit = fmax(verdict->limit, given);
	if (head[1] > base[2] + margin && verdict->change > given)
		verdict->state = GATE_REGRESSION;
	else if (head[1] < base[0] - margin)
		verdict->state = GATE_IMPROVEMENT;
	return 0;
}

/* ---- times ---- */

static bool is_nothing(const double *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (values[i] > 0)
			return false;
	return true;
}

/* What is known of a row before anything is computed. */
static void begin_verdict(const struct gate_result *result, struct gate_verdict *verdict)
{
	const struct gate_config *config = result->config;
	const struct gate_table *table = result->table;
	const struct gate_row *row = verdict->row;
	double given = config->limits[row->metric];

	verdict->low = verdict->high = verdict->p = NAN;
	verdict->limit = given >= 0 ? given : config->limit;
	verdict->before = gate_table__mean(row->base, table->base_count);
	verdict->after = gate_table__mean(row->head, table->head_count);
	verdict->change = share_of_change(verdict->before, verdict->after);
	if (row->kind == GATE_ROW_METRIC)
		return;
	verdict->rule = gate_config__rule(config, row->name);
	if (verdict->rule && verdict->rule->reason)
		verdict->state = GATE_IGNORED;
	else if (verdict->rule)
		verdict->limit = verdict->rule->limit;
	if (verdict->state == GATE_PASS && is_nothing(row->base, table->base_count))
		verdict->state = GATE_NEW;
	else if (verdict->state == GATE_PASS && is_nothing(row->head, table->head_count))
		verdict->state = GATE_GONE;
}

/* Of a row: of its cost as it is, and without what goes with the rest of the run. */
struct gate_effects {
	struct gate_effect plain, left;
	bool has_left;
	bool left_counts; /* the rest did not change */
};

static bool is_tested(const struct gate_verdict *verdict)
{
	return verdict->state == GATE_PASS && !verdict->row->missing &&
	       !gate_row__is_count(verdict->row);
}

/* A function that no tick fell on in a run has not cost nothing: half a tick is added to all. */
static void take_logarithms(const struct gate_result *result, const double *values, size_t count,
			    double *logarithms)
{
	double half_tick = fmax(result->table->tick_ns, 1e-3);

	for (size_t i = 0; i < count; i++)
		logarithms[i] = log(values[i] + half_tick);
}

/*
 * What holds more of the CPU is looked at harder: a fifth more of 30 % is worth more than of 1 %.
 * The share in all runs together does not tell which is which, as the test requires.
 */
static double weight_of(const struct gate_row *row)
{
	if (row->kind == GATE_ROW_METRIC)
		return 1;
	return pow(fmax(row->share, 1e-6), WEIGHT_EXPONENT);
}

/* ---- the rest of the run ---- */

#define REST_SHARE   0.2 /* of the CPU that is left for it, at least */
#define REST_CHANGED 2.5 /* Student's t: then it tells of more than the machine's speed */

/* The CPU of the runs, in the unit of functions; NULL: it is not among the rows. */
static const struct gate_row *find_cpu(const struct gate_table *table)
{
	for (size_t i = 0; i < table->row_count; i++) {
		const struct gate_row *row = &table->rows[i];

		if (row->kind == GATE_ROW_METRIC && row->metric == GATE_CPU && !row->missing)
			return row;
	}
	return NULL;
}

static bool has_rest(const struct gate_verdict *verdict, const struct gate_row *cpu)
{
	return cpu && verdict->row->kind != GATE_ROW_METRIC &&
	       verdict->row->share <= 1 - REST_SHARE;
}

/* Logarithms of what a run cost beside the function. */
static void take_rest(const struct gate_result *result, const double *all, const double *part,
		      size_t count, double *logarithms)
{
	for (size_t i = 0; i < count; i++)
		logarithms[i] = fmax(all[i] - part[i], 0);
	take_logarithms(result, logarithms, count, logarithms);
}

/*
 * A function's cost, and what is left of it without what goes with the rest of the run: a machine
 * that is slow for a run is slow for all of it. Where the rest itself changed that is not looked
 * at, or a function would be said to grow because others shrank. True: it counts.
 */
static bool add_without_rest(const struct gate_result *result, const struct gate_design *design,
			     const struct gate_verdict *verdict, const struct gate_row *cpu,
			     const double *plain, double *left)
{
	const struct gate_row *row = verdict->row;
	size_t base = design->base_count, runs = base + design->head_count;
	double *rest = left + runs;
	const struct gate_quantity by = { rest, rest + base, 1 };

	memcpy(left, plain, runs * sizeof(*left));
	take_rest(result, cpu->base, row->base, base, rest);
	take_rest(result, cpu->head, row->head, design->head_count, rest + base);
	return fabs(gate_stats__take_out(design, &by, left, left + base)) < REST_CHANGED;
}

static int test_rows(struct gate_result *result, size_t tested, struct gate_verdict **rows,
		     struct gate_effects *effects)
{
	const struct gate_table *table = result->table;
	const struct gate_design design = {
		.is_paired = table->is_paired,
		.base_count = table->base_count,
		.head_count = table->head_count,
		.alpha = result->config->alpha,
		.seed = SEED,
	};
	const struct gate_row *cpu = find_cpu(table);
	size_t runs = table->base_count + table->head_count, count = 0, at = 0;
	struct gate_quantity *quantities = calloc(2 * tested + 1, sizeof(*quantities));
	struct gate_effect *found = calloc(2 * tested + 1, sizeof(*found));
	double *logarithms = calloc(tested + 1, (3 * runs + 1) * sizeof(*logarithms));
	int error = quantities && found && logarithms ? 0 : -ENOMEM;

	for (size_t i = 0; !error && i < tested; i++) {
		double *plain = logarithms + i * (3 * runs + 1), *left = plain + runs;
		double weight = weight_of(rows[i]->row);

		take_logarithms(result, rows[i]->row->base, table->base_count, plain);
		take_logarithms(result, rows[i]->row->head, table->head_count,
				plain + table->base_count);
		quantities[count++] =
			(struct gate_quantity){ plain, plain + table->base_count, weight };
		if (!has_rest(rows[i], cpu))
			continue;
		effects[i].has_left = true;
		effects[i].left_counts =
			add_without_rest(result, &design, rows[i], cpu, plain, left);
		quantities[count++] =
			(struct gate_quantity){ left, left + table->base_count, weight };
	}
	result->smallest_p = gate_stats__smallest_p(&design);
	if (!error)
		error = gate_stats__test(&design, quantities, count, found);
	for (size_t i = 0; !error && i < tested; i++) {
		effects[i].plain = found[at++];
		if (effects[i].has_left)
			effects[i].left = found[at++];
	}
	free(quantities);
	free(found);
	free(logarithms);
	return error;
}

/* The one of both that is clearer; the function must have grown by itself, too. */
static const struct gate_effect *choose_effect(const struct gate_effects *both, double limit)
{
	const struct gate_effect *plain = &both->plain, *left = &both->left;

	if (!both->has_left || !both->left_counts)
		return plain;
	if (left->mean > 0 && left->p_more < plain->p_more && expm1(plain->mean) >= limit)
		return left;
	if (left->mean < 0 && left->p_less < plain->p_less && expm1(plain->mean) <= -limit)
		return left;
	return plain;
}

static void judge_time(const struct gate_result *result, struct gate_verdict *verdict,
		       const struct gate_effects *both)
{
	const struct gate_effect *effect = choose_effect(both, verdict->limit);
	double alpha = result->config->alpha;

	verdict->change = expm1(effect->mean);
	verdict->low = isfinite(effect->low) ? expm1(effect->low) : NAN;
	verdict->high = isfinite(effect->high) ? expm1(effect->high) : NAN;
	verdict->p = effect->mean > 0 ? effect->p_more : effect->p_less;
	if (result->smallest_p > alpha)
		verdict->state = GATE_INCONCLUSIVE;
	else if (effect->p_more <= alpha && verdict->change >= verdict->limit)
		verdict->state = GATE_REGRESSION;
	else if (effect->p_less <= alpha && verdict->change <= -verdict->limit)
		verdict->state = GATE_IMPROVEMENT;
}

static int say_too_few(struct gate_result *result)
{
	const struct gate_table *table = result->table;
	double alpha = result->config->alpha;
	size_t needed = gate_stats__runs_needed(table->is_paired, alpha);

	result->runs_needed = needed;
	if (table->is_paired)
		return give_reason(result,
				   "%zu pairs of runs cannot tell a change from chance (alpha "
				   "%g): %zu pairs are needed",
				   table->base_count, alpha, needed);
	return give_reason(result,
			   "%zu and %zu runs cannot tell a change from chance (alpha %g): %zu of "
			   "each side are needed",
			   table->base_count, table->head_count, alpha, needed);
}

static int judge_times(struct gate_result *result)
{
	struct gate_verdict **rows = calloc(result->count + 1, sizeof(*rows));
	struct gate_effects *effects = calloc(result->count + 1, sizeof(*effects));
	int error = rows && effects ? 0 : -ENOMEM;
	size_t tested = 0;

	for (size_t i = 0; !error && i < result->count; i++)
		if (is_tested(&result->verdicts[i]))
			rows[tested++] = &result->verdicts[i];
	if (!error && tested)
		error = test_rows(result, tested, rows, effects);
	for (size_t i = 0; !error && i < tested; i++)
		judge_time(result, rows[i], &effects[i]);
	if (!error && tested && result->smallest_p > result->config->alpha)
		error = say_too_few(result);
	free(rows);
	free(effects);
	return error;
}

/* ---- rows that need others ---- */

static const struct gate_verdict *total_of(const struct gate_result *result,
					   const struct gate_verdict *self)
{
	for (size_t i = 0; i < result->count; i++) {
		const struct gate_row *row = result->verdicts[i].row;

		if (row->kind == GATE_ROW_TOTAL && row->base_id == self->row->base_id &&
		    row->head_id == self->row->head_id)
			return &result->verdicts[i];
	}
	return NULL;
}

/*
 * Code that moved from a callee into its caller makes the caller's own part grow and its total
 * stay as it is: nothing got slower.
 */
static void find_moved(struct gate_result *result)
{
	for (size_t i = 0; i < result->count; i++) {
		struct gate_verdict *self = &result->verdicts[i];
		const struct gate_verdict *total;

		if (self->row->kind != GATE_ROW_SELF || self->state != GATE_REGRESSION)
			continue;
		total = total_of(result, self);
		if (total &&
		    total->before * total->change < MOVED_SHARE * self->before * self->change)
			self->state = GATE_MOVED;
	}
}

/* ---- what cannot be judged ---- */

static int judge_missing(struct gate_result *result, struct gate_verdict *verdict)
{
	const struct gate_row *row = verdict->row;

	if (row->is_missing_on_both && !result->config->are_metrics_given) {
		verdict->state = GATE_NOT_MEASURED;
		return 0;
	}
	verdict->state = GATE_INCONCLUSIVE;
	return give_reason(result, "%s: %s", row->name, row->missing);
}

/* Only a gate that compares like with like can pass or fail. */
static int heed_obstacle(struct gate_result *result, const struct gate_obstacle *obstacle)
{
	bool is_in_the_way = false;

	for (size_t i = 0; i < result->count; i++) {
		struct gate_verdict *verdict = &result->verdicts[i];

		if (gate_row__is_count(verdict->row) && !obstacle->of_counts)
			continue;
		is_in_the_way = true;
		if (verdict->state <= GATE_IMPROVEMENT)
			verdict->state = GATE_INCONCLUSIVE;
	}
	return is_in_the_way ? give_reason(result, "%s", obstacle->text) : 0;
}

static int look_for_functions(struct gate_result *result)
{
	if (!result->config->has_metric[GATE_FUNCTIONS])
		return 0;
	for (size_t i = 0; i < result->count; i++)
		if (result->verdicts[i].row->metric == GATE_FUNCTIONS)
			return 0;
	return give_reason(result,
			   "functions: none holds %g %% of the CPU: the profiles have too "
			   "few samples",
			   result->config->min_share * 100);
}

/* ---- all ---- */

static int judge(struct gate_result *result)
{
	int error = 0;

	for (size_t i = 0; i < result->count; i++) {
		result->verdicts[i].row = &result->table->rows[i];
		begin_verdict(result, &result->verdicts[i]);
	}
	for (size_t i = 0; !error && i < result->count; i++) {
		struct gate_verdict *verdict = &result->verdicts[i];

		if (verdict->row->missing)
			error = judge_missing(result, verdict);
		else if (gate_row__is_count(verdict->row))
			error = judge_counter(result, verdict);
	}
	if (!error)
		error = judge_times(result);
	if (!error)
		find_moved(result);
	for (size_t i = 0; !error && i < result->table->obstacle_count; i++)
		error = heed_obstacle(result, &result->table->obstacles[i]);
	return error ? error : look_for_functions(result);
}

int gate_result__new(const struct gate_table *table, const struct gate_config *config,
		     struct gate_result *ret_result)
{
	struct gate_result result = {
		.table = table,
		.config = config,
		.count = table->row_count,
		.verdicts = calloc(table->row_count + 1, sizeof(*result.verdicts)),
		.smallest_p = 1,
	};
	int error = result.verdicts ? judge(&result) : -ENOMEM;

	if (error)
		gate_result__free(&result);
	else
		*ret_result = result;
	return error;
}

void gate_result__free(struct gate_result *result)
{
	for (size_t i = 0; i < result->reason_count; i++)
		free(result->reasons[i]);
	free(result->reasons);
	free(result->verdicts);
	*result = (struct gate_result){ 0 };
}

size_t gate_result__count(const struct gate_result *result, enum gate_state state)
{
	size_t count = 0;

	for (size_t i = 0; i < result->count; i++)
		count += result->verdicts[i].state == state;
	return count;
}

int gate_result__status(const struct gate_result *result)
{
	if (gate_result__count(result, GATE_REGRESSION))
		return CMD_REGRESSION;
	return result->reason_count ? CMD_INCOMPATIBLE : CMD_DONE;
}

const char *gate_result__name(const struct gate_result *result)
{
	int status = gate_result__status(result);

	return states[status == CMD_REGRESSION	   ? GATE_REGRESSION
		      : status == CMD_INCOMPATIBLE ? GATE_INCONCLUSIVE
						   : GATE_PASS];
}
