/* SPDX-License-Identifier: BSD-2-Clause */
#include "tracer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "class.h"
#include "threads.h"

#define MAX_LOCALS     1024 /* fiber-locals of one fiber */
#define MAX_CLASSES    64   /* of their values, remembered in one search */
#define MAX_IVARS      255
#define MAX_SHAPES     1024 /* from one to the root */
#define MAX_ALL_SHAPES (1u << 17)
#define MAX_CONSTANTS  (1u << 16)
#define MAX_SUPERS     32

/* shape.h: enum shape_type, INVALID_SHAPE_ID */
#define SHAPE_ROOT	 0
#define SHAPE_IVAR	 1
#define SHAPE_NONE	 0xffffffff
#define RUBY_SYMBOL_FLAG 0x0c

static const char context_class[] = "Datadog::Tracing::Context#";
static const char otel_stack[] = "__opentelemetry_context_storage__";

static const char *const ivar_names[RBPROF_IVAR_COUNT] = {
#define V(code, name) [RBPROF_IVAR_##code] = name,
	RBPROF_IVARS(V)
#undef V
};

static bool has_shapes(const struct ruby_layout *layout)
{
	return layout->robject__numiv == RUBY_NO_FIELD;
}

static bool has_st_locals(const struct ruby_layout *layout)
{
	return !has_shapes(layout) && layout->iv_index_entry__index == RUBY_NO_FIELD;
}

bool tracer__supported(const struct ruby_layout *layout)
{
	/* Tables are read head first, in one go. */
	const bool has_locals =
		has_st_locals(layout) ? layout->st_entry__key == 8 && layout->st_entry__record == 16
				      : !layout->id_table__capa && layout->id_table__num == 4 &&
						layout->id_table__items == 16 &&
						!layout->id_item__key && layout->id_item__val == 8;

	return has_locals && layout->ec__local_storage != RUBY_NO_FIELD &&
	       layout->rbignum__embed == 16 &&
	       (!has_shapes(layout) || layout->shape_id_bits != RUBY_NO_FIELD) &&
	       (layout->vm__shape_list != RUBY_NO_FIELD ||
		layout->shape_tree__shape_list != RUBY_NO_FIELD || !has_shapes(layout));
}

int tracer__id_count(const struct tracer_source *source, uint32_t *ret_count)
{
	if (!source->symbols_address)
		return -ENOTSUP;
	return memory__read_u32(source->memory,
				source->symbols_address + source->layout->symbols__last_id,
				ret_count);
}

/* ---- fiber-locals ---- */

struct local {
	uint64_t key; /* as the table has it: an id, or its serial */
	uint64_t value;
};

struct search {
	const struct tracer_source *source;
	struct reader reader;
	struct rbprof_tracer tracer;
	int64_t number; /* at the end of datadog_key's name, -1: none found yet */
	struct {
		uint64_t address;
		bool is_context;
	} classes[MAX_CLASSES];
	size_t class_count;
};

static uint64_t id_of(const struct ruby_layout *layout, uint64_t key)
{
	if (has_st_locals(layout) || key <= layout->last_op_id)
		return key;
	return key << RUBY_ID_SCOPE_SHIFT;
}

/* The number that the name of a key ends in, 0 if in none. */
static int64_t number_of(const struct text *name)
{
	size_t at = name->length;
	int64_t number = 0, unit = 1;

	for (; at && name->length - at < 18; at--, unit *= 10) {
		const char digit = name->bytes[at - 1];

		if (digit < '0' || digit > '9')
			break;
		number += unit * (digit - '0');
	}
	return number;
}

static bool is_heap_object(const struct ruby_layout *layout, uint64_t value)
{
	return !(value & 7) && value > 0x100 && value != layout->qnil;
}

static bool is_context_class(struct search *search, uint64_t klass)
{
	struct text name = { .length = 0 };
	bool is_context;
	size_t i;

	for (i = 0; i < search->class_count; i++) {
		if (search->classes[i].address == klass)
			return search->classes[i].is_context;
	}
	search->reader.count = 0;
	is_context = !class__owner(&search->reader, search->source->symbols, klass, &name, NULL) &&
		     name.length == sizeof(context_class) - 1 &&
		     !memcmp(name.bytes, context_class, name.length);
	if (search->class_count < MAX_CLASSES) {
		search->classes[search->class_count].address = klass;
		search->classes[search->class_count++].is_context = is_context;
	}
	return is_context;
}

