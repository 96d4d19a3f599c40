/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "sample_profile.h"

static void types_are_checked_and_copied(void **state)
{
	char name[] = "cpu-time";
	struct profile_type types[PROFILE_MAX_TYPES + 1];
	struct profile *profile = NULL;

	(void)state;
	for (size_t i = 0; i <= PROFILE_MAX_TYPES; i++)
		types[i] = (struct profile_type){ name, "nanoseconds" };
	assert_int_equal(profile__new(types, 0, &profile), -EINVAL);
	assert_int_equal(profile__new(types, PROFILE_MAX_TYPES + 1, &profile), -EINVAL);
	assert_null(profile);

	assert_int_equal(profile__new(types, 1, &profile), 0);
	name[0] = 'X';
	assert_int_equal(profile__type_count(profile), 1);
	assert_string_equal(profile__type(profile, 0)->type, "cpu-time");
	assert_null(profile__type(profile, 1));
	assert_int_equal(profile__type_index(profile, "cpu-time"), 0);
	assert_int_equal(profile__type_index(profile, "wall-time"), -1);
	profile__free(profile);
	profile__free(NULL);
}

static void equal_things_have_equal_ids(void **state)
{
	struct profile *profile = sample_empty();
	uint32_t a = sample_frame(profile, "A#a", "a.rb", 1, 2);
	uint32_t b = sample_frame(profile, "A#a", "a.rb", 1, 3);
	uint32_t c = sample_frame(profile, "A#a", "a.rb", 2, 2);
	uint32_t ab[] = { a, b }, ba[] = { b, a };

	(void)state;
	assert_int_equal(profile__cstring(profile, ""), 0);
	assert_int_equal(profile__string(profile, "A#abc", 3), profile__cstring(profile, "A#a"));
	assert_int_not_equal(a, b);
	assert_int_not_equal(a, c);
	assert_int_equal(sample_frame(profile, "A#a", "a.rb", 1, 2), a);
	assert_int_equal(profile__function_count(profile), 2);
	assert_int_equal(profile__frame_count(profile), 3);

	assert_int_equal(profile__stack(profile, ab, 2), 0);
	assert_int_equal(profile__stack(profile, ba, 2), 1);
	assert_int_equal(profile__stack(profile, ab, 1), 2);
	assert_int_equal(profile__stack(profile, NULL, 0), 3);
	assert_int_equal(profile__stack(profile, ab, 2), 0);
	assert_int_equal(profile__stack_at(profile, 1).count, 2);
	assert_int_equal(profile__stack_at(profile, 1).frames[0], b);
	assert_int_equal(profile__stack_at(profile, 3).count, 0);
	assert_false(profile__failed(profile));
	profile__free(profile);
}

static void strings_keep_their_place(void **state)
{
	struct profile *profile = sample_empty();
	uint32_t id = profile__cstring(profile, "first");
	const char *text = profile__text(profile, id);
	char name[32];

	(void)state;
	for (int i = 0; i < 10000; i++) {
		snprintf(name, sizeof(name), "string %d", i);
		profile__cstring(profile, name);
	}
	assert_ptr_equal(profile__text(profile, id), text);
	assert_string_equal(text, "first");
	assert_int_equal(profile__text_length(profile, id), 5);
	assert_null(profile__text(profile, PROFILE_NONE));
	assert_int_equal(profile__text_length(profile, PROFILE_NONE), 0);
	profile__free(profile);
}

static void labels_are_sorted_and_the_last_of_a_key_counts(void **state)
{
	struct profile *profile = sample_empty();
	struct profile_label labels[] = {
		sample_text(profile, "thread name", "main"),
		sample_number(profile, "pid", 1),
		sample_text(profile, "ruby", "3.1.2"),
		sample_number(profile, "pid", 2),
	};
	struct profile_label again[] = { labels[3], labels[2], labels[0] };
	uint32_t id = profile__label_set(profile, labels, 4);
	struct profile_label_set set = profile__label_set_at(profile, id);

	(void)state;
	assert_int_equal(set.count, 3);
	assert_string_equal(profile__text(profile, set.labels[0].key), "pid");
	assert_int_equal(set.labels[0].number, 2);
	assert_int_equal(set.labels[0].text, PROFILE_NONE);
	assert_string_equal(profile__text(profile, set.labels[1].key), "ruby");
	assert_string_equal(profile__text(profile, set.labels[2].text), "main");
	assert_int_equal(profile__label_set(profile, again, 3), id);
	/* What does not belong to the kind of the label makes no difference. */
	again[2].number = 77;
	again[1].unit = labels[0].key;
	again[0].unit = profile__cstring(profile, "");
	assert_int_equal(profile__label_set(profile, again, 3), id);
	assert_int_not_equal(profile__label_set(profile, again, 2), id);
	profile__free(profile);
}

