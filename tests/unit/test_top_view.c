/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of `top` out of slices of a recording: sums, groups, rules, windows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>

#include "sample_profile.h"
#include "user/top/pairs.h"
#include "user/top/slices.h"
#include "user/top/view.h"

#define SECOND 1000000000ULL

enum value { SAMPLES = 0, CPU, WALL, GC };

static struct profile *new_profile(void)
{
	static const struct profile_type types[] = {
		{ "cpu-samples", "count" },
		{ "cpu-time", "nanoseconds" },
		{ "wall-time", "nanoseconds" },
		{ "timeline", "nanoseconds" },
	};
	struct profile *profile;

	assert_int_equal(profile__new(types, 4, &profile), 0);
	return profile;
}

static uint32_t labels(struct profile *profile, const char *thread, const char *state)
{
	struct profile_label list[] = {
		sample_text(profile, "process", "ruby (7)"),
		sample_number(profile, "pid", 7),
		sample_text(profile, "thread name", thread),
		sample_text(profile, "state", state),
	};

	return profile__label_set(profile, list, 4);
}

/* Frames leaf first, by name; "m" is of m.rb, line 1 of it 10; names in capitals are the
 * collector's. */
static uint32_t stack(struct profile *profile, const char *names)
{
	uint32_t frames[16];
	size_t count = 0;
	char copy[128], *rest = copy, *name;

	snprintf(copy, sizeof(copy), "%s", names);
	while ((name = strsep(&rest, " "))) {
		bool is_gc = !strcmp(name, "GC");

		count++;
		frames[count - 1] = sample_frame(profile, is_gc ? "Garbage Collection" : name,
						 is_gc ? "<rbprof>" : "m.rb", is_gc ? 0 : 10,
						 is_gc ? 0 : 10 + (int64_t)count);
	}
	return profile__stack(profile, frames, count);
}

static void add(struct profile *profile, const char *names, uint32_t set, enum value type,
		int64_t value)
{
	int64_t values[PROFILE_MAX_TYPES] = { 0 };

	values[type] = value;
	assert_int_equal(profile__add(profile, stack(profile, names), set, values), 0);
}

/* Takes the profile's rows as a slice of one second. */
static struct session_slice slice(struct profile *profile, unsigned int second,
				  struct session_slice *next)
{
	struct session_slice made = {
		.next = next,
		.begin_ns = second * SECOND,
		.end_ns = (second + 1) * SECOND,
		.profile = profile,
	};

	assert_int_equal(profile__take_rows(profile, &made.rows, &made.count), 0);
	return made;
}

static struct view *view_of(const struct session_slice *slices, struct view_query query)
{
	struct view *view;

	if (!query.value)
		query.value = "cpu-time";
	if (!query.window_ns)
		query.window_ns = 60 * SECOND;
	assert_int_equal(view__new(slices, &query, &view), 0);
	return view;
}

static const struct view_row *row(const struct view *view, const char *name)
{
	for (size_t i = 0; i < view->count; i++)
		if (!strcmp(view->rows[i].name, name))
			return &view->rows[i];
	fail_msg("no row %s", name);
	return NULL;
}

static void assert_row(const struct view *view, const char *name, int64_t self, int64_t total)
{
	const struct view_row *found = row(view, name);

	assert_int_equal(found->self, self);
	assert_int_equal(found->total, total);
}

static void self_and_total(void **state)
{
	struct profile *profile = new_profile();
	uint32_t set = labels(profile, "main", "had cpu");
	struct session_slice one;
	struct view *view;

	(void)state;
	add(profile, "leaf middle main", set, CPU, 10);
	/* Recursion: once in total, however often it is in the stack. */
	add(profile, "middle leaf middle main", set, CPU, 5);
	add(profile, "main", set, CPU, 1);
	one = slice(profile, 3, NULL);
	view = view_of(&one, (struct view_query){ 0 });
	assert_int_equal(view->count, 3);
	assert_int_equal(view->sum, 16);
	assert_int_equal(view->cpu_ns, 16);
	assert_int_equal(view->window_ns, SECOND);
	assert_row(view, "leaf", 10, 15);
	assert_row(view, "middle", 5, 15);
	assert_row(view, "main", 1, 16);
	assert_string_equal(view->rows[0].name, "leaf");
	view__sort(view, VIEW_BY_TOTAL);
	assert_string_equal(view->rows[0].name, "main");
	view__sort(view, VIEW_BY_NAME);
	assert_string_equal(view->rows[2].name, "middle");
	view__free(view);
	view = view_of(&one, (struct view_query){ .by_line = true });
	/* middle is on line 12 of the first stack, on 11 and 13 of the second. */
	assert_int_equal(view->count, 8);
	view__free(view);
	free(one.rows);
	profile__free(profile);
}

