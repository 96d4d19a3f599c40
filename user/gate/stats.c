/* SPDX-License-Identifier: BSD-2-Clause */
#include "stats.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BITS 62   /* of an enumeration; more are drawn by lot */
#define CLOSE	 1e-9 /* relative: sums of the same numbers in another order are the same */

/*
 * Arrangements as rows of bytes, the identity first. Paired: a byte a pair, 1 where it is flipped.
 * Unpaired: a byte a run, head's first; 1 where it counts as head.
 */
struct arrangements {
	unsigned char *bytes;
	size_t count, width;
};

/* ---- arrangements ---- */

/* SplitMix64 (Steele, Lea and Flood, 2014). */
static uint64_t next_random(uint64_t *state)
{
	uint64_t mixed = *state += 0x9e3779b97f4a7c15ULL;

	mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9ULL;
	mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebULL;
	return mixed ^ mixed >> 31;
}

/* How many there are, as a double: may be huge. */
static double count_all(const struct gate_design *design)
{
	double count = 1;

	if (!design->base_count || !design->head_count)
		return 1;
	if (design->is_paired)
		return exp2((double)design->base_count);
	for (size_t i = 1; i <= design->head_count; i++)
		count = count * (double)(design->base_count + i) / (double)i;
	return count;
}

static bool are_few(const struct gate_design *design)
{
	size_t width = design->base_count + (design->is_paired ? 0 : design->head_count);

	/* Rounded: the product of fractions above is off in its last digits. */
	return width <= MAX_BITS && round(count_all(design)) <= GATE_STATS_ARRANGEMENTS;
}

static void set_bits(unsigned char *row, size_t width, uint64_t bits)
{
	for (size_t i = 0; i < width; i++)
		row[i] = bits >> i & 1;
}

/* The next larger number with as many bits set (HAKMEM 175). */
static uint64_t next_of_same_size(uint64_t bits)
{
	uint64_t lowest = bits & -bits, ripple = bits + lowest;

	return ripple | ((bits ^ ripple) >> 2) / lowest;
}

static void enumerate(struct arrangements *all, const struct gate_design *design)
{
	uint64_t bits = design->is_paired ? 0 : (1ULL << design->head_count) - 1;

	for (size_t i = 0; i < all->count; i++) {
		set_bits(all->bytes + i * all->width, all->width, bits);
		if (design->is_paired)
			bits++;
		else if (i + 1 < all->count)
			bits = next_of_same_size(bits);
	}
}

static void draw(struct arrangements *all, const struct gate_design *design)
{
	uint64_t state = design->seed;

	if (!design->is_paired)
		memset(all->bytes, 1, design->head_count);
	for (size_t i = 1; i < all->count; i++) {
		unsigned char *row = all->bytes + i * all->width;

		memcpy(row, all->bytes, all->width);
		for (size_t j = 0; design->is_paired && j < all->width; j++)
			row[j] = (unsigned char)(next_random(&state) >> 63);
		for (size_t j = all->width; !design->is_paired && j > 1; j--) {
			/* Of 2^64 numbers for at most some thousand runs: no bias that matters. */
			size_t other = next_random(&state) % j;
			unsigned char held = row[j - 1];

			row[j - 1] = row[other];
			row[other] = held;
		}
	}
}

static int arrangements__init(struct arrangements *all, const struct gate_design *design)
{
	bool few = are_few(design);

	all->width = design->base_count + (design->is_paired ? 0 : design->head_count);
	all->count = few ? (size_t)llround(count_all(design)) : GATE_STATS_ARRANGEMENTS;
	all->bytes = calloc(all->count, all->width + 1);
	if (!all->bytes)
		return -ENOMEM;
	if (few)
		enumerate(all, design);
	else
		draw(all, design);
	return 0;
}

/* A variance needs two pairs, or three runs. */
static bool can_test(const struct gate_design *design)
{
	if (design->is_paired)
		return design->base_count >= 2;
	return design->base_count && design->head_count &&
	       design->base_count + design->head_count >= 3;
}

/* ---- one quantity ---- */

/* What of a quantity stays the same in every arrangement. */
struct summary {
	double *values;	     /* paired: differences; unpaired: all, head's first */
	double sum, squares; /* unpaired: squares about the common mean */
};

static void summary__fill(struct summary *summary, const struct gate_design *design,
			  const struct gate_quantity *quantity, double *values)
{
	size_t base = design->base_count, count = base;
	double mean = 0;

	summary->values = values;
	summary->sum = summary->squares = 0;
	if (design->is_paired) {
		for (size_t i = 0; i < count; i++)
			values[i] = quantity->head[i] - quantity->base[i];
	} else {
		memcpy(values, quantity->head, design->head_count * sizeof(*values));
		memcpy(values + design->head_count, quantity->base, base * sizeof(*values));
		count += design->head_count;
	}
	for (size_t i = 0; i < count; i++)
		summary->sum += values[i];
	if (!design->is_paired)
		mean = summary->sum / (double)count;
	for (size_t i = 0; i < count; i++)
		summary->squares += (values[i] - mean) * (values[i] - mean);
}