static void look_at_local(struct search *search, const struct local *local)
{
	const struct tracer_source *source = search->source;
	const struct ruby_layout *layout = source->layout;
	struct text name = { .length = 0 };
	uint64_t head[2];

	if (!is_heap_object(layout, local->value) ||
	    memory__read(source->memory, local->value + layout->rbasic__flags, head, sizeof(head)))
		return;
	if ((head[0] & RUBY_T_MASK) == RUBY_T_OBJECT && is_context_class(search, head[1])) {
		if (symbols__name(source->symbols, id_of(layout, local->key), &name) ||
		    number_of(&name) < search->number)
			return;
		search->number = number_of(&name);
		search->tracer.datadog_key = local->key;
		search->tracer.datadog_class = head[1];
	} else if ((head[0] & RUBY_T_MASK) == RUBY_T_ARRAY && !search->tracer.otel_key &&
		   !symbols__name(source->symbols, id_of(layout, local->key), &name) &&
		   name.length == sizeof(otel_stack) - 1 &&
		   !memcmp(name.bytes, otel_stack, name.length)) {
		search->tracer.otel_key = local->key;
	}
}

/* 2.7: an st_table by id. */
static int list_st_locals(const struct tracer_source *source, uint64_t table, struct local *locals,
			  size_t *ret_count)
{
	uint64_t head[3], entries[3 * MAX_LOCALS], i, count = 0;
	int err = memory__read(source->memory, table + source->layout->st_table__entries_start,
			       head, sizeof(head));

	if (err)
		return err;
	if (head[1] > MAX_LOCALS || head[0] > head[1])
		return -E2BIG;
	err = memory__read(source->memory, head[2], entries, head[1] * 24);
	for (i = head[0]; !err && i < head[1]; i++) {
		if (entries[3 * i] == ~0ULL)
			continue;
		locals[count++] = (struct local){ entries[3 * i + 1], entries[3 * i + 2] };
	}
	*ret_count = count;
	return err;
}

/* 3.0 and later: a table by the ids' serials. */
static int list_id_locals(const struct tracer_source *source, uint64_t table, struct local *locals,
			  size_t *ret_count)
{
	uint64_t head[3], items[2 * MAX_LOCALS], capacity, i, count = 0;
	int err = memory__read(source->memory, table, head, sizeof(head));

	capacity = err ? 0 : (uint32_t)head[0];
	if (capacity > MAX_LOCALS)
		return -E2BIG;
	if (!err)
		err = memory__read(source->memory, head[2], items, capacity * 16);
	for (i = 0; !err && i < capacity; i++) {
		if ((uint32_t)items[2 * i])
			locals[count++] =
				(struct local){ (uint32_t)items[2 * i], items[2 * i + 1] };
	}
	*ret_count = count;
	return err;
}

static bool is_object(uint64_t key, void *context)
{
	return key == *(const uint64_t *)context;
}

/* Finds the table of all such variables: the one in which this object is. */
static void find_generic(struct search *search, uint64_t object)
{
	const struct tracer_source *source = search->source;
	uint64_t table, value;
	bool found;
	size_t i;

	for (i = 0; i < TRACER_GENERIC_MAX && source->generic_ivars[i]; i++) {
		search->reader.count = 0;
		if (!memory__read_u64(source->memory, source->generic_ivars[i], &table) && table &&
		    !object__st_find(&search->reader, table, is_object, &object, &found, &value) &&
		    found) {
			search->tracer.generic_ivars = source->generic_ivars[i];
			return;
		}
	}
}

/* A Fiber that has OpenTelemetry's stack as a variable of its own. */
static void look_at_fiber(struct search *search, uint64_t ec)
{
	const struct tracer_source *source = search->source;
	const struct ruby_layout *layout = source->layout;
	uint64_t fiber, self, flags, table;
	struct rbprof_ivars ivars;

	if (search->tracer.generic_ivars || layout->gen_ivtbl__ivptr == RUBY_NO_FIELD ||
	    memory__read_u64(source->memory, ec + layout->ec__fiber_ptr, &fiber) ||
	    memory__read_u64(source->memory, fiber + layout->fiber__self, &self) ||
	    !is_heap_object(layout, self) ||
	    memory__read_u64(source->memory, self + layout->rbasic__flags, &flags) ||
	    (flags & RUBY_T_MASK) != RUBY_T_DATA || !(flags & RUBY_FL_EXIVAR))
		return;
	if (!tracer__ivars(source, self, &table, &ivars) &&
	    ivars.index[RBPROF_IVAR_OTEL_STACK] != RBPROF_IVAR_NONE)
		find_generic(search, self);
}

static void look_at_thread(struct search *search, uint64_t ec)
{
	const struct tracer_source *source = search->source;
	struct local locals[MAX_LOCALS];
	size_t count = 0, i;
	uint64_t table;
	int err;

	look_at_fiber(search, ec);
	if (memory__read_u64(source->memory, ec + source->layout->ec__local_storage, &table) ||
	    !table)
		return;
	if (has_st_locals(source->layout))
		err = list_st_locals(source, table, locals, &count);
	else
		err = list_id_locals(source, table, locals, &count);
	for (i = 0; !err && i < count; i++)
		look_at_local(search, &locals[i]);
}

/* ---- constants ---- */

/*
 * Where the value of a constant of the class or module is kept (constant.h: rb_const_entry_t, in an
 * rb_id_table by the names' serials). 0, -ENOENT, or -errno.
 */