static void windows(void **state)
{
	struct profile *profile = new_profile();
	uint32_t set = labels(profile, "main", "had cpu");
	struct session_slice first, second, third;
	struct view *view;

	(void)state;
	add(profile, "a main", set, CPU, 1);
	first = slice(profile, 0, &second);
	add(profile, "b main", set, CPU, 2);
	second = slice(profile, 1, &third);
	add(profile, "b main", set, CPU, 4);
	third = slice(profile, 2, NULL);
	view = view_of(&first, (struct view_query){ .window_ns = SECOND });
	assert_row(view, "main", 0, 4);
	assert_int_equal(view->count, 2);
	view__free(view);
	view = view_of(&first, (struct view_query){ .window_ns = 2 * SECOND });
	assert_row(view, "b", 6, 6);
	assert_int_equal(view->window_ns, 2 * SECOND);
	view__free(view);
	view = view_of(&first, (struct view_query){ 0 });
	assert_row(view, "main", 0, 7);
	view__free(view);
	/* Of no slices at all there is a table, without rows. */
	view = view_of(NULL, (struct view_query){ 0 });
	assert_int_equal(view->count, 0);
	assert_int_equal(view->sum, 0);
	view__free(view);
	free(first.rows);
	free(second.rows);
	free(third.rows);
	profile__free(profile);
}

/* The session's profile is renewed now and then: ids of the old one mean other things. */
static void two_profiles(void **state)
{
	struct profile *old = new_profile(), *new = new_profile();
	struct session_slice first, second, *copy;
	struct view *view;

	(void)state;
	add(old, "a main", labels(old, "one", "had cpu"), CPU, 1);
	add(old, "b main", labels(old, "two", "had cpu"), CPU, 8);
	add(new, "c b main", labels(new, "two", "had cpu"), CPU, 2);
	add(new, "a main", labels(new, "three", "had cpu"), CPU, 4);
	first = slice(old, 0, &second);
	second = slice(new, 1, NULL);
	view = view_of(&first, (struct view_query){ 0 });
	assert_int_equal(view->count, 4);
	assert_row(view, "a", 5, 5);
	assert_row(view, "b", 8, 10);
	assert_row(view, "c", 2, 2);
	assert_row(view, "main", 0, 15);
	view__free(view);
	view = view_of(&first, (struct view_query){ .by = "thread name" });
	assert_int_equal(view->count, 3);
	assert_row(view, "two", 10, 10);
	assert_string_equal(row(view, "two")->file, "b");
	assert_int_equal(row(view, "two")->hottest, 8);
	view__free(view);
	/* What is frozen is all of it, and needs neither. */
	assert_int_equal(slices__copy(&first, 60 * SECOND, &copy), 0);
	free(first.rows);
	free(second.rows);
	profile__free(old);
	profile__free(new);
	assert_null(copy->next);
	view = view_of(copy, (struct view_query){ 0 });
	assert_row(view, "a", 5, 5);
	assert_row(view, "main", 0, 15);
	assert_int_equal(view->window_ns, 2 * SECOND);
	view__free(view);
	slices__free(copy);
	assert_int_equal(slices__copy(NULL, SECOND, &copy), -ENOENT);
}

