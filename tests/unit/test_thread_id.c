/* SPDX-License-Identifier: BSD-2-Clause */
/* Object ids of threads, on memory that is laid out here: right ones, none, garbage, moving. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "user/ruby/layout.h"
#include "user/ruby/st_table.h"
#include "user/ruby/thread_id.h"

#include "overlay_memory.h"

#define VM_PTR	 0x10000ULL
#define VM	 0x20000ULL
#define OBJSPACE 0x30000ULL
#define TABLE	 0x40000ULL
#define BINS	 0x50000ULL
#define ENTRIES	 0x60000ULL
#define THREAD	 0x70000ULL
#define OBJECT	 0x80000ULL
#define FIELDS	 0x90000ULL
#define OUTSIDE	 0xa0000ULL
#define SHAPES	 0xb0000ULL
#define TREE	 0xc0000ULL
#define EDGE	 0x1231ULL

struct world {
	struct overlay overlay;
	struct thread_id_source source;
};

static uint64_t hash_of(uint64_t key)
{
	return (key >> 11 | key << 3) ^ key >> 3;
}

static const struct ruby_layout *layout_of(const char *version)
{
	int exact;

	return &layout__find(version, &exact)->layout;
}

static void lay_entry(struct world *world, uint64_t index, uint64_t key, uint64_t value)
{
	overlay_u64(&world->overlay, ENTRIES + index * 24, hash_of(key));
	overlay_u64(&world->overlay, ENTRIES + index * 24 + 8, key);
	overlay_u64(&world->overlay, ENTRIES + index * 24 + 16, value);
}

static void lay_table(struct world *world, unsigned char entry_power, unsigned char bin_power,
		      unsigned char size_index, uint64_t bins, uint64_t bound)
{
	const unsigned char powers[8] = { entry_power, bin_power, size_index };

	overlay_bytes(&world->overlay, TABLE, powers, sizeof(powers));
	overlay_u64(&world->overlay, TABLE + 8, 0);
	overlay_u64(&world->overlay, TABLE + 16, bound);
	overlay_u64(&world->overlay, TABLE + 24, bins);
	overlay_u64(&world->overlay, TABLE + 32, 0);
	overlay_u64(&world->overlay, TABLE + 40, bound);
	overlay_u64(&world->overlay, TABLE + 48, ENTRIES);
}

static void lay_object(struct world *world, uint64_t flags)
{
	const struct ruby_layout *layout = world->source.layout;

	overlay_u64(&world->overlay, THREAD + layout->th__self, OBJECT);
	overlay_u64(&world->overlay, OBJECT, flags);
	overlay_u64(&world->overlay, OBJECT + 8, 0);
	overlay_u64(&world->overlay, OBJECT + 16, FIELDS);
	overlay_u64(&world->overlay, OBJECT + 24, 0);
	overlay_u64(&world->overlay, OBJECT + 32, THREAD);
}

/* A thread with id 80 in a table of few entries. */
static void setup(struct world *world, const char *version)
{
	const struct ruby_layout *layout = layout_of(version);

	overlay_init(&world->overlay, NULL);
	world->source = (struct thread_id_source){
		.memory = &world->overlay.memory,
		.layout = layout,
		.vm_ptr_address = VM_PTR,
		.shape_tree_address = TREE,
	};
	overlay_u64(&world->overlay, VM_PTR, VM);
	overlay_u64(&world->overlay, VM + layout->vm__objspace, OBJSPACE);
	if (layout->objspace__obj_to_id_tbl != RUBY_NO_FIELD)
		overlay_u64(&world->overlay, OBJSPACE + layout->objspace__obj_to_id_tbl, TABLE);
	lay_object(world, RUBY_T_DATA | RUBY_FL_SEEN_OBJ_ID);
	lay_table(world, 4, 0, 0, 0, 3);
	lay_entry(world, 0, OBJECT - 40, 8 << 1 | 1);
	lay_entry(world, 1, OBJECT, 80 << 1 | 1);
	lay_entry(world, 2, OBJECT + 40, 16 << 1 | 1);
}

static int read_id(const struct world *world, int64_t *ret_id)
{
	*ret_id = 12345;
	return thread_id__read(&world->source, THREAD, OBJECT, ret_id);
}

static void assert_id(const struct world *world, int64_t expected)
{
	int64_t id;

	assert_int_equal(read_id(world, &id), 0);
	assert_int_equal(id, expected);
}

static void assert_unread(const struct world *world, int error)
{
	int64_t id;

	assert_int_equal(read_id(world, &id), error);
	assert_int_equal(id, 12345);
}

static const char *const with_table[] = { "2.7.4", "3.0.7", "3.1.2", "3.2.4", "3.3.8", "3.4.5" };

static void test_small_table(void **state)
{
	struct world world;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(with_table) / sizeof(with_table[0]); i++) {
		setup(&world, with_table[i]);
		assert_id(&world, 80);
	}
}

static void test_none_assigned(void **state)
{
	struct world world;

	(void)state;
	setup(&world, "3.1.2");
	lay_object(&world, RUBY_T_DATA);
	assert_id(&world, THREAD_ID_NONE);
}

