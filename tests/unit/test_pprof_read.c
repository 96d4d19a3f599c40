/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading pprof of other tools, and what is no profile at all. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "pprof.pb-c.h"
#include "sample_profile.h"
#include "user/out/pprof_read.h"

/* A small profile as another tool may write it: each test changes a part of it. */
struct message {
	Perftools__Profiles__Profile profile;
	Perftools__Profiles__ValueType type;
	Perftools__Profiles__Sample samples[2];
	Perftools__Profiles__Label label;
	Perftools__Profiles__Mapping mappings[2];
	Perftools__Profiles__Location locations[2];
	Perftools__Profiles__Line lines[3];
	Perftools__Profiles__Function functions[2];
	Perftools__Profiles__ValueType *type_pointers[1];
	Perftools__Profiles__Sample *sample_pointers[2];
	Perftools__Profiles__Label *label_pointers[1];
	Perftools__Profiles__Mapping *mapping_pointers[2];
	Perftools__Profiles__Location *location_pointers[2];
	Perftools__Profiles__Line *line_pointers[3];
	Perftools__Profiles__Function *function_pointers[2];
	uint64_t stack[2];
	int64_t values[2];
	char *strings[8];
};

#define FILL(message, field, kind)                                                                \
	for (size_t i = 0; i < sizeof((message)->field##s) / sizeof(*(message)->field##s); i++) { \
		perftools__profiles__##kind##__init(&(message)->field##s[i]);                     \
		(message)->field##_pointers[i] = &(message)->field##s[i];                         \
	}

enum { EMPTY, CPU, NANOSECONDS, OUTER, INNER, FILE_NAME, BINARY, KEY };

/* One sample in location 7 (INNER inlined into OUTER), called from location 9, an address. */
static void message__init(struct message *message)
{
	static const char *const strings[] = { "",	"cpu",	   "nanoseconds", "outer",
					       "inner", "file.go", "/bin/tool",	  "key" };
	Perftools__Profiles__Profile *profile = &message->profile;

	memset(message, 0, sizeof(*message));
	perftools__profiles__profile__init(profile);
	perftools__profiles__value_type__init(&message->type);
	perftools__profiles__label__init(&message->label);
	FILL(message, sample, sample);
	FILL(message, mapping, mapping);
	FILL(message, location, location);
	FILL(message, line, line);
	FILL(message, function, function);
	message->type_pointers[0] = &message->type;
	message->label_pointers[0] = &message->label;
	for (size_t i = 0; i < 8; i++)
		message->strings[i] = (char *)strings[i];

	message->type.type = CPU;
	message->type.unit = NANOSECONDS;
	message->label.key = KEY;
	message->label.num = 5;
	message->functions[0].id = 1000000000000;
	message->functions[0].name = INNER;
	message->functions[0].filename = FILE_NAME;
	message->functions[1].id = 3;
	message->functions[1].system_name = OUTER;
	message->lines[0].function_id = 1000000000000;
	message->lines[0].line = 10;
	message->lines[1].function_id = 3;
	message->lines[1].line = 20;
	message->mappings[0].id = 4;
	message->mappings[0].memory_start = 0x1000;
	message->mappings[0].filename = BINARY;
	message->mappings[1].id = 2;
	message->locations[0].id = 7;
	message->locations[0].mapping_id = 2;
	message->locations[0].line = message->line_pointers;
	message->locations[0].n_line = 2;
	message->locations[1].id = 9;
	message->locations[1].mapping_id = 4;
	message->locations[1].address = 0x1234;
	message->stack[0] = 7;
	message->stack[1] = 9;
	message->values[0] = 100;
	message->samples[0].location_id = message->stack;
	message->samples[0].n_location_id = 2;
	message->samples[0].value = message->values;
	message->samples[0].n_value = 1;
	message->samples[0].label = message->label_pointers;
	message->samples[0].n_label = 1;

	profile->sample_type = message->type_pointers;
	profile->n_sample_type = 1;
	profile->sample = message->sample_pointers;
	profile->n_sample = 1;
	profile->mapping = message->mapping_pointers;
	profile->n_mapping = 2;
	profile->location = message->location_pointers;
	profile->n_location = 2;
	profile->function = message->function_pointers;
	profile->n_function = 2;
	profile->string_table = message->strings;
	profile->n_string_table = 8;
}

static uint8_t *pack(const struct message *message, size_t *ret_length)
{
	uint8_t *bytes;

	*ret_length = perftools__profiles__profile__get_packed_size(&message->profile);
	bytes = malloc(*ret_length);
	perftools__profiles__profile__pack(&message->profile, bytes);
	return bytes;
}

static struct profile *read_message(const struct message *message)
{
	char why[PPROF_READ_REASON] = "";
	struct profile *profile = NULL;
	size_t length;
	uint8_t *bytes = pack(message, &length);
	int error = pprof_read__bytes(bytes, length, &profile, why);

	free(bytes);
	assert_string_equal(why, "");
	assert_int_equal(error, 0);
	return profile;
}

/* The error, the reason, and that no profile comes out. */
static void expect_bytes(const void *bytes, size_t length, int error, const char *reason)
{
	char why[PPROF_READ_REASON] = "";
	struct profile *profile = NULL;

	assert_int_equal(pprof_read__bytes(bytes, length, &profile, why), error);
	assert_null(profile);
	if (!strstr(why, reason))
		assert_string_equal(why, reason);
}

static void expect(const struct message *message, int error, const char *reason)
{
	size_t length;
	uint8_t *bytes = pack(message, &length);

	expect_bytes(bytes, length, error, reason);
	free(bytes);
}

static const char *frame_name(const struct profile *profile, uint32_t frame)
{
	uint32_t function = profile__frame_at(profile, frame)->function;

	return profile__text(profile, profile__function_at(profile, function)->name);
}

static void inlined_functions_and_addresses_become_frames(void **state)
{
	struct message message;
	struct profile_label_set set;
	struct profile_stack stack;
	struct profile *profile;

	(void)state;
	message__init(&message);
	profile = read_message(&message);
	stack = profile__stack_at(profile, profile__row(profile, 0)->stack);
	assert_int_equal(stack.count, 3);
	assert_string_equal(frame_name(profile, stack.frames[0]), "inner");
	assert_int_equal(profile__frame_at(profile, stack.frames[0])->line, 10);
	/* Only a system name: better than none. */
	assert_string_equal(frame_name(profile, stack.frames[1]), "outer");
	assert_int_equal(profile__frame_at(profile, stack.frames[1])->line, 20);
	assert_string_equal(frame_name(profile, stack.frames[2]), "0x1234 [tool]");
	assert_string_equal(profile__text(profile, profile__mapping(profile)->file), "/bin/tool");
	assert_int_equal(profile__mapping(profile)->start, 0x1000);
	set = profile__label_set_at(profile, profile__row(profile, 0)->label_set);
	assert_int_equal(set.count, 1);
	assert_int_equal(set.labels[0].number, 5);
	assert_int_equal(out__default_type(profile), 0);
	profile__free(profile);
}

static void unknown_functions_mappings_and_addresses(void **state)
{
	struct message message;
	struct profile_stack stack;
	struct profile *profile;

	(void)state;
	message__init(&message);
	message.locations[1].mapping_id = 0;
	message.lines[0].function_id = 0;
	message.functions[1].system_name = EMPTY;
	profile = read_message(&message);
	stack = profile__stack_at(profile, profile__row(profile, 0)->stack);
	assert_string_equal(frame_name(profile, stack.frames[0]), "(unnamed)");
	assert_string_equal(frame_name(profile, stack.frames[1]), "(unnamed)");
	assert_string_equal(frame_name(profile, stack.frames[2]), "0x1234");
	profile__free(profile);
}

static void equal_samples_are_added(void **state)
{
	struct message message;
	struct profile *profile;

	(void)state;
	message__init(&message);
	message.samples[1] = message.samples[0];
	message.profile.n_sample = 2;
	message.values[0] = -7;
	profile = read_message(&message);
	assert_int_equal(profile__row_count(profile), 1);
	assert_int_equal(profile__row(profile, 0)->values[0], -14);
	profile__free(profile);
}

static void text_of_a_file_becomes_valid(void **state)
{
	struct message message;
	struct profile *profile;
	char *large = malloc(200001);
	int64_t comment = KEY;

	(void)state;
	memset(large, 'x', 200000);
	large[200000] = '\0';
	message__init(&message);
	message.strings[INNER] = "bad\xff name";
	message.strings[KEY] = large;
	message.profile.comment = &comment;
	message.profile.n_comment = 1;
	profile = read_message(&message);
	assert_string_equal(frame_name(profile, 0), "bad\xef\xbf\xbd name");
	assert_int_equal(strlen(profile__comment_at(profile, 0)), 65535);
	profile__free(profile);
	free(large);
}

static void fields_of_later_versions_are_skipped(void **state)
{
	char why[PPROF_READ_REASON];
	struct profile *profile = NULL;
	struct message message;
	size_t length;
	uint8_t *bytes, *more;

	(void)state;
	message__init(&message);
	bytes = pack(&message, &length);
	more = malloc(length + 20);
	memcpy(more, bytes, length);
	/* 15: varint 5; 100: bytes "abc"; 101: 32 bits; 102: 64 bits. */
	memcpy(more + length,
	       "\x78\x05\xa2\x06\x03"
	       "abc\xad\x06\x01\x02\x03\x04",
	       14);
	assert_int_equal(pprof_read__bytes(more, length + 14, &profile, why), 0);
	profile__free(profile);
	free(bytes);
	free(more);
}

static void ids_that_point_nowhere(void **state)
{
	struct message message;

	(void)state;
	message__init(&message);
	message.stack[1] = 8;
	expect(&message, -EBADMSG, "location 8 is used but not there");
	message.stack[1] = 0;
	expect(&message, -EBADMSG, "location 0 is used but not there");
	message__init(&message);
	message.lines[1].function_id = 4;
	expect(&message, -EBADMSG, "function 4 is used but not there");
	message__init(&message);
	message.locations[0].mapping_id = 5;
	expect(&message, -EBADMSG, "mapping 5 is used but not there");
}

static void ids_that_are_zero_or_there_twice(void **state)
{
	struct message message;

	(void)state;
	message__init(&message);
	message.locations[1].id = 7;
	expect(&message, -EBADMSG, "two locations have the id 7");
	message__init(&message);
	message.functions[1].id = 0;
	expect(&message, -EBADMSG, "a function has the id 0");
	message__init(&message);
	message.mappings[1].id = 4;
	expect(&message, -EBADMSG, "two mappings have the id 4");
}

static void strings_that_are_not_in_the_table(void **state)
{
	struct message message;
	int64_t comment = -1;

	(void)state;
	message__init(&message);
	message.functions[0].name = 8;
	expect(&message, -EBADMSG, "string 8 is not in its table of 8");
	message.functions[0].name = -1;
	expect(&message, -EBADMSG, "string -1 is not in its table of 8");
	message__init(&message);
	message.type.unit = INT64_MAX;
	expect(&message, -EBADMSG, "string 9223372036854775807 is not in its table of 8");
	message__init(&message);
	message.label.key = 9;
	expect(&message, -EBADMSG, "string 9 ");
	message__init(&message);
	message.label.str = 10;
	expect(&message, -EBADMSG, "string 10 ");
	message__init(&message);
	message.mappings[1].filename = 11;
	expect(&message, -EBADMSG, "string 11 ");
	message__init(&message);
	message.profile.default_sample_type = 12;
	expect(&message, -EBADMSG, "string 12 ");
	message__init(&message);
	message.profile.comment = &comment;
	message.profile.n_comment = 1;
	expect(&message, -EBADMSG, "string -1 ");
	message__init(&message);
	message.strings[0] = "x";
	expect(&message, -EBADMSG, "first string is not empty");
}

static void values_that_do_not_fit_the_types(void **state)
{
	struct message message;

	(void)state;
	message__init(&message);
	message.samples[0].n_value = 2;
	expect(&message, -EBADMSG, "a sample has 2 values for 1 types");
	message.samples[0].n_value = 0;
	expect(&message, -EBADMSG, "a sample has 0 values for 1 types");
	message__init(&message);
	message.profile.n_sample_type = 0;
	expect(&message, -EBADMSG, "it has no sample types");
	message__init(&message);
	message.samples[1] = message.samples[0];
	message.profile.n_sample = 2;
	message.values[0] = INT64_MAX;
	expect(&message, -EFBIG, "too large to be summed up");
}

static void more_types_than_a_profile_has(void **state)
{
	Perftools__Profiles__ValueType *types[PROFILE_MAX_TYPES + 1];
	struct message message;

	(void)state;
	message__init(&message);
	for (size_t i = 0; i <= PROFILE_MAX_TYPES; i++)
		types[i] = &message.type;
	message.profile.sample_type = types;
	message.profile.n_sample_type = PROFILE_MAX_TYPES + 1;
	expect(&message, -EFBIG, "it has 9 sample types, 8 is the limit");
}

/* Stacks of locations with many lines each: short in the file, endless in memory. */
static void stacks_that_explode(void **state)
{
	enum { LINES = 30000, SAMPLES = 200 };
	static Perftools__Profiles__Line *lines[LINES];
	static Perftools__Profiles__Sample *samples[SAMPLES];
	static uint64_t stack[3];
	struct message message;

	(void)state;
	message__init(&message);
	for (size_t i = 0; i < LINES; i++)
		lines[i] = &message.lines[1];
	for (size_t i = 0; i < SAMPLES; i++)
		samples[i] = &message.samples[0];
	for (size_t i = 0; i < 3; i++)
		stack[i] = 7;
	message.locations[0].line = lines;
	message.locations[0].n_line = LINES;
	message.profile.sample = samples;
	message.samples[0].location_id = stack;
	message.samples[0].n_location_id = 3;
	expect(&message, -EFBIG, "a stack has more than 65536 frames");
	message.samples[0].n_location_id = 2;
	message.profile.n_sample = SAMPLES;
	expect(&message, -EFBIG, "its stacks are too large for its size");
}

static void more_labels_or_comments_than_make_sense(void **state)
{
	static Perftools__Profiles__Label *labels[1000];
	static int64_t comments[100000];
	struct message message;
	char *large = malloc(50001);

	(void)state;
	message__init(&message);
	for (size_t i = 0; i < 1000; i++)
		labels[i] = &message.label;
	message.samples[0].label = labels;
	message.samples[0].n_label = 1000;
	expect(&message, -EFBIG, "a sample has more than 256 labels");

	/* The same long text over and over. */
	message__init(&message);
	memset(large, 'x', 50000);
	large[50000] = '\0';
	message.strings[KEY] = large;
	for (size_t i = 0; i < 100000; i++)
		comments[i] = KEY;
	message.profile.comment = comments;
	message.profile.n_comment = 100000;
	expect(&message, -EFBIG, "it has too many comments");
	free(large);
}

static void what_is_no_profile_at_all(void **state)
{
	static uint8_t zeroes[4096];

	(void)state;
	expect_bytes("", 0, -EBADMSG, "the file is empty");
	expect_bytes("hello world\n", 12, -EBADMSG, "not a pprof profile");
	expect_bytes("\n", 1, -EBADMSG, "cut off");
	expect_bytes("\x1f", 1, -EBADMSG, "cut off");
	expect_bytes(zeroes, sizeof(zeroes), -EBADMSG, "not a pprof profile");
	expect_bytes("\x0a\x00", 2, -EBADMSG, "it has no strings");
	expect_bytes("\x32\x00", 2, -EBADMSG, "it has no sample types");
	/* A string whose length is a lie, and one of 2^64 - 1. */
	expect_bytes("\x32\xff\xff\xff\xff\x07x", 7, -EBADMSG, "cut off");
	expect_bytes("\x32\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01x", 12, -EBADMSG, "cut off");
	/* A varint that never ends, a group, and strings that are numbers. */
	expect_bytes("\x48\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12, -EBADMSG, "cut off");
	expect_bytes("\x33\x34", 2, -EBADMSG, "not a pprof profile");
	expect_bytes("\x30\x01", 2, -EBADMSG, "field 6 is malformed");
	/* No strings, but well-formed. */
	expect_bytes("\x48\x01", 2, -EBADMSG, "it has no strings");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inlined_functions_and_addresses_become_frames),
		cmocka_unit_test(unknown_functions_mappings_and_addresses),
		cmocka_unit_test(equal_samples_are_added),
		cmocka_unit_test(text_of_a_file_becomes_valid),
		cmocka_unit_test(fields_of_later_versions_are_skipped),
		cmocka_unit_test(ids_that_point_nowhere),
		cmocka_unit_test(ids_that_are_zero_or_there_twice),
		cmocka_unit_test(strings_that_are_not_in_the_table),
		cmocka_unit_test(values_that_do_not_fit_the_types),
		cmocka_unit_test(more_types_than_a_profile_has),
		cmocka_unit_test(stacks_that_explode),
		cmocka_unit_test(more_labels_or_comments_than_make_sense),
		cmocka_unit_test(what_is_no_profile_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
