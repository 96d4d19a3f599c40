/* SPDX-License-Identifier: BSD-2-Clause */
/* What the pprof writer puts into a file, and that reading it gives the same profile again. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <zlib.h>
#include <cmocka.h>

#include "pprof.pb-c.h"
#include "sample_profile.h"
#include "user/out/pprof_read.h"

static const struct out_options plain = { .path = "x.pb", .type = 1 };
static const struct out_options packed = { .path = "x.pb.gz", .type = 1 };

static Perftools__Profiles__Profile *unpack(struct profile *profile)
{
	Perftools__Profiles__Profile *message;
	size_t length;
	char *bytes = sample_written(profile, "pprof", &plain, &length);

	assert_non_null(bytes);
	message = perftools__profiles__profile__unpack(NULL, length, (uint8_t *)bytes);
	assert_non_null(message);
	free(bytes);
	return message;
}

static const char *string(const Perftools__Profiles__Profile *message, int64_t index)
{
	assert_in_range(index, 0, message->n_string_table - 1);
	return message->string_table[index];
}

static void the_file_says_what_the_format_asks_for(void **state)
{
	struct profile *profile = sample_new();
	Perftools__Profiles__Profile *message = unpack(profile);
	const Perftools__Profiles__Mapping *mapping;

	(void)state;
	assert_string_equal(string(message, 0), "");
	assert_int_equal(message->n_sample_type, 2);
	assert_string_equal(string(message, message->sample_type[0]->type), "cpu-samples");
	assert_string_equal(string(message, message->sample_type[0]->unit), "count");
	assert_string_equal(string(message, message->sample_type[1]->type), "cpu-time");
	assert_string_equal(string(message, message->sample_type[1]->unit), "nanoseconds");
	assert_string_equal(string(message, message->default_sample_type), "cpu-time");
	assert_string_equal(string(message, message->period_type->type), "cpu-time");
	assert_string_equal(string(message, message->period_type->unit), "nanoseconds");
	assert_int_equal(message->period, 10101010);
	assert_int_equal(message->time_nanos, 1700000000123456789);
	assert_int_equal(message->duration_nanos, 5000000000);
	assert_int_equal(message->n_comment, 2);
	assert_string_equal(string(message, message->comment[1]), "linux 6.1.0");

	assert_int_equal(message->n_mapping, 1);
	mapping = message->mapping[0];
	assert_int_equal(mapping->id, 1);
	assert_int_equal(mapping->memory_start, 0x400000);
	assert_int_equal(mapping->memory_limit, 0x401000);
	assert_string_equal(string(message, mapping->filename), "/usr/bin/ruby3.1");
	assert_string_equal(string(message, mapping->build_id), "0123abcd");
	assert_true(mapping->has_functions);
	assert_true(mapping->has_filenames);
	assert_true(mapping->has_line_numbers);

	perftools__profiles__profile__free_unpacked(message, NULL);
	profile__free(profile);
}

static int64_t leaf_name(const Perftools__Profiles__Profile *message,
			 const Perftools__Profiles__Sample *sample)
{
	const Perftools__Profiles__Location *location =
		message->location[sample->location_id[0] - 1];

	return message->function[location->line[0]->function_id - 1]->name;
}

static void samples_locations_and_functions_hang_together(void **state)
{
	struct profile *profile = sample_new();
	Perftools__Profiles__Profile *message = unpack(profile);

	(void)state;
	assert_int_equal(message->n_sample, profile__row_count(profile));
	for (size_t i = 0; i < message->n_function; i++) {
		const Perftools__Profiles__Function *function = message->function[i];

		assert_int_equal(function->id, i + 1);
		/* go's pprof takes names apart that equal their system name. */
		assert_int_equal(function->system_name, 0);
		string(message, function->name);
		string(message, function->filename);
	}
	for (size_t i = 0; i < message->n_location; i++) {
		assert_int_equal(message->location[i]->id, i + 1);
		assert_int_equal(message->location[i]->mapping_id, 1);
		assert_int_equal(message->location[i]->n_line, 1);
		assert_in_range(message->location[i]->line[0]->function_id, 1, message->n_function);
	}
	for (size_t i = 0; i < message->n_sample; i++) {
		const Perftools__Profiles__Sample *sample = message->sample[i];

		assert_int_equal(sample->n_value, 2);
		for (size_t j = 0; j < sample->n_location_id; j++)
			assert_in_range(sample->location_id[j], 1, message->n_location);
		for (size_t j = 0; j < sample->n_label; j++)
			assert_string_not_equal(string(message, sample->label[j]->key), "");
	}
	/* Leaf first. */
	assert_string_equal(string(message, leaf_name(message, message->sample[2])), "Integer#<=>");
	assert_string_equal(string(message, message->function[0]->filename), "/app/main.rb");
	assert_int_equal(message->location[0]->line[0]->line, 40);
	perftools__profiles__profile__free_unpacked(message, NULL);
	profile__free(profile);
}

