/* SPDX-License-Identifier: BSD-2-Clause */
/* When a name counts as proved, on a VM of one object that the test makes up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "overlay_memory.h"
#include "user/ruby/layout.h"
#include "user/ruby/proof.h"

#define VM_PTR	 0x10000
#define VM	 0x20000
#define OBJSPACE 0x30000
#define OBJECT	 0x40000
#define AGED	 0x60 /* FL_PROMOTED0 and 1 */

#define MODE_NONE     0
#define MODE_MARKING  1
#define MODE_SWEEPING 2
#define DURING_GC     0x20
#define COMPACTING    0x40

struct fixture {
	struct overlay overlay;
	const struct ruby_layout *layout;
	struct prover *prover;
	struct proof proof;
};

static void set_gc(struct fixture *f, uint64_t count, uint32_t flags, uint64_t majors)
{
	overlay_u32(&f->overlay, OBJSPACE + f->layout->objspace__flags, flags);
	overlay_u64(&f->overlay, OBJSPACE + f->layout->objspace__profile_count, count);
	overlay_u64(&f->overlay, OBJSPACE + f->layout->objspace__profile_major_gc_count, majors);
}

static void set_object(struct fixture *f, uint64_t flags, uint64_t word)
{
	overlay_u64(&f->overlay, OBJECT, flags);
	overlay_u64(&f->overlay, OBJECT + 8, word);
}

/* Reads the object as a name would, and makes a proof of it that holds for nothing yet. */
static void read_object(struct fixture *f)
{
	struct reader reader;
	uint64_t word;

	proof__free(&f->proof);
	reader__init(&reader, &f->overlay.memory, f->layout);
	assert_int_equal(reader__object(&reader, OBJECT, RUBY_T_MASK, &word), 0);
	assert_int_equal(reader__word(&reader, OBJECT + 8, &word), 0);
	reader__mark_key(&reader, 1);
	proof__init(&f->proof, &reader);
	reader__free(&reader);
}

static int setup(void **state)
{
	static struct fixture fixture;
	int exact;

	memset(&fixture, 0, sizeof(fixture));
	fixture.layout = &layout__find("3.1.2", &exact)->layout;
	overlay_init(&fixture.overlay, NULL);
	overlay_u64(&fixture.overlay, VM_PTR, VM);
	overlay_u64(&fixture.overlay, VM + fixture.layout->vm__objspace, OBJSPACE);
	set_gc(&fixture, 10, MODE_NONE, 3);
	set_object(&fixture, RUBY_T_STRING, 1);
	assert_int_equal(
		prover__new(&fixture.overlay.memory, fixture.layout, VM_PTR, &fixture.prover), 0);
	read_object(&fixture);
	*state = &fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	proof__free(&f->proof);
	prover__free(f->prover);
	return 0;
}

static struct gc_point point(uint64_t count, uint32_t flags)
{
	const struct rbprof_gc_state state = { .count = count, .flags = flags };

	return gc_point__of(&state);
}

static enum proof_result check(struct fixture *f, uint64_t count, uint32_t flags)
{
	const struct gc_point sample = point(count, flags);
	struct proof *proof = &f->proof;
	enum proof_result result;

	prover__check(f->prover, &proof, 1, &sample, &result);
	return result;
}

static void points(void **state)
{
	(void)state;
	assert_int_equal(point(5, MODE_NONE).period, 5);
	assert_int_equal(point(5, MODE_SWEEPING).period, 5);
	/* Marking: the fifth is not complete. */
	assert_int_equal(point(5, MODE_MARKING | DURING_GC).period, 4);
	/* Begin or end of a cycle: the earlier of the two. */
	assert_int_equal(point(5, MODE_NONE | DURING_GC).period, 4);
	assert_true(point(5, MODE_NONE | DURING_GC).edge);
	assert_int_equal(point(0, MODE_NONE).period, 0);
	assert_false(point(0, MODE_MARKING).known);
	assert_false(point(RBPROF_GC_STATE_UNKNOWN, 0).known);
	assert_true(point(5, MODE_SWEEPING | COMPACTING).moving);
	assert_false(point(5, MODE_MARKING | COMPACTING).moving);
	assert_true(point(5, MODE_MARKING | COMPACTING).compacting);
}

static void same_period(void **state)
{
	struct fixture *f = *state;
	struct gc_point sample = point(10, 0);
	size_t reads;

	assert_false(proof__holds(&f->proof, &sample));
	assert_int_equal(check(f, 10, MODE_NONE), PROOF_RIGHT);
	assert_true(proof__holds(&f->proof, &sample));
	/* Until the next marking is complete, nothing is freed. */
	set_gc(f, 11, MODE_MARKING | DURING_GC, 3);
	sample = point(11, MODE_MARKING);
	reads = f->overlay.reads;
	assert_true(proof__holds(&f->proof, &sample));
	assert_int_equal(f->overlay.reads, reads);
	sample = point(11, MODE_SWEEPING);
	assert_false(proof__holds(&f->proof, &sample));
}

