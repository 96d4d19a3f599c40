/* SPDX-License-Identifier: BSD-2-Clause */
#include "memory.h"

#include <errno.h>

int memory__read_ranges(struct memory *memory, const struct memory_range *ranges, size_t count)
{
	if (!memory)
		return -EINVAL;
	return count ? memory->ops->read(memory, ranges, count) : 0;
}

int memory__read(struct memory *memory, uint64_t address, void *into, size_t size)
{
	const struct memory_range range = { .address = address, .into = into, .size = size };

	return size ? memory__read_ranges(memory, &range, 1) : 0;
}

int memory__read_u64(struct memory *memory, uint64_t address, uint64_t *ret_value)
{
	uint64_t value;
	int err = memory__read(memory, address, &value, sizeof(value));

	if (!err)
		*ret_value = value;
	return err;
}

int memory__read_u32(struct memory *memory, uint64_t address, uint32_t *ret_value)
{
	uint32_t value;
	int err = memory__read(memory, address, &value, sizeof(value));

	if (!err)
		*ret_value = value;
	return err;
}

void memory__close(struct memory *memory)
{
	if (memory)
		memory->ops->close(memory);
}
