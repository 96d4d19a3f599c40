/* SPDX-License-Identifier: BSD-2-Clause */
/* Two profiles compared: figures, matching of functions, formats, and what is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <jansson.h>

#include "sample_profile.h"
#include "user/agg/profile_diff.h"
#include "user/out/diff.h"

static const char old_rack[] = "/gems/rack-2.2.4/lib/rack.rb";
static const char new_rack[] = "/gems/rack-2.2.5/lib/rack.rb";

/* main -> call (in a gem that is updated) -> work; the line of main moves. */
static struct profile *sample(const char *rack, int64_t line, int64_t work_ns, int64_t call_ns)
{
	struct profile *profile = sample_empty();
	uint32_t labels = sample_labels(profile, "main", line);
	uint32_t root = sample_frame(profile, "<main>", "/app/main.rb", line, line + 1);
	uint32_t call = sample_frame(profile, "call", rack, 1, 2);
	uint32_t work = sample_frame(profile, "work", "/app/work.rb", 1, 2);

	if (work_ns)
		sample_add(profile, (uint32_t[]){ work, call, root }, 3, labels, 1, work_ns);
	sample_add(profile, (uint32_t[]){ call, root }, 2, labels, 1, call_ns);
	return profile;
}

static struct profile *both_of(struct profile *base, struct profile *head, bool is_normalized)
{
	struct profile_diff diff = { base, head, 1, 1, is_normalized };
	struct profile *both;

	assert_int_equal(profile_diff__new(&diff, &both), 0);
	return both;
}

static char *written(struct profile *base, struct profile *head, bool is_normalized,
		     diff_write write)
{
	struct profile *both = both_of(base, head, is_normalized);
	struct diff diff = {
		.both = both,
		.base = base,
		.head = head,
		.base_path = "a.pb.gz",
		.head_path = "b.pb.gz",
		.type = profile__type(base, 1),
		.base_sum = 1000,
		.head_sum = 1500,
		.is_normalized = is_normalized,
	};
	struct out_options options = { 0 };
	char *text = NULL;
	size_t length;
	FILE *stream = open_memstream(&text, &length);

	assert_int_equal(write(&diff, &options, stream), 0);
	fclose(stream);
	profile__free(both);
	profile__free(base);
	profile__free(head);
	return text;
}

static void a_difference_has_both_values(void **state)
{
	char *text = written(sample(old_rack, 1, 900, 100), sample(old_rack, 9, 1200, 300), false,
			     diff__folded);

	(void)state;
	assert_string_equal(text, "<main>;call 100 300\n<main>;call;work 900 1200\n");
	free(text);
	text = written(sample(old_rack, 1, 900, 100), sample(new_rack, 9, 0, 1500), true,
		       diff__folded);
	assert_string_equal(text, "<main>;call 100 1000\n<main>;call;work 900 0\n");
	free(text);
}

static void an_updated_gem_is_the_same_one(void **state)
{
	struct profile *base = sample(old_rack, 1, 900, 100), *head = sample(new_rack, 9, 900, 100);
	struct profile *both = both_of(base, head, false);

	(void)state;
	assert_int_equal(profile__row_count(both), 2);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(profile__row(both, i)->values[0],
				 profile__row(both, i)->values[1]);
	profile__free(both);
	/* A second file of that name: nobody knows which it was. */
	sample_add(head, (uint32_t[]){ sample_frame(head, "call", "/other.rb", 1, 1) }, 1,
		   sample_labels(head, "main", 1), 1, 5);
	both = both_of(base, head, false);
	assert_int_equal(profile__row_count(both), 5);
	profile__free(both);
	profile__free(base);
	profile__free(head);
}

static void the_table_is_by_change(void **state)
{
	char *text = written(sample(old_rack, 1, 900, 100), sample(old_rack, 9, 1200, 300), false,
			     diff__text);
	const char *work = strstr(text, " work "), *call = strstr(text, " call ");

	(void)state;
	assert_non_null(strstr(text, "base        1.00 us cpu-time in 5.00 s: a.pb.gz\n"));
	assert_non_null(strstr(text, "change      +500 ns (+50.0%)\n"));
	assert_non_null(strstr(text, "    900 ns    1.20 us     +300 ns  +30.0%      900 ns"));
	assert_true(work && call && work < call);
	assert_null(strstr(text, "\x1b"));
	free(text);
}

static void json_has_the_promised_fields(void **state)
{
	char *text = written(sample(old_rack, 1, 900, 100), sample(old_rack, 9, 1200, 300), false,
			     diff__json);
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL), *work;
	json_int_t base, head, delta, total;
	const char *name;

	(void)state;
	free(text);
	assert_non_null(root);
	assert_int_equal(json_integer_value(json_object_get(root, "schema")), 1);
	assert_int_equal(json_array_size(json_object_get(root, "functions")), 3);
	work = json_array_get(json_object_get(root, "functions"), 0);
	assert_int_equal(json_unpack(work, "{s:s, s:{s:I, s:I, s:I}, s:{s:I}}", "name", &name,
				     "self", "base", &base, "head", &head, "delta", &delta, "total",
				     "delta", &total),
			 0);
	assert_string_equal(name, "work");
	assert_int_equal(base, 900);
	assert_int_equal(head, 1200);
	assert_int_equal(delta, 300);
	assert_int_equal(total, 300);
	json_decref(root);
}

static void empty_profiles_are_compared(void **state)
{
	char *text = written(sample_empty(), sample_empty(), true, diff__text);

	(void)state;
	assert_non_null(strstr(text, "both profiles are empty"));
	free(text);
	text = written(sample_empty(), sample(old_rack, 1, 900, 100), true, diff__folded);
	assert_string_equal(text, "<main>;call 0 100\n<main>;call;work 0 900\n");
	free(text);
}

static void formats_of_a_difference(void **state)
{
	(void)state;
	assert_ptr_equal(diff__format(out__format_by_name("text")), diff__text);
	assert_ptr_equal(diff__format(out__format_by_name("json")), diff__json);
	assert_ptr_equal(diff__format(out__format_by_name("folded")), diff__folded);
	assert_null(diff__format(out__format_by_name("pprof")));
	assert_ptr_equal(diff__format(out__format_by_name("html")), diff__html);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_difference_has_both_values),
		cmocka_unit_test(an_updated_gem_is_the_same_one),
		cmocka_unit_test(the_table_is_by_change),
		cmocka_unit_test(json_has_the_promised_fields),
		cmocka_unit_test(empty_profiles_are_compared),
		cmocka_unit_test(formats_of_a_difference),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