static double mean_effect(const struct gate_design *design, const struct summary *summary,
			  const unsigned char *row)
{
	double marked = 0, n = (double)design->base_count, m = (double)design->head_count;
	size_t width = design->base_count + (design->is_paired ? 0 : design->head_count);

	for (size_t i = 0; i < width; i++)
		if (row[i])
			marked += summary->values[i];
	if (design->is_paired)
		return (summary->sum - 2 * marked) / n;
	return marked / m - (summary->sum - marked) / n;
}

static double student(const struct gate_design *design, const struct summary *summary,
		      const unsigned char *row)
{
	double n = (double)design->base_count, m = (double)design->head_count;
	double mean = mean_effect(design, summary, row), left, variance;

	/* Nothing varies, or nothing but rounding: no evidence of anything. */
	if (!(summary->squares > 0))
		return 0;
	if (design->is_paired) {
		left = summary->squares - n * mean * mean;
		variance = left / (n * (n - 1));
	} else {
		left = summary->squares - n * m / (n + m) * mean * mean;
		variance = left / (n + m - 2) * (1 / n + 1 / m);
	}
	/* Runs that agree to the last digit must not make an infinity. */
	if (!(left > summary->squares * 1e-12))
		variance = summary->squares * 1e-12;
	return mean / sqrt(variance);
}

/* Sum of the products of two summaries' values, as that of squares is. */
static double sum_products(const struct gate_design *design, const struct summary *one,
			   const struct summary *other)
{
	size_t count = design->base_count + (design->is_paired ? 0 : design->head_count);
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += one->values[i] * other->values[i];
	return design->is_paired ? sum : sum - one->sum * other->sum / (double)count;
}

double gate_stats__take_out(const struct gate_design *design, const struct gate_quantity *by,
			    double *base, double *head)
{
	const struct gate_quantity self = { base, head, 1 };
	size_t runs = design->base_count + design->head_count;
	double *values = calloc(2 * runs + 1, sizeof(*values)), factor, t;
	unsigned char *identity = calloc(runs + 1, 1);
	struct summary own, others;

	if (!values || !identity || !can_test(design)) {
		free(values);
		free(identity);
		return 0;
	}
	if (!design->is_paired)
		memset(identity, 1, design->head_count);
	summary__fill(&own, design, &self, values);
	summary__fill(&others, design, by, values + runs);
	factor = others.squares > 0 ? sum_products(design, &own, &others) / others.squares : 0;
	factor = fmin(fmax(factor, 0), 1);
	t = student(design, &others, identity);
	for (size_t i = 0; i < design->base_count; i++)
		base[i] -= factor * by->base[i];
	for (size_t i = 0; i < design->head_count; i++)
		head[i] -= factor * by->head[i];
	free(values);
	free(identity);
	return t;
}