static void test_bignum(void **state)
{
	struct world world;

	(void)state;
	setup(&world, "3.1.2");
	lay_entry(&world, 1, OBJECT, 0x123450);
	assert_id(&world, THREAD_ID_NONE);
}

static void lay_bin(struct world *world, uint64_t at, uint16_t bin)
{
	overlay_bytes(&world->overlay, BINS + at * 2, &bin, sizeof(bin));
}

/* Bins of two bytes; what stands in the way is passed: a deleted bin, then another's entry. */
static void test_bins(void **state)
{
	const uint64_t mask = 1023, hash = hash_of(OBJECT);
	uint64_t at = hash & mask, perturb = hash;
	struct world world;

	(void)state;
	setup(&world, "3.3.8");
	lay_table(&world, 9, 10, 1, BINS, 300);
	lay_bin(&world, at, 1);
	perturb >>= 11;
	at = (at * 5 + perturb + 1) & mask;
	lay_bin(&world, at, 2 + 2);
	perturb >>= 11;
	at = (at * 5 + perturb + 1) & mask;
	lay_bin(&world, at, 2 + 1);
	assert_id(&world, 80);
	assert_true(world.overlay.reads < 40);

	lay_bin(&world, at, 0);
	assert_unread(&world, -ENOENT); /* the flag says that it is there: not now */
}

/* Every bin leads to a wrong entry: it ends. */
static void test_endless_probing(void **state)
{
	struct world world;
	uint64_t at;

	(void)state;
	setup(&world, "3.3.8");
	lay_table(&world, 4, 5, 0, BINS, 16);
	for (at = 0; at < 32; at += 8)
		overlay_u64(&world.overlay, BINS + at, 0x0202020202020202ULL);
	assert_unread(&world, -EAGAIN);
}

static void test_garbage(void **state)
{
	struct world world;

	(void)state;
	setup(&world, "3.1.2");
	lay_table(&world, 200, 0, 0, 0, 3);
	assert_unread(&world, -EINVAL);
	setup(&world, "3.1.2");
	lay_table(&world, 4, 255, 0, 0, 3);
	assert_unread(&world, -EINVAL);
	setup(&world, "3.1.2");
	lay_table(&world, 4, 0, 9, 0, 3);
	assert_unread(&world, -EINVAL);
	setup(&world, "3.1.2");
	lay_table(&world, 30, 0, 0, 0, 1 << 20); /* no bins, yet many entries */
	assert_unread(&world, -EINVAL);
	setup(&world, "3.1.2");
	overlay_u64(&world.overlay, TABLE + 32, 7); /* it begins behind its end */
	assert_unread(&world, -EINVAL);
	setup(&world, "3.1.2");
	lay_entry(&world, 1, OBJECT, 2); /* neither an Integer nor an object */
	assert_unread(&world, -EINVAL);
	setup(&world, "3.1.2");
	lay_entry(&world, 1, OBJECT, UINT64_MAX); /* negative */
	assert_unread(&world, -EINVAL);
	setup(&world, "3.1.2");
	lay_entry(&world, 1, OBJECT, 80 << 1 | 1);
	overlay_u64(&world.overlay, ENTRIES + 24, 1); /* another's hash: a deleted entry */
	assert_unread(&world, -ENOENT);
}

static void test_other_thread(void **state)
{
	struct world world;

	(void)state;
	setup(&world, "3.1.2");
	overlay_u64(&world.overlay, THREAD + world.source.layout->th__self, OBJECT + 40);
	assert_unread(&world, -ESTALE);
	setup(&world, "3.1.2");
	overlay_u64(&world.overlay, OBJECT + 32, THREAD + 8);
	assert_unread(&world, -ESTALE);
	setup(&world, "3.1.2");
	lay_object(&world, RUBY_T_MOVED | RUBY_FL_SEEN_OBJ_ID);
	assert_unread(&world, -ESTALE);
	world.overlay.error = -ESRCH;
	assert_unread(&world, -ESRCH);
}

/* The object is freed, and its place taken, once its id has been read. */
static void replace_object(struct overlay *overlay, const struct memory_range *range)
{
	if (range->address == ENTRIES + 24)
		overlay_u64(overlay, THREAD + layout_of("3.1.2")->th__self, OBJECT + 80);
}

static void test_replaced_meanwhile(void **state)
{
	struct world world;

	(void)state;
	setup(&world, "3.1.2");
	world.overlay.after_range = replace_object;
	assert_unread(&world, -ESTALE);
}

/* The table grows, again and again, while it is searched: its entries move away. */
static void move_entries(struct overlay *overlay, const struct memory_range *range)
{
	static uint64_t place;

	if (range->address == ENTRIES + 24)
		overlay_u64(overlay, TABLE + 48, ENTRIES + (++place << 20));
	else if (range->address == TABLE + 48)
		overlay_u64(overlay, TABLE + 48, ENTRIES);
}

static void test_table_moves(void **state)
{
	struct world world;

	(void)state;
	setup(&world, "3.1.2");
	world.overlay.after_range = move_entries;
	assert_unread(&world, -EAGAIN);
}

