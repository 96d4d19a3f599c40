/* SPDX-License-Identifier: BSD-2-Clause */
/* Filters and groups: the part of a profile that is asked for, by what is asked for. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "sample_profile.h"
#include "user/agg/gem_name.h"
#include "user/agg/profile_filter.h"
#include "user/agg/profile_group.h"
#include "user/agg/profile_labels.h"
#include "user/out/totals.h"

static const struct out_options by_time = { .type = 1 };

/* Endpoints /a (twice, of two threads), /b and none; the last row has an empty thread name. */
static struct profile *requests(void)
{
	struct profile *profile = sample_empty();
	uint32_t work = sample_frame(profile, "work", "/app/a.rb", 1, 2);
	static const struct {
		const char *thread, *endpoint;
		int64_t span, nanoseconds;
	} rows[] = {
		{ "worker 1", "/a", 10, 100 },
		{ "worker 2", "/a", -5, 20 },
		{ "worker 1", "/b", 11, 3 },
		{ "", NULL, 0, 4000 },
	};

	for (size_t i = 0; i < 4; i++) {
		struct profile_label labels[3];
		size_t count = 0;

		labels[count++] = sample_text(profile, "thread name", rows[i].thread);
		if (rows[i].endpoint) {
			labels[count++] = sample_text(profile, "trace endpoint", rows[i].endpoint);
			labels[count++] = sample_number(profile, "span id", rows[i].span);
		}
		sample_add(profile, &work, 1, profile__label_set(profile, labels, count), 1,
			   rows[i].nanoseconds);
	}
	/* A key that no row has. */
	sample_text(profile, "state", "waiting");
	return profile;
}

static int64_t sum(const struct profile *profile)
{
	int64_t result = 0;

	for (size_t i = 0; i < profile__row_count(profile); i++)
		result += profile__row(profile, i)->values[1];
	return result;
}

/* ---- labels ---- */

static const char *found(const struct profile *profile, const char *name)
{
	return profile__text(profile, profile_labels__find(profile, name, strlen(name)));
}

static void labels_are_found_by_short_and_exact_names(void **state)
{
	struct profile *profile = requests();
	char *list;

	(void)state;
	assert_string_equal(found(profile, "endpoint"), "trace endpoint");
	assert_string_equal(found(profile, "trace endpoint"), "trace endpoint");
	assert_string_equal(found(profile, "trace-endpoint"), "trace endpoint");
	assert_string_equal(found(profile, "thread_name"), "thread name");
	assert_string_equal(found(profile, "thread"), "thread name");
	assert_string_equal(found(profile, "span"), "span id");
	assert_null(found(profile, "state"));
	assert_null(found(profile, "process"));
	assert_null(found(profile, ""));
	assert_null(found(profile, "work"));
	assert_int_equal(profile_labels__list(profile, &list), 0);
	assert_string_equal(list, "endpoint, span, thread");
	free(list);
	profile__free(profile);
	assert_string_equal(profile_labels__known("endpoint", 8), "trace endpoint");
	assert_string_equal(profile_labels__known("gvl-holder", 10), "gvl holder");
	assert_null(profile_labels__known("colour", 6));
}

static void a_short_name_means_the_first_key_that_is_there(void **state)
{
	struct profile *profile = sample_empty();
	struct profile_label labels[] = {
		sample_text(profile, "container_id", "0123"),
		sample_text(profile, "thread", "own key"),
		sample_text(profile, "thread name", "main"),
	};
	uint32_t frame = sample_frame(profile, "a", "a", 1, 1);
	char *list;

	(void)state;
	sample_add(profile, &frame, 1, profile__label_set(profile, labels, 3), 1, 1);
	assert_string_equal(found(profile, "container"), "container_id");
	/* What the file has by this very name comes first, and the list leads back to each. */
	assert_string_equal(found(profile, "thread"), "thread");
	assert_int_equal(profile_labels__list(profile, &list), 0);
	assert_string_equal(list, "container, thread, thread name");
	free(list);
	profile__free(profile);
}

/* ---- filters ---- */