static int compare_doubles(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

/*
 * The test of `the effect is x` inverted. An arrangement's statistic is at least the observed one
 * just if x is at least the mean of the differences that it flips; unpaired, the mean of what it
 * takes out of head less the mean of what it puts there. So the ends of the interval are among
 * these means (paired: the typical values of Hartigan, 1969).
 */
static double exchanged_mean(const struct gate_design *design, const struct summary *summary,
			     const unsigned char *row)
{
	double out = 0, in = 0;
	size_t count = 0;

	if (design->is_paired) {
		for (size_t i = 0; i < design->base_count; i++)
			if (row[i]) {
				out += summary->values[i];
				count++;
			}
		return count ? out / (double)count : NAN;
	}
	for (size_t i = 0; i < design->head_count; i++)
		if (!row[i]) {
			out += summary->values[i];
			count++;
		}
	for (size_t i = 0; i < design->base_count; i++)
		if (row[design->head_count + i])
			in += summary->values[design->head_count + i];
	return count ? (out - in) / (double)count : NAN;
}

static void find_interval(const struct gate_design *design, const struct arrangements *all,
			  const struct summary *summary, double *scratch,
			  struct gate_effect *effect)
{
	size_t count = 0, rank = (size_t)floor(design->alpha * (double)all->count * (1 + CLOSE));

	effect->low = -INFINITY;
	effect->high = INFINITY;
	for (size_t i = 1; i < all->count; i++) {
		double mean = exchanged_mean(design, summary, all->bytes + i * all->width);

		if (!isnan(mean))
			scratch[count++] = mean;
	}
	if (!rank || rank > count)
		return;
	qsort(scratch, count, sizeof(*scratch), compare_doubles);
	effect->low = scratch[rank - 1];
	effect->high = scratch[count - rank];
}

/* ---- all of them ---- */

struct family {
	const struct gate_design *design;
	struct arrangements all;
	struct summary *summaries;
	double *values, *scratch;
	double *observed;
	const struct gate_quantity *quantities;
	size_t *order, *exceeded;
	size_t count;
};

static double weighted(const struct family *family, size_t id, const unsigned char *row)
{
	return family->quantities[id].weight * student(family->design, &family->summaries[id], row);
}

static int compare_observed(const void *left, const void *right, void *context)
{
	const double *observed = context;
	double a = observed[*(const size_t *)left], b = observed[*(const size_t *)right];

	return (a < b) - (a > b);
}

/*
 * sign: 1 for more, -1 for less. For each quantity, in how many arrangements a quantity that is no
 * more significant than it, or itself, comes out as extreme as it was observed to be.
 */
static void step_down(struct family *family, double sign, struct gate_effect *effects)
{
	double largest = 0;

	for (size_t i = 0; i < family->count; i++) {
		family->observed[i] = sign * weighted(family, i, family->all.bytes);
		family->order[i] = i;
		family->exceeded[i] = 0;
	}
	qsort_r(family->order, family->count, sizeof(*family->order), compare_observed,
		family->observed);
	for (size_t i = 0; i < family->all.count; i++) {
		const unsigned char *row = family->all.bytes + i * family->all.width;
		double most = -INFINITY;

		for (size_t j = family->count; j-- > 0;) {
			size_t id = family->order[j];
			double observed = family->observed[id];

			most = fmax(most, sign * weighted(family, id, row));
			family->exceeded[j] += most >= observed - CLOSE * fabs(observed);
		}
	}
	for (size_t j = 0; j < family->count; j++) {
		double p = (double)family->exceeded[j] / (double)family->all.count;

		largest = fmax(largest, p);
		*(sign > 0 ? &effects[family->order[j]].p_more
			   : &effects[family->order[j]].p_less) = largest;
	}
}

static int family__init(struct family *family, const struct gate_design *design,
			const struct gate_quantity *quantities, size_t count)
{
	size_t runs = design->base_count + design->head_count;

	*family = (struct family){ .design = design, .quantities = quantities, .count = count };
	family->summaries = calloc(count + 1, sizeof(*family->summaries));
	family->values = calloc(count + 1, (runs + 1) * sizeof(*family->values));
	family->scratch = calloc(GATE_STATS_ARRANGEMENTS, sizeof(*family->scratch));
	family->observed = calloc(count + 1, sizeof(*family->observed));
	family->order = calloc(count + 1, sizeof(*family->order));
	family->exceeded = calloc(count + 1, sizeof(*family->exceeded));
	if (!family->summaries || !family->values || !family->scratch || !family->observed ||
	    !family->order || !family->exceeded)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		summary__fill(&family->summaries[i], design, &quantities[i],
			      family->values + i * (runs + 1));
	return arrangements__init(&family->all, design);
}

static void family__free(struct family *family)
{
	free(family->all.bytes);
	free(family->summaries);
	free(family->values);
	free(family->scratch);
	free(family->observed);
	free(family->order);
	free(family->exceeded);
}

int gate_stats__test(const struct gate_design *design, const struct gate_quantity *quantities,
		     size_t count, struct gate_effect *effects)
{
	struct family family;
	int error = family__init(&family, design, quantities, count);

	for (size_t i = 0; !error && i < count; i++) {
		effects[i] = (struct gate_effect){ 0, -INFINITY, INFINITY, 1, 1 };
		if (design->base_count && design->head_count)
			effects[i].mean =
				mean_effect(design, &family.summaries[i], family.all.bytes);
		if (can_test(design))
			find_interval(design, &family.all, &family.summaries[i], family.scratch,
				      &effects[i]);
	}
	if (!error && can_test(design)) {
		step_down(&family, 1, effects);
		step_down(&family, -1, effects);
	}
	family__free(&family);
	return error;
}

double gate_stats__smallest_p(const struct gate_design *design)
{
	if (!can_test(design))
		return 1;
	return 1 / (are_few(design) ? round(count_all(design)) : GATE_STATS_ARRANGEMENTS);
}

size_t gate_stats__runs_needed(bool is_paired, double alpha)
{
	struct gate_design design = { .is_paired = is_paired };
	size_t runs = 2;

	for (; runs < MAX_BITS; runs++) {
		design.base_count = design.head_count = runs;
		if (1 / count_all(&design) <= alpha)
			break;
	}
	return runs;
}
