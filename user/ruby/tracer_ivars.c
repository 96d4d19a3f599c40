/* SPDX-License-Identifier: BSD-2-Clause */
/* Where objects of one kind have their instance variables. */
#include "tracer_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_IVARS      255
#define MAX_SHAPES     1024 /* from one to the root */
#define MAX_ALL_SHAPES (1u << 17)

/* shape.h: enum shape_type, INVALID_SHAPE_ID */
#define SHAPE_ROOT 0
#define SHAPE_IVAR 1
#define SHAPE_NONE 0xffffffff

static const char *const ivar_names[RBPROF_IVAR_COUNT] = {
#define V(code, name) [RBPROF_IVAR_##code] = name,
	RBPROF_IVARS(V)
#undef V
};

static void note_ivar(const struct tracer_source *source, uint64_t id, uint64_t index,
		      struct rbprof_ivars *ivars)
{
	struct text name = { .length = 0 };
	int i;

	if (index >= RBPROF_IVAR_NONE || symbols__name(source->symbols, id, &name))
		return;
	for (i = 0; i < RBPROF_IVAR_COUNT; i++) {
		if (name.length == strlen(ivar_names[i]) &&
		    !memcmp(name.bytes, ivar_names[i], name.length)) {
			ivars->index[i] = (uint8_t)index;
			source->ivar_ids[i] = id;
		}
	}
}

/* Up to 3.1: the table of the class gives each name a number, or an entry that has it. */
static int read_table(const struct tracer_source *source, uint64_t table,
		      struct rbprof_ivars *ivars)
{
	const struct ruby_layout *layout = source->layout;
	uint64_t head[3], entries[3 * MAX_IVARS], count, i;
	uint32_t index;
	int err;

	err = memory__read_u64(source->memory, table + layout->st_table__num_entries, &count);
	if (!err)
		err = memory__read(source->memory, table + layout->st_table__entries_start, head,
				   sizeof(head));
	if (err)
		return err;
	if (head[1] > MAX_IVARS || head[0] > head[1])
		return -E2BIG;
	err = memory__read(source->memory, head[2], entries, head[1] * 24);
	for (i = head[0]; !err && i < head[1]; i++) {
		if (entries[3 * i] == ~0ULL)
			continue;
		if (layout->iv_index_entry__index == RUBY_NO_FIELD)
			index = (uint32_t)entries[3 * i + 2];
		else
			err = memory__read_u32(source->memory,
					       entries[3 * i + 2] + layout->iv_index_entry__index,
					       &index);
		if (!err)
			note_ivar(source, entries[3 * i + 1], index, ivars);
	}
	ivars->known = (uint32_t)count;
	return err;
}

static int table_of(const struct tracer_source *source, const uint64_t *head, uint64_t *ret_table)
{
	const struct ruby_layout *layout = source->layout;
	uint64_t classext;
	int err;

	if (!(head[0] >> layout->robject_embed_bit & 1)) {
		*ret_table = head[layout->robject__iv_index_tbl / 8];
		return 0;
	}
	err = memory__read_u64(source->memory, head[1] + layout->rclass__classext_ptr, &classext);
	return err ? err
		   : memory__read_u64(source->memory, classext + layout->classext__iv_index_tbl,
				      ret_table);
}

/* 3.2 and later: where the list of all shapes is, and how many there are. */
static int shape_list(const struct tracer_source *source, uint64_t *ret_list, uint32_t *ret_count)
{
	const struct ruby_layout *layout = source->layout;
	const bool is_vms = layout->vm__shape_list != RUBY_NO_FIELD;
	uint64_t from;
	int err;

	if (!is_vms && !source->shapes_address)
		return -ENOTSUP;
	err = memory__read_u64(source->memory,
			       is_vms ? source->vm_ptr_address : source->shapes_address, &from);
	if (!err)
		err = memory__read_u32(source->memory,
				       from + (is_vms ? layout->vm__next_shape_id
						      : layout->shape_tree__next_shape_id),
				       ret_count);
	return err ? err
		   : memory__read_u64(source->memory,
				      from + (is_vms ? layout->vm__shape_list
						     : layout->shape_tree__shape_list),
				      ret_list);
}

/* From the shape towards the root: each edge is a variable, with its number (shape.h). */
static int read_shapes(const struct tracer_source *source, uint64_t id, struct rbprof_ivars *ivars)
{
	const struct ruby_layout *layout = source->layout;
	uint64_t list, edge;
	uint32_t next, parent, count;
	uint8_t type;
	int i, err = shape_list(source, &list, &count);

	if (layout->shape_too_complex_bit != RUBY_NO_FIELD &&
	    id >> layout->shape_too_complex_bit & 1)
		ivars->is_complex = 1;
	for (i = 0; !err && i < MAX_SHAPES && !ivars->is_complex; i++) {
		const uint64_t shape =
			list + (id & ((1ULL << layout->shape_id_bits) - 1)) * layout->shape__sizeof;
		struct memory_range ranges[] = {
			{ shape + layout->shape__edge_name, &edge, sizeof(edge) },
			{ shape + layout->shape__next_iv_index, &next, sizeof(next) },
			{ shape + layout->shape__type, &type, sizeof(type) },
			{ shape + layout->shape__parent_id, &parent, sizeof(parent) },
		};

		err = memory__read_ranges(source->memory, ranges, 4);
		if (err)
			return err;
		if (layout->shape_id_bits < 32)
			next &= 0xffff;
		if (layout->shape_too_complex_type != RUBY_NO_FIELD &&
		    type == layout->shape_too_complex_type)
			ivars->is_complex = 1;
		if (type == SHAPE_IVAR && next)
			note_ivar(source, edge, next - 1, ivars);
		if (type == SHAPE_ROOT || parent == SHAPE_NONE)
			return 0;
		id = parent;
	}
	return err ? err : ivars->is_complex ? 0 : -ELOOP;
}

