/* SPDX-License-Identifier: BSD-2-Clause */
/* The formats that are JSON written as it goes, and the order of stacks that they share. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <jansson.h>

#include "sample_profile.h"
#include "user/out/json_text.h"
#include "user/out/stack_order.h"
#include "user/out/threads.h"

static const struct out_options by_time = { .type = 1 };

static json_t *parsed(struct profile *profile, const char *format)
{
	json_error_t error;
	size_t length;
	char *text = sample_written(profile, format, &by_time, &length);
	json_t *root;

	assert_non_null(text);
	root = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
	if (!root)
		fail_msg("%s: %s at %d", format, error.text, error.position);
	free(text);
	return root;
}

/* ---- json_text ---- */

static void expect_text(void (*write)(FILE *stream, int64_t number), int64_t number,
			const char *expected)
{
	char *text = NULL;
	size_t length;
	FILE *stream = open_memstream(&text, &length);

	write(stream, number);
	fclose(stream);
	assert_string_equal(text, expected);
	free(text);
}

static void write_ms(FILE *stream, int64_t ns)
{
	json_text__decimal(stream, ns, 1000000);
}

static void write_us(FILE *stream, int64_t ns)
{
	json_text__decimal(stream, ns, 1000);
}

static void numbers_are_exact(void **state)
{
	(void)state;
	expect_text(json_text__number, 0, "0");
	expect_text(json_text__number, INT64_MAX, "9223372036854775807");
	expect_text(json_text__number, INT64_MIN, "-9223372036854775808");
	expect_text(json_text__exact, 1LL << 53, "9007199254740992");
	expect_text(json_text__exact, (1LL << 53) + 1, "\"9007199254740993\"");
	expect_text(json_text__exact, INT64_MIN, "\"-9223372036854775808\"");
	expect_text(write_ms, 0, "0");
	expect_text(write_ms, 1, "0.000001");
	expect_text(write_ms, 12345678, "12.345678");
	expect_text(write_ms, -1500000, "-1.5");
	expect_text(write_ms, 3000000, "3");
	expect_text(write_us, 1001, "1.001");
	expect_text(write_us, 123456789000, "123456789");
}

