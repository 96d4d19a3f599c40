/* SPDX-License-Identifier: BSD-2-Clause */
/* A copy of a stack counts as one instant only if nothing was called while it was taken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>

#include "overlay_memory.h"
#include "user/ruby/layout.h"
#include "user/ruby/stack_copy.h"

#define THREAD	    0x10000
#define EC	    0x20000
#define STACK	    0x30000
#define STACK_WORDS 64
#define END	    (STACK + 8 * STACK_WORDS)
#define ISEQ	    0x50000
#define PC	    0x60000
#define FRAMES	    2

struct fixture {
	struct overlay overlay;
	const struct ruby_layout *layout;
	uint64_t cfp;
	int calls;
};

static uint64_t env_of(int i)
{
	return STACK + 0x40 * (uint64_t)i + 0x10;
}

/* Frame 0 is the innermost. */
static void set_frame(struct fixture *f, int i, uint64_t iseq)
{
	const struct ruby_layout *layout = f->layout;
	const uint64_t env[3] = { 0, 0, RUBY_ENV_FLAG_LOCAL };
	unsigned char frame[64] = { 0 };
	const uint64_t pc = PC, ep = env_of(i), self = 0x7000 + (uint64_t)i;

	memcpy(frame + layout->cfp__pc, &pc, 8);
	memcpy(frame + layout->cfp__iseq, &iseq, 8);
	memcpy(frame + layout->cfp__ep, &ep, 8);
	memcpy(frame + layout->cfp__self, &self, 8);
	overlay_bytes(&f->overlay, f->cfp + (uint64_t)i * layout->cfp__sizeof, frame,
		      layout->cfp__sizeof);
	overlay_bytes(&f->overlay, env_of(i) - 16, env, sizeof(env));
}

static int setup(void **state)
{
	static struct fixture fixture;
	unsigned char zeros[64] = { 0 };
	const struct ruby_layout *layout;
	uint64_t at;
	int exact;

	memset(&fixture, 0, sizeof(fixture));
	layout = fixture.layout = &layout__find("3.1.2", &exact)->layout;
	overlay_init(&fixture.overlay, NULL);
	fixture.overlay.context = &fixture;
	fixture.cfp = END - (uint64_t)(FRAMES + 1) * layout->cfp__sizeof;
	for (at = 0; at < 128; at += 8)
		overlay_u64(&fixture.overlay, EC + at, 0);
	overlay_u64(&fixture.overlay, EC + layout->ec__thread_ptr, THREAD);
	overlay_u64(&fixture.overlay, EC + layout->ec__cfp, fixture.cfp);
	overlay_u64(&fixture.overlay, EC + layout->ec__vm_stack, STACK);
	overlay_u64(&fixture.overlay, EC + layout->ec__vm_stack_size, STACK_WORDS);
	overlay_u64(&fixture.overlay, THREAD + layout->th__ec, EC);
	set_frame(&fixture, 0, ISEQ);
	set_frame(&fixture, 1, ISEQ + 0x100);
	overlay_bytes(&fixture.overlay, END - layout->cfp__sizeof, zeros, layout->cfp__sizeof);
	/* What lies between the environments. */
	for (at = STACK; at < fixture.cfp; at += 8) {
		if (at >= env_of(0) - 16 && at <= env_of(0))
			continue;
		if (at >= env_of(1) - 16 && at <= env_of(1))
			continue;
		if (at < env_of(1) + 8)
			overlay_u64(&fixture.overlay, at, 0);
	}
	*state = &fixture;
	return 0;
}

static void quiet(void **state)
{
	struct fixture *f = *state;
	struct stack_copy copy;

	assert_int_equal(stack_copy__read(&f->overlay.memory, f->layout, THREAD, 100, &copy), 0);
	assert_true(copy.is_instant);
	assert_int_equal(copy.ec, EC);
	assert_int_equal(copy.stack.count, FRAMES);
	assert_int_equal(copy.stack.error, 0);
	assert_int_equal(copy.stack.frames[0].iseq, ISEQ);
	assert_int_equal(copy.stack.frames[1].iseq, ISEQ + 0x100);
	assert_int_equal(copy.newest_count, FRAMES);
	assert_int_equal(copy.newest[0], 0x7000);
	assert_int_equal(copy.newest[1], 0x7001);
	free(copy.stack.frames);
}

/* The innermost method returns and another is called, each time the frames were read. */
static void call_another(struct overlay *overlay, const struct memory_range *range)
{
	struct fixture *f = overlay->context;

	if (range->address == f->cfp && range->size > f->layout->cfp__sizeof)
		set_frame(f, 0, ISEQ + 0x1000 * (uint64_t)++f->calls);
}

static void always_calling(void **state)
{
	struct fixture *f = *state;
	struct stack_copy copy;

	f->overlay.after_range = call_another;
	assert_int_equal(stack_copy__read(&f->overlay.memory, f->layout, THREAD, 100, &copy), 0);
	assert_false(copy.is_instant);
	free(copy.stack.frames);
}

/* The same, but it comes to rest. */
static void call_thrice(struct overlay *overlay, const struct memory_range *range)
{
	const struct fixture *f = overlay->context;

	if (f->calls < 3)
		call_another(overlay, range);
}

