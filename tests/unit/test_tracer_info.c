/* SPDX-License-Identifier: BSD-2-Clause */
/* What people are told of tracers: what is out of reach on which Ruby, and in which words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>

#include "user/core/process_tracer.h"
#include "user/ruby/layout.h"

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static void test_variables_of_fibers(void **state)
{
	size_t i, with = 0, without = 0;

	(void)state;
	for (i = 0; i < layout_table_count; i++) {
		struct tracer_source source = { .layout = &layout_table[i].layout };

		assert_non_null(tracer_info__no_fiber_variables(&source));
		source.generic_ivars[0] = 0x1000;
		if (tracer_info__no_fiber_variables(&source))
			without++;
		else
			with++;
	}
	/* Since 4.0 they are no longer in a table. */
	assert_true(with > 0 && without > 0);
}

static void test_what_is_not_known_says_why(void **state)
{
	json_t *object = json_object();

	(void)state;
	process_tracer__not_known(object, "its vm is not up yet");
	assert_string_equal(text_of(object, "tracer"), "not yet known: its vm is not up yet");
	assert_int_equal(json_array_size(json_object_get(object, "tracers")), 0);
	json_decref(object);
}

static void test_libraries(void **state)
{
	struct tracer_info info = { .datadog.is_loaded = false };
	json_t *object = json_object();
	const json_t *otel;

	(void)state;
	process_tracer__describe(object, &info);
	assert_string_equal(text_of(object, "tracer"), "none");
	info.datadog = (struct tracer_library){ .is_loaded = true, .version = "2.47.0" };
	info.otel = (struct tracer_library){ .is_loaded = true, .out_of_reach = "it is far away" };
	process_tracer__describe(object, &info);
	assert_string_equal(text_of(object, "tracer"),
			    "dd-trace-rb 2.47.0, opentelemetry, context out of reach: it is far "
			    "away");
	otel = json_array_get(json_object_get(object, "tracers"), 1);
	assert_true(json_is_false(json_object_get(otel, "reachable")));
	assert_null(json_object_get(otel, "version"));
	assert_string_equal(text_of(otel, "reason"), "it is far away");
	assert_string_equal(text_of(otel, "context"), "none seen yet");
	json_decref(object);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_variables_of_fibers),
		cmocka_unit_test(test_what_is_not_known_says_why),
		cmocka_unit_test(test_libraries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
