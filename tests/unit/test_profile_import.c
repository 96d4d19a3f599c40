/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of several profiles, whose ids differ, brought together in one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "sample_profile.h"
#include "user/agg/profile_import.h"

#define METHODS 300

static char *name_of(size_t i, char text[32])
{
	snprintf(text, 32, "Method#m%zu", i);
	return text;
}

/* The stack main;m(i), made from its end so that ids come in another order than in `first`. */
static uint32_t stack_of(struct profile *profile, size_t i)
{
	char text[32];
	uint32_t frames[2];

	frames[0] = sample_frame(profile, name_of(i, text), "m.rb", (int64_t)i, (int64_t)i + 1);
	frames[1] = sample_frame(profile, "<main>", "m.rb", 0, 9);
	return profile__stack(profile, frames, 2);
}

static struct profile *profile_of(size_t first, size_t last, bool is_backwards)
{
	struct profile *profile = sample_empty();

	for (size_t i = first; i < last; i++) {
		size_t at = is_backwards ? last - 1 - (i - first) : i;
		int64_t values[PROFILE_MAX_TYPES] = { 1, (int64_t)at };
		char thread[32];

		snprintf(thread, sizeof(thread), "t%zu", at % 3);
		assert_int_equal(profile__add(profile, stack_of(profile, at),
					      sample_labels(profile, thread, 5), values),
				 0);
	}
	return profile;
}

static void import_all(const struct profile *from, struct profile *to)
{
	struct profile_import *import;

	assert_int_equal(profile_import__new(from, to, &import), 0);
	for (size_t i = 0; i < profile__row_count(from); i++)
		assert_int_equal(profile_import__row(import, profile__row(from, i)), 0);
	profile_import__free(import);
}

static void rows_of_two_profiles_add_up(void **state)
{
	struct profile *a = profile_of(0, 200, false), *b = profile_of(100, METHODS, true);
	struct profile *sum = sample_empty();

	(void)state;
	import_all(a, sum);
	import_all(b, sum);
	assert_int_equal(profile__row_count(sum), METHODS);
	assert_false(profile__failed(sum));
	for (size_t i = 0; i < METHODS; i++) {
		const struct profile_row *row = profile__row(sum, i);
		struct profile_stack stack = profile__stack_at(sum, row->stack);
		const struct profile_frame *frame = profile__frame_at(sum, stack.frames[0]);
		const struct profile_function *function =
			profile__function_at(sum, frame->function);
		struct profile_label_set set = profile__label_set_at(sum, row->label_set);
		size_t method = (size_t)frame->line - 1;
		int64_t times = method >= 100 && method < 200 ? 2 : 1;
		char text[32];

		assert_int_equal(stack.count, 2);
		assert_string_equal(profile__text(sum, function->name), name_of(method, text));
		assert_string_equal(profile__text(sum, function->file), "m.rb");
		assert_int_equal(function->start_line, method);
		assert_int_equal(row->values[0], times);
		assert_int_equal(row->values[1], times * (int64_t)method);
		assert_int_equal(set.count, 3);
		assert_int_equal(set.labels[0].number, 5);
		assert_int_equal(set.labels[0].text, PROFILE_NONE);
		snprintf(text, sizeof(text), "t%zu", method % 3);
		assert_string_equal(profile__text(sum, set.labels[2].text), text);
	}
	profile__free(a);
	profile__free(b);
	profile__free(sum);
}

/* Only what is asked for comes along. */
static void what_is_not_used_stays_behind(void **state)
{
	struct profile *from = profile_of(0, METHODS, false), *to = sample_empty();
	struct profile_import *import;
	uint32_t stack = stack_of(from, 7), text = profile__cstring(from, "only this");
	size_t bytes = profile__bytes(to);

	(void)state;
	assert_int_equal(profile_import__new(from, to, &import), 0);
	stack = profile_import__stack(import, stack);
	assert_int_equal(stack, profile_import__stack(import, stack_of(from, 7)));
	assert_int_equal(profile__stack_count(to), 1);
	assert_int_equal(stack, stack_of(to, 7));
	assert_string_equal(profile__text(to, profile_import__string(import, text)), "only this");
	assert_int_equal(profile_import__string(import, 0), 0);
	assert_int_equal(profile__row_count(to), 0);
	assert_true(profile__bytes(to) > bytes);
	assert_true(profile__bytes(to) < profile__bytes(from) / 10);
	profile_import__free(import);
	profile__free(from);
	profile__free(to);
}

static void no_thing_stays_no_thing(void **state)
{
	struct profile *from = sample_empty(), *to = sample_empty();
	const struct profile_row nowhere = { .stack = 3 };
	struct profile_import *import;

	(void)state;
	assert_int_equal(profile_import__new(from, to, &import), 0);
	assert_int_equal(profile_import__string(import, PROFILE_NONE), PROFILE_NONE);
	assert_int_equal(profile_import__stack(import, PROFILE_NONE), PROFILE_NONE);
	assert_int_equal(profile_import__function(import, 17), PROFILE_NONE);
	assert_false(profile__failed(to));
	assert_true(profile_import__row(import, &nowhere) < 0);
	assert_true(profile__failed(to));
	profile_import__free(import);
	profile_import__free(NULL);
	profile__free(from);
	profile__free(to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_two_profiles_add_up),
		cmocka_unit_test(what_is_not_used_stays_behind),
		cmocka_unit_test(no_thing_stays_no_thing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
