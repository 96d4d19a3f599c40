/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "overlay_memory.h"
#include "user/ruby/gc_info.h"
#include "user/ruby/layout.h"

#define VM_PTR	 0x1000
#define VM	 0x20000
#define OBJSPACE 0x30000

static void check(uint32_t info, const char *type, const char *reason, const char *cause)
{
	assert_string_equal(gc_info__type(info), type);
	if (reason)
		assert_string_equal(gc_info__reason(info), reason);
	else
		assert_null(gc_info__reason(info));
	if (cause)
		assert_string_equal(gc_info__cause(info), cause);
	else
		assert_null(gc_info__cause(info));
}

static void test_words(void **state)
{
	(void)state;
	check(0, "minor", NULL, NULL);
	check(0x100, "minor", NULL, "newobj");
	check(0xa400, "minor", NULL, "method"); /* GC.start(full_mark: false) */
	check(0x200, "minor", NULL, "malloc");
	check(0x1000, "minor", NULL, "stress");
	check(0x101, "major", "nofree", "newobj");
	check(0x102, "major", "oldgen", "newobj");
	check(0x104, "major", "shady", "newobj");
	check(0x1a408, "major", "force", "method");
	check(0x220, "major", "oldmalloc", "malloc");
	check(0x808, "major", "force", "capi");
	/* Several: the first one, as the VM says it. */
	check(0x103, "major", "nofree", "newobj");
	check(0x22a, "major", "oldgen", "malloc");
	/* A bit that no release gives a name. */
	check(0x140, "major", NULL, "newobj");
}

static const struct ruby_layout *layout_of(const char *version)
{
	int exact;
	const struct layout_entry *entry = layout__find(version, &exact);

	assert_non_null(entry);
	return &entry->layout;
}

static void set_up(struct overlay *overlay, const struct ruby_layout *layout, bool is_measured)
{
	overlay_init(overlay, NULL);
	overlay_u64(overlay, VM_PTR, VM);
	overlay_u64(overlay, VM + layout->vm__objspace, OBJSPACE);
	overlay_u32(overlay, OBJSPACE + layout->objspace__flags,
		    is_measured ? 1U << layout->gc_measure_bit : ~(1U << layout->gc_measure_bit));
}

static void test_one_clock(void **state)
{
	static const char *const versions[] = { "3.1.2", "3.1.5", "3.2.0", "3.2.4" };
	uint64_t ns = 0;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		const struct ruby_layout *layout = layout_of(versions[i]);
		struct overlay overlay;

		assert_true(gc_info__has_clock(layout));
		set_up(&overlay, layout, true);
		overlay_u64(&overlay, OBJSPACE + layout->objspace__total_time, 123456789);
		assert_int_equal(gc_info__clock(&overlay.memory, layout, VM_PTR, &ns), 0);
		assert_int_equal(ns, 123456789);
	}
}

static void test_two_clocks(void **state)
{
	static const char *const versions[] = { "3.3.8", "3.4.5", "4.0.0", "4.0.6" };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		const struct ruby_layout *layout = layout_of(versions[i]);
		struct overlay overlay;
		uint64_t ns = 0;

		assert_true(gc_info__has_clock(layout));
		set_up(&overlay, layout, true);
		overlay_u64(&overlay, OBJSPACE + layout->objspace__marking_time, 1000);
		overlay_u64(&overlay, OBJSPACE + layout->objspace__sweeping_time, 23);
		assert_int_equal(gc_info__clock(&overlay.memory, layout, VM_PTR, &ns), 0);
		assert_int_equal(ns, 1023);
	}
}

static void test_no_clock(void **state)
{
	const struct ruby_layout *layout = layout_of("3.1.2");
	struct overlay overlay;
	uint64_t ns = 42;

	(void)state;
	set_up(&overlay, layout, false);
	overlay_u64(&overlay, OBJSPACE + layout->objspace__total_time, 5);
	assert_int_equal(gc_info__clock(&overlay.memory, layout, VM_PTR, &ns), -ENODATA);
	assert_int_equal(gc_info__clock(&overlay.memory, layout, 0, &ns), -ENOTSUP);
	overlay_u64(&overlay, VM_PTR, 0);
	assert_int_equal(gc_info__clock(&overlay.memory, layout, VM_PTR, &ns), -EAGAIN);
	overlay.error = -ESRCH;
	assert_int_equal(gc_info__clock(&overlay.memory, layout, VM_PTR, &ns), -ESRCH);
	assert_false(gc_info__has_clock(layout_of("2.7.4")));
	assert_false(gc_info__has_clock(layout_of("3.0.0")));
	assert_int_equal(gc_info__clock(&overlay.memory, layout_of("2.7.4"), VM_PTR, &ns),
			 -ENOTSUP);
	assert_int_equal(ns, 42);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_one_clock),
		cmocka_unit_test(test_two_clocks),
		cmocka_unit_test(test_no_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