static void first_seen_too_late(void **state)
{
	struct fixture *f = *state;

	set_gc(f, 11, MODE_SWEEPING, 3);
	assert_int_equal(check(f, 10, MODE_NONE), PROOF_GONE);
	set_gc(f, 15, MODE_NONE, 3);
	assert_int_equal(check(f, 10, MODE_NONE), PROOF_GONE);
	/* Nor is it known for a period between two in which it was the same. */
	set_gc(f, 10, MODE_NONE, 3);
	assert_int_equal(check(f, 10, MODE_NONE), PROOF_RIGHT);
	set_gc(f, 15, MODE_NONE, 3);
	assert_int_equal(check(f, 12, MODE_NONE), PROOF_GONE);
	assert_int_equal(check(f, 15, MODE_NONE), PROOF_RIGHT);
	assert_int_equal(check(f, 12, MODE_NONE), PROOF_GONE);
}

static void survivors(void **state)
{
	struct fixture *f = *state;

	set_object(f, RUBY_T_STRING | AGED, 1);
	set_gc(f, 11, MODE_SWEEPING, 3);
	assert_int_equal(check(f, 10, MODE_NONE), PROOF_RIGHT);
	/* While marking, an age may be of the marking under way. */
	set_gc(f, 13, MODE_MARKING, 3);
	assert_int_equal(check(f, 11, MODE_NONE), PROOF_GONE);
	/* Two periods later, what survived one marking may be new. */
	set_gc(f, 13, MODE_SWEEPING, 3);
	assert_int_equal(check(f, 11, MODE_NONE), PROOF_GONE);
	/* A sample at the very begin or end of a cycle belongs to either period. */
	set_gc(f, 14, MODE_SWEEPING, 3);
	assert_int_equal(check(f, 14, MODE_NONE | DURING_GC), PROOF_RIGHT);
}

/* The object is replaced by a new one of the same bytes between the two reads. */
static void replace_after(struct overlay *overlay, const struct memory_range *range)
{
	if (range->address == OBJECT + 8)
		overlay_u64(overlay, OBJECT, RUBY_T_STRING);
}

static void survivor_swept_meanwhile(void **state)
{
	struct fixture *f = *state;

	set_object(f, RUBY_T_STRING | AGED, 1);
	set_gc(f, 11, MODE_SWEEPING, 3);
	f->overlay.after_range = replace_after;
	assert_int_equal(check(f, 10, MODE_NONE), PROOF_GONE);
}

static void survivors_and_compaction(void **state)
{
	struct fixture *f = *state;

	f->proof.movable = true;
	set_object(f, RUBY_T_STRING | AGED, 1);
	/* No full marking since the prover began to watch: no compaction either. */
	set_gc(f, 11, MODE_SWEEPING, 3);
	assert_int_equal(check(f, 10, MODE_NONE), PROOF_RIGHT);
	set_gc(f, 12, MODE_SWEEPING, 4);
	assert_int_equal(check(f, 11, MODE_NONE), PROOF_GONE);
	/* While one is under way, a slot that was left is seen to be left. */
	set_gc(f, 13, MODE_SWEEPING | COMPACTING, 5);
	assert_int_equal(check(f, 13, MODE_NONE), PROOF_GONE);
	assert_int_equal(check(f, 13, MODE_SWEEPING | COMPACTING), PROOF_RIGHT);
	set_gc(f, 13, MODE_NONE, 5);
	assert_int_equal(check(f, 13, MODE_SWEEPING | COMPACTING), PROOF_GONE);
	/* What a pc tells apart may move. */
	f->proof.movable = false;
	assert_int_equal(check(f, 13, MODE_SWEEPING | COMPACTING), PROOF_RIGHT);
	assert_int_equal(check(f, 12, MODE_NONE), PROOF_RIGHT);
}

static void continuous(void **state)
{
	struct fixture *f = *state;

	f->proof.continuous = true;
	/* Not before it was proved once. */
	set_gc(f, 15, MODE_NONE, 3);
	assert_int_equal(check(f, 10, MODE_NONE), PROOF_GONE);
	assert_int_equal(check(f, 15, MODE_NONE), PROOF_RIGHT);
	set_gc(f, 20, MODE_NONE, 3);
	assert_int_equal(check(f, 17, MODE_NONE), PROOF_RIGHT);
	assert_int_equal(check(f, 18, MODE_SWEEPING | COMPACTING), PROOF_RIGHT);
	/* What was sampled before it was first seen may have been something else. */
	assert_int_equal(check(f, 14, MODE_NONE), PROOF_GONE);
	/* Once proved, only what tells who it is counts. */
	set_object(f, RUBY_T_ARRAY, 1);
	assert_int_equal(check(f, 19, MODE_NONE), PROOF_RIGHT);
	set_object(f, RUBY_T_STRING, 2);
	assert_int_equal(check(f, 20, MODE_NONE), PROOF_CHANGED);
}

