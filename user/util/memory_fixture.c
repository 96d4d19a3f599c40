/* SPDX-License-Identifier: BSD-2-Clause */
#include "memory_fixture.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define MAX_LINE   4096
#define MAX_ITEMS  (1u << 17) /* of each kind */
#define MAX_BYTES  (64u << 20)
#define FIRST_LINE "rbprof-fixture 1"

struct segment {
	uint64_t address;
	size_t size;
	char *bytes;
};

struct memory_fixture {
	struct memory memory;
	struct segment *segments; /* by address, none overlaps another */
	size_t count;
	struct fixture *owner; /* of a memory that was opened alone */
};

struct loading {
	gzFile file;
	struct fixture *fixture;
	struct memory_fixture *memory;
	char line[MAX_LINE];
	size_t bytes;
	bool ended;
};

static const struct segment *segment_find(const struct memory_fixture *fixture, uint64_t address)
{
	size_t low = 0, high = fixture->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (fixture->segments[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &fixture->segments[low - 1] : NULL;
}

static int fixture_read_range(const struct memory_fixture *fixture,
			      const struct memory_range *range)
{
	uint64_t address = range->address;
	size_t left = range->size;
	char *into = range->into;

	while (left) {
		const struct segment *segment = segment_find(fixture, address);
		size_t offset, part;

		if (!segment || address - segment->address >= segment->size)
			return -EFAULT;
		offset = (size_t)(address - segment->address);
		part = segment->size - offset < left ? segment->size - offset : left;
		memcpy(into, segment->bytes + offset, part);
		into += part;
		address += part;
		left -= part;
	}
	return 0;
}

static int fixture_read(struct memory *memory, const struct memory_range *ranges, size_t count)
{
	const struct memory_fixture *fixture = (const struct memory_fixture *)memory;
	size_t i;
	int err = 0;

	for (i = 0; !err && i < count; i++)
		err = fixture_read_range(fixture, &ranges[i]);
	return err;
}

static void fixture_close(struct memory *memory)
{
	struct memory_fixture *fixture = (struct memory_fixture *)memory;

	if (fixture->owner)
		fixture__free(fixture->owner);
}

static const struct memory_ops fixture_ops = { .read = fixture_read, .close = fixture_close };

/* Room for one more in an array of count items. 0, -E2BIG or -ENOMEM. */
static int grow(void *array, size_t count, size_t size)
{
	void **items = array;
	void *room;

	if (count >= MAX_ITEMS)
		return -E2BIG;
	if (count & (count - 1))
		return 0; /* the room doubles at each power of two */
	room = realloc(*items, (count ? count * 2 : 1) * size);
	if (!room)
		return -ENOMEM;
	*items = room;
	return 0;
}

/* Reads the next line, without its line feed. 0 or -EINVAL. */
static int loading_line(struct loading *loading)
{
	size_t length;

	if (!gzgets(loading->file, loading->line, sizeof(loading->line)))
		return -EINVAL;
	length = strlen(loading->line);
	if (!length || loading->line[length - 1] != '\n')
		return -EINVAL;
	loading->line[length - 1] = '\0';
	return 0;
}

static int load_segment(struct loading *loading, uint64_t address, size_t size)
{
	struct memory_fixture *memory = loading->memory;
	struct segment *segment;
	int err;

	if (!size || size > MAX_BYTES - loading->bytes || address > UINT64_MAX - size)
		return -E2BIG;
	if (memory->count) {
		segment = &memory->segments[memory->count - 1];
		if (address < segment->address + segment->size)
			return -EINVAL;
	}
	err = grow(&memory->segments, memory->count, sizeof(*memory->segments));
	if (err)
		return err;
	segment = &memory->segments[memory->count];
	segment->bytes = malloc(size);
	if (!segment->bytes)
		return -ENOMEM;
	segment->address = address;
	segment->size = size;
	memory->count++;
	loading->bytes += size;
	if (gzread(loading->file, segment->bytes, (unsigned int)size) != (int)size ||
	    gzgetc(loading->file) != '\n')
		return -EINVAL;
	return 0;
}

static int load_stack(struct loading *loading, struct fixture_stack stack)
{
	struct fixture *fixture = loading->fixture;
	size_t i;
	int err;

	if (stack.count > RBPROF_MAX_FRAMES)
		return -E2BIG;
	err = grow(&fixture->stacks, fixture->stack_count, sizeof(*fixture->stacks));
	if (err)
		return err;
	stack.frames = calloc(stack.count ? stack.count : 1, sizeof(*stack.frames));
	if (!stack.frames)
		return -ENOMEM;
	fixture->stacks[fixture->stack_count++] = stack;
	for (i = 0; i < stack.count; i++) {
		uint64_t iseq, pc, method_entry, serial;

		err = loading_line(loading);
		if (!err &&
		    sscanf(loading->line, "frame %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64,
			   &iseq, &pc, &method_entry, &serial) != 4)
			err = -EINVAL;
		if (err)
			return err;
		stack.frames[i] = (struct rbprof_frame){
			.iseq = iseq,
			.pc = pc,
			.method_entry = method_entry,
			.method_serial = serial,
		};
	}
	return 0;
}

static int load_truth(struct fixture *fixture, const char *text)
{
	int err = grow(&fixture->truths, fixture->truth_count, sizeof(*fixture->truths));

	if (err)
		return err;
	fixture->truths[fixture->truth_count] = strdup(text);
	if (!fixture->truths[fixture->truth_count])
		return -ENOMEM;
	fixture->truth_count++;
	return 0;
}

static int load_item(struct loading *loading)
{
	struct fixture *fixture = loading->fixture;
	struct fixture_stack stack = { .frames = NULL };
	const char *line = loading->line;
	uint64_t address;
	size_t size;

	if (sscanf(line, "segment %" SCNx64 " %zu", &address, &size) == 2)
		return load_segment(loading, address, size);
	if (sscanf(line, "stack %" SCNx64 " %" SCNx64 " %" SCNx64 " %zu", &stack.thread,
		   &stack.thread_name, &stack.ec, &stack.count) == 4)
		return load_stack(loading, stack);
	if (!strncmp(line, "truth ", 6))
		return load_truth(fixture, line + 6);
	if (sscanf(line, "version %15s", fixture->version) == 1 ||
	    sscanf(line, "root vm %" SCNx64, &fixture->vm_ptr_address) == 1 ||
	    sscanf(line, "root symbols %" SCNx64, &fixture->symbols_address) == 1)
		return 0;
	if (strcmp(line, "end"))
		return -EINVAL;
	loading->ended = true;
	return 0;
}

void fixture__free(struct fixture *fixture)
{
	struct memory_fixture *memory;
	size_t i;

	if (!fixture)
		return;
	memory = (struct memory_fixture *)fixture->memory;
	for (i = 0; memory && i < memory->count; i++)
		free(memory->segments[i].bytes);
	if (memory)
		free(memory->segments);
	free(memory);
	for (i = 0; i < fixture->stack_count; i++)
		free(fixture->stacks[i].frames);
	free(fixture->stacks);
	for (i = 0; i < fixture->truth_count; i++)
		free(fixture->truths[i]);
	free(fixture->truths);
	free(fixture);
}

int fixture__load(const char *path, struct fixture **ret_fixture)
{
	struct loading loading = { .ended = false };
	int err = -ENOMEM;

	errno = 0;
	loading.file = gzopen(path, "rbe");
	if (!loading.file)
		return errno ? -errno : -ENOMEM;
	loading.fixture = calloc(1, sizeof(*loading.fixture));
	loading.memory = calloc(1, sizeof(*loading.memory));
	if (!loading.fixture || !loading.memory) {
		free(loading.memory);
		goto out;
	}
	loading.memory->memory.ops = &fixture_ops;
	loading.fixture->memory = &loading.memory->memory;
	err = loading_line(&loading);
	if (!err && strcmp(loading.line, FIRST_LINE))
		err = -EINVAL;
	while (!err && !loading.ended) {
		err = loading_line(&loading);
		if (!err)
			err = load_item(&loading);
	}
	if (!err)
		*ret_fixture = loading.fixture;
out:
	gzclose(loading.file);
	if (err)
		fixture__free(loading.fixture);
	return err;
}

int memory__open_fixture(const char *path, struct memory **ret_memory)
{
	struct fixture *fixture;
	int err = fixture__load(path, &fixture);

	if (err)
		return err;
	((struct memory_fixture *)fixture->memory)->owner = fixture;
	*ret_memory = fixture->memory;
	return 0;
}
