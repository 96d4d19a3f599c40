/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Everything that reads the VM, on memory that the fuzzer makes up: either all of it, or that of
 * a real process (a fixture, where there is one) with words changed as they are read. Nothing
 * may crash, go on without end, or take memory for a length that was not checked.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "user/ruby/layout.h"
#include "user/ruby/names.h"
#include "user/ruby/st_table.h"
#include "user/ruby/stack.h"
#include "user/ruby/thread_id.h"
#include "user/ruby/threads.h"
#include "user/util/memory_fixture.h"

#define FIXTURE	   "tests/fixtures/names-3.1.2.gz"
#define MAX_STACKS 6
#define MAX_FRAMES 64

struct change {
	uint16_t read; /* which range, counted from the first one read */
	uint8_t at;    /* word in it */
	uint8_t op;
	uint64_t word;
};

struct hostile {
	struct memory memory;
	struct memory *base; /* NULL: all is made up */
	const uint8_t *data;
	size_t size;
	size_t reads;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The same address gives the same word, so structures hold together. */
static uint64_t made_up(const struct hostile *hostile, uint64_t address)
{
	uint64_t word = 0, at = (address >> 3) * 0x9e3779b97f4a7c15ULL;

	at = (at >> 32) % (hostile->size / 8 ? hostile->size / 8 : 1);
	memcpy(&word, hostile->data + at * 8, hostile->size < 8 ? hostile->size : 8);
	return word;
}

static int read_made_up(const struct hostile *hostile, const struct memory_range *range)
{
	uint64_t address = range->address;
	char *into = range->into;
	size_t i;

	if (address < 4096 || address >> 47)
		return -EFAULT;
	for (i = 0; i < range->size; i++) {
		uint64_t word = made_up(hostile, address + i);

		if (!((address + i) % 4096) && (word & 7) == 7)
			return -EFAULT;
		into[i] = (char)(word >> (address + i) % 8 * 8);
	}
	return 0;
}

static int read_changed(struct hostile *hostile, const struct memory_range *range)
{
	int err = memory__read_ranges(hostile->base, range, 1);
	struct change change;
	uint64_t word;
	size_t i;

	if (err)
		return err;
	for (i = 0; i + sizeof(change) <= hostile->size; i += sizeof(change)) {
		memcpy(&change, hostile->data + i, sizeof(change));
		if (change.read != hostile->reads || (change.at + 1u) * 8 > range->size)
			continue;
		memcpy(&word, (char *)range->into + change.at * 8, sizeof(word));
		switch (change.op % 4) {
		case 0:
			word = change.word;
			break;
		case 1:
			word ^= change.word;
			break;
		case 2:
			word += change.word;
			break;
		default:
			return -EFAULT;
		}
		memcpy((char *)range->into + change.at * 8, &word, sizeof(word));
	}
	return 0;
}

static int hostile_read(struct memory *memory, const struct memory_range *ranges, size_t count)
{
	struct hostile *hostile = (struct hostile *)memory;
	size_t i;
	int err = 0;

	for (i = 0; !err && i < count; i++, hostile->reads++)
		err = hostile->base ? read_changed(hostile, &ranges[i])
				    : read_made_up(hostile, &ranges[i]);
	return err;
}

static const struct memory_ops hostile_ops = { .read = hostile_read };

static void look_at(struct names *names, const struct rbprof_frame *frames, size_t count,
		    uint64_t thread, uint64_t name, const struct rbprof_gc_state *gc)
{
	uint32_t ids[MAX_FRAMES];

	if (count > MAX_FRAMES)
		count = MAX_FRAMES;
	if (names__frames(names, frames, count, gc, ids, NULL) > count)
		abort();
	names__thread(names, thread, name, 0, gc);
}

/* Object ids: of a thread that may be one, and what the tables they lie in may look like. */
static void look_for_id(struct hostile *hostile, const struct ruby_layout *layout,
			const struct names_roots *roots, uint64_t thread, uint64_t object)
{
	const struct thread_id_source source = { &hostile->memory, layout, roots->vm_ptr_address,
						 0x20000 };
	uint64_t value;
	int64_t id = 0;

	if (!thread_id__read(&source, thread, object, &id) && id < THREAD_ID_NONE)
		abort();
	if (!hostile->base)
		st_table__find(&hostile->memory, layout, thread, object, &value);
}

static void look_at_all(struct hostile *hostile, const struct ruby_layout *layout,
			const struct names_roots *roots, const struct fixture *fixture)
{
	static const struct profile_type type = { "cpu-time", "nanoseconds" };
	struct rbprof_gc_state gc = { .count = 1 };
	struct ruby_thread *threads = NULL;
	struct profile *profile;
	struct names *names;
	size_t count = 0, i;
	const char *why;
	struct stack stack;

	layout__prove(&hostile->memory, layout, roots->vm_ptr_address, roots->symbols_address,
		      &why);
	if (profile__new(&type, 1, &profile))
		return;
	if (names__new(&hostile->memory, layout, roots, profile, &names))
		goto out;
	names__gc_state(names, &gc);
	if (threads__list(&hostile->memory, layout, roots->vm_ptr_address, &threads, &count))
		count = 0;
	for (i = 0; i < count && i < MAX_STACKS; i++) {
		look_for_id(hostile, layout, roots, threads[i].address, threads[i].self);
		if (stack__read(&hostile->memory, layout, threads[i].ec, MAX_FRAMES, &stack))
			continue;
		look_at(names, stack.frames, stack.count, threads[i].address, threads[i].name, &gc);
		free(stack.frames);
	}
	for (i = 0; fixture && i < fixture->stack_count && i < MAX_STACKS; i++)
		look_at(names, fixture->stacks[i].frames, fixture->stacks[i].count,
			fixture->stacks[i].thread, fixture->stacks[i].thread_name, &gc);
	if (!fixture) {
		struct rbprof_frame frames[4];

		for (i = 0; i < 4; i++) {
			frames[i].iseq = made_up(hostile, 0x10000 + i * 24) & ~(uint64_t)7;
			frames[i].pc = made_up(hostile, 0x10008 + i * 24);
			frames[i].method_entry = made_up(hostile, 0x10010 + i * 24);
			frames[i].method_serial = made_up(hostile, 0x10018 + i * 24);
		}
		look_for_id(hostile, layout, roots, frames[0].iseq, frames[1].iseq);
		look_for_id(hostile, layout, roots, 0x30000, made_up(hostile, 0x30010));
		look_at(names, frames, 4, frames[0].method_entry, frames[1].method_entry, &gc);
	}
	free(threads);
	names__free(names);
out:
	profile__free(profile);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fixture *fixture;
	static bool loaded;
	struct hostile hostile = { .memory = { &hostile_ops } };
	struct names_roots roots = { 0x10000, 0x10100 };
	const struct layout_entry *entry;
	int exact;

	if (!loaded && fixture__load(FIXTURE, &fixture))
		fixture = NULL;
	loaded = true;
	if (size < 2)
		return 0;
	hostile.data = data + 1;
	hostile.size = size - 1;
	if ((data[0] & 1) && fixture) {
		hostile.base = fixture->memory;
		roots.vm_ptr_address = fixture->vm_ptr_address;
		roots.symbols_address = fixture->symbols_address;
	}
	entry = layout__find(hostile.base || !(data[0] & 2) ? "3.1.2"
			     : data[0] & 4		    ? "4.0.0"
							    : "3.3.0",
			     &exact);
	if (entry)
		look_at_all(&hostile, &entry->layout, &roots, hostile.base ? fixture : NULL);
	return 0;
}
