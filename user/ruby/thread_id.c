/* SPDX-License-Identifier: BSD-2-Clause */
#include "thread_id.h"

#include <errno.h>
#include <string.h>

#include "object.h"
#include "st_table.h"

#define TRIES	     3
#define OBJECT_BYTES 48 /* struct RTypedData: 40, and the data where it is embedded */
#define MAX_SHAPES   1024
#define SHAPE_BYTES  64
#define SHAPE_SHIFT  32 /* shape.h: the upper half of the flags */

/* shape.h, 4.0: ROOT_SHAPE_WITH_OBJ_ID, whose edge is named as the ids of complex objects are */
#define SHAPE_WITH_ID 1

struct object {
	uint64_t address;
	unsigned char bytes[OBJECT_BYTES];
};

static uint64_t object_word(const struct object *object, uint16_t at)
{
	uint64_t word = 0;

	if (at <= sizeof(object->bytes) - sizeof(word))
		memcpy(&word, object->bytes + at, sizeof(word));
	return word;
}

/* Reads the Thread object; -ESTALE: it is not that of the thread. */
static int object_read(const struct thread_id_source *source, uint64_t thread, uint64_t address,
		       struct object *object)
{
	const struct ruby_layout *layout = source->layout;
	const uint16_t typed_at = layout->rtypeddata__typed_flag;
	uint64_t self, data;
	int err;

	if (thread < 4096 || thread % 8 || address < 4096 || address % 8)
		return -EINVAL;
	err = memory__read_u64(source->memory, thread + layout->th__self, &self);
	if (err)
		return err;
	if (self != address)
		return -ESTALE;
	object->address = address;
	err = memory__read(source->memory, address, object->bytes, 40);
	if (err)
		return err;
	if ((object_word(object, layout->rbasic__flags) & RUBY_T_MASK) != RUBY_T_DATA)
		return -ESTALE;
	data = object_word(object, layout->rdata__data);
	if (layout->typed_embedded_mask &&
	    object_word(object, typed_at) & layout->typed_embedded_mask)
		data = address + layout->rdata__data + 8;
	return data == thread ? 0 : -ESTALE;
}

static int id_of(uint64_t value, int64_t *ret_id)
{
	int64_t id;

	/* A Bignum after very many; what is neither was not read whole. */
	if (!object__fixnum(value, &id)) {
		if (value % 8 || !value)
			return -EINVAL;
		id = THREAD_ID_NONE;
	} else if (id < 0) {
		return -EINVAL;
	}
	*ret_id = id;
	return 0;
}

static int id_by_table(const struct thread_id_source *source, const struct object *object,
		       int64_t *ret_id)
{
	const struct ruby_layout *layout = source->layout;
	const uint64_t flags = object_word(object, layout->rbasic__flags);
	uint64_t at = source->vm_ptr_address, value;
	int err;

	if (!(flags & RUBY_FL_SEEN_OBJ_ID)) {
		*ret_id = THREAD_ID_NONE;
		return 0;
	}
	err = memory__read_u64(source->memory, at, &at);
	if (!err)
		err = memory__read_u64(source->memory, at + layout->vm__objspace, &at);
	if (!err)
		err = memory__read_u64(source->memory, at + layout->objspace__obj_to_id_tbl, &at);
	if (!err)
		err = st_table__find(source->memory, layout, at, object->address, &value);
	return err ? err : id_of(value, ret_id);
}

struct shape {
	uint64_t edge_name;
	uint32_t parent_id;
	uint16_t next_index;
	uint8_t type;
};

static int shape_read(const struct thread_id_source *source, uint64_t list, uint64_t index,
		      struct shape *ret_shape)
{
	const struct ruby_layout *layout = source->layout;
	unsigned char bytes[SHAPE_BYTES];
	int err;

	if (layout->shape__sizeof > sizeof(bytes) || layout->shape__edge_name > SHAPE_BYTES - 8 ||
	    layout->shape__parent_id > SHAPE_BYTES - 4 ||
	    layout->shape__next_iv_index > SHAPE_BYTES - 2 || layout->shape__type >= SHAPE_BYTES)
		return -ENOTSUP;
	err = memory__read(source->memory, list + index * layout->shape__sizeof, bytes,
			   layout->shape__sizeof);
	if (err)
		return err;
	memcpy(&ret_shape->edge_name, bytes + layout->shape__edge_name, 8);
	memcpy(&ret_shape->parent_id, bytes + layout->shape__parent_id, 4);
	memcpy(&ret_shape->next_index, bytes + layout->shape__next_iv_index, 2);
	ret_shape->type = bytes[layout->shape__type];
	return 0;
}