static void many_labels_are_sorted_too(void **state)
{
	struct profile *profile = sample_empty();
	struct profile_label labels[100];
	struct profile_label_set set;
	char key[16];

	(void)state;
	for (int i = 0; i < 100; i++) {
		snprintf(key, sizeof(key), "key %02d", 99 - i);
		labels[i] = sample_number(profile, key, i);
	}
	set = profile__label_set_at(profile, profile__label_set(profile, labels, 100));
	assert_int_equal(set.count, 100);
	for (int i = 0; i < 100; i++)
		assert_int_equal(set.labels[i].number, 99 - i);
	profile__free(profile);
}

static void rows_of_equal_stack_and_labels_are_one(void **state)
{
	struct profile *profile = sample_empty();
	uint32_t frame = sample_frame(profile, "a", "a.rb", 1, 2);
	uint32_t one = sample_labels(profile, "one", 1), two = sample_labels(profile, "two", 1);

	(void)state;
	sample_add(profile, &frame, 1, one, 1, 100);
	sample_add(profile, &frame, 1, two, 1, 10);
	sample_add(profile, &frame, 1, one, 2, -30);
	assert_int_equal(profile__row_count(profile), 2);
	assert_int_equal(profile__row(profile, 0)->values[0], 3);
	assert_int_equal(profile__row(profile, 0)->values[1], 70);
	assert_int_equal(profile__row(profile, 0)->label_set, one);
	assert_int_equal(profile__row(profile, 1)->values[1], 10);
	assert_null(profile__row(profile, 2));
	profile__free(profile);
}

static void a_sum_that_would_overflow_is_refused_as_a_whole(void **state)
{
	struct profile *profile = sample_empty();
	uint32_t frame = sample_frame(profile, "a", "a.rb", 1, 2);
	uint32_t labels = profile__label_set(profile, NULL, 0);
	uint32_t stack = profile__stack(profile, &frame, 1);
	uint32_t other = profile__stack(profile, NULL, 0);

	(void)state;
	assert_int_equal(profile__add(profile, stack, labels, (int64_t[]){ 1, INT64_MAX - 5 }), 0);
	/* Also where it is another row, or of the other sign. */
	assert_int_equal(profile__add(profile, stack, labels, (int64_t[]){ 1, 6 }), -EOVERFLOW);
	assert_int_equal(profile__add(profile, other, labels, (int64_t[]){ 1, 6 }), -EOVERFLOW);
	assert_int_equal(profile__add(profile, other, labels, (int64_t[]){ 1, -6 }), -EOVERFLOW);
	assert_int_equal(profile__add(profile, other, labels, (int64_t[]){ INT64_MIN, 0 }),
			 -EOVERFLOW);
	assert_int_equal(profile__row_count(profile), 1);
	assert_int_equal(profile__row(profile, 0)->values[0], 1);
	assert_int_equal(profile__add(profile, other, labels, (int64_t[]){ 1, 5 }), 0);
	assert_false(profile__failed(profile));
	profile__free(profile);
}

/* An id that is not there is what a failed interning has returned: no crash, and no profile. */
static void ids_of_failed_interning_make_the_profile_failed(void **state)
{
	(void)state;
	for (int i = 0; i < 6; i++) {
		struct profile *profile = sample_empty();
		struct profile_function function = { .name = PROFILE_NONE };
		struct profile_label label = sample_text(profile, "a", "b");
		uint32_t none = PROFILE_NONE;
		uint32_t id = PROFILE_NONE;

		label.key = i == 3 ? PROFILE_NONE : label.key;
		label.text = i == 4 ? 1000 : label.text;
		if (i == 0)
			id = profile__function(profile, &function);
		else if (i == 1)
			id = profile__frame(profile, PROFILE_NONE, 1);
		else if (i == 2)
			id = profile__stack(profile, &none, 1);
		else if (i < 5)
			id = profile__label_set(profile, &label, 1);
		else
			assert_int_equal(profile__add(profile, none, none, (int64_t[]){ 1, 1 }),
					 -EINVAL);
		assert_int_equal(id, PROFILE_NONE);
		assert_true(profile__failed(profile));
		profile__free(profile);
	}
}