static int64_t filtered(const struct profile *profile, const char *const *texts)
{
	struct profile_filter filters[8];
	struct profile *result;
	size_t count = 0;
	int64_t left;

	for (; texts[count]; count++)
		assert_int_equal(profile_filter__parse(texts[count] + 1, *texts[count] == '-',
						       &filters[count]),
				 0);
	assert_int_equal(profile_filter__apply(profile, filters, count, &result), 0);
	left = sum(result);
	assert_int_equal(profile__info(result)->duration_ns, 5000000000);
	assert_string_equal(profile__info(result)->period_type.type, "cpu-time");
	profile__free(result);
	return left;
}

/* + is a focus, - an ignored label. */
#define FILTERED(...) filtered(profile, (const char *const[]){ __VA_ARGS__, NULL })

static void filters_keep_what_fits(void **state)
{
	struct profile *profile = requests();

	(void)state;
	assert_int_equal(FILTERED("+endpoint=/a"), 120);
	assert_int_equal(FILTERED("+endpoint=/?"), 123);
	assert_int_equal(FILTERED("+endpoint=*"), 123);
	assert_int_equal(FILTERED("+endpoint=(none)"), 4000);
	assert_int_equal(FILTERED("+endpoint=[ab]"), 0);
	assert_int_equal(FILTERED("+endpoint=a"), 0);
	assert_int_equal(FILTERED("+endpoint=/a", "+endpoint=/b"), 123);
	assert_int_equal(FILTERED("+endpoint=/a", "+thread=*1"), 100);
	assert_int_equal(FILTERED("-endpoint=/a"), 4003);
	assert_int_equal(FILTERED("-endpoint=*"), 4000);
	assert_int_equal(FILTERED("-endpoint=(none)"), 123);
	assert_int_equal(FILTERED("-endpoint=/a", "-thread=worker 1"), 4000);
	assert_int_equal(FILTERED("+endpoint=/a", "-thread=worker 1"), 20);
	assert_int_equal(FILTERED("+span id=-5"), 20);
	assert_int_equal(FILTERED("+thread="), 4000);
	assert_int_equal(FILTERED("+state=waiting"), 0);
	assert_int_equal(FILTERED("-state=waiting"), 4123);
	assert_int_equal(FILTERED("+state=(none)"), 4123);
	profile__free(profile);
}

static void a_filter_has_a_label(void **state)
{
	struct profile_filter filter;

	(void)state;
	assert_int_equal(profile_filter__parse("endpoint", false, &filter), -EINVAL);
	assert_int_equal(profile_filter__parse("=x", false, &filter), -EINVAL);
	assert_int_equal(profile_filter__parse("", false, &filter), -EINVAL);
	assert_int_equal(profile_filter__parse("a=b=c", true, &filter), 0);
	assert_string_equal(filter.glob, "b=c");
	assert_int_equal(filter.label_length, 1);
	assert_true(filter.is_ignored);
}

static void a_filtered_profile_is_written_as_any(void **state)
{
	struct profile *profile = sample_new(), *result;
	struct profile_filter filter;
	size_t length, length_of_all;
	char *text, *all;

	(void)state;
	assert_int_equal(profile_filter__parse("pid=1234", false, &filter), 0);
	assert_int_equal(profile_filter__apply(profile, &filter, 1, &result), 0);
	all = sample_written(profile, "pprof", &by_time, &length_of_all);
	text = sample_written(result, "pprof", &by_time, &length);
	assert_int_equal(length, length_of_all);
	assert_memory_equal(text, all, length);
	free(text);
	free(all);
	profile__free(result);
	profile__free(profile);
}

/* ---- groups ---- */

static char *folded(struct profile *profile)
{
	size_t length;
	char *text = sample_written(profile, "folded", &by_time, &length);

	assert_non_null(text);
	profile__free(profile);
	return text;
}

static void a_label_is_a_root_or_all_there_is(void **state)
{
	struct profile *profile = requests(), *result;
	uint32_t key = profile_labels__find(profile, "endpoint", 8);
	char *text;

	(void)state;
	assert_int_equal(profile_group__by_label(profile, key, PROFILE_GROUP_ALONE, &result), 0);
	text = folded(result);
	assert_string_equal(text, "(none) 4000\n/a 120\n/b 3\n");
	free(text);
	assert_int_equal(profile_group__by_label(profile, key, PROFILE_GROUP_ROOT, &result), 0);
	text = folded(result);
	assert_string_equal(text, "(none);work 4000\n/a;work 120\n/b;work 3\n");
	free(text);
	profile__free(profile);
}