static int find_constant(const struct tracer_source *source, uint64_t klass, const char *name,
			 uint64_t *ret_at)
{
	const struct ruby_layout *layout = source->layout;
	uint64_t from = klass + layout->rclass__classext, table, head[3], *items;
	uint32_t capacity, i;
	struct text text;
	int err = 0;

	if (layout->rclass__classext == RUBY_NO_FIELD)
		err = memory__read_u64(source->memory, klass + layout->rclass__classext_ptr, &from);
	if (!err)
		err = memory__read_u64(source->memory, from + layout->classext__const_tbl, &table);
	if (!err && !table)
		err = -ENOENT;
	if (!err)
		err = memory__read(source->memory, table, head, sizeof(head));
	if (err)
		return err;
	capacity = (uint32_t)head[0];
	if (capacity > MAX_CONSTANTS)
		return -E2BIG;
	items = calloc(capacity ? capacity : 1, 16);
	if (!items)
		return -ENOMEM;
	err = memory__read(source->memory, head[2], items, (size_t)capacity * 16);
	for (i = 0; !err && i < capacity; i++) {
		const uint64_t serial = (uint32_t)items[2 * i];

		text.length = 0;
		if (!serial || serial <= layout->last_op_id ||
		    symbols__name(source->symbols, serial << RUBY_ID_SCOPE_SHIFT, &text) ||
		    text.length != strlen(name) || memcmp(text.bytes, name, text.length))
			continue;
		*ret_at = items[2 * i + 1] + layout->const_entry__value;
		break;
	}
	if (!err && i == capacity)
		err = -ENOENT;
	free(items);
	return err;
}

/* Class Object: where the superclasses of a thread's class end up. */
static int find_object_class(struct search *search, uint64_t thread, uint64_t *ret_class)
{
	const struct tracer_source *source = search->source;
	const struct ruby_layout *layout = source->layout;
	struct text name;
	uint64_t klass;
	int i, err = memory__read_u64(source->memory, thread + layout->rbasic__klass, &klass);

	for (i = 0; !err && i < MAX_SUPERS && klass; i++) {
		name.length = 0;
		search->reader.count = 0;
		if (!class__owner(&search->reader, source->symbols, klass, &name, NULL) &&
		    name.length == 7 && !memcmp(name.bytes, "Object#", 7)) {
			*ret_class = klass;
			return 0;
		}
		err = memory__read_u64(source->memory, klass + layout->rclass__super, &klass);
	}
	return err ? err : -ENOENT;
}

/* OpenTelemetry::Trace::CURRENT_SPAN_KEY, which Datadog's constant of that name is, too. */
static void find_current_span(struct search *search, uint64_t thread)
{
	static const char *const path[] = { "OpenTelemetry", "Trace", "CURRENT_SPAN_KEY" };
	const struct tracer_source *source = search->source;
	uint64_t value, at = 0;
	size_t i;
	int err;

	if (!*source->current_span_at) {
		err = find_object_class(search, thread, &value);
		for (i = 0; !err && i < sizeof(path) / sizeof(path[0]); i++) {
			err = find_constant(source, value, path[i], &at);
			if (!err)
				err = memory__read_u64(source->memory, at, &value);
		}
		if (err)
			return;
		*source->current_span_at = at;
	}
	if (memory__read_u64(source->memory, *source->current_span_at, &value) ||
	    !is_heap_object(source->layout, value))
		*source->current_span_at = 0;
	else
		search->tracer.current_span = value;
}

int tracer__find(const struct tracer_source *source, struct rbprof_tracer *ret_tracer)
{
	struct search search = { .source = source, .number = -1 };
	struct ruby_thread *threads;
	size_t count, i;
	int err = threads__list(source->memory, source->layout, source->vm_ptr_address, &threads,
				&count);

	if (err)
		return err;
	reader__init(&search.reader, source->memory, source->layout);
	memory__read(source->memory, source->vm_ptr_address, &search.reader.vm,
		     sizeof(search.reader.vm));
	for (i = 0; i < count; i++) {
		if (threads[i].ec && threads[i].status != RUBY_THREAD_KILLED)
			look_at_thread(&search, threads[i].ec);
	}
	if (count && (search.tracer.otel_key || search.tracer.generic_ivars ||
		      source->ivar_ids[RBPROF_IVAR_OTEL_VALUES]))
		find_current_span(&search, threads[0].self);
	reader__free(&search.reader);
	free(threads);
	*ret_tracer = search.tracer;
	return 0;
}

/* ---- instance variables ---- */

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
	if (!read_shapes(source, id, &ivars))
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

bool tracer__is_symbol(const struct tracer_source *source, uint64_t value, const char *name)
{
	struct text text = { .length = 0 };

	/* A literal's: its id lies in it (special_consts.h). */
	return (value & 0xff) == RUBY_SYMBOL_FLAG &&
	       !symbols__name(source->symbols, value >> 8, &text) && text.length == strlen(name) &&
	       !memcmp(text.bytes, name, text.length);
}
