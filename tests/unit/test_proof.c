/* SPDX-License-Identifier: BSD-2-Clause */
/* The proof of a layout, on the memory of a real Ruby 3.1.2. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "overlay_memory.h"
#include "user/ruby/layout.h"
#include "user/ruby/threads.h"
#include "user/util/memory_fixture.h"

#define FIXTURE "tests/fixtures/names-3.1.2.gz"

static struct fixture *fixture;
static struct ruby_layout layout;

static int setup(void **state)
{
	int exact;

	(void)state;
	layout = layout__find("3.1.2", &exact)->layout;
	return fixture__load(FIXTURE, &fixture);
}

static int teardown(void **state)
{
	(void)state;
	fixture__free(fixture);
	return 0;
}

static int prove(struct memory *memory, const struct ruby_layout *with, const char **ret_why)
{
	*ret_why = NULL;
	return layout__prove(memory, with, fixture->vm_ptr_address, fixture->symbols_address,
			     ret_why);
}

static void fits(void **state)
{
	const char *why;

	(void)state;
	assert_int_equal(prove(fixture->memory, &layout, &why), 0);
	assert_null(why);
	/* C functions stay unnamed without the symbol table, but the rest is proved. */
	assert_int_equal(layout__prove(fixture->memory, &layout, fixture->vm_ptr_address, 0, &why),
			 0);
}

#define FIELD(name) { #name, offsetof(struct ruby_layout, name) }
static const struct {
	const char *name;
	size_t at;
} fields[] = {
	FIELD(ec__vm_stack),
	FIELD(ec__vm_stack_size),
	FIELD(ec__cfp),
	FIELD(ec__thread_ptr),
	FIELD(cfp__pc),
	FIELD(cfp__iseq),
	FIELD(cfp__ep),
	FIELD(cfp__sizeof),
	FIELD(iseq__body),
	FIELD(body__type),
	FIELD(body__iseq_size),
	FIELD(body__iseq_encoded),
	FIELD(body__pathobj),
	FIELD(body__base_label),
	FIELD(body__label),
	FIELD(body__first_lineno),
	FIELD(body__insns_info_body),
	FIELD(body__insns_info_size),
	FIELD(body__succ_index_table),
	FIELD(body__parent_iseq),
	FIELD(body__local_iseq),
	FIELD(insn_info__sizeof),
	FIELD(th__lt_node),
	FIELD(th__self),
	FIELD(th__vm),
	FIELD(th__ec),
	FIELD(th__thread_id),
	FIELD(th__tid),
	FIELD(th__name),
	FIELD(vm__main_thread),
	FIELD(vm__ractor_set),
	FIELD(vm__objspace),
	FIELD(ractor__threads_set),
	FIELD(ractor__vmlr_node),
	FIELD(cme__defined_class),
	FIELD(cme__def),
	FIELD(def__original_id),
	FIELD(rbasic__klass),
	FIELD(rstring__len),
	FIELD(rstring__heap_ptr),
	FIELD(rstring__embed),
	FIELD(rclass__super),
	FIELD(rclass__classext_ptr),
	FIELD(classext__iv_tbl),
	FIELD(rdata__data),
	FIELD(st_table__entries),
	FIELD(st_entry__key),
	FIELD(st_entry__record),
	FIELD(st_entry__sizeof),
	FIELD(symbols__ids),
};

/* Every field that stacks and names rest on: a table in which one is off must not pass. */
static void one_field_off(void **state)
{
	static const int shifts[] = { 8, -8 };
	size_t i, k, passed = 0;

	(void)state;
	for (i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		for (k = 0; k < 2; k++) {
			struct ruby_layout wrong = layout;
			const char *why = NULL;
			uint16_t value;
			int err;

			memcpy(&value, (char *)&wrong + fields[i].at, sizeof(value));
			if (value + shifts[k] < 0)
				continue;
			value = (uint16_t)(value + shifts[k]);
			memcpy((char *)&wrong + fields[i].at, &value, sizeof(value));
			err = prove(fixture->memory, &wrong, &why);
			if (err == 0) {
				print_error("%s off by %d passes\n", fields[i].name, shifts[k]);
				passed++;
			}
			if (err > 0)
				assert_non_null(why);
		}
	}
	assert_int_equal(passed, 0);
}

static void not_up_yet(void **state)
{
	struct overlay overlay;
	const char *why;

	(void)state;
	overlay_init(&overlay, fixture->memory);
	overlay_u64(&overlay, fixture->vm_ptr_address, 0);
	assert_int_equal(prove(&overlay.memory, &layout, &why), -EAGAIN);
}

static void process_gone(void **state)
{
	struct overlay overlay;
	const char *why;

	(void)state;
	overlay_init(&overlay, fixture->memory);
	overlay.error = -ESRCH;
	assert_int_equal(prove(&overlay.memory, &layout, &why), -ESRCH);
	overlay.error = -EPERM;
	assert_int_equal(prove(&overlay.memory, &layout, &why), -EPERM);
}

static void threads(void **state)
{
	struct ruby_thread *list;
	size_t count, i, mains = 0;

	(void)state;
	assert_int_equal(
		threads__list(fixture->memory, &layout, fixture->vm_ptr_address, &list, &count), 0);
	assert_int_equal(count, fixture->stack_count);
	for (i = 0; i < count; i++) {
		assert_true(list[i].address == fixture->stacks[i].thread);
		assert_true(list[i].ec == fixture->stacks[i].ec);
		assert_true(list[i].tid > 0);
		assert_true(list[i].pthread);
		assert_int_equal(list[i].ractor_id, 1);
		mains += list[i].is_main;
	}
	assert_int_equal(mains, 1);
	free(list);
}

static void endless_list(void **state)
{
	struct overlay overlay;
	struct ruby_thread *list;
	uint64_t vm, ractor, node;
	size_t count;

	(void)state;
	/* The first thread's link leads back to itself. */
	overlay_init(&overlay, fixture->memory);
	assert_int_equal(memory__read_u64(fixture->memory, fixture->vm_ptr_address, &vm), 0);
	assert_int_equal(memory__read_u64(fixture->memory, vm + layout.vm__ractor_set, &ractor), 0);
	ractor -= layout.ractor__vmlr_node;
	assert_int_equal(
		memory__read_u64(fixture->memory, ractor + layout.ractor__threads_set, &node), 0);
	overlay_u64(&overlay, node, node);
	assert_true(threads__list(&overlay.memory, &layout, fixture->vm_ptr_address, &list,
				  &count) < 0);
	overlay_u64(&overlay, node + 8, node);
	assert_true(threads__list(&overlay.memory, &layout, fixture->vm_ptr_address, &list,
				  &count) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fits),	      cmocka_unit_test(one_field_off),
		cmocka_unit_test(not_up_yet), cmocka_unit_test(process_gone),
		cmocka_unit_test(threads),    cmocka_unit_test(endless_list),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