static void a_label_of_numbers_groups_too(void **state)
{
	struct profile *profile = sample_new(), *result;
	uint32_t key = profile_labels__find(profile, "pid", 3);
	char *text;

	(void)state;
	assert_int_equal(profile_group__by_label(profile, key, PROFILE_GROUP_ALONE, &result), 0);
	/* As it is in a name, where a number at the end could be a value. */
	text = folded(result);
	assert_string_equal(text, "1234 1000000001\n");
	free(text);
	/* The key of no label. */
	assert_int_equal(
		profile_group__by_label(profile, PROFILE_NONE, PROFILE_GROUP_ALONE, &result), 0);
	text = folded(result);
	assert_string_equal(text, "(none) 1000000001\n");
	free(text);
	profile__free(profile);
}

static void gems_take_what_they_call_in_c(void **state)
{
	static const char rack[] = "/usr/lib/ruby/gems/3.1.0/gems/rack-2.2.4/lib/rack.rb";
	struct profile *profile = sample_empty(), *result;
	uint32_t labels = sample_labels(profile, "main", 1);
	uint32_t app = sample_frame(profile, "<main>", "/app/main.rb", 1, 1);
	uint32_t call = sample_frame(profile, "Rack#call", rack, 1, 2);
	uint32_t block = sample_frame(profile, "block in Rack#call", rack, 2, 2);
	uint32_t each = sample_frame(profile, "Array#each", "<cfunc>", 0, 0);
	uint32_t gc = sample_frame(profile, "Garbage Collection", "<rbprof>", 0, 0);
	char *text;

	(void)state;
	sample_add(profile, (uint32_t[]){ each, block, each, call, app }, 5, labels, 1, 1);
	sample_add(profile, (uint32_t[]){ gc, each, call, app }, 4, labels, 1, 20);
	sample_add(profile, (uint32_t[]){ each }, 1, labels, 1, 300);
	sample_add(profile, (uint32_t[]){ app, call, app }, 3, labels, 1, 4000);
	sample_add(profile, NULL, 0, labels, 1, 50000);
	assert_int_equal(profile_group__by_gem(profile, &result), 0);
	text = folded(result);
	assert_string_equal(text, "(no stack) 50000\n"
				  "(application);rack 1\n"
				  "(application);rack;(application) 4000\n"
				  "(application);rack;Garbage Collection 20\n"
				  "(native) 300\n");
	free(text);
	profile__free(profile);
}

static void lines_are_functions_of_their_own(void **state)
{
	struct profile *profile = sample_new(), *result;
	struct totals totals;
	uint32_t *ids;
	size_t count;
	char *text;

	(void)state;
	assert_int_equal(profile_group__by_line(profile, true, &result), 0);
	text = folded(result);
	assert_non_null(strstr(text, "<main> (/app/main.rb:41);Foo::Bar.baz (/app/bar.rb:12);"
				     "Integer#<=> 10000001\n"));
	free(text);
	assert_int_equal(profile_group__by_line(profile, false, &result), 0);
	assert_int_equal(totals__init(&totals, result), 0);
	assert_int_equal(totals__order(&totals, result, 1, &ids, &count), 0);
	assert_int_equal(count, 5);
	assert_string_equal(profile__text(result, profile__function_at(result, ids[2])->name),
			    "<main>");
	assert_int_equal(profile__function_at(result, ids[2])->start_line, 40);
	assert_int_equal(totals.total[ids[2]].values[1], 990000000);
	totals__free(&totals);
	free(ids);
	profile__free(result);
	profile__free(profile);
}

static void names_stay_when_lines_move(void **state)
{
	struct profile *profile = sample_empty(), *result;
	uint32_t labels = sample_labels(profile, "main", 1);
	uint32_t before = sample_frame(profile, "a", "a.rb", 1, 1);
	uint32_t after = sample_frame(profile, "a", "a.rb", 5, 6);
	uint32_t other = sample_frame(profile, "a", "b.rb", 1, 1);
	char *text;

	(void)state;
	sample_add(profile, &before, 1, labels, 1, 1);
	sample_add(profile, &after, 1, labels, 1, 2);
	sample_add(profile, &other, 1, labels, 1, 4);
	assert_int_equal(profile_group__by_name(profile, &result), 0);
	assert_int_equal(profile__row_count(result), 2);
	text = folded(result);
	assert_string_equal(text, "a 7\n");
	free(text);
	profile__free(profile);
}