static void labels_and_rules(void **state)
{
	struct profile *profile = new_profile();
	uint32_t one = labels(profile, "worker 1", "had cpu");
	uint32_t two = labels(profile, "worker 2", "sleeping");
	uint32_t none = profile__label_set(profile, NULL, 0);
	struct rule focus[] = { { RULE_FOCUS, "thread name", "worker 1" },
				{ RULE_FOCUS, "thread name", "*2" } };
	struct rule ignore = { RULE_IGNORE, "state", "sleep*" };
	struct rule value = { RULE_VALUE, "thread name", "worker*" };
	struct rule missing = { RULE_VALUE, "thread name", RULES_NO_LABEL };
	struct rule unnamed = { RULE_FOCUS, "thread name", RULES_NO_LABEL };
	struct rule named = { RULE_IGNORE, "thread name", RULES_NO_LABEL };
	struct rule any = { RULE_FOCUS, "thread name", "*" };
	struct rule method = { RULE_METHOD, "b", "m.rb" };
	struct rule number = { RULE_FOCUS, "pid", "7" };
	struct rule other_file = { RULE_METHOD, "b", "n.rb" };
	struct session_slice only;
	struct view *view;

	(void)state;
	add(profile, "a main", one, WALL, 1);
	add(profile, "b main", two, WALL, 2);
	add(profile, "a b main", none, WALL, 4);
	only = slice(profile, 0, NULL);
#define SUM(by_label, ...)                                                   \
	(view = view_of(&only, (struct view_query){ .value = "wall-time",    \
						    .by = by_label,          \
						    .rules = __VA_ARGS__ }), \
	 view->sum)
	assert_int_equal(SUM(NULL, { NULL, 0 }), 7);
	view__free(view);
	assert_int_equal(SUM("thread name", { NULL, 0 }), 7);
	assert_row(view, "worker 1", 1, 1);
	assert_row(view, RULES_NO_LABEL, 4, 4);
	view__free(view);
	assert_int_equal(SUM("pid", { NULL, 0 }), 7);
	assert_row(view, "7", 3, 3);
	view__free(view);
	assert_int_equal(SUM(NULL, { focus, 1 }), 1);
	view__free(view);
	/* Of several with one label one has to fit. */
	assert_int_equal(SUM(NULL, { focus, 2 }), 3);
	view__free(view);
	assert_int_equal(SUM(NULL, { &ignore, 1 }), 5);
	view__free(view);
	/* A value is no pattern. */
	assert_int_equal(SUM(NULL, { &value, 1 }), 0);
	view__free(view);
	assert_int_equal(SUM(NULL, { &missing, 1 }), 4);
	view__free(view);
	/* As `report` has it: the name stands for a label that is not there, and no pattern does.
	 */
	assert_int_equal(SUM(NULL, { &unnamed, 1 }), 4);
	view__free(view);
	assert_int_equal(SUM(NULL, { &named, 1 }), 3);
	view__free(view);
	assert_int_equal(SUM(NULL, { &any, 1 }), 3);
	view__free(view);
	assert_int_equal(SUM(NULL, { &number, 1 }), 3);
	view__free(view);
	assert_int_equal(SUM(NULL, { &method, 1 }), 6);
	assert_row(view, "a", 4, 4);
	view__free(view);
	assert_int_equal(SUM(NULL, { &other_file, 1 }), 0);
	view__free(view);
#undef SUM
	free(only.rows);
	profile__free(profile);
}

/* The collector's own frame is not what set it off; where there is no other it stands alone. */
static void collector(void **state)
{
	struct profile *profile = new_profile();
	uint32_t set = labels(profile, "Garbage Collection", "had cpu");
	struct session_slice only;
	struct view *view;

	(void)state;
	add(profile, "GC a main", set, GC, 3);
	add(profile, "GC", set, GC, 1);
	only = slice(profile, 0, NULL);
	view = view_of(&only, (struct view_query){ .value = "timeline" });
	assert_int_equal(view->gc_ns, 4);
	assert_row(view, "a", 3, 3);
	assert_row(view, "main", 0, 3);
	assert_row(view, "Garbage Collection", 1, 1);
	assert_int_equal(row(view, "Garbage Collection")->kind, VIEW_SPECIAL);
	view__free(view);
	/* In other values it stays: it is what used the time. */
	view = view_of(&only, (struct view_query){ .value = "cpu-time" });
	assert_int_equal(view->sum, 0);
	view__free(view);
	/* A type that is not there has no rows. */
	view = view_of(&only, (struct view_query){ .value = "alloc-samples" });
	assert_int_equal(view->count, 0);
	view__free(view);
	free(only.rows);
	profile__free(profile);
}

static void sums_of_pairs(void **state)
{
	struct pairs pairs = { 0 };

	(void)state;
	for (uint32_t i = 0; i < 5000; i++)
		assert_int_equal(pairs__add(&pairs, i % 70, i % 50, i), 0);
	assert_int_equal(pairs.count, 350);
	for (size_t i = 0; i < pairs.count; i++) {
		int64_t sum = 0;

		for (uint32_t j = 0; j < 5000; j++)
			if (j % 70 == pairs.pairs[i].first && j % 50 == pairs.pairs[i].second)
				sum += j;
		assert_int_equal(pairs.pairs[i].sum, sum);
	}
	pairs__free(&pairs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(self_and_total), cmocka_unit_test(windows),
		cmocka_unit_test(two_profiles),	  cmocka_unit_test(labels_and_rules),
		cmocka_unit_test(collector),	  cmocka_unit_test(sums_of_pairs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
