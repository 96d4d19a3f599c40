/* SPDX-License-Identifier: BSD-2-Clause */
/* The page: its data is whole, harmless and adds up; what it looks like is tested in a browser. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <jansson.h>
#include <zlib.h>

#include "sample_profile.h"
#include "user/out/html.h"
#include "user/out/html_kind.h"

#define BEGIN "<script type=\"application/json\" id=\"profile-data\">"

static const struct out_options by_time = { .type = 1 };

/* The data block of a page, which it frees. It ends where a browser ends it. */
static json_t *data_of(char *page)
{
	char *begin = strstr(page, BEGIN), *end;
	json_error_t error;
	json_t *data;

	assert_non_null(begin);
	begin += strlen(BEGIN);
	end = strstr(begin, "</");
	assert_non_null(end);
	assert_int_equal(strncmp(end, "</script>", 9), 0);
	assert_null(memchr(begin, '<', (size_t)(end - begin)));
	data = json_loadb(begin, (size_t)(end - begin), JSON_REJECT_DUPLICATES, &error);
	if (!data)
		fail_msg("not JSON: %s", error.text);
	free(page);
	return data;
}

static json_t *written_data(struct profile *profile, const struct out_options *options)
{
	size_t length;
	char *page = sample_written(profile, "html", options, &length);

	assert_non_null(page);
	assert_int_equal(strlen(page), length);
	return data_of(page);
}

static json_t *diff_data(struct profile *base, struct profile *head,
			 const struct html_diff_options *options)
{
	size_t length;
	char *page = NULL;
	FILE *stream = open_memstream(&page, &length);

	assert_int_equal(html__write_diff(base, head, options, stream), 0);
	fclose(stream);
	return data_of(page);
}

/* ---- reading it again ---- */

static json_t *get(json_t *object, const char *first, const char *second)
{
	json_t *value = json_object_get(json_object_get(object, first), second);

	assert_non_null(value);
	return value;
}

static json_int_t at(json_t *array, size_t index)
{
	json_t *value = json_array_get(array, index);

	assert_true(json_is_integer(value));
	return json_integer_value(value);
}

static const char *string(json_t *data, json_int_t id)
{
	return json_string_value(json_array_get(json_object_get(data, "strings"), (size_t)id));
}

static size_t from_base64(const char *text, unsigned char *bytes)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	unsigned char *out = bytes;

	assert_int_equal(strlen(text) % 4, 0);
	for (; *text; text += 4) {
		uint32_t group = 0;

		for (int i = 0; i < 4; i++) {
			const char *digit = text[i] == '=' ? digits : strchr(digits, text[i]);

			assert_non_null(digit);
			group = group << 6 | (uint32_t)(digit - digits);
		}
		*out++ = (unsigned char)(group >> 16);
		if (text[2] != '=')
			*out++ = (unsigned char)(group >> 8);
		if (text[3] != '=')
			*out++ = (unsigned char)group;
	}
	return (size_t)(out - bytes);
}

struct nodes {
	size_t count;
	uint32_t depth[64], frame[64], parent[64];
};