static void note_span(struct rbprof_ivars *ivars)
{
	uint8_t first = RBPROF_IVAR_NONE, last = 0;
	int i;

	for (i = 0; i < RBPROF_IVAR_COUNT; i++) {
		if (ivars->index[i] == RBPROF_IVAR_NONE)
			continue;
		if (ivars->index[i] < first)
			first = ivars->index[i];
		if (ivars->index[i] > last)
			last = ivars->index[i];
	}
	ivars->first = first;
	ivars->span = first == RBPROF_IVAR_NONE ? 0 : (uint8_t)(last - first + 1);
}

int tracer__ivars(const struct tracer_source *source, uint64_t object, uint64_t *ret_table,
		  struct rbprof_ivars *ret_ivars)
{
	const struct ruby_layout *layout = source->layout;
	struct rbprof_ivars ivars = { .known = 0 };
	uint64_t head[5], table;
	int err;

	if (!is_heap_object(layout, object))
		return -EINVAL;
	err = memory__read(source->memory, object, head, sizeof(head));
	if (err)
		return err;
	/* Of an object that is not an ordinary one, its class has the numbers up to 3.1. */
	if ((head[0] & RUBY_T_MASK) == RUBY_T_DATA)
		head[0] |= 1ULL << layout->robject_embed_bit;
	else if ((head[0] & RUBY_T_MASK) != RUBY_T_OBJECT)
		return -EINVAL;
	memset(ivars.index, RBPROF_IVAR_NONE, sizeof(ivars.index));
	if (has_shapes(layout)) {
		table = head[0] >> 32;
		err = read_shapes(source, table, &ivars);
	} else {
		err = table_of(source, head, &table);
		if (!err && !table)
			err = -EINVAL;
		if (!err)
			err = read_table(source, table, &ivars);
	}
	if (err)
		return err;
	note_span(&ivars);
	*ret_table = table;
	*ret_ivars = ivars;
	return 0;
}

/* Whether objects with these variables may be of a tracer's. */
static bool is_wanted(const struct rbprof_ivars *ivars)
{
	const uint8_t *index = ivars->index;
#define HAS(ivar) (index[RBPROF_IVAR_##ivar] != RBPROF_IVAR_NONE)
	return HAS(ACTIVE_TRACE) || HAS(OTEL_STACK) || HAS(ROOT_SPAN) || HAS(DATADOG_TRACE) ||
	       HAS(ENTRIES) || (HAS(ID) && HAS(RESOURCE) && HAS(TYPE)) ||
	       (HAS(CONTEXT) && HAS(KIND)) || (HAS(TRACE_ID) && HAS(SPAN_ID));
#undef HAS
}

/* A shape has what its parent has, and one thing more; only variables whose ids are known. */
static void add_shape(const struct tracer_source *source, const unsigned char *shape, uint32_t at,
		      struct rbprof_ivars *all)
{
	const struct ruby_layout *layout = source->layout;
	uint32_t parent;
	uint64_t edge;
	int i;

	memcpy(&parent, shape + layout->shape__parent_id, sizeof(parent));
	memcpy(&edge, shape + layout->shape__edge_name, sizeof(edge));
	if (parent < at)
		all[at] = all[parent];
	else
		memset(all[at].index, RBPROF_IVAR_NONE, sizeof(all[at].index));
	for (i = 0; i < RBPROF_IVAR_COUNT && shape[layout->shape__type] == SHAPE_IVAR; i++) {
		if (edge && source->ivar_ids[i] == edge)
			all[at].index[i] = 0;
	}
}

static void tell_shape(const struct tracer_source *source, uint32_t id,
		       void (*each)(uint64_t table, const struct rbprof_ivars *ivars,
				    void *context),
		       void *context)
{
	struct rbprof_ivars ivars = { .known = 0 };

	memset(ivars.index, RBPROF_IVAR_NONE, sizeof(ivars.index));
	if (read_shapes(source, id, &ivars))
		return;
	note_span(&ivars);
	each(id, &ivars, context);
}

int tracer__shapes(const struct tracer_source *source, uint32_t *known,
		   void (*each)(uint64_t table, const struct rbprof_ivars *ivars, void *context),
		   void *context)
{
	const struct ruby_layout *layout = source->layout;
	struct rbprof_ivars *all = NULL;
	unsigned char *shapes = NULL;
	uint32_t count, i;
	uint64_t list;
	int err;

	/* In 4.0 an id has more than the shape's number. */
	if (!has_shapes(layout) || layout->shape_id_bits < 32)
		return 0;
	err = shape_list(source, &list, &count);
	if (err || count == *known)
		return err;
	if (count > MAX_ALL_SHAPES || layout->shape__parent_id + 4 > layout->shape__sizeof)
		return -E2BIG;
	all = calloc(count, sizeof(*all));
	shapes = calloc(count, layout->shape__sizeof);
	err = all && shapes ? memory__read(source->memory, list, shapes,
					   (size_t)count * layout->shape__sizeof)
			    : -ENOMEM;
	for (i = 0; !err && i < count; i++) {
		add_shape(source, shapes + (size_t)i * layout->shape__sizeof, i, all);
		if (i >= *known && is_wanted(&all[i]))
			tell_shape(source, i, each, context);
	}
	if (!err)
		*known = count;
	free(all);
	free(shapes);
	return err;
}
