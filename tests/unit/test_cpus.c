/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "user/util/cpus.h"

#define CPUS 10

/* expected: an x for each CPU of the list. */
static void expect(const char *list, const char *expected)
{
	bool is_in[CPUS];
	char text[CPUS + 1] = "";
	int i;

	assert_int_equal(cpus__parse(list, is_in, CPUS), 0);
	for (i = 0; i < CPUS; i++)
		text[i] = is_in[i] ? 'x' : '.';
	assert_string_equal(text, expected);
}

static void a_list_is_numbers_and_ranges(void **state)
{
	(void)state;
	expect("0\n", "x.........");
	expect("0-3\n", "xxxx......");
	expect("0,2-3,9\n", "x.xx.....x");
	expect("1", ".x........");
	expect("", "..........");
	expect("\n", "..........");
}

static void cpus_beyond_are_left_out(void **state)
{
	(void)state;
	expect("8-4095\n", "........xx");
	expect("12,1\n", ".x........");
}

static void other_text_is_refused(void **state)
{
	const char *const texts[] = { "x",
				      "0-",
				      "-3",
				      "3-1",
				      "0 1",
				      "0;1",
				      ",",
				      "99999999999999999999",
				      "0-99999999999999999999" };
	bool is_in[CPUS];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_int_not_equal(cpus__parse(texts[i], is_in, CPUS), 0);
}

static void this_host_has_one(void **state)
{
	bool is_in[8192];
	int i, count = 0;

	(void)state;
	assert_int_equal(cpus__online(is_in, 8192), 0);
	for (i = 0; i < 8192; i++)
		count += is_in[i];
	assert_true(count > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_is_numbers_and_ranges),
		cmocka_unit_test(cpus_beyond_are_left_out),
		cmocka_unit_test(other_text_is_refused),
		cmocka_unit_test(this_host_has_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
