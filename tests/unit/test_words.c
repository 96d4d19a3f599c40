/* SPDX-License-Identifier: BSD-2-Clause */
/* A command in one string: split as a shell would, or left to a shell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "user/gate/words.h"

/* expected: the words, each with a '|' behind it. */
static void splits(const char *text, const char *expected)
{
	char joined[256] = "";
	char **argv;
	size_t i;

	assert_int_equal(words__split(text, &argv), 0);
	for (i = 0; argv[i]; i++) {
		strcat(joined, argv[i]);
		strcat(joined, "|");
	}
	assert_string_equal(joined, expected);
	words__free(argv);
}

static void needs_shell(const char *text)
{
	char **argv;

	assert_int_equal(words__split(text, &argv), 0);
	assert_string_equal(argv[0], "sh");
	assert_string_equal(argv[1], "-c");
	assert_string_equal(argv[2], text);
	assert_null(argv[3]);
	words__free(argv);
}

static void refuses(const char *text)
{
	char **argv;

	assert_int_equal(words__split(text, &argv), -EINVAL);
}

static void test_words(void **state)
{
	(void)state;
	splits("ruby x.rb", "ruby|x.rb|");
	splits("  ruby\t-e   ''  ", "ruby|-e||");
	splits("ruby -e 'p \"a b\" | $x'", "ruby|-e|p \"a b\" | $x|");
	splits("ruby -e \"p 'a' \\\"b\\\" \\n\"", "ruby|-e|p 'a' \"b\" \\n|");
	splits("ru'by' a\\ b", "ruby|a b|");
	splits("ruby a=b", "ruby|a=b|");
	splits("\303\244 \303\266", "\303\244|\303\266|");
}

static void test_shell(void **state)
{
	(void)state;
	needs_shell("cd a && ruby x.rb");
	needs_shell("ruby $HOME/x.rb");
	needs_shell("ruby \"$x\"");
	needs_shell("A=1 ruby x.rb");
	needs_shell("ruby *.rb");
	needs_shell("ruby ~/x.rb");
	needs_shell("ruby x.rb > /dev/null");
}

static void test_refused(void **state)
{
	(void)state;
	refuses("");
	refuses("   ");
	refuses("ruby 'x");
	refuses("ruby \"x");
	refuses("ruby \\");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_shell),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
