/* SPDX-License-Identifier: BSD-2-Clause */
/* Names in the formats of a gate's report. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "user/gate/out_markup.h"

static void check(void (*write)(FILE *, const char *), const char *text, const char *expected)
{
	char *written = NULL;
	size_t length;
	FILE *stream = open_memstream(&written, &length);

	assert_non_null(stream);
	write(stream, text);
	fclose(stream);
	assert_string_equal(written, expected);
	free(written);
}

static void xml(void **state)
{
	(void)state;
	check(gate_markup__xml, "Foo#bar", "Foo#bar");
	check(gate_markup__xml, "<a href=\"'&\">", "&#60;a href=&#34;&#39;&#38;&#34;&#62;");
	check(gate_markup__xml, "]]>", "]]&#62;");
	/* No XML has these, escaped or not. */
	check(gate_markup__xml, "a\x01z\x1b", "a\xef\xbf\xbdz\xef\xbf\xbd");
	check(gate_markup__xml, "\xef\xbf\xbe|\xef\xbf\xbf|\xef\xbf\xbd",
	      "\xef\xbf\xbd|\xef\xbf\xbd|\xef\xbf\xbd");
	check(gate_markup__xml, "\xc3\xa4\xe2\x82\xac", "\xc3\xa4\xe2\x82\xac");
}

static void markdown(void **state)
{
	(void)state;
	check(gate_markup__markdown, "Foo bar", "Foo bar");
	check(gate_markup__markdown, "a|b`*_[](<>)",
	      "a&#124;b&#96;&#42;&#95;&#91;&#93;&#40;&#60;"
	      "&#62;&#41;");
	check(gate_markup__markdown, "@all www.x", "&#64;all www&#46;x");
	check(gate_markup__markdown, "a\nb\tc", "a b c");
	check(gate_markup__markdown, "\xc3\xa4", "\xc3\xa4");
}

static void github(void **state)
{
	(void)state;
	check(gate_markup__github, "50%: a, b\r\n::error::x", "50%25: a, b%0D%0A::error::x");
	check(gate_markup__github_property, "a:b,c%\n", "a%3Ab%2Cc%25%0A");
}

static void uri(void **state)
{
	(void)state;
	check(gate_markup__uri, "lib/a-b_c.rb", "lib/a-b_c.rb");
	check(gate_markup__uri, "a b#c?d%e:f\xc3\xa4", "a%20b%23c%3Fd%25e%3Af%C3%A4");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(xml),
		cmocka_unit_test(markdown),
		cmocka_unit_test(github),
		cmocka_unit_test(uri),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