static void every_character_comes_back(void **state)
{
	char bytes[256 + 8], *text = NULL;
	size_t length, used = 0;
	FILE *stream = open_memstream(&text, &length);
	json_t *value;

	(void)state;
	for (int i = 0; i < 0x80; i++)
		bytes[used++] = (char)i;
	memcpy(&bytes[used], "\xf0\x9f\x9a\x80\xe2\x80\xa8", 7);
	used += 7;
	json_text__string(stream, bytes, used);
	fclose(stream);
	value = json_loadb(text, length, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	assert_non_null(value);
	assert_int_equal(json_string_length(value), used);
	assert_memory_equal(json_string_value(value), bytes, used);
	for (size_t i = 0; i < length; i++)
		assert_true((unsigned char)text[i] >= 0x20);
	json_decref(value);
	free(text);
}

/* ---- the order of stacks ---- */

static void stacks_that_begin_alike_are_neighbours(void **state)
{
	enum { FRAMES = 4, STACKS = 3000, DEPTH = 12 };
	struct profile *profile = sample_empty();
	uint32_t frames[FRAMES], stack[DEPTH], labels = sample_labels(profile, "main", 1);
	uint32_t path[DEPTH] = { 0 };
	struct stack_order order;
	unsigned int random = 7;

	(void)state;
	for (int i = 0; i < FRAMES; i++)
		frames[i] = sample_frame(profile, "same", "a.rb", 1, i);
	for (int i = 0; i < STACKS; i++) {
		size_t depth = (random >> 8) % (DEPTH + 1);

		for (size_t j = 0; j < depth; j++) {
			random = random * 1103515245 + 12345;
			stack[j] = frames[(random >> 16) % FRAMES];
		}
		random = random * 1103515245 + 12345;
		sample_add(profile, stack, depth, labels, 1, 1);
	}
	profile__stack(profile, frames, FRAMES); /* no row has it, or one does */
	assert_int_equal(stack_order__of_rows(&order, profile, NULL), 0);
	assert_true(order.count > STACKS / 4);
	for (size_t i = 0; i < order.count; i++) {
		const struct stack_order_entry *entry = &order.entries[i];
		struct profile_stack own = profile__stack_at(profile, entry->id);
		uint32_t common = entry->common, before = i ? entry[-1].depth : 0;

		/* In order, so no beginning comes again later; shorter ones first. */
		assert_true(!i || common < entry->depth);
		assert_true(common <= before);
		if (common < before)
			assert_true(path[common] < order.frames[entry->first]);
		memcpy(path + common, order.frames + entry->first,
		       (entry->depth - common) * sizeof(*path));
		/* What is not told is what the one before had. */
		assert_int_equal(own.count, entry->depth);
		for (uint32_t j = 0; j < own.count; j++)
			assert_int_equal(path[j], own.frames[own.count - 1 - j]);
	}
	stack_order__free(&order);
	profile__free(profile);
}

/* ---- threads ---- */

static uint32_t timed_labels(struct profile *profile, const char *id, int64_t pid, int64_t end_ns)
{
	struct profile_label labels[] = {
		sample_text(profile, "thread id", id),
		sample_number(profile, "pid", pid),
		sample_number(profile, "end_timestamp_ns", end_ns),
	};

	return profile__label_set(profile, labels, end_ns ? 3 : 2);
}

static void rows_are_by_thread_and_time(void **state)
{
	struct profile *profile = sample_empty();
	uint32_t frame = sample_frame(profile, "a", "a.rb", 1, 1);
	struct out_threads threads;

	(void)state;
	sample_add(profile, &frame, 1, timed_labels(profile, "7 (8)", 7, 0), 1, 1);
	sample_add(profile, &frame, 1, timed_labels(profile, "7 (8)", 7, 30), 1, 1);
	sample_add(profile, &frame, 1, timed_labels(profile, "GC", 7, 5), 1, 1);
	sample_add(profile, &frame, 1, timed_labels(profile, "7 (8)", 7, 20), 1, 1);
	/* The kernel gave the id again. */
	sample_add(profile, &frame, 1, timed_labels(profile, "7 (16)", 7, 40), 1, 1);
	sample_add(profile, &frame, 1, profile__label_set(profile, NULL, 0), 1, 1);
	assert_int_equal(out_threads__init(&threads, profile), 0);
	assert_true(threads.has_times);
	assert_int_equal(threads.count, 4);
	assert_int_equal(threads.threads[0].count, 3);
	assert_int_equal(threads.rows[0].row, 3);
	assert_int_equal(threads.rows[1].row, 1);
	assert_int_equal(threads.rows[2].row, 0);
	assert_int_equal(threads.rows[2].end_ns, OUT_NO_TIME);
	assert_int_equal(threads.threads[0].tid, 7);
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < i; j++)
			assert_true(threads.threads[i].tid != threads.threads[j].tid ||
				    threads.threads[i].pid != threads.threads[j].pid);
	out_threads__free(&threads);
	profile__free(profile);
}

static uint32_t named_labels(struct profile *profile, const char *name, int64_t end_ns)
{
	struct profile_label labels[] = {
		sample_text(profile, "thread id", "7 (8)"),
		sample_text(profile, "thread name", name),
		sample_number(profile, "end_timestamp_ns", end_ns),
	};

	return profile__label_set(profile, labels, end_ns ? 3 : 2);
}