/* Index 0 would mean that there is no text. */
static void an_empty_label_is_a_text_too(void **state)
{
	struct profile *profile = sample_new();
	Perftools__Profiles__Profile *message = unpack(profile);
	const Perftools__Profiles__Label *label = message->sample[1]->label[2];

	(void)state;
	assert_string_equal(string(message, label->key), "thread name");
	assert_int_not_equal(label->str, 0);
	assert_string_equal(string(message, label->str), "");
	perftools__profiles__profile__free_unpacked(message, NULL);
	profile__free(profile);
}

static void only_what_samples_use_is_written(void **state)
{
	struct profile *profile = sample_new();
	size_t before, after;
	char *first = sample_written(profile, "pprof", &plain, &before), *second;

	(void)state;
	sample_frame(profile, "never_sampled", "/never.rb", 1, 1);
	sample_labels(profile, "never seen", 99);
	second = sample_written(profile, "pprof", &plain, &after);
	assert_int_equal(before, after);
	assert_memory_equal(first, second, before);
	free(first);
	free(second);
	profile__free(profile);
}

static void compressed_unless_the_name_ends_in_pb(void **state)
{
	static const char *const names[] = { "x.pb.gz", NULL, "-", "profile", "pb" };
	struct profile *profile = sample_new();
	uint8_t unpacked[4096];
	uLongf unpacked_length = sizeof(unpacked);
	z_stream gzip = { 0 };
	size_t length;
	char *bytes;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct out_options options = { .path = names[i] };

		bytes = sample_written(profile, "pprof", &options, &length);
		assert_memory_equal(bytes, "\x1f\x8b", 2);
		free(bytes);
	}
	bytes = sample_written(profile, "pprof", &packed, &length);
	gzip.next_in = (uint8_t *)bytes;
	gzip.avail_in = (unsigned int)length;
	gzip.next_out = unpacked;
	gzip.avail_out = (unsigned int)unpacked_length;
	assert_int_equal(inflateInit2(&gzip, 31), Z_OK);
	assert_int_equal(inflate(&gzip, Z_FINISH), Z_STREAM_END);
	unpacked_length -= gzip.avail_out;
	inflateEnd(&gzip);
	free(bytes);
	bytes = sample_written(profile, "pprof", &plain, &length);
	assert_int_equal(length, unpacked_length);
	assert_memory_equal(bytes, unpacked, length);
	free(bytes);
	profile__free(profile);
}

/* Written, read and written again: the same bytes. The caller frees the profile that was read. */
static struct profile *round_trip(struct profile *profile, const struct out_options *options)
{
	char why[PPROF_READ_REASON] = "";
	size_t length, again_length;
	char *bytes = sample_written(profile, "pprof", options, &length), *again;
	struct profile *read = NULL;