/* ---- 4.0 ---- */

static void lay_shape(struct world *world, uint64_t index, uint8_t type, uint16_t next,
		      uint32_t parent)
{
	unsigned char bytes[40] = { 0 };
	const uint64_t edge = EDGE;

	memcpy(bytes + 8, &edge, sizeof(edge));
	memcpy(bytes + 24, &parent, sizeof(parent));
	memcpy(bytes + 28, &next, sizeof(next));
	bytes[32] = type;
	overlay_bytes(&world->overlay, SHAPES + index * 40, bytes, sizeof(bytes));
}

static uint64_t shape_flags(const struct ruby_layout *layout, uint64_t index, bool is_complex)
{
	uint64_t shape = index | 1ULL << layout->shape_object_id_bit;

	if (is_complex)
		shape |= 1ULL << layout->shape_complex_bit;
	return shape << 32 | RUBY_T_DATA;
}

/* An instance variable, then the id, then another variable. */
static void setup_shapes(struct world *world, const char *version)
{
	const struct ruby_layout *layout;

	setup(world, version);
	layout = world->source.layout;
	overlay_u64(&world->overlay, TREE + layout->shape_tree__shape_list, SHAPES);
	lay_shape(world, 7, 1, 3, 6);
	lay_shape(world, 6, 2, 2, 5);
	lay_shape(world, 5, 1, 1, 0);
	lay_object(world, shape_flags(layout, 7, false));
	overlay_u64(&world->overlay, FIELDS,
		    RUBY_T_IMEMO | (uint64_t)layout->imemo_fields << RUBY_FL_USHIFT);
	overlay_u64(&world->overlay, FIELDS + 16, 8 << 1 | 1);
	overlay_u64(&world->overlay, FIELDS + 24, 80 << 1 | 1);
	overlay_u64(&world->overlay, FIELDS + 32, 16 << 1 | 1);
}

static void test_shapes(void **state)
{
	struct world world;

	(void)state;
	setup_shapes(&world, "4.0.0");
	assert_id(&world, 80);
	setup_shapes(&world, "4.0.6");
	assert_id(&world, 80);
	lay_object(&world, 7ULL << 32 | RUBY_T_DATA);
	assert_id(&world, THREAD_ID_NONE);
	world.source.shape_tree_address = 0;
	assert_id(&world, THREAD_ID_NONE); /* that it has none is told without shapes */
	setup_shapes(&world, "4.0.0");
	world.source.shape_tree_address = 0;
	assert_unread(&world, -ENOTSUP);
}

static void test_fields_outside(void **state)
{
	struct world world;

	(void)state;
	setup_shapes(&world, "4.0.0");
	overlay_u64(&world.overlay, FIELDS,
		    RUBY_T_IMEMO | RUBY_FIELDS_HEAP | 13ULL << RUBY_FL_USHIFT);
	overlay_u64(&world.overlay, FIELDS + 16, OUTSIDE);
	overlay_u64(&world.overlay, OUTSIDE + 8, 88 << 1 | 1);
	assert_id(&world, 88);
}

static void test_complex(void **state)
{
	struct world world;

	(void)state;
	setup_shapes(&world, "4.0.0");
	lay_object(&world, shape_flags(world.source.layout, 1, true));
	lay_shape(&world, 1, 2, 1, 0);
	overlay_u64(&world.overlay, FIELDS,
		    RUBY_T_IMEMO | RUBY_FIELDS_HEAP | 13ULL << RUBY_FL_USHIFT);
	overlay_u64(&world.overlay, FIELDS + 16, TABLE);
	lay_entry(&world, 2, EDGE, 96 << 1 | 1);
	assert_id(&world, 96);
}

static void test_shapes_garbage(void **state)
{
	struct world world;

	(void)state;
	setup_shapes(&world, "4.0.0");
	lay_shape(&world, 6, 1, 2, 7); /* a circle */
	assert_unread(&world, -ELOOP);
	setup_shapes(&world, "4.0.0");
	lay_shape(&world, 6, 1, 2, UINT32_MAX);
	assert_unread(&world, -EINVAL);
	setup_shapes(&world, "4.0.0");
	lay_shape(&world, 6, 2, 0, 5);
	assert_unread(&world, -EINVAL);
	setup_shapes(&world, "4.0.0");
	overlay_u64(&world.overlay, FIELDS, RUBY_T_STRING);
	assert_unread(&world, -EINVAL);
	setup_shapes(&world, "4.0.0");
	overlay_u64(&world.overlay, OBJECT + 16, 3);
	assert_unread(&world, -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small_table),	cmocka_unit_test(test_none_assigned),
		cmocka_unit_test(test_bignum),		cmocka_unit_test(test_bins),
		cmocka_unit_test(test_endless_probing), cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_other_thread),	cmocka_unit_test(test_replaced_meanwhile),
		cmocka_unit_test(test_table_moves),	cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_fields_outside),	cmocka_unit_test(test_complex),
		cmocka_unit_test(test_shapes_garbage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
