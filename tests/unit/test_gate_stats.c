/* SPDX-License-Identifier: BSD-2-Clause */
/* The gate's statistics: against figures worked out by hand, and in simulation. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "user/gate/stats.h"

static uint64_t state = 1;

/* Evenly spread in [0, 1): a 64-bit linear congruence (Knuth's MMIX), its upper bits. */
static double uniform(void)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (double)(state >> 11) / 9007199254740992.0;
}

static double normal(void)
{
	return sqrt(-2 * log(1 - uniform())) * cos(2 * M_PI * uniform());
}

static struct gate_effect one(bool is_paired, const double *base, size_t base_count,
			      const double *head, size_t head_count, double alpha)
{
	struct gate_design design = { is_paired, base_count, head_count, alpha, 1 };
	struct gate_quantity quantity = { base, head, 1 };
	struct gate_effect effect;

	assert_int_equal(gate_stats__test(&design, &quantity, 1, &effect), 0);
	return effect;
}

/* All signs that flip something make the mean smaller: 1 of 8. */
static void pairs_that_all_grew(void **unused)
{
	const double base[] = { 1, 1, 1 }, head[] = { 2, 3, 4 };
	struct gate_effect effect = one(true, base, 3, head, 3, 0.125);

	(void)unused;
	assert_float_equal(effect.mean, 2, 1e-12);
	assert_float_equal(effect.p_more, 1 / 8.0, 1e-12);
	assert_float_equal(effect.p_less, 1, 1e-12);
	/* The seven means of differences: 1, 1.5, 2, 2, 2, 2.5, 3. */
	assert_float_equal(effect.low, 1, 1e-12);
	assert_float_equal(effect.high, 3, 1e-12);
	effect = one(true, base, 3, head, 3, 0.25);
	assert_float_equal(effect.low, 1.5, 1e-12);
	assert_float_equal(effect.high, 2.5, 1e-12);
	effect = one(true, base, 3, head, 3, 0.1);
	assert_true(isinf(effect.low) && isinf(effect.high));
}

static void labels_of_runs(void **unused)
{
	/* Of ten ways to choose two of five for base the one observed has the largest difference.
	 */
	const double base[] = { 1, 2 }, head[] = { 3, 5, 4 };
	struct gate_effect effect = one(false, base, 2, head, 3, 0.1);

	(void)unused;
	assert_float_equal(effect.mean, 2.5, 1e-12);
	assert_float_equal(effect.p_more, 0.1, 1e-12);
	assert_float_equal(effect.p_less, 1, 1e-12);
	/* Exchanged: 1 or 2 for 3, 4 or 5, or both for two of them: from 3 - 2 to 5 - 1. */
	assert_float_equal(effect.low, 1, 1e-12);
	assert_float_equal(effect.high, 4, 1e-12);
}

static void nothing_varies(void **unused)
{
	const double same[] = { 1, 1, 1, 1, 1, 1, 1, 1 };
	struct gate_effect effect = one(true, same, 8, same, 8, 0.01);

	(void)unused;
	assert_float_equal(effect.p_more, 1, 0);
	assert_float_equal(effect.p_less, 1, 0);
	assert_float_equal(effect.mean, 0, 0);
	effect = one(false, same, 8, same, 8, 0.01);
	assert_float_equal(effect.p_more, 1, 0);
	effect = one(true, same, 1, same, 1, 0.01);
	assert_float_equal(effect.p_more, 1, 0);
	effect = one(false, same, 0, same, 3, 0.01);
	assert_float_equal(effect.p_more, 1, 0);
}

/* The same growth in every pair has no variance at all: it is the clearest of all. */
static void equal_growth(void **unused)
{
	const double base[] = { 1, 2, 3, 4, 5, 6, 7 }, head[] = { 2, 3, 4, 5, 6, 7, 8 };
	struct gate_effect effect = one(true, base, 7, head, 7, 0.01);

	(void)unused;
	assert_float_equal(effect.p_more, 1 / 128.0, 1e-12);
	assert_float_equal(effect.low, 1, 1e-12);
}

static void smallest_p(void **unused)
{
	struct gate_design design = { .is_paired = true, .base_count = 7, .head_count = 7 };

	(void)unused;
	assert_float_equal(gate_stats__smallest_p(&design), 1 / 128.0, 1e-15);
	design.is_paired = false;
	assert_float_equal(gate_stats__smallest_p(&design) * 3432, 1, 1e-6);
	design.base_count = design.head_count = 100;
	assert_float_equal(gate_stats__smallest_p(&design), 1.0 / GATE_STATS_ARRANGEMENTS, 1e-15);
	design.base_count = 0;
	assert_float_equal(gate_stats__smallest_p(&design), 1, 0);
	assert_int_equal(gate_stats__runs_needed(true, 0.01), 7);
	assert_int_equal(gate_stats__runs_needed(false, 0.01), 5);
	assert_int_equal(gate_stats__runs_needed(true, 0.05), 5);
	assert_int_equal(gate_stats__runs_needed(true, 0.001), 10);
}

