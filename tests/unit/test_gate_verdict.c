/* SPDX-License-Identifier: BSD-2-Clause */
/* From two sides to a report, in memory: what is matched, judged and told, and baselines. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "capture.h"
#include "user/cmd.h"
#include "user/gate/baseline.h"
#include "user/gate/match.h"
#include "user/gate/report.h"

#define RUNS 8
#define MS   1000000.0

/* A stack, leaf first, of functions "NAME" in "/FOLDER/NAME.rb", and its CPU in each run. */
struct cost {
	const char *names[4];
	double ms;
};

static uint32_t function_of(struct gate_side *side, const char *folder, const char *name)
{
	char file[64];

	/* What begins with a capital is Ruby's own. */
	snprintf(file, sizeof(file), "/%s/%s.rb", folder, name);
	if (*name < 'a')
		snprintf(file, sizeof(file), "<cfunc>");
	return gate_side__function(side, name, strlen(name), file, strlen(file));
}

static void add_cost(struct gate_side *side, const char *folder, const struct cost *cost)
{
	int64_t value = (int64_t)(cost->ms * MS);
	uint32_t frames[4], count = 0;

	for (; count < 4 && cost->names[count]; count++) {
		uint32_t id = function_of(side, folder, cost->names[count]);

		assert_int_not_equal(id, PROFILE_NONE);
		frames[count] = profile__frame(side->profile, id, 0);
		side->functions[id].line = 7;
		for (size_t i = 0; i < side->run_count; i++) {
			/* A scatter that is the same for both sides: pairs do not see it. */
			double ns = cost->ms * MS * (1 + 0.1 * (double)(i % 3));

			side->functions[id].total[i] += ns;
			side->functions[id].self[i] += count ? 0 : ns;
		}
	}
	assert_int_equal(profile__add(side->profile, profile__stack(side->profile, frames, count),
				      profile__label_set(side->profile, NULL, 0), &value),
			 0);
}

static void make_side(struct gate_side *side, const char *folder, const struct cost *costs,
		      size_t count)
{
	assert_int_equal(gate_side__init(side, folder, RUNS), 0);
	for (size_t i = 0; i < count; i++)
		add_cost(side, folder, &costs[i]);
	for (size_t i = 0; i < RUNS; i++) {
		struct gate_run *run = &side->runs[i];

		run->ruby = strdup("3.1.2");
		run->kernel = strdup("6.1");
		run->cpu = strdup("one");
		run->hz = 99;
		run->pair = (int64_t)i + 1;
		run->status = 0;
		run->cpu_ns = 0;
		for (size_t j = 0; j < side->function_count; j++)
			run->cpu_ns += (int64_t)side->functions[j].self[i];
		run->allocated = 1000;
		run->gc_count = 3;
		run->wall_ns = run->gc_ns = run->samples = run->lost = 0;
	}
}

/* All of a comparison. */
struct judged {
	struct gate_side sides[2];
	struct gate_config config;
	struct gate_table table;
	struct gate_result result;
	struct gate_findings findings;
};

static void judge(struct judged *judged)
{
	assert_int_equal(gate_table__new(&judged->sides[0], &judged->sides[1], true,
					 &judged->config, &judged->table),
			 0);
	assert_int_equal(gate_result__new(&judged->table, &judged->config, &judged->result), 0);
	assert_int_equal(gate_findings__new(&judged->result, &judged->sides[0], &judged->sides[1],
					    &judged->findings),
			 0);
}

