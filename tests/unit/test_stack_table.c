/* SPDX-License-Identifier: BSD-2-Clause */
/* The tree of stacks against a list of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "user/agg/stack_table.h"

enum { STACKS = 4000, DEPTH = 40, FRAMES = 5 };

struct made {
	uint32_t frames[DEPTH];
	size_t count;
};

static uint32_t draw(uint32_t *state)
{
	*state = *state * 1103515245 + 12345;
	return *state >> 16;
}

/* Half of them go on from the one before, as a program's stacks do. */
static void make(struct made *made, const struct made *before, uint32_t *state)
{
	size_t kept = before && draw(state) % 2 ? draw(state) % (before->count + 1) : 0;

	made->count = kept + draw(state) % (DEPTH + 1 - kept);
	/* The root is last. */
	for (size_t i = 0; i < kept; i++)
		made->frames[made->count - 1 - i] = before->frames[before->count - 1 - i];
	for (size_t i = kept; i < made->count; i++)
		made->frames[made->count - 1 - i] = draw(state) % FRAMES;
}

static void check_nodes(const struct stack_table *table)
{
	assert_true(table->node_count > 1);
	for (uint32_t i = 1; i < table->node_count; i++)
		assert_true(table->nodes[i].parent < i);
	for (uint32_t i = 0; i < table->count; i++)
		assert_true(table->stacks[i].node < table->node_count);
}

static void stacks_are_as_they_were_added(void **state)
{
	struct made *made = calloc(STACKS, sizeof(*made));
	uint32_t *ids = calloc(STACKS, sizeof(*ids)), seed = 11, next = 0;
	struct stack_table table = { 0 };

	(void)state;
	for (int i = 0; i < STACKS; i++) {
		uint32_t before = table.count;

		make(&made[i], i ? &made[i - 1] : NULL, &seed);
		ids[i] = stack_table__add(&table, made[i].frames, made[i].count);
		/* A new one has the next id. */
		assert_true(ids[i] < before || (ids[i] == next && table.count == next + 1));
		next = table.count;
	}
	for (int i = 0; i < STACKS; i++) {
		struct profile_stack stack = stack_table__at(&table, ids[i]);

		assert_int_equal(stack.count, made[i].count);
		assert_int_equal(table.stacks[ids[i]].depth, made[i].count);
		assert_memory_equal(stack.frames, made[i].frames,
				    made[i].count * sizeof(*made[i].frames));
		assert_int_equal(stack_table__add(&table, made[i].frames, made[i].count), ids[i]);
	}
	assert_int_equal(table.count, next);
	check_nodes(&table);
	stack_table__free(&table);
	free(made);
	free(ids);
}

/* Frames that get one number make stacks that were two one. */
static void all_stacks_of_another_table(void **state)
{
	static const uint32_t numbers[FRAMES] = { 7, 3, 7, 9, 3 };
	struct stack_table from = { 0 }, one_by_one = { 0 }, all = { 0 };
	uint32_t *ids = calloc(STACKS, sizeof(*ids)), seed = 5;
	struct made made, before = { .count = 0 };

	(void)state;
	for (int i = 0; i < STACKS; i++) {
		make(&made, &before, &seed);
		stack_table__add(&from, made.frames, made.count);
		before = made;
	}
	assert_int_equal(stack_table__add_all(&all, &from, numbers, ids), 0);
	for (uint32_t i = 0; i < from.count; i++) {
		struct profile_stack stack = stack_table__at(&from, i);

		for (uint32_t j = 0; j < stack.count; j++)
			made.frames[j] = numbers[stack.frames[j]];
		assert_int_equal(stack_table__add(&one_by_one, made.frames, stack.count), ids[i]);
		assert_int_equal(stack_table__add(&all, made.frames, stack.count), ids[i]);
	}
	assert_true(all.count < from.count);
	assert_int_equal(all.count, one_by_one.count);
	assert_int_equal(all.depth, one_by_one.depth);
	check_nodes(&all);
	stack_table__free(&from);
	stack_table__free(&one_by_one);
	stack_table__free(&all);
	free(ids);
}

/* A stack that ends within another one is its own, whichever came first. */
static void beginnings_are_stacks_only_if_added(void **state)
{
	const uint32_t frames[] = { 3, 2, 1 };
	struct stack_table table = { 0 };

	(void)state;
	assert_int_equal(stack_table__add(&table, frames, 3), 0);
	assert_int_equal(table.count, 1);
	assert_int_equal(stack_table__add(&table, frames + 2, 1), 1);
	assert_int_equal(stack_table__add(&table, NULL, 0), 2);
	assert_int_equal(stack_table__add(&table, frames + 1, 2), 3);
	assert_int_equal(stack_table__add(&table, frames, 3), 0);
	assert_int_equal(table.node_count, 4);
	assert_int_equal(table.depth, 3);
	assert_int_equal(stack_table__at(&table, 2).count, 0);
	assert_int_equal(stack_table__at(&table, 4).count, 0);
	assert_null(stack_table__at(&table, 4).frames);
	stack_table__free(&table);
}

/* One caller of very many. */
static void a_node_may_have_many_children(void **state)
{
	struct stack_table table = { 0 };
	uint32_t frames[2] = { 0, 7 };

	(void)state;
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 100000; i++) {
			frames[0] = i;
			assert_int_equal(stack_table__add(&table, frames, 2), i);
		}
	}
	assert_int_equal(table.node_count, 100002);
	check_nodes(&table);
	stack_table__free(&table);
}

/* What is shared costs nothing again. */
static void deep_stacks_share_their_beginning(void **state)
{
	enum { DEEP = 1000, LEAVES = 10000 };
	struct stack_table table = { 0 };
	uint32_t frames[DEEP + 1];

	(void)state;
	for (uint32_t i = 0; i <= DEEP; i++)
		frames[i] = i;
	for (uint32_t i = 0; i < LEAVES; i++) {
		frames[0] = DEEP + 1 + i;
		stack_table__add(&table, frames, DEEP + 1);
	}
	assert_int_equal(table.count, LEAVES);
	assert_int_equal(table.node_count, 1 + DEEP + LEAVES);
	assert_true(stack_table__bytes(&table) < (size_t)LEAVES * DEEP);
	stack_table__free(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_are_as_they_were_added),
		cmocka_unit_test(all_stacks_of_another_table),
		cmocka_unit_test(beginnings_are_stacks_only_if_added),
		cmocka_unit_test(a_node_may_have_many_children),
		cmocka_unit_test(deep_stacks_share_their_beginning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