#define PAIRS	  8
#define FEW	  5 /* runs a side that are no pairs */
#define FAMILY	  20
#define QUESTIONS 1500

struct simulation {
	double base[FAMILY][PAIRS], head[FAMILY][PAIRS];
	struct gate_quantity quantities[FAMILY];
	struct gate_effect effects[FAMILY];
};

/* Runs as they are: a machine that is 18 % slower or faster now and then, and noise of their own.
 */
static void simulate(struct simulation *simulation, bool is_paired, double growth)
{
	size_t runs = is_paired ? PAIRS : FEW;
	struct gate_design design = { is_paired, runs, runs, 0.01, 7 };

	for (int run = 0; run < PAIRS; run++) {
		double machine = 0.18 * normal(), other = is_paired ? machine : 0.18 * normal();

		for (int i = 0; i < FAMILY; i++) {
			double noise = 0.01 * (i + 1);

			simulation->base[i][run] = machine + noise * normal();
			simulation->head[i][run] = other + noise * normal() + (i ? 0 : growth);
		}
	}
	for (int i = 0; i < FAMILY; i++)
		simulation->quantities[i] =
			(struct gate_quantity){ simulation->base[i], simulation->head[i],
						1.0 / (1 + i) };
	assert_int_equal(
		gate_stats__test(&design, simulation->quantities, FAMILY, simulation->effects), 0);
}

static bool is_alarm(const struct simulation *simulation)
{
	for (int i = 0; i < FAMILY; i++)
		if (simulation->effects[i].p_more <= 0.01)
			return true;
	return false;
}

/*
 * 1 % of the families of twenty may have an alarm: of 1,500 that is 15, and the test is exact, so
 * less than 15 + 5 * sqrt(15) = 34. Untreated it would be some 270. With eight pairs p is a
 * multiple of 1/256, so some 11 are expected, and with five runs a side, of 1/252, some 11, too.
 */
static void false_alarms(void **unused)
{
	static struct simulation simulation;
	int alarms[2] = { 0 }, single = 0;

	(void)unused;
	state = 20;
	for (int i = 0; i < QUESTIONS; i++) {
		simulate(&simulation, true, 0);
		alarms[0] += is_alarm(&simulation);
		single += simulation.effects[FAMILY - 1].p_more <= 0.01;
		simulate(&simulation, false, 0);
		alarms[1] += is_alarm(&simulation);
	}
	print_message("alarms of %d: paired %d, unpaired %d\n", QUESTIONS, alarms[0], alarms[1]);
	assert_true(alarms[0] <= 34 && alarms[1] <= 34);
	assert_true(alarms[0] >= 1 && alarms[1] >= 1);
	assert_true(single <= alarms[0]);
}

/* What has more weight is found where it is not without; what has less pays for it. */
static void weights(void **unused)
{
	struct gate_design design = { true, PAIRS, PAIRS, 0.01, 1 };
	static double base[FAMILY][PAIRS], head[FAMILY][PAIRS];
	struct gate_quantity quantities[FAMILY];
	struct gate_effect equal[FAMILY], weighted[FAMILY];
	int better = 0, worse = 0;

	(void)unused;
	state = 23;
	for (int i = 0; i < 100; i++) {
		for (int j = 0; j < FAMILY; j++) {
			for (int run = 0; run < PAIRS; run++) {
				base[j][run] = normal();
				head[j][run] = normal() + (j < 2 ? 1.5 : 0);
			}
			quantities[j] = (struct gate_quantity){ base[j], head[j], 1 };
		}
		assert_int_equal(gate_stats__test(&design, quantities, FAMILY, equal), 0);
		quantities[0].weight = 3;
		assert_int_equal(gate_stats__test(&design, quantities, FAMILY, weighted), 0);
		better += weighted[0].p_more < equal[0].p_more;
		worse += weighted[0].p_more > equal[0].p_more;
		assert_float_equal(weighted[0].mean, equal[0].mean, 1e-12);
		assert_float_equal(weighted[0].low, equal[0].low, 1e-12);
	}
	assert_true(better > 50 && better > 10 * worse);
}

/* Growth of 10 % amid noise of 1 %: found in pairs, though the machine varies by 18 %. */
static void growth_is_found(void **unused)
{
	static struct simulation simulation;
	int found = 0, covered = 0;

	(void)unused;
	state = 21;
	for (int i = 0; i < 200; i++) {
		simulate(&simulation, true, log(1.1));
		found += simulation.effects[0].p_more <= 0.01;
		covered += simulation.effects[0].low <= log(1.1) &&
			   simulation.effects[0].high >= log(1.1);
	}
	assert_int_equal(found, 200);
	/* Of 200 intervals at 98 % four miss; 14 are five standard deviations more. */
	print_message("intervals that cover: %d of 200\n", covered);
	assert_true(covered >= 186);
}