static void changed(void **state)
{
	struct fixture *f = *state;

	set_object(f, RUBY_T_STRING, 2);
	assert_int_equal(check(f, 10, MODE_NONE), PROOF_CHANGED);
	/* Bits that change in a living object say nothing. */
	set_object(f, RUBY_T_STRING | AGED | 0x200 | 0x800, 1);
	assert_int_equal(check(f, 10, MODE_NONE), PROOF_RIGHT);
	set_object(f, RUBY_T_ARRAY, 1);
	assert_int_equal(check(f, 11, MODE_NONE), PROOF_CHANGED);
}

static void unknown_state(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(check(f, RBPROF_GC_STATE_UNKNOWN, 0), PROOF_GONE);
	set_gc(f, 0, MODE_NONE, 0);
	assert_int_equal(check(f, RBPROF_GC_STATE_UNKNOWN, 0), PROOF_RIGHT);
	set_gc(f, 1, MODE_MARKING, 0);
	assert_int_equal(check(f, RBPROF_GC_STATE_UNKNOWN, 0), PROOF_RIGHT);
	/* What was right once says nothing about an unknown time. */
	set_gc(f, 2, MODE_NONE, 0);
	assert_int_equal(check(f, RBPROF_GC_STATE_UNKNOWN, 0), PROOF_GONE);
}

static void gone_process(void **state)
{
	struct fixture *f = *state;
	struct gc_point sample = point(10, MODE_NONE);

	assert_int_equal(check(f, 10, MODE_NONE), PROOF_RIGHT);
	f->overlay.error = -ESRCH;
	assert_true(proof__holds(&f->proof, &sample));
	assert_int_equal(check(f, 11, MODE_NONE), PROOF_GONE);
}

static void unmapped(void **state)
{
	struct fixture *f = *state;
	struct proof other = f->proof, *both[2] = { &other, &f->proof };
	struct reader_range elsewhere = { .address = 0x50000, .size = 8 };
	const struct gc_point sample = point(10, MODE_NONE);
	enum proof_result results[2];

	/* One that is not mapped any more does not take the others with it. */
	other.ranges = &elsewhere;
	other.count = 1;
	other.bytes = 8;
	assert_int_equal(prover__check(f->prover, both, 2, &sample, results), 0);
	assert_int_equal(results[0], PROOF_CHANGED);
	assert_int_equal(results[1], PROOF_RIGHT);
}

/* The collector moves on while its state is read: flags, counters, flags. */
static void move_on(struct overlay *overlay, const struct memory_range *range)
{
	struct fixture *f = overlay->context;

	if (range->address == OBJSPACE + f->layout->objspace__profile_count)
		set_gc(f, 11, MODE_MARKING | DURING_GC, 3);
}

static void torn_state(void **state)
{
	struct fixture *f = *state;

	f->overlay.after_range = move_on;
	f->overlay.context = f;
	assert_int_equal(check(f, 10, MODE_NONE), PROOF_RIGHT);
	set_gc(f, 10, MODE_NONE, 3);
	assert_int_equal(check(f, 11, MODE_SWEEPING), PROOF_RIGHT);
}

static void vm_not_up(void **state)
{
	struct fixture *f = *state;
	struct prover *prover;
	struct rbprof_gc_state gc;
	uint64_t vm;

	overlay_u64(&f->overlay, VM_PTR, 0);
	assert_int_equal(prover__new(&f->overlay.memory, f->layout, VM_PTR, &prover), 0);
	assert_int_equal(prover__vm(prover, &vm), -EAGAIN);
	assert_int_equal(prover__state(prover, &gc), 0);
	assert_true(gc.count == RBPROF_GC_STATE_UNKNOWN);
	overlay_u64(&f->overlay, VM_PTR, VM);
	assert_int_equal(prover__state(prover, &gc), 0);
	assert_int_equal(gc.count, 10);
	prover__free(prover);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(points),
		TEST(same_period),
		TEST(first_seen_too_late),
		TEST(survivors),
		TEST(survivor_swept_meanwhile),
		TEST(survivors_and_compaction),
		TEST(continuous),
		TEST(changed),
		TEST(unknown_state),
		TEST(gone_process),
		TEST(unmapped),
		TEST(torn_state),
		TEST(vm_not_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
