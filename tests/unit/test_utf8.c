/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "user/util/utf8.h"

#define R "\xef\xbf\xbd"
#define E "\xe2\x80\xa6"

/* The input in a buffer of its exact size, so that reading past it is seen. */
static void expect(const char *bytes, size_t length, size_t limit, const char *expected)
{
	char *exact = malloc(length ? length : 1);
	char *text = malloc(limit + 1);
	size_t written;

	memcpy(exact, bytes, length);
	written = utf8__clean(exact, length, text, limit);
	assert_string_equal(text, expected);
	assert_int_equal(written, strlen(expected));
	assert_true(written <= limit);
	free(text);
	free(exact);
}

#define EXPECT(bytes, limit, expected) expect(bytes, sizeof(bytes) - 1, limit, expected)

static void valid_text_stays_as_it_is(void **state)
{
	(void)state;
	EXPECT("", 10, "");
	EXPECT("puma 001", 255, "puma 001");
	EXPECT("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 255, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
	EXPECT("\x7f\x01\n", 255, "\x7f\x01\n");
	EXPECT("\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf", 255,
	       "\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf");
}

static void each_maximal_invalid_part_is_replaced_once(void **state)
{
	(void)state;
	EXPECT("a\xffz", 255, "a" R "z");
	EXPECT("\x80\x80", 255, R R);
	/* The example of the Unicode standard, section 3.9. */
	EXPECT("\x61\xf1\x80\x80\xe1\x80\xc2\x62\x80\x63\x80\xbf\x64", 255,
	       "a" R R R "b" R "c" R R "d");
	EXPECT("\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41", 255, R R R R R R R R "A");
	EXPECT("\xed\xa0\x80", 255, R R R);	  /* a surrogate */
	EXPECT("\xf4\x90\x80\x80", 255, R R R R); /* beyond U+10FFFF */
	EXPECT("x\xe2\x82", 255, "x" R);	  /* ends within a character */
	EXPECT("a\0b", 255, "a" R "b");
}

static void a_character_cut_in_the_middle_is_valid_afterwards(void **state)
{
	(void)state;
	/* 15 bytes of comm out of nine times e-acute. */
	EXPECT("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3", 255,
	       "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9" R);
}

static void what_is_too_long_is_cut_at_a_character(void **state)
{
	(void)state;
	EXPECT("abcdef", 6, "abcdef");
	EXPECT("abcdefg", 6, "abc" E);
	EXPECT("abc\xc3\xa9\xc3\xa9", 7, "abc\xc3\xa9\xc3\xa9");
	EXPECT("abc\xc3\xa9\xc3\xa9", 6, "abc" E);
	EXPECT("ab\xc3\xa9\xc3\xa9\xc3\xa9", 6, "ab" E);
	EXPECT("\xf0\x9f\x98\x80\xf0\x9f\x98\x80", 7, "\xf0\x9f\x98\x80" E);
	EXPECT("\xf0\x9f\x98\x80\xf0\x9f\x98\x80", 6, E);
	EXPECT("abcd", 3, E);
	EXPECT("abcd", 2, "");
	EXPECT("abcd", 0, "");
	EXPECT("\xff\xff\xff", 8, R E);
}

/* Whatever the bytes: the result is valid and fits. */
static void any_bytes_give_valid_text_within_the_limit(void **state)
{
	unsigned int random = 1;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		char bytes[24], text[32];
		size_t limit = (size_t)round % 31, length, at = 0;

		for (size_t i = 0; i < sizeof(bytes); i++) {
			random = random * 1103515245 + 12345;
			/* Half of it high bytes, so that sequences come about. */
			bytes[i] = (char)(random >> 16 & (round & 1 ? 0xff : 0xbf));
		}
		length = utf8__clean(bytes, sizeof(bytes), text, limit);
		assert_true(length <= limit);
		assert_int_equal(strlen(text), length);
		while (at < length) {
			uint32_t character;
			size_t size = utf8__decode(text + at, length - at, &character);

			assert_true(size > 0);
			if (character == 0xfffd)
				assert_memory_equal(text + at, R, 3);
			at += size;
		}
	}
}

static void decode_gives_code_points(void **state)
{
	uint32_t character = 7;

	(void)state;
	assert_int_equal(utf8__decode("", 0, &character), 0);
	assert_int_equal(utf8__decode("A", 1, &character), 1);
	assert_int_equal(character, 'A');
	assert_int_equal(utf8__decode("\xe2\x82\xac", 3, &character), 3);
	assert_int_equal(character, 0x20ac);
	assert_int_equal(utf8__decode("\xf0\x9f\x98\x80", 4, &character), 4);
	assert_int_equal(character, 0x1f600);
	assert_int_equal(utf8__decode("\xf0\x9f\x98", 3, &character), 3);
	assert_int_equal(character, 0xfffd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(valid_text_stays_as_it_is),
		cmocka_unit_test(each_maximal_invalid_part_is_replaced_once),
		cmocka_unit_test(a_character_cut_in_the_middle_is_valid_afterwards),
		cmocka_unit_test(what_is_too_long_is_cut_at_a_character),
		cmocka_unit_test(any_bytes_give_valid_text_within_the_limit),
		cmocka_unit_test(decode_gives_code_points),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
