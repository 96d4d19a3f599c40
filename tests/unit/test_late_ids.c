/* SPDX-License-Identifier: BSD-2-Clause */
/* Labels that are put aside before a thread has its id, and come out with it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "user/agg/profile_import.h"
#include "user/core/late_ids.h"
#include "user/ruby/names.h"

static void check(struct late_ids *ids, const char *key, const char *text, const char *expected)
{
	char into[64];

	assert_string_equal(late_ids__resolve(ids, key, text, into, sizeof(into)), expected);
}

static void test_labels(void **state)
{
	struct late_ids *ids;
	uint64_t first, second;
	char label[64];

	(void)state;
	assert_int_equal(late_ids__new(&ids), 0);
	first = late_ids__number(ids);
	second = late_ids__number(ids);
	assert_true(first != second);
	late_ids__set(ids, first, 80);
	late_ids__label(label, sizeof(label), 4711, first);
	check(ids, "thread id", label, "4711 (80)");
	check(ids, "gc thread", label, "4711 (80)");
	check(ids, "thread name", label, label); /* the program's own */
	late_ids__label(label, sizeof(label), 4711, second);
	check(ids, "thread id", label, "4711 (-1)");
	check(ids, "thread id", "4711 (-1)", "4711 (-1)");
	check(ids, "thread id", "GC", "GC");
	late_ids__free(ids);
}

static void test_very_many(void **state)
{
	struct late_ids *ids;
	char label[64];
	int i;

	(void)state;
	assert_int_equal(late_ids__new(&ids), 0);
	for (i = 0; i < 70000; i++)
		late_ids__set(ids, late_ids__number(ids), 8);
	late_ids__label(label, sizeof(label), 1, 1);
	check(ids, "thread id", label, "1 (-1)");
	late_ids__label(label, sizeof(label), 1, 70000);
	check(ids, "thread id", label, "1 (8)");
	late_ids__free(ids);
}

/* Rows that differ only by that become one. */
static void test_rows_become_one(void **state)
{
	static const struct profile_type type = { "cpu-time", "nanoseconds" };
	struct profile_import *import;
	struct profile *from, *to;
	struct profile_row *rows;
	struct late_ids *ids;
	size_t count, i;
	uint32_t frame;

	(void)state;
	assert_int_equal(late_ids__new(&ids), 0);
	late_ids__set(ids, late_ids__number(ids), 80);
	assert_int_equal(profile__new(&type, 1, &from), 0);
	assert_int_equal(profile__new(&type, 1, &to), 0);
	frame = names__special(from, "(not sampled)");
	for (i = 0; i < 2; i++) {
		struct profile_label row_label = { .unit = PROFILE_NONE };
		const int64_t values[] = { 5 };
		char label[64] = "7 (80)";

		if (!i)
			late_ids__label(label, sizeof(label), 7, 1);
		row_label.key = profile__cstring(from, "thread id");
		row_label.text = profile__cstring(from, label);
		profile__add(from, profile__stack(from, &frame, 1),
			     profile__label_set(from, &row_label, 1), values);
	}
	assert_int_equal(profile__take_rows(from, &rows, &count), 0);
	assert_int_equal(count, 2);
	assert_int_equal(profile_import__new(from, to, &import), 0);
	profile_import__rename(import, late_ids__resolve, ids);
	for (i = 0; i < count; i++)
		assert_int_equal(profile_import__row(import, &rows[i]), 0);
	profile_import__free(import);
	free(rows);
	assert_int_equal(profile__take_rows(to, &rows, &count), 0);
	assert_int_equal(count, 1);
	assert_int_equal(rows[0].values[0], 10);
	free(rows);
	profile__free(from);
	profile__free(to);
	late_ids__free(ids);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_very_many),
		cmocka_unit_test(test_rows_become_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
