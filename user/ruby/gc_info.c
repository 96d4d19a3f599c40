/* SPDX-License-Identifier: BSD-2-Clause */
#include "gc_info.h"

#include <errno.h>
#include <stddef.h>

/* gc.c: GPR_FLAG_MAJOR_MASK */
#define MAJOR_MASK 0xffU

struct name {
	uint32_t flag;
	const char *text;
};

/* In the order in which gc.c: gc_info_decode() asks for them. */
static const struct name reasons[] = {
	{ 0x01, "nofree" }, { 0x02, "oldgen" },	   { 0x04, "shady" },
	{ 0x08, "force" },  { 0x20, "oldmalloc" }, { 0, NULL },
};

static const struct name causes[] = {
	{ 0x100, "newobj" }, { 0x200, "malloc" },  { 0x400, "method" },
	{ 0x800, "capi" },   { 0x1000, "stress" }, { 0, NULL },
};

static const char *first(const struct name *names, uint32_t info)
{
	for (; names->flag; names++)
		if (info & names->flag)
			break;
	return names->text;
}

const char *gc_info__type(uint32_t info)
{
	return info & MAJOR_MASK ? "major" : "minor";
}

const char *gc_info__reason(uint32_t info)
{
	return first(reasons, info);
}

const char *gc_info__cause(uint32_t info)
{
	return first(causes, info);
}

bool gc_info__has_clock(const struct ruby_layout *layout)
{
	return layout->gc_measure_bit < 32 && (layout->objspace__total_time != RUBY_NO_FIELD ||
					       (layout->objspace__marking_time != RUBY_NO_FIELD &&
						layout->objspace__sweeping_time != RUBY_NO_FIELD));
}

static int find_objspace(struct memory *memory, const struct ruby_layout *layout,
			 uint64_t vm_ptr_address, uint64_t *ret_objspace)
{
	uint64_t vm, objspace;
	int err = memory__read_u64(memory, vm_ptr_address, &vm);

	if (!err && !vm)
		return -EAGAIN;
	if (!err)
		err = memory__read_u64(memory, vm + layout->vm__objspace, &objspace);
	if (!err && !objspace)
		return -EAGAIN;
	if (!err)
		*ret_objspace = objspace;
	return err;
}

int gc_info__clock(struct memory *memory, const struct ruby_layout *layout, uint64_t vm_ptr_address,
		   uint64_t *ret_ns)
{
	const bool is_one = layout->objspace__total_time != RUBY_NO_FIELD;
	uint64_t objspace, part[2] = { 0, 0 };
	uint32_t flags = 0;
	int err;

	if (!gc_info__has_clock(layout) || !vm_ptr_address)
		return -ENOTSUP;
	err = find_objspace(memory, layout, vm_ptr_address, &objspace);
	if (!err) {
		struct memory_range ranges[] = {
			{ objspace + layout->objspace__flags, &flags, sizeof(flags) },
			{ objspace + (is_one ? layout->objspace__total_time
					     : layout->objspace__marking_time),
			  &part[0], sizeof(part[0]) },
			{ objspace + layout->objspace__sweeping_time, &part[1], sizeof(part[1]) },
		};

		err = memory__read_ranges(memory, ranges, is_one ? 2 : 3);
	}
	if (err)
		return err;
	if (!(flags & 1U << layout->gc_measure_bit))
		return -ENODATA;
	*ret_ns = part[0] + part[1];
	return 0;
}