/* At which of the fields the id lies: the shape that added it, from the object's own upwards. */
static int id_index(const struct thread_id_source *source, uint64_t list, uint64_t index,
		    uint64_t *ret_index)
{
	const struct ruby_layout *layout = source->layout;
	const uint64_t mask = (1ULL << layout->shape_offset_bits) - 1;
	struct shape shape;
	int i, err;

	for (i = 0; i < MAX_SHAPES; i++) {
		err = shape_read(source, list, index & mask, &shape);
		if (err)
			return err;
		if (shape.type == layout->shape_type_object_id) {
			if (!shape.next_index)
				return -EINVAL;
			*ret_index = shape.next_index - 1u;
			return 0;
		}
		if (shape.parent_id == UINT32_MAX)
			return -EINVAL;
		index = shape.parent_id;
	}
	return -ELOOP;
}

/* What holds the fields: *ret_place is where they begin, or a table of a complex object. */
static int fields_place(const struct thread_id_source *source, const struct object *object,
			uint64_t *ret_place)
{
	const struct ruby_layout *layout = source->layout;
	const uint64_t fields = object_word(object, layout->rtypeddata__fields_obj);
	uint64_t flags;
	int err;

	if (fields < 4096 || fields % 8)
		return -EINVAL;
	err = memory__read_u64(source->memory, fields + layout->rbasic__flags, &flags);
	if (err)
		return err;
	if ((flags & RUBY_T_MASK) != RUBY_T_IMEMO ||
	    (flags >> RUBY_FL_USHIFT & RUBY_IMEMO_MASK) != layout->imemo_fields)
		return -EINVAL;
	if (flags & RUBY_FIELDS_HEAP)
		return memory__read_u64(source->memory, fields + layout->fields__external,
					ret_place);
	*ret_place = fields + layout->fields__embed;
	return 0;
}

static int id_by_shape(const struct thread_id_source *source, const struct object *object,
		       int64_t *ret_id)
{
	const struct ruby_layout *layout = source->layout;
	const uint64_t shape = object_word(object, layout->rbasic__flags) >> SHAPE_SHIFT;
	struct shape with_id;
	uint64_t list, place, index = 0, value;
	int err;

	if (!(shape >> layout->shape_object_id_bit & 1)) {
		*ret_id = THREAD_ID_NONE;
		return 0;
	}
	if (!source->shape_tree_address)
		return -ENOTSUP;
	err = memory__read_u64(source->memory,
			       source->shape_tree_address + layout->shape_tree__shape_list, &list);
	if (!err)
		err = fields_place(source, object, &place);
	if (err)
		return err;
	if (shape >> layout->shape_complex_bit & 1) {
		err = shape_read(source, list, SHAPE_WITH_ID, &with_id);
		if (!err)
			err = st_table__find(source->memory, layout, place, with_id.edge_name,
					     &value);
	} else {
		err = id_index(source, list, shape, &index);
		if (!err)
			err = memory__read_u64(source->memory, place + 8 * index, &value);
	}
	return err ? err : id_of(value, ret_id);
}

int thread_id__read(const struct thread_id_source *source, uint64_t thread, uint64_t object,
		    int64_t *ret_id)
{
	const struct ruby_layout *layout = source->layout;
	const bool has_table = layout->objspace__obj_to_id_tbl != RUBY_NO_FIELD;
	struct object before = { .address = 0 }, after = { .address = 0 };
	int64_t id = THREAD_ID_NONE;
	int tries, err = -EAGAIN;

	if (!has_table &&
	    (layout->rtypeddata__fields_obj == RUBY_NO_FIELD || layout->shape_object_id_bit > 31 ||
	     layout->shape_complex_bit > 31 || layout->shape_offset_bits > 31))
		return -ENOTSUP;
	for (tries = 0; tries < TRIES && err == -EAGAIN; tries++) {
		err = object_read(source, thread, object, &before);
		if (!err)
			err = has_table ? id_by_table(source, &before, &id)
					: id_by_shape(source, &before, &id);
		if (!err && id != THREAD_ID_NONE)
			err = object_read(source, thread, object, &after);
		/* The same object all the time; in 4.0 with the same fields. */
		if (!err && id != THREAD_ID_NONE && memcmp(before.bytes, after.bytes, 40))
			err = -EAGAIN;
	}
	if (!err)
		*ret_id = id;
	return err;
}
