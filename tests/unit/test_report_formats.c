/* SPDX-License-Identifier: BSD-2-Clause */
/* The formats for people and scripts: folded, json, text; and the table of formats. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <jansson.h>

#include "sample_profile.h"
#include "user/out/escape.h"

static const struct out_options by_time = { .type = 1 };

static char *written(struct profile *profile, const char *format, const struct out_options *options)
{
	size_t length;
	char *text = sample_written(profile, format, options, &length);

	assert_non_null(text);
	assert_int_equal(strlen(text), length);
	return text;
}

/* ---- the table ---- */

static void formats_are_found_by_name_and_suffix(void **state)
{
	static const char *const cases[][2] = {
		{ "x.pb.gz", "pprof" },
		{ "x.pb", "pprof" },
		{ "dir.json/x", "pprof" },
		{ "x", "pprof" },
		{ "-", "pprof" },
		{ "", "pprof" },
		{ "x.folded", "folded" },
		{ "x.json", "json" },
		{ "x.txt", "text" },
		{ "x.speedscope.json", "speedscope" },
		{ "x.firefox.json", "firefox" },
		{ "x.trace.json", "chrome" },
		{ "x.html", "html" },
		{ "x.JSON", "pprof" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct out_format *format = out__format_by_path(cases[i][0]);

		assert_string_equal(format->name, cases[i][1]);
		assert_ptr_equal(out__format_by_name(cases[i][1]), format);
	}
	assert_null(out__format_by_suffix("x"));
	assert_null(out__format_by_suffix("-"));
	assert_null(out__format_by_name("yaml"));
	assert_null(out__format_by_name(""));
}

static void every_format_is_written(void **state)
{
	struct profile *profile = sample_new();
	const struct out_format *format;

	(void)state;
	for (size_t i = 0; (format = out__format(i)); i++)
		assert_non_null(format->write);
	assert_int_equal(out__write(out__format_by_name("text"), profile,
				    &(struct out_options){ .type = 2 }, stderr),
			 -EINVAL);
	profile__free(profile);
}

static void cpu_time_is_the_value_unless_there_is_none(void **state)
{
	static const struct profile_type types[] = { { "a", "count" }, { "b", "count" } };
	struct profile *profile = sample_new();

	(void)state;
	profile__info(profile)->default_type = 0;
	assert_int_equal(out__default_type(profile), 1);
	profile__free(profile);
	assert_int_equal(profile__new(types, 2, &profile), 0);
	profile__info(profile)->default_type = 1;
	assert_int_equal(out__default_type(profile), 1);
	profile__info(profile)->default_type = 7;
	assert_int_equal(out__default_type(profile), 0);
	profile__free(profile);
}

/* ---- folded ---- */

static void folded_is_root_first_merged_by_name_and_sorted(void **state)
{
	struct profile *profile = sample_new();
	struct out_options samples = { .type = 0 };
	char *text = written(profile, "folded", &by_time);

	(void)state;
	/* Lines 40 and 41 of <main> are one; what has no cpu-time is left out. */
	assert_string_equal(text,
			    "<main>;Foo::Bar.baz 90000000\n"
			    "<main>;Foo::Bar.baz;Integer#<=> 710000001\n"
			    "<main>;Foo::Bar.baz;block in Foo::Bar.baz;Foo::Bar.baz 200000000\n");
	free(text);
	text = written(profile, "folded", &samples);
	assert_string_equal(text, "<main> 1\n"
				  "<main>;Foo::Bar.baz 9\n"
				  "<main>;Foo::Bar.baz;Integer#<=> 71\n"
				  "<main>;Foo::Bar.baz;block in Foo::Bar.baz;Foo::Bar.baz 20\n");
	free(text);
	profile__free(profile);
}

static void folded_keeps_one_line_a_stack_whatever_the_names(void **state)
{
	static const char *const cases[][2] = {
		{ "a;b\nc \xc3\xa9", "a\\x3bb\\nc \xc3\xa9" },
		{ "tab\tand\r\x1b[31m\x7f", "tab\\tand\\x0d\\x1b[31m\\x7f" },
		{ "next\xc2\x85line\xe2\x80\xa8or\xe2\x80\xa9", "next\\u0085line\\u2028or\\u2029" },
		{ "back\\slash", "back\\\\slash" },
		{ "ends in 12", "ends in\\x2012" },
		{ "ends in 1.5", "ends in\\x201.5" },
		{ "space  ", "space\\x20\\x20" },
		{ " space", "\\x20space" },
		{ "   ", "\\x20\\x20\\x20" },
		{ "12", "12" },
		{ "block in A#b", "block in A#b" },
		{ "", "(unnamed)" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct profile *profile = sample_empty();
		uint32_t frames[] = {
			sample_frame(profile, cases[i][0], "a.rb", 1, 1),
			sample_frame(profile, "root", "a.rb", 1, 1),
		};
		char expected[128], *text;

		sample_add(profile, frames, 2, sample_labels(profile, "main", 1), 1, 5);
		sample_add(profile, frames, 1, sample_labels(profile, "main", 1), 1, 7);
		text = written(profile, "folded", &by_time);
		if (strcmp(cases[i][1], "root") < 0)
			snprintf(expected, sizeof(expected), "%s 7\nroot;%s 5\n", cases[i][1],
				 cases[i][1]);
		else
			snprintf(expected, sizeof(expected), "root;%s 5\n%s 7\n", cases[i][1],
				 cases[i][1]);
		assert_string_equal(text, expected);
		free(text);
		profile__free(profile);
	}
}

static void folded_shows_a_sample_without_stack(void **state)
{
	struct profile *profile = sample_empty();
	char *text;

	(void)state;
	sample_add(profile, NULL, 0, sample_labels(profile, "main", 1), 1, -5);
	text = written(profile, "folded", &by_time);
	assert_string_equal(text, "(no stack) -5\n");
	free(text);
	profile__free(profile);
}

/* ---- json ---- */

static json_t *written_json(struct profile *profile)
{
	char *text = written(profile, "json", &by_time);
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);

	free(text);
	assert_non_null(root);
	return root;
}

static json_int_t number(json_t *object, const char *first, const char *second)
{
	json_t *value = json_object_get(json_object_get(object, first), second);

	assert_true(json_is_integer(value));
	return json_integer_value(value);
}

static void json_has_the_promised_fields(void **state)
{
	struct profile *profile = sample_new();
	json_t *root = written_json(profile);
	json_t *function, *labels = json_object_get(root, "labels");

	(void)state;
	assert_int_equal(json_integer_value(json_object_get(root, "schema")), 1);
	assert_int_equal(json_integer_value(json_object_get(root, "duration_ns")), 5000000000);
	assert_int_equal(json_array_size(json_object_get(root, "types")), 2);
	assert_int_equal(number(root, "total", "cpu-time"), 1000000001);
	assert_int_equal(json_array_size(json_object_get(root, "functions")), 4);
	function = json_array_get(json_object_get(root, "functions"), 1);
	assert_string_equal(json_string_value(json_object_get(function, "name")), "Foo::Bar.baz");
	assert_string_equal(json_string_value(json_object_get(function, "file")), "/app/bar.rb");
	assert_int_equal(json_integer_value(json_object_get(function, "line")), 10);
	assert_int_equal(number(function, "self", "cpu-time"), 290000000);
	/* Twice in one stack counts once. */
	assert_int_equal(number(function, "total", "cpu-time"), 1000000001);
	assert_int_equal(number(function, "total", "cpu-samples"), 100);
	assert_int_equal(number(json_object_get(labels, "thread name"), "main", "cpu-samples"), 91);
	assert_int_equal(number(json_object_get(labels, "thread name"), "", "cpu-samples"), 10);
	assert_int_equal(number(json_object_get(labels, "pid"), "1234", "cpu-time"), 1000000001);
	json_decref(root);
	profile__free(profile);
}

static void json_adds_labels_that_look_alike(void **state)
{
	struct profile *profile = sample_empty();
	uint32_t frame = sample_frame(profile, "\"</script>\n;", "a.rb", 1, 1);
	struct profile_label a = sample_number(profile, "key", 5);
	struct profile_label b = sample_text(profile, "key", "5");
	json_t *root;

	(void)state;
	sample_add(profile, &frame, 1, profile__label_set(profile, &a, 1), 1, 10);
	sample_add(profile, &frame, 1, profile__label_set(profile, &b, 1), 1, 20);
	root = written_json(profile);
	assert_int_equal(
		number(json_object_get(json_object_get(root, "labels"), "key"), "5", "cpu-time"),
		30);
	json_decref(root);
	profile__free(profile);
}

/* ---- text ---- */

static void text_is_a_table_by_self(void **state)
{
	struct profile *profile = sample_new();
	char *text;

	(void)state;
	setenv("TZ", "UTC", 1);
	text = written(profile, "text", &by_time);
	assert_string_equal(
		text,
		"recorded    2023-11-14 22:13:20 +0000, for 5.00 s, at 99 Hz\n"
		"command     rbprof-bpf record -p 1234\n"
		"executable  /usr/bin/ruby3.1\n"
		"process     ruby (1234) 100.0%\n"
		"comment     linux 6.1.0\n"
		"total       1.00 s cpu-time (0.20 cpus), 101 cpu-samples\n"
		"\n"
		"hottest path by cpu-time\n"
		" 100.0%  <main>        /app/main.rb:1\n"
		" 100.0%  Foo::Bar.baz  /app/bar.rb:10\n"
		"  71.0%  Integer#<=>   <cfunc>\n"
		"\n"
		"     self   self%      total  total%  function               file\n"
		"710.00 ms   71.0%  710.00 ms   71.0%  Integer#<=>            <cfunc>\n"
		"290.00 ms   29.0%     1.00 s  100.0%  Foo::Bar.baz           /app/bar.rb:10\n"
		"        0    0.0%     1.00 s  100.0%  <main>                 /app/main.rb:1\n"
		"        0    0.0%  200.00 ms   20.0%  block in Foo::Bar.baz  /app/bar.rb:11\n");
	free(text);
	profile__free(profile);
}

static void add_wait(struct profile *profile, const char *state, const char *holder, int64_t ns)
{
	uint32_t frame = sample_frame(profile, "work", "/app/a.rb", 1, 1);
	struct profile_label labels[] = {
		sample_text(profile, "state", state),
		sample_text(profile, "thread id", "7 (-1)"),
		sample_text(profile, "gvl holder", holder),
	};

	assert_int_equal(profile__add(profile, profile__stack(profile, &frame, 1),
				      profile__label_set(profile, labels, holder[0] ? 3 : 2), &ns),
			 0);
}

static void text_tells_what_threads_waited_for(void **state)
{
	static const struct profile_type type = { "wall-time", "nanoseconds" };
	struct out_options options = { .color = true };
	struct profile *profile;
	char *text;

	(void)state;
	assert_int_equal(profile__new(&type, 1, &profile), 0);
	add_wait(profile, "had cpu", "", 940);
	add_wait(profile, "waiting for cpu", "", 50);
	add_wait(profile, "throttled", "", 10);
	add_wait(profile, "waiting for gvl", "worker 1", 75);
	add_wait(profile, "waiting for gvl", "worker 2", 25);
	profile__comment(profile, "samples lost, ring buffer full: 3");
	profile__comment(profile, "ticks: 100 fired, 97 taken, 3 lost");
	text = written(profile, "text", &options);
	assert_non_null(strstr(text, "wall-time of 1 thread\x1b"));
	assert_non_null(strstr(text,
			       "    100 ns    9.1%  waiting for gvl       held by worker 1 75%, "
			       "worker 2 25%\n"));
	assert_non_null(strstr(text, "\x1b[1;33m     50 ns    4.5%  waiting for cpu       ! "));
	assert_non_null(strstr(text, "\x1b[1;33m     10 ns    0.9%  throttled             ! "));
	assert_non_null(strstr(text, "\x1b[1;33msamples lost, ring buffer full: 3\x1b[0m\n"));
	assert_non_null(strstr(text, "\x1b[1;33m97 taken, 3 lost (3.0%)"));
	free(text);
	/* Little of it is no matter. */
	add_wait(profile, "had cpu", "", 1000);
	text = written(profile, "text", &options);
	assert_non_null(strstr(text, "\n     50 ns    2.4%  waiting for cpu\n"));
	free(text);
	profile__free(profile);
}

static void text_fits_the_terminal(void **state)
{
	struct profile *profile = sample_new();
	uint32_t frame;
	char name[3001] = "";

	(void)state;
	for (int i = 0; i < 1000; i++)
		strcat(name, "\xe6\x97\xa5"); /* two columns each */
	frame = sample_frame(profile, name, name, 1, 1);
	sample_add(profile, &frame, 1, sample_labels(profile, name, 5), 1, 1000);
	profile__comment(profile, name);
	for (unsigned int columns = 64; columns < 300; columns += 7) {
		struct out_options options = { .type = 1, .columns = columns };
		char *text = written(profile, "text", &options), *rest = text, *line;
		bool is_cut = false;

		while ((line = strsep(&rest, "\n"))) {
			assert_true(escape__width(line) <= columns);
			is_cut |= strstr(line, "\xe2\x80\xa6") != NULL;
		}
		assert_true(is_cut);
		free(text);
	}
	profile__free(profile);
}

/* Whatever a process calls its methods: the reader's terminal does what it did before. */
static void text_is_harmless(void **state)
{
	static const char evil[] = "\x1b]0;owned\x07\x9b\n\r\xe2\x80\xae\xc2\x9b";
	struct profile *profile = sample_empty();
	uint32_t frame = sample_frame(profile, evil, evil, 1, 1);
	char *text;

	(void)state;
	sample_add(profile, &frame, 1, sample_labels(profile, evil, 1), 1, 1);
	profile__comment(profile, evil);
	profile__mapping(profile)->file = profile__cstring(profile, evil);
	text = written(profile, "text", &by_time);
	for (const char *at = text; *at; at++)
		assert_true(*at == '\n' || (unsigned char)*at >= 0x20);
	assert_null(strstr(text, "\xe2\x80\xae"));
	assert_null(strstr(text, "\xc2\x9b"));
	assert_non_null(strstr(text, "\\x1b]0;owned\\x07"));
	free(text);
	profile__free(profile);
}

static void text_says_what_it_leaves_out(void **state)
{
	struct profile *profile = sample_new();
	struct out_options options = { .type = 1, .rows = 1 };
	char *text = written(profile, "text", &options);

	(void)state;
	assert_non_null(strstr(text, "Integer#<=>"));
	assert_null(strstr(text, "block in"));
	assert_non_null(strstr(text, "3 more, all of them"));
	free(text);
	for (int i = 0; i < 30; i++)
		profile__comment(profile, "again");
	text = written(profile, "text", &options);
	assert_non_null(strstr(text, "(11 more, see -f json)"));
	free(text);
	profile__free(profile);
}

static void text_of_an_empty_profile(void **state)
{
	struct profile *profile = sample_empty();
	char *text = written(profile, "text", &by_time);

	(void)state;
	assert_non_null(strstr(text, "the profile is empty"));
	free(text);
	profile__free(profile);
}

static void text_has_colours_only_on_request(void **state)
{
	struct profile *profile = sample_new();
	struct out_options options = { .type = 1, .color = true };
	char *text = written(profile, "text", &options);

	(void)state;
	assert_non_null(strstr(text, "\x1b["));
	free(text);
	options.color = false;
	text = written(profile, "text", &options);
	assert_null(strstr(text, "\x1b"));
	free(text);
	profile__free(profile);
}

/* ---- all of them ---- */

static int64_t sum_of_folded(const char *text)
{
	int64_t sum = 0;

	for (const char *line = text; *line; line = strchr(line, '\n') + 1)
		sum += strtoll(strrchr(strndupa(line, strcspn(line, "\n")), ' '), NULL, 10);
	return sum;
}

static void sums_are_equal_in_every_format(void **state)
{
	struct profile *profile = sample_new();
	char *folded = written(profile, "folded", &by_time);
	json_t *root = written_json(profile), *function;
	int64_t rows = 0, self = 0;
	size_t index;

	(void)state;
	for (size_t i = 0; i < profile__row_count(profile); i++)
		rows += profile__row(profile, i)->values[1];
	assert_int_equal(sum_of_folded(folded), rows);
	assert_int_equal(number(root, "total", "cpu-time"), rows);
	json_array_foreach (json_object_get(root, "functions"), index, function)
		self += number(function, "self", "cpu-time");
	assert_int_equal(self, rows);
	free(folded);
	json_decref(root);
	profile__free(profile);
}

static void widths_and_cuts(void **state)
{
	char *text;

	(void)state;
	assert_int_equal(escape__width("abc"), 3);
	assert_int_equal(escape__width("\xe6\x97\xa5\xe6\x9c\xac"), 4);
	assert_int_equal(escape__width("e\xcc\x81"), 1); /* e with a combining accent */
	for (size_t columns = 0; columns < 8; columns++) {
		text = escape__text("a\xe6\x97\xa5"
				    "bcd",
				    7, ESCAPE_LINE);
		assert_non_null(text);
		escape__cut_end(text, columns);
		assert_true(escape__width(text) <= columns);
		free(text);
		text = escape__text("a\xe6\x97\xa5"
				    "bcd",
				    7, ESCAPE_LINE);
		escape__cut_start(text, columns);
		assert_true(escape__width(text) <= columns);
		free(text);
	}
	text = escape__text("/app/models/user.rb", 19, ESCAPE_LINE);
	escape__cut_start(text, 8);
	assert_string_equal(text, "\xe2\x80\xa6user.rb");
	free(text);
	text = escape__text("abcdef", 6, ESCAPE_LINE);
	escape__cut_end(text, 4);
	assert_string_equal(text, "abc\xe2\x80\xa6");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(formats_are_found_by_name_and_suffix),
		cmocka_unit_test(every_format_is_written),
		cmocka_unit_test(cpu_time_is_the_value_unless_there_is_none),
		cmocka_unit_test(folded_is_root_first_merged_by_name_and_sorted),
		cmocka_unit_test(folded_keeps_one_line_a_stack_whatever_the_names),
		cmocka_unit_test(folded_shows_a_sample_without_stack),
		cmocka_unit_test(json_has_the_promised_fields),
		cmocka_unit_test(json_adds_labels_that_look_alike),
		cmocka_unit_test(text_is_a_table_by_self),
		cmocka_unit_test(text_tells_what_threads_waited_for),
		cmocka_unit_test(text_fits_the_terminal),
		cmocka_unit_test(text_is_harmless),
		cmocka_unit_test(text_says_what_it_leaves_out),
		cmocka_unit_test(text_of_an_empty_profile),
		cmocka_unit_test(text_has_colours_only_on_request),
		cmocka_unit_test(sums_are_equal_in_every_format),
		cmocka_unit_test(widths_and_cuts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