static void calling_at_first(void **state)
{
	struct fixture *f = *state;
	struct stack_copy copy;

	f->overlay.after_range = call_thrice;
	assert_int_equal(stack_copy__read(&f->overlay.memory, f->layout, THREAD, 100, &copy), 0);
	assert_true(copy.is_instant);
	assert_int_equal(copy.stack.frames[0].iseq, ISEQ + 0x3000);
	free(copy.stack.frames);
}

static void no_thread(void **state)
{
	struct fixture *f = *state;
	struct stack_copy copy;

	/* An execution context of another thread; none; not mapped. */
	overlay_u64(&f->overlay, EC + f->layout->ec__thread_ptr, THREAD + 8);
	assert_int_equal(stack_copy__read(&f->overlay.memory, f->layout, THREAD, 100, &copy),
			 -EINVAL);
	overlay_u64(&f->overlay, THREAD + f->layout->th__ec, 0);
	assert_int_equal(stack_copy__read(&f->overlay.memory, f->layout, THREAD, 100, &copy),
			 -EINVAL);
	assert_int_equal(stack_copy__read(&f->overlay.memory, f->layout, 0x99000, 100, &copy),
			 -EFAULT);
}

static void absurd_bounds(void **state)
{
	static const uint64_t cfps[] = { 0, STACK - 64, END, END + 4096, STACK + 4, UINT64_MAX };
	struct fixture *f = *state;
	struct stack_copy copy;

	for (size_t i = 0; i < sizeof(cfps) / sizeof(cfps[0]); i++) {
		overlay_u64(&f->overlay, EC + f->layout->ec__cfp, cfps[i]);
		assert_int_equal(
			stack_copy__read(&f->overlay.memory, f->layout, THREAD, 100, &copy), 0);
		assert_false(copy.is_instant);
		assert_int_equal(copy.stack.count, 0);
		assert_int_equal(copy.stack.error, RBPROF_E_STACK_BOUNDS);
		free(copy.stack.frames);
	}
	overlay_u64(&f->overlay, EC + f->layout->ec__cfp, f->cfp);
	overlay_u64(&f->overlay, EC + f->layout->ec__vm_stack_size, UINT64_MAX);
	assert_int_equal(stack_copy__read(&f->overlay.memory, f->layout, THREAD, 100, &copy), 0);
	assert_int_equal(copy.stack.count, 0);
	free(copy.stack.frames);
}

static int read_zeros(struct memory *memory, const struct memory_range *ranges, size_t count)
{
	(void)memory;
	for (size_t i = 0; i < count; i++)
		memset(ranges[i].into, 0, ranges[i].size);
	return 0;
}

/* A method entry on a page of its own, with its definition on another. */
static void set_method(struct fixture *f, int i, uint64_t entry, uint64_t definition)
{
	const struct ruby_layout *layout = f->layout;
	const uint64_t env[3] = { entry, 0, RUBY_ENV_FLAG_LOCAL };

	overlay_u64(&f->overlay, entry, RUBY_T_IMEMO | RUBY_IMEMO_MENT << RUBY_FL_USHIFT);
	overlay_u64(&f->overlay, entry + layout->cme__def, definition);
	overlay_u64(&f->overlay, definition + layout->def__method_serial, 70 + (uint64_t)i);
	overlay_bytes(&f->overlay, env_of(i) - 16, env, sizeof(env));
}

/* Methods cost no read each: the pages of all are read in one call, those of definitions too. */
static void methods(void **state)
{
	static const struct memory_ops ops = { .read = read_zeros, .close = NULL };
	struct memory zeros = { .ops = &ops };
	struct fixture *f = *state;
	struct stack_copy copy;

	f->overlay.base = &zeros;
	set_method(f, 0, 0x100000, 0x200040);
	set_method(f, 1, 0x110000, 0x210040);
	/* The context's address, it, frames, environments, method entries, definitions. */
	f->overlay.reads = 0;
	assert_int_equal(stack_copy__read_still(&f->overlay.memory, f->layout, THREAD, 100, &copy),
			 0);
	assert_int_equal(f->overlay.reads, 6);
	assert_int_equal(copy.stack.count, FRAMES);
	for (uint64_t i = 0; i < FRAMES; i++) {
		assert_int_equal(copy.stack.frames[i].method_entry, 0x100000 + 0x10000 * i);
		assert_int_equal(copy.stack.frames[i].method_serial, 70 + i);
	}
	free(copy.stack.frames);
	/* Without those pages each is read for itself, if it can be. */
	f->overlay.base = NULL;
	assert_int_equal(stack_copy__read_still(&f->overlay.memory, f->layout, THREAD, 100, &copy),
			 0);
	assert_int_equal(copy.stack.count, FRAMES);
	assert_int_equal(copy.stack.frames[1].method_entry, RBPROF_METHOD_UNREADABLE);
	free(copy.stack.frames);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(quiet, setup),
		cmocka_unit_test_setup(always_calling, setup),
		cmocka_unit_test_setup(calling_at_first, setup),
		cmocka_unit_test_setup(no_thread, setup),
		cmocka_unit_test_setup(absurd_bounds, setup),
		cmocka_unit_test_setup(methods, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