static void comments_are_kept_as_valid_text(void **state)
{
	struct profile *profile = sample_empty();
	char *large = malloc(100001);

	(void)state;
	memset(large, 'x', 100000);
	large[100000] = '\0';
	for (int i = 0; i < 20; i++)
		assert_int_equal(profile__comment(profile, i & 1 ? "b\xff" : "a"), 0);
	assert_int_equal(profile__comment(profile, large), 0);
	assert_int_equal(profile__comment(profile, ""), 0);
	assert_int_equal(profile__comment_count(profile), 22);
	assert_string_equal(profile__comment_at(profile, 0), "a");
	assert_string_equal(profile__comment_at(profile, 19), "b\xef\xbf\xbd");
	assert_int_equal(strlen(profile__comment_at(profile, 20)), 65535);
	assert_string_equal(profile__comment_at(profile, 21), "");
	assert_null(profile__comment_at(profile, 22));
	free(large);
	profile__free(profile);
}

static void a_new_profile_has_no_mapping(void **state)
{
	struct profile *profile = sample_empty();

	(void)state;
	assert_int_equal(profile__mapping(profile)->file, PROFILE_NONE);
	assert_int_equal(profile__mapping(profile)->build_id, PROFILE_NONE);
	profile__free(profile);
}

static void rows_can_be_taken_out(void **state)
{
	const int64_t values[PROFILE_MAX_TYPES] = { INT64_MAX / 2, INT64_MAX / 2 };
	struct profile *profile = sample_empty();
	uint32_t frame = sample_frame(profile, "A#a", "a.rb", 1, 2);
	uint32_t stack = profile__stack(profile, &frame, 1);
	uint32_t labels = sample_labels(profile, "main", 7);
	struct profile_row *rows = NULL;
	size_t count = 99, bytes;

	(void)state;
	assert_int_equal(profile__take_rows(profile, &rows, &count), 0);
	assert_null(rows);
	assert_int_equal(count, 0);
	bytes = profile__bytes(profile);
	assert_true(bytes > 0);
	/* Sums begin anew each time: else the third would overflow. */
	for (int i = 0; i < 3; i++) {
		assert_int_equal(profile__add(profile, stack, labels, values), 0);
		assert_int_equal(profile__row_count(profile), 1);
		assert_int_equal(profile__take_rows(profile, &rows, &count), 0);
		assert_int_equal(profile__row_count(profile), 0);
		assert_null(profile__row(profile, 0));
		assert_int_equal(count, 1);
		assert_int_equal(rows[0].stack, stack);
		assert_int_equal(rows[0].label_set, labels);
		assert_int_equal(rows[0].values[0], INT64_MAX / 2);
		free(rows);
	}
	assert_int_equal(profile__bytes(profile), bytes);
	assert_int_equal(profile__stack(profile, &frame, 1), stack);
	profile__stack(profile, (uint32_t[]){ frame, frame }, 2);
	assert_true(profile__bytes(profile) > bytes);
	profile__free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(types_are_checked_and_copied),
		cmocka_unit_test(equal_things_have_equal_ids),
		cmocka_unit_test(strings_keep_their_place),
		cmocka_unit_test(labels_are_sorted_and_the_last_of_a_key_counts),
		cmocka_unit_test(many_labels_are_sorted_too),
		cmocka_unit_test(rows_of_equal_stack_and_labels_are_one),
		cmocka_unit_test(a_sum_that_would_overflow_is_refused_as_a_whole),
		cmocka_unit_test(ids_of_failed_interning_make_the_profile_failed),
		cmocka_unit_test(comments_are_kept_as_valid_text),
		cmocka_unit_test(a_new_profile_has_no_mapping),
		cmocka_unit_test(rows_can_be_taken_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
