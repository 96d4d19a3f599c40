/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "user/ruby/layout.h"

static const struct {
	const char *name;
	size_t offset;
} fields[] = {
#define F(field) { #field, offsetof(struct ruby_layout, field) },
	RUBY_LAYOUT_FIELDS(F) RUBY_LAYOUT_VALUES(F)
#undef F
};

static const struct layout_entry *find(const char *version, int expected_exact)
{
	int exact = -1;
	const struct layout_entry *entry = layout__find(version, &exact);

	assert_non_null(entry);
	assert_int_equal(exact, expected_exact);
	return entry;
}

static void test_known_versions(void **state)
{
	(void)state;
	assert_string_equal(find("3.1.2", 1)->version, "3.1.0");
	assert_int_equal(find("3.1.2", 1)->layout.vm__objspace, 1104);
	assert_int_equal(find("3.1.4", 1)->layout.vm__objspace, 1104);
	assert_int_equal(find("3.1.5", 1)->layout.vm__objspace, 1112);
	assert_int_equal(find("3.2.2", 1)->layout.vm__objspace, 1128);
	assert_int_equal(find("3.2.3", 1)->layout.vm__objspace, 1136);
	assert_int_equal(find("3.2.4", 1)->layout.vm__objspace, 1144);
	assert_int_equal(find("4.0.6", 1)->layout.vm__objspace, 1256);
	find("2.7.0", 1);
	find("3.0.7", 1);
	find("3.3.8", 1);
	find("3.4.11", 1);
}

static void test_later_patch_release(void **state)
{
	(void)state;
	assert_string_equal(find("3.1.9", 0)->version, "3.1.5");
	assert_string_equal(find("2.7.99", 0)->version, "2.7.0");
	assert_string_equal(find("4.0.7", 0)->version, "4.0.6");
}

static void test_unknown_versions(void **state)
{
	static const char *const versions[] = {
		"3.9.9", "1.9.3",     "2.6.10",	  "4.1.0",  "3.1",    "3.1.", "3",
		"",	 "3.1.2.",    "3.1.2p20", " 3.1.2", "3.1.-2", "3..2", "3.1.99999999999",
		"a.b.c", "03.1.1000",
	};
	int exact = 7;

	(void)state;
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
		assert_null(layout__find(versions[i], &exact));
	assert_int_equal(exact, 7);
}

static void test_every_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < layout_table_count; i++) {
		const struct layout_entry *entry = &layout_table[i];
		const struct ruby_layout *layout = &entry->layout;

		assert_ptr_equal(find(entry->from, 1), entry);
		assert_ptr_equal(find(entry->to, 1), entry);
		/* An ec or a thread is found in one way or the other. */
		assert_true((layout->vm__living_threads == RUBY_NO_FIELD) !=
			    (layout->vm__ractor_set == RUBY_NO_FIELD));
		assert_true((layout->vm__gvl_owner == RUBY_NO_FIELD) !=
			    (layout->ractor__gvl_owner == RUBY_NO_FIELD));
		assert_true((layout->rclass__classext_ptr == RUBY_NO_FIELD) !=
			    (layout->rclass__classext == RUBY_NO_FIELD));
		assert_true((layout->attached_id == 0) !=
			    (layout->classext__attached_object == RUBY_NO_FIELD));
		assert_true((layout->th__nt == RUBY_NO_FIELD) ==
			    (layout->nt__tid == RUBY_NO_FIELD));
		assert_int_not_equal(layout->cfp__sizeof, 0);
		assert_int_not_equal(layout->qnil, 0);
	}
}

static size_t field_offset(const char *name)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (strcmp(fields[i].name, name) == 0)
			return fields[i].offset;
	fail_msg("no field %s in ruby_layout.h", name);
	return 0;
}

/* Columns of the measurement: the releases that were measured. */
static const char *const measured_releases[] = { "2.7.4", "3.0.7", "3.1.2", "3.2.11",
						 "3.3.8", "3.4.5", "4.0.5", "4.0.6" };

static void check_row(char *line)
{
	char *rest = NULL, *name = strtok_r(line, "\t", &rest);
	size_t offset = field_offset(name);

	for (size_t i = 0; i < sizeof(measured_releases) / sizeof(measured_releases[0]); i++) {
		const char *figure = strtok_r(NULL, "\t\n", &rest);
		const struct layout_entry *entry = find(measured_releases[i], 1);
		unsigned long expected = RUBY_NO_FIELD;
		uint16_t value;

		assert_non_null(figure);
		if (*figure == '?')
			continue;
		if (*figure != '-')
			expected = strtoul(figure, NULL, 10);
		memcpy(&value, (const char *)&entry->layout + offset, sizeof(value));
		if (value != expected)
			fail_msg("%s of %s is %u, measured %lu", name, measured_releases[i], value,
				 expected);
	}
}

static void test_measured(void **state)
{
	FILE *file = fopen("tests/fixtures/layouts_measured.tsv", "r");
	char line[512];
	size_t rows = 0;

	(void)state;
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		if (*line == '#' || strncmp(line, "field\t", 6) == 0)
			continue;
		check_row(line);
		rows++;
	}
	fclose(file);
	assert_true(rows > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_versions),	 cmocka_unit_test(test_later_patch_release),
		cmocka_unit_test(test_unknown_versions), cmocka_unit_test(test_every_table),
		cmocka_unit_test(test_measured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