static uint32_t take_number(const unsigned char **bytes)
{
	uint32_t number = 0;
	int shift = 0;

	for (;; shift += 7) {
		unsigned char byte = *(*bytes)++;

		number |= (uint32_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return number;
	}
}

static void read_nodes(json_t *data, struct nodes *nodes)
{
	const char *text = json_string_value(get(data, "nodes", "packed"));
	unsigned char packed[1024], plain[1024];
	const unsigned char *next = plain;
	uLongf length = sizeof(plain);
	uint32_t path[64] = { 0 };

	memset(nodes, 0, sizeof(*nodes));
	nodes->count = (size_t)json_integer_value(get(data, "nodes", "count"));
	assert_in_range(nodes->count, 1, 64);
	assert_true(strlen(text) < sizeof(packed));
	assert_int_equal(uncompress(plain, &length, packed, from_base64(text, packed)), Z_OK);
	for (size_t i = 1; i < nodes->count; i++) {
		nodes->depth[i] = nodes->depth[i - 1] + 1 - take_number(&next);
		assert_in_range(nodes->depth[i], 1, nodes->depth[i - 1] + 1);
		nodes->parent[i] = path[nodes->depth[i] - 1];
		path[nodes->depth[i]] = (uint32_t)i;
	}
	for (size_t i = 1; i < nodes->count; i++)
		nodes->frame[i] = take_number(&next);
	assert_ptr_equal(next, plain + length);
}

/* "root;caller;leaf" of a node. */
static void path_of(json_t *data, const struct nodes *nodes, size_t node, char *text, size_t size)
{
	json_int_t function;
	size_t used;

	*text = '\0';
	if (!node)
		return;
	path_of(data, nodes, nodes->parent[node], text, size);
	used = strlen(text);
	function = at(get(data, "frames", "function"), nodes->frame[node]);
	snprintf(text + used, size - used, "%s%s", used ? ";" : "",
		 string(data, at(get(data, "functions", "name"), (size_t)function)));
}

static json_t *rows_of(json_t *data, size_t side)
{
	return json_object_get(json_array_get(json_object_get(data, "profiles"), side), "rows");
}

/* What the rows of one path add up to; all of them if path is NULL. */
static json_int_t sum(json_t *data, size_t side, size_t type, const char *path)
{
	json_t *rows = rows_of(data, side);
	json_t *values = json_array_get(json_object_get(rows, "values"), type);
	json_int_t result = 0;
	struct nodes nodes;
	char text[512];

	read_nodes(data, &nodes);
	assert_int_equal(json_array_size(values), json_array_size(json_object_get(rows, "node")));
	assert_int_equal(json_array_size(values),
			 json_array_size(json_object_get(rows, "label_set")));
	for (size_t i = 0; i < json_array_size(values); i++) {
		path_of(data, &nodes, (size_t)at(json_object_get(rows, "node"), i), text,
			sizeof(text));
		if (!path || !strcmp(path, text))
			result += at(values, i);
	}
	return result;
}

/* ---- tests ---- */

static void data_adds_up_to_the_profile(void **state)
{
	struct profile *profile = sample_new();
	json_t *data = written_data(profile, &by_time);

	(void)state;
	assert_int_equal(json_integer_value(json_object_get(data, "schema")), 1);
	assert_int_equal(json_integer_value(json_object_get(data, "shown")), 1);
	assert_int_equal(json_array_size(json_object_get(data, "profiles")), 1);
	assert_int_equal(sum(data, 0, 0, NULL), 101);
	assert_int_equal(sum(data, 0, 1, NULL), 1000000001);
	assert_int_equal(sum(data, 0, 1, "<main>;Foo::Bar.baz;Integer#<=>"), 710000001);
	assert_int_equal(sum(data, 0, 1, "<main>;Foo::Bar.baz;block in Foo::Bar.baz;Foo::Bar.baz"),
			 200000000);
	assert_int_equal(sum(data, 0, 0, "<main>"), 1);
	json_decref(data);
	profile__free(profile);
}

static void data_says_what_was_recorded(void **state)
{
	struct profile *profile = sample_new();
	json_t *data = written_data(profile, &by_time), *side, *type;

	(void)state;
	side = json_array_get(json_object_get(data, "profiles"), 0);
	type = json_array_get(json_object_get(data, "types"), 1);
	assert_int_equal(json_integer_value(json_object_get(side, "duration_ns")), 5000000000);
	assert_int_equal(json_integer_value(json_object_get(side, "period")), 10101010);
	assert_string_equal(json_string_value(json_object_get(side, "executable")),
			    "/usr/bin/ruby3.1");
	assert_string_equal(json_string_value(json_array_get(json_object_get(side, "comments"), 1)),
			    "linux 6.1.0");
	assert_string_equal(json_string_value(json_object_get(type, "type")), "cpu-time");
	assert_string_equal(json_string_value(json_object_get(type, "unit")), "nanoseconds");
	json_decref(data);
	profile__free(profile);
}

/* Frames of one function are neighbours, or the page could not merge them fast. */
static void one_function_is_one_run_of_siblings(void **state)
{
	struct profile *profile = sample_empty();
	uint32_t labels = sample_labels(profile, "main", 1);
	uint32_t frames[] = {
		sample_frame(profile, "a", "a.rb", 1, 3),
		sample_frame(profile, "b", "a.rb", 9, 9),
		sample_frame(profile, "a", "a.rb", 1, 2),
	};
	json_int_t functions[3];
	struct nodes nodes;
	json_t *data;

	(void)state;
	for (size_t i = 0; i < 3; i++)
		sample_add(profile, &frames[i], 1, labels, 1, 1);
	data = written_data(profile, &by_time);
	read_nodes(data, &nodes);
	assert_int_equal(nodes.count, 4);
	for (size_t i = 0; i < 3; i++)
		functions[i] = at(get(data, "frames", "function"), nodes.frame[i + 1]);
	assert_true(functions[1] == functions[0] || functions[1] == functions[2]);
	json_decref(data);
	profile__free(profile);
}

static void names_cannot_leave_the_data(void **state)
{
	static const char *const names[] = {
		"</script><img src=x onerror=alert(1)>",
		"<!-- <script> </SCRIPT >",
		"]]>\"\\'`${1}&lt;",
		"a;b\nc \xc3\xa9\t\x01\x7f\xe2\x80\xa8",
		"\xf0\x9f\x94\xa5\xe2\x80\xae",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct profile *profile = sample_empty();
		uint32_t frame = sample_frame(profile, names[i], names[i], 1, 1);
		json_t *data, *side;

		sample_add(profile, &frame, 1, sample_labels(profile, names[i], 1), 1, 1);
		profile__comment(profile, names[i]);
		profile__mapping(profile)->file = profile__cstring(profile, names[i]);
		data = written_data(profile, &by_time);
		side = json_array_get(json_object_get(data, "profiles"), 0);
		assert_int_equal(sum(data, 0, 1, names[i]), 1);
		assert_string_equal(string(data, at(get(data, "functions", "file"), 0)), names[i]);
		assert_string_equal(
			json_string_value(json_array_get(json_object_get(side, "comments"), 0)),
			names[i]);
		assert_string_equal(json_string_value(json_object_get(side, "executable")),
				    names[i]);
		json_decref(data);
		profile__free(profile);
	}
}

static void labels_keep_all_64_bits_but_no_times(void **state)
{
	struct profile *profile = sample_empty();
	uint32_t frame = sample_frame(profile, "a", "a.rb", 1, 1);
	struct profile_label labels[] = {
		sample_number(profile, "span id", INT64_MAX),
		sample_number(profile, "end_timestamp_ns", 0),
	};
	json_t *data, *set;

	(void)state;
	for (int i = 0; i < 3; i++) {
		labels[1].number = 1700000000000000000 + i;
		sample_add(profile, &frame, 1, profile__label_set(profile, labels, 2), 1, 10);
	}
	data = written_data(profile, &by_time);
	assert_int_equal(json_array_size(json_object_get(rows_of(data, 0), "node")), 1);
	assert_int_equal(sum(data, 0, 1, "a"), 30);
	set = json_array_get(json_object_get(data, "label_sets"),
			     (size_t)at(json_object_get(rows_of(data, 0), "label_set"), 0));
	assert_int_equal(json_array_size(set), 2);
	assert_string_equal(string(data, at(set, 0)), "span id");
	assert_string_equal(json_string_value(json_array_get(set, 1)), "9223372036854775807");
	json_decref(data);
	profile__free(profile);
}

static void an_empty_profile_is_a_page(void **state)
{
	struct profile *profile = sample_empty();
	json_t *data;

	(void)state;
	data = written_data(profile, &by_time);
	assert_int_equal(json_integer_value(get(data, "nodes", "count")), 1);
	assert_int_equal(sum(data, 0, 1, NULL), 0);
	json_decref(data);
	sample_add(profile, NULL, 0, sample_labels(profile, "main", 1), 1, -5);
	data = written_data(profile, &by_time);
	assert_int_equal(sum(data, 0, 1, ""), -5);
	json_decref(data);
	profile__free(profile);
}

static void a_page_asks_nothing_of_a_network(void **state)
{
	struct profile *profile = sample_new();
	size_t length;
	char *page = sample_written(profile, "html", &by_time, &length);

	(void)state;
	assert_non_null(strstr(page, "Content-Security-Policy\" content=\"default-src 'none'; "
				     "script-src 'sha256-"));
	assert_null(strstr(page, "http:"));
	assert_null(strstr(page, "https:"));
	assert_null(strstr(page, " src="));
	assert_null(strstr(page, "@import"));
	assert_null(strstr(page, "url("));
	free(page);
	profile__free(profile);
}

/* ---- differences ---- */

static void a_difference_has_both_profiles(void **state)
{
	struct html_diff_options options = { .base_title = "a.pb.gz",
					     .head_title = "<b>\xff.pb.gz",
					     .normalize = true };
	struct profile *base = sample_new(), *head = sample_empty();
	uint32_t frames[] = { sample_frame(head, "new", "new.rb", 1, 1),
			      sample_frame(head, "<main>", "/app/main.rb", 1, 40) };
	json_t *data, *sides;

	(void)state;
	sample_add(head, frames, 2, sample_labels(head, "main", 99), 7, 70);
	sample_add(head, frames + 1, 1, sample_labels(head, "main", 99), 1, 5);
	data = diff_data(base, head, &options);
	sides = json_object_get(data, "profiles");
	assert_int_equal(json_array_size(sides), 2);
	assert_true(json_is_true(json_object_get(data, "normalize")));
	assert_int_equal(json_integer_value(json_object_get(data, "shown")), 1);
	assert_string_equal(json_string_value(json_object_get(json_array_get(sides, 0), "title")),
			    "a.pb.gz");
	assert_string_equal(json_string_value(json_object_get(json_array_get(sides, 1), "title")),
			    "<b>\xef\xbf\xbd.pb.gz");
	assert_int_equal(sum(data, 0, 1, NULL), 1000000001);
	assert_int_equal(sum(data, 1, 1, NULL), 75);
	/* The same frames are the same node. */
	assert_int_equal(sum(data, 0, 0, "<main>"), 1);
	assert_int_equal(sum(data, 1, 1, "<main>"), 5);
	assert_int_equal(sum(data, 1, 1, "<main>;new"), 70);
	assert_int_equal(sum(data, 0, 1, "<main>;new"), 0);
	assert_int_equal(profile__row_count(base), 5);
	json_decref(data);
	profile__free(base);
	profile__free(head);
}

static void a_difference_has_the_types_of_both(void **state)
{
	static const struct profile_type both[] = { { "wall-time", "nanoseconds" },
						    { "cpu-time", "nanoseconds" } };
	static const struct profile_type none[] = { { "cpu-time", "seconds" } };
	struct html_diff_options options = { 0 };
	struct profile *base = sample_new(), *head, *other;
	int64_t values[] = { 1000, 3 };
	uint32_t frame;
	json_t *data;

	(void)state;
	assert_int_equal(profile__new(both, 2, &head), 0);
	assert_int_equal(profile__new(none, 1, &other), 0);
	frame = sample_frame(head, "a", "a.rb", 1, 1);
	profile__add(head, profile__stack(head, &frame, 1), sample_labels(head, "main", 1), values);
	data = diff_data(base, head, &options);
	assert_int_equal(json_array_size(json_object_get(data, "types")), 1);
	assert_int_equal(sum(data, 0, 0, NULL), 1000000001);
	assert_int_equal(sum(data, 1, 0, NULL), 3);
	json_decref(data);
	/* What has another unit is another type. */
	assert_int_equal(html__write_diff(base, other, &options, stderr), -EINVAL);
	options.value = "wall-time";
	assert_int_equal(html__write_diff(base, head, &options, stderr), -EINVAL);
	profile__free(base);
	profile__free(head);
	profile__free(other);
}

static void kinds_of_code(void **state)
{
	static const char *const cases[][3] = {
		{ "Foo#bar", "/app/foo.rb", "ruby" },
		{ "eval", "(eval)", "ruby" },
		{ "solid", "/app/lib/x.solid/so.rb", "ruby" },
		{ "String#scan", "<cfunc>", "c" },
		{ "Garbage Collection", "<rbprof>", "gc" },
		{ "Profiler Overhead", "<rbprof>", "special" },
		{ "Garbage Collection", "/app/gc.rb", "ruby" },
		{ "malloc", "/usr/lib/libc.so.6", "native" },
		{ "parse", "/gems/json/parser.so", "native" },
		{ "do_syscall_64", "[kernel.kallsyms]", "kernel" },
		{ "do_syscall_64", "<kernel>", "kernel" },
	};
	struct profile *profile = sample_empty();

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint32_t frame = sample_frame(profile, cases[i][0], cases[i][1], 0, 0);

		assert_string_equal(
			html_kind__of(profile, profile__frame_at(profile, frame)->function),
			cases[i][2]);
	}
	profile__free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(data_adds_up_to_the_profile),
		cmocka_unit_test(data_says_what_was_recorded),
		cmocka_unit_test(one_function_is_one_run_of_siblings),
		cmocka_unit_test(names_cannot_leave_the_data),
		cmocka_unit_test(labels_keep_all_64_bits_but_no_times),
		cmocka_unit_test(an_empty_profile_is_a_page),
		cmocka_unit_test(a_page_asks_nothing_of_a_network),
		cmocka_unit_test(a_difference_has_both_profiles),
		cmocka_unit_test(a_difference_has_the_types_of_both),
		cmocka_unit_test(kinds_of_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
