/* SPDX-License-Identifier: BSD-2-Clause */
/* What a profile does when memory runs out: each allocation in turn fails. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static size_t allocations_left;

static int is_out_of_memory(void)
{
	if (!allocations_left)
		return 1;
	allocations_left--;
	return 0;
}

static void *failing_malloc(size_t size)
{
	return is_out_of_memory() ? NULL : malloc(size);
}

static void *failing_calloc(size_t count, size_t size)
{
	return is_out_of_memory() ? NULL : calloc(count, size);
}

static void *failing_realloc(void *old, size_t size)
{
	return is_out_of_memory() ? NULL : realloc(old, size);
}

static void *failing_reallocarray(void *old, size_t count, size_t size)
{
	return is_out_of_memory() ? NULL : reallocarray(old, count, size);
}

/* The profile's own source, with these in place of the C library's. */
#define malloc	     failing_malloc
#define calloc	     failing_calloc
#define realloc	     failing_realloc
#define reallocarray failing_reallocarray
#include "user/agg/intern.c"
#include "user/agg/stack_table.c"
#include "user/agg/profile.c"
#include "sample_profile.h"
#undef malloc
#undef calloc
#undef realloc
#undef reallocarray

static struct profile *build(int *ret_error)
{
	static const struct profile_type type = { "cpu-time", "nanoseconds" };
	struct profile *profile = NULL;

	*ret_error = profile__new(&type, 1, &profile);
	for (int i = 0; !*ret_error && i < 100; i++) {
		char name[16];
		uint32_t frame, stack, labels;
		int64_t one = 1;

		snprintf(name, sizeof(name), "method %d", i);
		frame = sample_frame(profile, name, "a.rb", 1, i);
		stack = profile__stack(profile, &frame, 1);
		labels = sample_labels(profile, name, i);
		/* No result is looked at before the end, as in the way of a sample. */
		profile__add(profile, stack, labels, &one);
		profile__comment(profile, name);
	}
	return profile;
}

static void a_failed_allocation_shows_and_crashes_nothing(void **state)
{
	struct profile *profile;
	size_t limit;
	int error = -1;

	(void)state;
	for (limit = 0; limit < 100000; limit++) {
		bool is_complete;

		allocations_left = limit;
		profile = build(&error);
		if (error) {
			assert_int_equal(error, -ENOMEM);
			assert_null(profile);
			continue;
		}
		is_complete = profile__row_count(profile) == 100 &&
			      profile__comment_count(profile) == 100;
		for (size_t i = 0; i < profile__row_count(profile); i++)
			assert_int_equal(profile__row(profile, i)->values[0], 1);
		if (!profile__failed(profile)) {
			assert_true(is_complete);
			profile__free(profile);
			break;
		}
		profile__free(profile);
	}
	assert_true(limit > 100);
	assert_true(limit < 100000);
}

/* One failure is remembered although everything after it works again. */
static void a_failure_is_remembered(void **state)
{
	static const char large[2 << 20];
	struct profile *profile;
	int error;

	(void)state;
	allocations_left = SIZE_MAX;
	profile = build(&error);
	assert_int_equal(error, 0);
	allocations_left = 0;
	/* There is room left for short ones. */
	assert_int_equal(profile__string(profile, large, sizeof(large)), PROFILE_NONE);
	assert_int_not_equal(profile__cstring(profile, "method 1"), PROFILE_NONE);
	allocations_left = SIZE_MAX;
	assert_int_not_equal(profile__string(profile, large, sizeof(large)), PROFILE_NONE);
	assert_true(profile__failed(profile));
	assert_int_equal(out__write(out__format_by_name("text"), profile,
				    &(struct out_options){ 0 }, stderr),
			 -ENOMEM);
	profile__free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failed_allocation_shows_and_crashes_nothing),
		cmocka_unit_test(a_failure_is_remembered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