	assert_non_null(bytes);
	assert_int_equal(pprof_read__bytes(bytes, length, &read, why), 0);
	assert_string_equal(why, "");
	again = sample_written(read, "pprof", options, &again_length);
	assert_int_equal(length, again_length);
	assert_memory_equal(bytes, again, length);
	free(bytes);
	free(again);
	return read;
}

static void reading_gives_the_same_profile(void **state)
{
	/* Rows are in the order of their stacks, from the root on. */
	static const size_t order[] = { 4, 3, 0, 2, 1 };
	struct profile *profile = sample_new();
	struct profile *read = round_trip(profile, &packed);
	struct profile_info *info = profile__info(read);
	struct profile_label_set set;

	(void)state;
	assert_int_equal(profile__type_count(read), 2);
	assert_string_equal(profile__type(read, 1)->type, "cpu-time");
	assert_string_equal(profile__type(read, 1)->unit, "nanoseconds");
	assert_int_equal(info->time_ns, 1700000000123456789);
	assert_int_equal(info->duration_ns, 5000000000);
	assert_int_equal(info->period, 10101010);
	assert_int_equal(info->default_type, 1);
	assert_string_equal(info->period_type.type, "cpu-time");
	assert_string_equal(info->period_type.unit, "nanoseconds");
	assert_int_equal(profile__row_count(read), profile__row_count(profile));
	for (size_t i = 0; i < profile__row_count(profile); i++) {
		const struct profile_row *a = profile__row(profile, order[i]);
		const struct profile_row *b = profile__row(read, i);

		assert_int_equal(a->values[0], b->values[0]);
		assert_int_equal(a->values[1], b->values[1]);
		assert_int_equal(profile__stack_at(profile, a->stack).count,
				 profile__stack_at(read, b->stack).count);
	}
	set = profile__label_set_at(read, profile__row(read, 1)->label_set);
	assert_int_equal(set.count, 3);
	assert_string_equal(profile__text(read, set.labels[0].key), "pid");
	assert_int_equal(set.labels[0].text, PROFILE_NONE);
	assert_int_equal(set.labels[0].number, 1234);
	assert_string_equal(profile__text(read, set.labels[2].key), "thread name");
	assert_string_equal(profile__text(read, set.labels[2].text), "");
	assert_string_equal(profile__text(read, profile__mapping(read)->file), "/usr/bin/ruby3.1");
	assert_string_equal(profile__text(read, profile__mapping(read)->build_id), "0123abcd");
	assert_int_equal(profile__comment_count(read), 2);
	assert_string_equal(profile__comment_at(read, 0), "rbprof-bpf record -p 1234");
	profile__free(read);
	profile__free(profile);
}

static void an_empty_profile_stays_one(void **state)
{
	struct profile *profile = sample_empty();
	struct profile *read = round_trip(profile, &packed);

	(void)state;
	assert_int_equal(profile__row_count(read), 0);
	assert_int_equal(profile__mapping(read)->file, PROFILE_NONE);
	assert_int_equal(profile__mapping(read)->build_id, PROFILE_NONE);
	profile__free(read);
	profile__info(profile)->period_type = (struct profile_type){ 0 };
	profile__info(profile)->default_type = 0;
	read = round_trip(profile, &plain);
	assert_null(profile__info(read)->period_type.type);
	assert_int_equal(profile__info(read)->default_type, 0);
	profile__free(read);
	profile__free(profile);
}