/* By lot, where all arrangements are too many, nearly the same comes out, and always the same. */
static void many_runs(void **unused)
{
	double base[40], head[40];
	struct gate_effect first, second;

	(void)unused;
	state = 22;
	for (int i = 0; i < 40; i++) {
		base[i] = normal();
		head[i] = normal() + 0.4;
	}
	first = one(true, base, 40, head, 40, 0.01);
	second = one(true, base, 40, head, 40, 0.01);
	assert_memory_equal(&first, &second, sizeof(first));
	assert_true(first.p_more > 0 && first.p_more < 0.2 && first.p_less > 0.8);
	assert_true(first.low < first.mean && first.mean < first.high);
	first = one(false, base, 40, head, 30, 0.01);
	assert_true(first.p_more > 0 && first.p_more < 0.2 && first.p_less > 0.8);
	assert_true(first.low < first.mean && first.mean < first.high);
}

/*
 * A function and the rest of its runs: the machine is 18 % off from run to run, both by a twentieth
 * beside. Whether more is found with the rest taken out; plain: without.
 */
static bool finds_growth(bool is_paired, double growth, bool *ret_plain)
{
	const size_t runs = is_paired ? PAIRS : FEW;
	const struct gate_design design = { is_paired, runs, runs, 0.01, 7 };
	double base[PAIRS], head[PAIRS], left_base[PAIRS], left_head[PAIRS];
	double rest_base[PAIRS], rest_head[PAIRS];
	const struct gate_quantity rest = { rest_base, rest_head, 1 };
	const struct gate_quantity both[] = { { base, head, 1 }, { left_base, left_head, 1 } };
	struct gate_effect effects[2];

	for (int run = 0; run < PAIRS; run++) {
		double before = 0.18 * normal(), after = 0.18 * normal();

		left_base[run] = base[run] = before + 0.05 * normal();
		left_head[run] = head[run] = after + 0.05 * normal() + growth;
		rest_base[run] = before + 0.05 * normal();
		rest_head[run] = after + 0.05 * normal();
	}
	gate_stats__take_out(&design, &rest, left_base, left_head);
	assert_int_equal(gate_stats__test(&design, both, 2, effects), 0);
	*ret_plain = effects[0].p_more <= design.alpha;
	return effects[1].p_more <= design.alpha;
}

static void what_goes_with_the_rest_is_taken_out(void **unused)
{
	(void)unused;
	for (int is_paired = 0; is_paired < 2; is_paired++) {
		int found = 0, plainly = 0, alarms = 0;
		bool is_plain;

		for (int i = 0; i < 100; i++) {
			found += finds_growth(is_paired, 0.18, &is_plain);
			plainly += is_plain;
		}
		for (int i = 0; i < QUESTIONS; i++) {
			bool is_left = finds_growth(is_paired, 0, &is_plain);

			alarms += is_left || is_plain;
		}
		assert_true(found >= 40);
		assert_true(plainly <= found / 2);
		assert_true(alarms <= QUESTIONS * 0.01 + 3 * sqrt(QUESTIONS * 0.01));
	}
}

/* No more than all of it, and nothing where they go against each other. */
static void so_much_is_taken_out(void **unused)
{
	const struct gate_design design = { true, 3, 3, 0.01, 7 };
	const double zero[] = { 0, 0, 0 }, changes[] = { 1, -2, 1.5 };
	const struct gate_quantity by = { zero, changes, 1 };
	double base[] = { 0, 0, 0 }, head[] = { 0.5, -1, 0.75 };
	double more[] = { 2, -4, 3 }, against[] = { -1, 2, -1.5 };

	(void)unused;
	gate_stats__take_out(&design, &by, base, head);
	for (int i = 0; i < 3; i++)
		assert_float_equal(head[i], 0, 1e-12);
	gate_stats__take_out(&design, &by, base, more);
	for (int i = 0; i < 3; i++)
		assert_float_equal(more[i], changes[i], 1e-12);
	gate_stats__take_out(&design, &by, base, against);
	for (int i = 0; i < 3; i++)
		assert_float_equal(against[i], -changes[i], 1e-12);
	/* The mean of 1, 1, 4 is 2, its standard error 1. */
	head[0] = head[1] = 1;
	head[2] = 4;
	assert_float_equal(gate_stats__take_out(&design, &(struct gate_quantity){ zero, head, 1 },
						base, against),
			   2, 1e-12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs_that_all_grew),
		cmocka_unit_test(labels_of_runs),
		cmocka_unit_test(nothing_varies),
		cmocka_unit_test(equal_growth),
		cmocka_unit_test(smallest_p),
		cmocka_unit_test(false_alarms),
		cmocka_unit_test(weights),
		cmocka_unit_test(growth_is_found),
		cmocka_unit_test(many_runs),
		cmocka_unit_test(what_goes_with_the_rest_is_taken_out),
		cmocka_unit_test(so_much_is_taken_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