/* By what it is called last where that is known, else by what most of its samples say. */
static void a_thread_of_several_names_has_one(void **state)
{
	(void)state;
	for (int timed = 0; timed < 2; timed++) {
		struct profile *profile = sample_empty();
		uint32_t frame = sample_frame(profile, "a", "a.rb", 1, 1);
		struct out_threads threads;

		sample_add(profile, &frame, 1, named_labels(profile, "early", timed), 1, 1);
		sample_add(profile, &frame, 1, named_labels(profile, "late", timed * 9), 5, 1);
		sample_add(profile, &frame, 1, named_labels(profile, "middle", timed * 5),
			   timed ? 7 : 2, 1);
		assert_int_equal(out_threads__init(&threads, profile), 0);
		assert_int_equal(threads.count, 1);
		assert_string_equal(profile__text(profile, threads.threads[0].name), "late");
		out_threads__free(&threads);
		profile__free(profile);
	}
}

/* ---- the formats ---- */

static void any_profile_is_json(void **state)
{
	static const char *const formats[] = { "speedscope", "firefox", "chrome" };
	enum { DEPTH = 4000 };
	uint32_t *frames = calloc(DEPTH, sizeof(*frames));
	struct profile *profile;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		profile = sample_empty();
		json_decref(parsed(profile, formats[i]));
		for (int j = 0; j < DEPTH; j++)
			frames[j] = sample_frame(profile, "a\"\\\x01;b", "\n", j, j);
		/* A time before the recording, one at the end of time, none; no labels at all. */
		sample_add(profile, frames, DEPTH, timed_labels(profile, "1 (8)", 1, 1), 1, 1);
		sample_add(profile, frames, 2, timed_labels(profile, "1 (8)", 1, INT64_MAX), 1,
			   INT64_MAX / 4);
		sample_add(profile, frames, 0, timed_labels(profile, "1 (8)", 1, INT64_MIN + 1), 1,
			   9);
		sample_add(profile, frames, 0, profile__label_set(profile, NULL, 0), 1, 1);
		json_decref(parsed(profile, formats[i]));
		profile__free(profile);
	}
	free(frames);
}

static void what_a_format_cannot_show_is_refused(void **state)
{
	struct profile *profile = sample_new();
	uint32_t frame = sample_frame(profile, "a", "a.rb", 1, 1);

	(void)state;
	assert_null(out__refuses(out__format_by_name("speedscope"), profile));
	assert_null(out__refuses(out__format_by_name("firefox"), profile));
	assert_non_null(out__refuses(out__format_by_name("chrome"), profile));
	assert_int_equal(out__write(out__format_by_name("chrome"), profile, &by_time, stderr),
			 -ENOTSUP);
	sample_add(profile, &frame, 1, timed_labels(profile, "1 (8)", 1, 5), 1, -1);
	assert_null(out__refuses(out__format_by_name("chrome"), profile));
	assert_non_null(out__refuses(out__format_by_name("speedscope"), profile));
	json_decref(parsed(profile, "firefox"));
	profile__free(profile);
}

static void speedscope_has_a_profile_for_each_value(void **state)
{
	struct profile *profile = sample_new();
	json_t *root = parsed(profile, "speedscope"), *values = json_object_get(root, "profiles");

	(void)state;
	assert_int_equal(json_array_size(values), 2);
	assert_int_equal(json_integer_value(json_object_get(root, "activeProfileIndex")), 1);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(values, 1), "endValue")),
			 1000000001);
	assert_string_equal(json_string_value(json_object_get(json_array_get(values, 0), "unit")),
			    "none");
	json_decref(root);
	profile__free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_exact),
		cmocka_unit_test(every_character_comes_back),
		cmocka_unit_test(stacks_that_begin_alike_are_neighbours),
		cmocka_unit_test(rows_are_by_thread_and_time),
		cmocka_unit_test(a_thread_of_several_names_has_one),
		cmocka_unit_test(any_profile_is_json),
		cmocka_unit_test(what_a_format_cannot_show_is_refused),
		cmocka_unit_test(speedscope_has_a_profile_for_each_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
