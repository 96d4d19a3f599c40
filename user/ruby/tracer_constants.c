/* SPDX-License-Identifier: BSD-2-Clause */
/* Constants of a process, by their names: what libraries say about themselves. */
#include "tracer_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "class.h"

#define MAX_CONSTANTS (1u << 16)
#define MAX_SUPERS    32

/* The table of a class's or module's constants; 0: it has none. 0 or -errno. */
static int constant_table(const struct tracer_source *source, uint64_t klass, uint64_t *ret_table)
{
	const struct ruby_layout *layout = source->layout;
	uint64_t from = klass + layout->rclass__classext;
	int err = 0;

	if (layout->rclass__classext == RUBY_NO_FIELD)
		err = memory__read_u64(source->memory, klass + layout->rclass__classext_ptr, &from);
	return err ? err
		   : memory__read_u64(source->memory, from + layout->classext__const_tbl,
				      ret_table);
}

static bool has_name(const struct tracer_source *source, uint64_t serial, const char *name)
{
	struct text text = { .length = 0 };

	return serial > source->layout->last_op_id &&
	       !symbols__name(source->symbols, serial << RUBY_ID_SCOPE_SHIFT, &text) &&
	       text.length == strlen(name) && !memcmp(text.bytes, name, text.length);
}

/*
 * Where the value of a constant of the class or module is kept (constant.h: rb_const_entry_t, in an
 * rb_id_table by the names' serials). 0, -ENOENT, or -errno.
 */
static int find_constant(const struct tracer_source *source, uint64_t klass, const char *name,
			 uint64_t *ret_at)
{
	uint64_t table, head[3], *items;
	uint32_t capacity, i;
	int err = constant_table(source, klass, &table);

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
		if (has_name(source, (uint32_t)items[2 * i], name))
			break;
	}
	if (!err && i == capacity)
		err = -ENOENT;
	if (!err)
		*ret_at = items[2 * i + 1] + source->layout->const_entry__value;
	free(items);
	return err;
}

/* Class Object: where the superclasses of a thread's class end up. */
static int find_object_class(const struct tracer_source *source, uint64_t thread,
			     uint64_t *ret_class)
{
	const struct ruby_layout *layout = source->layout;
	struct reader reader;
	struct text name;
	uint64_t klass;
	bool found = false;
	int i, err = memory__read_u64(source->memory, thread + layout->rbasic__klass, &klass);

	reader__init(&reader, source->memory, layout);
	memory__read(source->memory, source->vm_ptr_address, &reader.vm, sizeof(reader.vm));
	for (i = 0; !err && !found && i < MAX_SUPERS && klass; i++) {
		name.length = 0;
		reader.count = 0;
		found = !class__owner(&reader, source->symbols, klass, &name, NULL) &&
			name.length == 7 && !memcmp(name.bytes, "Object#", 7);
		if (found)
			*ret_class = klass;
		else
			err = memory__read_u64(source->memory, klass + layout->rclass__super,
					       &klass);
	}
	reader__free(&reader);
	return err ? err : found ? 0 : -ENOENT;
}

int tracer__constant(const struct tracer_source *source, uint64_t thread, const char *const *path,
		     uint64_t *ret_at)
{
	uint64_t value, at = 0;
	int err = find_object_class(source, thread, &value);

	for (; !err && *path; path++) {
		if (!is_heap_object(source->layout, value))
			return -ENOENT; /* it is yet to be loaded */
		err = find_constant(source, value, *path, &at);
		if (!err)
			err = memory__read_u64(source->memory, at, &value);
	}
	if (!err)
		*ret_at = at;
	return err;
}