/* ---- gems ---- */

static void gems_by_path(void **state)
{
	static const char *const cases[][2] = {
		{ "/usr/lib/ruby/gems/3.1.0/gems/rack-2.2.4/lib/rack.rb", "rack" },
		{ "/app/vendor/bundle/ruby/3.3.0/gems/aws-sdk-s3-1.2.3/lib/a.rb", "aws-sdk-s3" },
		{ "/g/gems/nokogiri-1.15.0-x86_64-linux/lib/n.rb", "nokogiri" },
		{ "/g/gems/grpc-1.60.0-arm64-darwin-22/lib/g.rb", "grpc" },
		{ "/g/gems/http-2-0.11.0/lib/http/2.rb", "http-2" },
		{ "/g/gems/one-1/one.rb", "one" },
		{ "/g/gems/pre-2.0.0.rc1/pre.rb", "pre" },
		{ "/g/bundler/gems/rails-0123456789ab/activerecord/lib/a.rb", "rails" },
		{ "/g/bundler/gems/odd/lib/a.rb", "odd" },
		{ "/g/gems/tool-1.0/lib/gems/inner/x.rb", "tool" },
		{ "(eval at /g/gems/erb-4.0.2/lib/erb.rb:429)", "erb" },
		{ "/usr/share/rubygems-integration/all/gems/rake-13.0.6/lib/rake.rb", "rake" },
		{ "/usr/lib/ruby/vendor_ruby/rubygems/version.rb", "rubygems" },
		{ "/usr/lib/ruby/vendor_ruby/json.rb", "json" },
		{ "/usr/lib/ruby/gems/3.1.0/specifications/default/json-2.6.1.gemspec",
		  "rubygems" },
		{ "<internal:/usr/lib/ruby/vendor_ruby/rubygems/core_ext/kernel_require.rb>",
		  "rubygems" },
		{ "/usr/lib/ruby/vendor_ruby/3.1.0/x.rb", GEM_NAME_STDLIB },
		{ "/usr/lib/ruby/3.1.0/set.rb", GEM_NAME_STDLIB },
		{ "/usr/local/lib/ruby/site_ruby/3.3.0/x.rb", GEM_NAME_STDLIB },
		{ "/usr/lib/x86_64-linux-gnu/ruby/3.1.0/rbconfig.rb", GEM_NAME_STDLIB },
		{ "<internal:kernel>", GEM_NAME_CORE },
		{ "<internal:", GEM_NAME_CORE },
		{ "/srv/app/lib/ruby/x.rb", GEM_NAME_APPLICATION },
		{ "/srv/gems/app/x.rb", GEM_NAME_APPLICATION },
		{ "/gems/", GEM_NAME_APPLICATION },
		{ "/gems/-1/", GEM_NAME_APPLICATION },
		{ "/vendor_ruby/", GEM_NAME_APPLICATION },
		{ "/bundler/gems/", GEM_NAME_APPLICATION },
		{ "-e", GEM_NAME_APPLICATION },
		{ "", GEM_NAME_APPLICATION },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		size_t size = strlen(cases[i][0]), length;
		/* Of that size, so that a read behind its end is found. */
		char *path = memcpy(malloc(size + !size), cases[i][0], size);
		const char *name;

		length = gem_name__of(path, size, &name);
		if (length != strlen(cases[i][1]) || memcmp(name, cases[i][1], length))
			fail_msg("%s: %.*s, not %s", cases[i][0], (int)length, name, cases[i][1]);
		free(path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(labels_are_found_by_short_and_exact_names),
		cmocka_unit_test(a_short_name_means_the_first_key_that_is_there),
		cmocka_unit_test(filters_keep_what_fits),
		cmocka_unit_test(a_filter_has_a_label),
		cmocka_unit_test(a_filtered_profile_is_written_as_any),
		cmocka_unit_test(a_label_is_a_root_or_all_there_is),
		cmocka_unit_test(a_label_of_numbers_groups_too),
		cmocka_unit_test(gems_take_what_they_call_in_c),
		cmocka_unit_test(lines_are_functions_of_their_own),
		cmocka_unit_test(names_stay_when_lines_move),
		cmocka_unit_test(gems_by_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
