/* SPDX-License-Identifier: BSD-2-Clause */
/* A memory in which a test changes words, and which can be gone. */
#ifndef RBPROF_TESTS_OVERLAY_MEMORY_H
#define RBPROF_TESTS_OVERLAY_MEMORY_H

#include <errno.h>
#include <string.h>
#include <stdlib.h>

#include "user/util/memory.h"

#define OVERLAY_MAX 64

struct overlay {
	struct memory memory;
	struct memory *base; /* NULL: only what is laid over, all else is not mapped */
	struct {
		uint64_t address;
		size_t size;
		unsigned char bytes[64];
	} patches[OVERLAY_MAX];
	size_t count;
	int error; /* of every read, if not 0 */
	size_t reads;
	/* Called after each range, so that memory changes while it is read. */
	void (*after_range)(struct overlay *overlay, const struct memory_range *range);
	void *context;
};

static int overlay_read_range(struct overlay *overlay, const struct memory_range *range)
{
	int err = overlay->base ? memory__read_ranges(overlay->base, range, 1) : 0;
	size_t i, k, covered = 0;

	if (err)
		return err;
	for (k = 0; k < range->size; k++) {
		for (i = 0; i < overlay->count; i++) {
			uint64_t offset = range->address + k - overlay->patches[i].address;

			if (offset >= overlay->patches[i].size)
				continue;
			((unsigned char *)range->into)[k] = overlay->patches[i].bytes[offset];
			covered++;
			break;
		}
	}
	return overlay->base || covered == range->size ? 0 : -EFAULT;
}

static int overlay_read(struct memory *memory, const struct memory_range *ranges, size_t count)
{
	struct overlay *overlay = (struct overlay *)memory;
	size_t i;

	overlay->reads++;
	if (overlay->error)
		return overlay->error;
	for (i = 0; i < count; i++) {
		int err = overlay_read_range(overlay, &ranges[i]);

		if (err)
			return err;
		if (overlay->after_range)
			overlay->after_range(overlay, &ranges[i]);
	}
	return 0;
}

static const struct memory_ops overlay_ops = { .read = overlay_read, .close = NULL };

static inline void overlay_init(struct overlay *overlay, struct memory *base)
{
	memset(overlay, 0, sizeof(*overlay));
	overlay->memory.ops = &overlay_ops;
	overlay->base = base;
}

static inline void overlay_bytes(struct overlay *overlay, uint64_t address, const void *bytes,
				 size_t size)
{
	size_t i;

	for (i = 0; i < overlay->count; i++)
		if (overlay->patches[i].address == address)
			break;
	if (i == OVERLAY_MAX || size > sizeof(overlay->patches[i].bytes))
		return;
	overlay->patches[i].address = address;
	overlay->patches[i].size = size;
	memcpy(overlay->patches[i].bytes, bytes, size);
	if (i == overlay->count)
		overlay->count++;
}

static inline void overlay_u64(struct overlay *overlay, uint64_t address, uint64_t word)
{
	overlay_bytes(overlay, address, &word, sizeof(word));
}

static inline void overlay_u32(struct overlay *overlay, uint64_t address, uint32_t word)
{
	overlay_bytes(overlay, address, &word, sizeof(word));
}

#endif