static void free_judged(struct judged *judged)
{
	gate_findings__free(&judged->findings);
	gate_result__free(&judged->result);
	gate_table__free(&judged->table);
	gate_config__free(&judged->config);
	gate_side__free(&judged->sides[0]);
	gate_side__free(&judged->sides[1]);
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void compare(struct judged *judged, const struct cost *base, size_t base_count,
		    const struct cost *head, size_t head_count)
{
	gate_config__init(&judged->config);
	make_side(&judged->sides[0], "base", base, base_count);
	make_side(&judged->sides[1], "head", head, head_count);
	judge(judged);
}

static const struct gate_verdict *verdict_of(const struct judged *judged, const char *name,
					     enum gate_row_kind kind)
{
	for (size_t i = 0; i < judged->result.count; i++)
		if (judged->result.verdicts[i].row->kind == kind &&
		    !strcmp(judged->result.verdicts[i].row->name, name))
			return &judged->result.verdicts[i];
	fail_msg("no row %s", name);
	return NULL;
}

static void is_state(const struct judged *judged, const char *name, enum gate_row_kind kind,
		     enum gate_state state)
{
	const struct gate_verdict *verdict = verdict_of(judged, name, kind);

	if (verdict->state != state)
		fail_msg("%s is %s, not %s", name, gate_state__name(verdict->state),
			 gate_state__name(state));
}

static const struct cost app[] = {
	{ { "main" }, 100 },
	{ { "Split", "parse", "serve", "main" }, 300 },
	{ { "parse", "serve", "main" }, 100 },
	{ { "render", "serve", "main" }, 500 },
};

static void the_same_passes(void **state)
{
	struct judged judged;

	(void)state;
	compare(&judged, app, COUNT(app), app, COUNT(app));
	assert_int_equal(gate_result__status(&judged.result), CMD_DONE);
	assert_int_equal(gate_result__count(&judged.result, GATE_PASS), judged.result.count);
	assert_int_equal(judged.findings.count, 0);
	free_judged(&judged);
}

/* A C function costs more: told is the method that calls it, and all above is a part of it. */
static void growth_is_told_where_one_can_look(void **state)
{
	const struct cost slower[] = {
		app[0], { { "Split", "parse", "serve", "main" }, 600 }, app[2], app[3]
	};
	const struct gate_verdict *parse;
	struct judged judged;

	(void)state;
	compare(&judged, app, COUNT(app), slower, COUNT(slower));
	assert_int_equal(gate_result__status(&judged.result), CMD_REGRESSION);
	parse = verdict_of(&judged, "parse", GATE_ROW_TOTAL);
	is_state(&judged, "parse", GATE_ROW_TOTAL, GATE_REGRESSION);
	is_state(&judged, "parse", GATE_ROW_SELF, GATE_PASS);
	is_state(&judged, "render", GATE_ROW_TOTAL, GATE_PASS);
	assert_null(parse->through);
	assert_ptr_equal(verdict_of(&judged, "Split", GATE_ROW_TOTAL)->through, parse);
	assert_ptr_equal(verdict_of(&judged, "serve", GATE_ROW_TOTAL)->through, parse);
	assert_ptr_equal(verdict_of(&judged, "main", GATE_ROW_TOTAL)->through, parse);
	assert_ptr_equal(judged.findings.items[0].verdict, parse);
	assert_string_equal(judged.findings.items[0].callers[0].name, "serve");
	assert_string_equal(judged.findings.items[0].callees[0].name, "Split");
	assert_float_equal(judged.findings.items[0].callees[0].before / MS, 300, 1e-3);
	assert_float_equal(judged.findings.items[0].callees[0].after / MS, 600, 1e-3);
	assert_string_equal(parse->row->file, "/head/parse.rb");
	assert_int_equal(parse->row->line, 7);
	assert_float_equal(parse->change, 0.75, 1e-2);
	assert_float_equal(parse->p, 1 / 256.0, 1e-9);
	free_judged(&judged);
}

/* Two that call each other and both grow: one of them is told. */
static void no_circles(void **state)
{
	const struct cost base[] = { { { "main" }, 100 },
				     { { "ping", "pong", "ping", "main" }, 300 },
				     { { "pong", "ping", "pong", "main" }, 300 } };
	const struct cost head[] = { { { "main" }, 100 },
				     { { "ping", "pong", "ping", "main" }, 600 },
				     { { "pong", "ping", "pong", "main" }, 600 } };
	struct judged judged;
	size_t own = 0;

	(void)state;
	compare(&judged, base, COUNT(base), head, COUNT(head));
	for (size_t i = 0; i < judged.findings.count; i++)
		own += judged.findings.items[i].verdict->row->kind != GATE_ROW_METRIC &&
		       !judged.findings.items[i].verdict->through;
	assert_true(own >= 1);
	free_judged(&judged);
}

static void rules_and_limits(void **state)
{
	const struct cost slower[] = {
		app[0], { { "Split", "parse", "serve", "main" }, 390 }, app[2], app[3]
	};
	struct judged judged = { 0 };
	char why[GATE_CONFIG_WHY];

	(void)state;
	gate_config__init(&judged.config);
	make_side(&judged.sides[0], "base", app, COUNT(app));
	make_side(&judged.sides[1], "head", slower, COUNT(slower));
	assert_int_equal(gate_config__set(&judged.config, "limit", "20%", why), 0);
	judge(&judged);
	/* parse grew by 22 %, serve by 10 %. */
	is_state(&judged, "parse", GATE_ROW_TOTAL, GATE_REGRESSION);
	is_state(&judged, "serve", GATE_ROW_TOTAL, GATE_PASS);
	free_judged(&judged);
}

/* Code of two checkouts, of a gem of another version, of a file that moved; and what is ambiguous.
 */
static void functions_are_matched(void **state)
{
	static const char *const names[][3] = {
		/* name, base's file, head's file */
		{ "call", "/base/app/a.rb", "/head/app/a.rb" },
		{ "call", "/base/app/b.rb", "/head/app/b.rb" },
		{ "rack", "/gems/rack-2.2.4/lib/rack.rb", "/gems/rack-2.2.5/lib/rack.rb" },
		{ "same", "/x.rb", "/x.rb" },
		{ "two", "/one/p.rb", "/three/r.rb" },
		{ "two", "/one/q.rb", "/three/s.rb" },
	};
	struct gate_side base, head;
	uint32_t *moved;

	(void)state;
	assert_int_equal(gate_side__init(&base, "base", 1), 0);
	assert_int_equal(gate_side__init(&head, "head", 1), 0);
	for (size_t i = 0; i < COUNT(names); i++)
		assert_int_equal(gate_side__function(&base, names[i][0], strlen(names[i][0]),
						     names[i][1], strlen(names[i][1])),
				 i);
	for (size_t i = COUNT(names); i-- > 0;)
		gate_side__function(&head, names[i][0], strlen(names[i][0]), names[i][2],
				    strlen(names[i][2]));
	assert_int_equal(gate_match(base.profile, head.profile, &moved), 0);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(moved[i], COUNT(names) - 1 - i);
	assert_int_equal(moved[4], PROFILE_NONE);
	assert_int_equal(moved[5], PROFILE_NONE);
	free(moved);
	gate_side__free(&base);
	gate_side__free(&head);
}

/* Rows that nothing is known of come out in each format. */
static void every_output_takes_everything(void **state)
{
	static const char *const outputs[] = { "text",	 "markdown", "junit", "sarif",
					       "github", "json",     "html" };
	const struct cost slower[] = { app[0],
				       { { "Split", "parse", "serve", "main" }, 600 },
				       { { "fresh", "main" }, 90 } };
	struct judged judged = { 0 };
	char why[GATE_CONFIG_WHY];

	(void)state;
	gate_config__init(&judged.config);
	assert_int_equal(gate_config__set(&judged.config, "metrics",
					  "cpu,wall,gc,gc-count,allocated,functions", why),
			 0);
	make_side(&judged.sides[0], "base", app, COUNT(app));
	make_side(&judged.sides[1], "head", slower, COUNT(slower));
	judged.sides[1].runs[0].allocated = GATE_RUN_UNKNOWN;
	judge(&judged);
	for (size_t i = 0; i < COUNT(outputs); i++) {
		struct gate_report report = { &judged.result, &judged.findings, &judged.sides[0],
					      &judged.sides[1], true };
		char *text = NULL;
		size_t length;
		FILE *stream = open_memstream(&text, &length);

		assert_int_equal(gate_output__find(outputs[i])(&report, stream), 0);
		fclose(stream);
		assert_non_null(memmem(text, length, "parse", 5));
		free(text);
	}
	assert_null(gate_output__find("pdf"));
	assert_string_equal(gate_output__by_suffix("a/b.sarif"), "sarif");
	assert_null(gate_output__by_suffix("sarif"));
	assert_null(gate_output__by_suffix(".json"));
	free_judged(&judged);
}

static void a_baseline_is_what_was_written(void **state)
{
	char path[] = "/tmp/rbprof-baseline-XXXXXX";
	int fd = mkstemp(path);
	struct gate_side written, read;

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	make_side(&written, "base", app, COUNT(app));
	assert_int_equal(gate_baseline__write(&written, path), CMD_DONE);
	assert_int_equal(gate_side__read(path, &read), CMD_DONE);
	assert_true(read.is_baseline && read.has_cpu);
	assert_int_equal(read.run_count, RUNS);
	assert_int_equal(read.function_count, written.function_count);
	assert_int_equal(profile__row_count(read.profile), profile__row_count(written.profile));
	for (size_t i = 0; i < read.function_count; i++) {
		assert_int_equal(read.functions[i].line, written.functions[i].line);
		for (size_t j = 0; j < RUNS; j++)
			assert_float_equal(read.functions[i].total[j],
					   written.functions[i].total[j], 1);
	}
	assert_int_equal(read.runs[3].cpu_ns, written.runs[3].cpu_ns);
	gate_side__free(&written);
	gate_side__free(&read);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_passes),
		cmocka_unit_test(growth_is_told_where_one_can_look),
		cmocka_unit_test(no_circles),
		cmocka_unit_test(rules_and_limits),
		cmocka_unit_test(functions_are_matched),
		cmocka_unit_test(every_output_takes_everything),
		cmocka_unit_test(a_baseline_is_what_was_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