static void numbers_of_any_size_and_sign(void **state)
{
	static const int64_t numbers[] = { 0, 1, -1, INT64_MAX, INT64_MIN, 1LL << 62 };
	struct profile *profile = sample_empty();
	struct profile *read;
	uint32_t frame = sample_frame(profile, "a", "a.rb", INT64_MAX, -1);

	(void)state;
	for (size_t i = 0; i < 6; i++) {
		struct profile_label labels[] = {
			sample_number(profile, "span id", numbers[i]),
			sample_number(profile, "size", numbers[i]),
		};

		labels[1].unit = profile__cstring(profile, "bytes");
		sample_add(profile, &frame, 1, profile__label_set(profile, labels, 2), -1, -1000);
	}
	read = round_trip(profile, &plain);
	assert_int_equal(profile__row_count(read), 6);
	for (size_t i = 0; i < 6; i++) {
		const struct profile_row *row = profile__row(read, i);
		struct profile_label_set set = profile__label_set_at(read, row->label_set);

		assert_int_equal(row->values[1], -1000);
		assert_int_equal(set.labels[0].number, numbers[i]);
		assert_string_equal(profile__text(read, set.labels[0].unit), "bytes");
		assert_int_equal(set.labels[1].number, numbers[i]);
		assert_int_equal(set.labels[1].unit, PROFILE_NONE);
	}
	profile__free(read);
	profile__free(profile);
}

static void a_deep_stack_keeps_depth_and_order(void **state)
{
	enum { DEPTH = 4032 };
	struct profile *profile = sample_empty();
	uint32_t *frames = calloc(DEPTH, sizeof(*frames));
	struct profile_stack stack;
	struct profile *read;
	char name[32];

	(void)state;
	for (int i = 0; i < DEPTH; i++) {
		snprintf(name, sizeof(name), "method_%d", i);
		frames[i] = sample_frame(profile, name, "deep.rb", i, i);
	}
	sample_add(profile, frames, 1000, sample_labels(profile, "main", 1), 1, 1);
	sample_add(profile, frames, DEPTH, sample_labels(profile, "main", 1), 1, 1);
	read = round_trip(profile, &packed);
	assert_int_equal(profile__stack_at(read, profile__row(read, 1)->stack).count, 1000);
	stack = profile__stack_at(read, profile__row(read, 0)->stack);
	assert_int_equal(stack.count, DEPTH);
	for (int i = 0; i < DEPTH; i++)
		assert_int_equal(profile__frame_at(read, stack.frames[i])->line, i);
	free(frames);
	profile__free(read);
	profile__free(profile);
}

static void many_stacks_do_not_change_on_the_way(void **state)
{
	enum { STACKS = 5000, DEPTH = 40 };
	struct profile *profile = sample_empty();
	unsigned int random = 1;
	uint32_t frames[500], labels[10], stack[DEPTH];
	struct profile *read;
	char name[32];

	(void)state;
	for (int i = 0; i < 500; i++) {
		snprintf(name, sizeof(name), "Mod%d::Klass#m%d", i / 50, i);
		frames[i] = sample_frame(profile, name, "many.rb", i, i);
	}
	for (int i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "worker %d", i);
		labels[i] = sample_labels(profile, name, 1);
	}
	for (int i = 0; i < STACKS; i++) {
		for (int j = 0; j < DEPTH; j++) {
			random = random * 1103515245 + 12345;
			stack[j] = frames[(random >> 16) % 500];
		}
		sample_add(profile, stack, DEPTH, labels[i % 10], 1, i);
	}
	read = round_trip(profile, &packed);
	assert_int_equal(profile__row_count(read), STACKS);
	assert_int_equal(profile__stack_count(read), STACKS);
	profile__free(read);
	profile__free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_file_says_what_the_format_asks_for),
		cmocka_unit_test(samples_locations_and_functions_hang_together),
		cmocka_unit_test(an_empty_label_is_a_text_too),
		cmocka_unit_test(only_what_samples_use_is_written),
		cmocka_unit_test(compressed_unless_the_name_ends_in_pb),
		cmocka_unit_test(reading_gives_the_same_profile),
		cmocka_unit_test(an_empty_profile_stays_one),
		cmocka_unit_test(numbers_of_any_size_and_sign),
		cmocka_unit_test(a_deep_stack_keeps_depth_and_order),
		cmocka_unit_test(many_stacks_do_not_change_on_the_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
