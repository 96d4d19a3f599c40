/* SPDX-License-Identifier: BSD-2-Clause */
#include "class.h"

#include <errno.h>
#include <string.h>

#include "../util/utf8.h"

#define NAME_BYTES (UTF8_LIMIT_METHOD + 4)
#define MAX_SUPERS 64	/* singleton classes and included modules before a real class */
#define MAX_SHAPES 1024 /* instance variables of a class */

/* shape.h, 3.2: enum shape_type, INVALID_SHAPE_ID */
#define SHAPE_ROOT 0
#define SHAPE_IVAR 1
#define SHAPE_NONE 0xffffffff

#define MAX_NESTED 8 /* singleton classes of singleton classes, refinements of refinements */

/* How both names of nameless classes begin; no constant is called so. */
static const char anonymous[] = "(anonymous ";

struct klass {
	uint64_t address;
	uint32_t type;
	bool singleton;
	bool refinement;
};

struct lookup {
	struct symbols *symbols;
	uint64_t id;
	enum symbols_known known;
};

static int class_path(struct reader *reader, struct symbols *symbols, const struct klass *klass,
		      int depth, struct text *text);

static int class_open(struct reader *reader, uint64_t address, struct klass *ret_klass)
{
	/* A bit of the flags means one thing in a class and another in a module. */
	const uint32_t singleton = reader->layout->fl_singleton;
	struct klass klass = { .address = address };
	uint64_t flags;
	int err;

	err = object__type(reader, address, &klass.type);
	if (err)
		return err;
	if (klass.type == RUBY_T_CLASS) {
		err = reader__object(reader, address, singleton, &flags);
		klass.singleton = !err && (flags & singleton);
	} else if (klass.type == RUBY_T_MODULE) {
		err = reader__object(reader, address, RUBY_REFINEMENT_FLAG, &flags);
		klass.refinement = !err && (flags & RUBY_REFINEMENT_FLAG);
	} else if (klass.type != RUBY_T_ICLASS) {
		err = -EINVAL;
	}
	if (!err)
		*ret_klass = klass;
	return err;
}

/* An include class stands for a module: its klass. */
static int class_resolve(struct reader *reader, uint64_t address, struct klass *ret_klass)
{
	int err = class_open(reader, address, ret_klass);

	if (err || ret_klass->type != RUBY_T_ICLASS)
		return err;
	err = reader__word(reader, address + reader->layout->rbasic__klass, &address);
	if (!err)
		err = class_open(reader, address, ret_klass);
	if (!err && ret_klass->type == RUBY_T_ICLASS)
		err = -EINVAL;
	return err;
}

static bool is_id(uint64_t key, void *context)
{
	const struct lookup *lookup = context;

	return key == lookup->id;
}

static bool is_known(uint64_t key, void *context)
{
	const struct lookup *lookup = context;

	return symbols__is(lookup->symbols, key, lookup->known);
}

/* An instance variable of a class, up to 3.1: in the st_table of its classext. */
static int class_table_ivar(struct reader *reader, const struct klass *klass, struct lookup *lookup,
			    bool *ret_found, uint64_t *ret_value)
{
	const struct ruby_layout *layout = reader->layout;
	uint64_t classext, table;
	int err;

	err = reader__word(reader, klass->address + layout->rclass__classext_ptr, &classext);
	if (err || !classext)
		return err;
	err = reader__word(reader, classext + layout->classext__iv_tbl, &table);
	if (err || !table)
		return err;
	return object__st_find(reader, table, lookup->id ? is_id : is_known, lookup, ret_found,
			       ret_value);
}

/*
 * The number of an instance variable in 3.2, where the shapes of all objects are a tree: from the
 * class's own shape (upper half of its flags) towards the root. (shape.h: struct rb_shape.)
 */
static int class_shape_index(struct reader *reader, uint64_t shape_list, const struct klass *klass,
			     const struct lookup *lookup, bool *ret_found, uint64_t *ret_index)
{
	const struct ruby_layout *layout = reader->layout;
	uint64_t id, edge, index, type, shape;
	int i, err;

	err = reader__masked(reader, klass->address + layout->rbasic__flags + 4, UINT32_MAX, &id);
	for (i = 0; !err && i < MAX_SHAPES; i++) {
		shape = shape_list + id * layout->shape__sizeof;
		err = reader__masked(reader, shape + layout->shape__type, UINT8_MAX, &type);
		if (!err)
			err = reader__word(reader, shape + layout->shape__edge_name, &edge);
		if (!err)
			err = reader__masked(reader, shape + layout->shape__next_iv_index,
					     UINT32_MAX, &index);
		if (err)
			return err;
		if (type == SHAPE_IVAR && index &&
		    (lookup->id ? is_id : is_known)(edge, (void *)lookup)) {
			*ret_found = true;
			*ret_index = index - 1;
			return 0;
		}
		err = reader__masked(reader, shape + layout->shape__parent_id, UINT32_MAX, &id);
		if (err || type == SHAPE_ROOT || id == SHAPE_NONE)
			return err;
	}
	return err ? err : -ELOOP;
}

static int class_shape_ivar(struct reader *reader, const struct klass *klass, struct lookup *lookup,
			    bool *ret_found, uint64_t *ret_value)
{
	const struct ruby_layout *layout = reader->layout;
	uint64_t shape_list, values, index = 0;
	int err = reader__word(reader, reader->vm + layout->vm__shape_list, &shape_list);

	if (!err)
		err = class_shape_index(reader, shape_list, klass, lookup, ret_found, &index);
	if (err || !*ret_found)
		return err;
	err = reader__word(reader,
			   klass->address + layout->rclass__classext + layout->classext__iv_ptr,
			   &values);
	return err ? err : reader__word(reader, values + 8 * index, ret_value);
}

/* An instance variable of a class, up to 3.2. */
static int class_ivar(struct reader *reader, const struct klass *klass, struct lookup *lookup,
		      bool *ret_found, uint64_t *ret_value)
{
	const struct ruby_layout *layout = reader->layout;
	*ret_found = false;
	if (layout->rclass__classext_ptr != RUBY_NO_FIELD &&
	    layout->classext__iv_tbl != RUBY_NO_FIELD)
		return class_table_ivar(reader, klass, lookup, ret_found, ret_value);
	if (layout->vm__shape_list == RUBY_NO_FIELD || layout->rclass__classext == RUBY_NO_FIELD ||
	    layout->classext__iv_ptr == RUBY_NO_FIELD)
		return -ENOTSUP;
	return reader->vm ? class_shape_ivar(reader, klass, lookup, ret_found, ret_value) : -EAGAIN;
}

/* A field of the classext that lies behind the class itself, 3.2 and later. */
static int class_field(struct reader *reader, const struct klass *klass, uint16_t offset,
		       uint64_t *ret_value)
{
	if (offset == RUBY_NO_FIELD || reader->layout->rclass__classext == RUBY_NO_FIELD)
		return -ENOTSUP;
	return reader__word(reader, klass->address + reader->layout->rclass__classext + offset,
			    ret_value);
}

static int class_known_ivar(struct reader *reader, struct symbols *symbols,
			    const struct klass *klass, enum symbols_known known, bool *ret_found,
			    uint64_t *ret_value)
{
	struct lookup lookup = { .symbols = symbols, .known = known };

	return class_ivar(reader, klass, &lookup, ret_found, ret_value);
}

/* Its permanent name, a String; none: it was never given to a constant. */
static int class_name(struct reader *reader, struct symbols *symbols, const struct klass *klass,
		      bool *ret_found, uint64_t *ret_value)
{
	const struct ruby_layout *layout = reader->layout;
	uint64_t word;
	int err;

	if (layout->classext__classpath == RUBY_NO_FIELD)
		return class_known_ivar(reader, symbols, klass, SYMBOLS_CLASSPATH, ret_found,
					ret_value);
	/* 3.3 and later: a field, which also holds names that are not permanent. */
	*ret_found = false;
	err = class_field(reader, klass, layout->classext__classpath, ret_value);
	if (err || !*ret_value || *ret_value == layout->qnil)
		return err;
	err = reader__masked(reader,
			     klass->address + layout->rclass__classext +
				     layout->classext__permanent_classpath,
			     1U << layout->classext__permanent_classpath_bit, &word);
	*ret_found = !err && word;
	return err;
}

static int class_attached(struct reader *reader, const struct klass *klass, uint64_t *ret_object)
{
	struct lookup lookup = { .id = reader->layout->attached_id };
	bool found = false;
	int err;

	if (reader->layout->classext__attached_object != RUBY_NO_FIELD)
		return class_field(reader, klass, reader->layout->classext__attached_object,
				   ret_object);
	err = class_ivar(reader, klass, &lookup, &found, ret_object);
	return err ? err : found ? 0 : -EINVAL;
}

/*
 * What a refinement refines, and the module that it stands in. From 3.3 on its instance variables
 * are found by their order: eval.c, rb_mod_refine() sets these two first. In 4.0 they lie in an
 * object of their own (internal/class.h, internal/imemo.h: struct rb_fields).
 */
static int class_refinement_part(struct reader *reader, struct symbols *symbols,
				 const struct klass *klass, int part, uint64_t *ret_value)
{
	static const enum symbols_known parts[] = { SYMBOLS_REFINED_CLASS, SYMBOLS_DEFINED_AT };
	const struct ruby_layout *layout = reader->layout;
	uint64_t values;
	bool found;
	int err;

	if (layout->classext__classpath == RUBY_NO_FIELD) {
		err = class_known_ivar(reader, symbols, klass, parts[part], &found, ret_value);
		return err ? err : found ? 0 : -EINVAL;
	}
	err = class_field(reader, klass, layout->classext__iv_ptr, &values);
	if (!err && !values)
		err = -EINVAL;
	return err ? err : reader__word(reader, values + 8 * (uint64_t)part, ret_value);
}

/* The class of an object that has a singleton class: behind that and the modules it extends. */
static int class_of_singleton(struct reader *reader, uint64_t address, struct klass *ret_klass)
{
	int i, err;

	for (i = 0; i < MAX_SUPERS; i++) {
		err = class_open(reader, address, ret_klass);
		if (err)
			return err;
		if (ret_klass->type == RUBY_T_CLASS && !ret_klass->singleton)
			return 0;
		err = reader__word(reader, address + reader->layout->rclass__super, &address);
		if (err)
			return err;
	}
	return -ELOOP;
}

static int class_refinement(struct reader *reader, struct symbols *symbols,
			    const struct klass *klass, int depth, struct text *text)
{
	struct klass part;
	uint64_t value;
	int i, err;

	for (i = 0; i < 2; i++) {
		err = class_refinement_part(reader, symbols, klass, i, &value);
		if (!err)
			err = class_open(reader, value, &part);
		if (!err && i && part.type != RUBY_T_MODULE)
			err = -EINVAL;
		if (err)
			return err;
		text__string(text, i ? "@" : "#<refinement:");
		err = class_path(reader, symbols, &part, depth + 1, text);
		if (err)
			return err;
	}
	text__string(text, ">");
	return 0;
}

/* What a singleton class belongs to; *ret_plain: an object that is no class or module. */
static int class_singleton_of(struct reader *reader, struct symbols *symbols,
			      const struct klass *klass, int depth, struct text *text,
			      bool *ret_plain)
{
	struct klass attached;
	uint64_t object;
	uint32_t type;
	int err;

	*ret_plain = false;
	err = class_attached(reader, klass, &object);
	if (!err)
		err = object__type(reader, object, &type);
	if (err)
		return err;
	if (type == RUBY_T_CLASS || type == RUBY_T_MODULE) {
		err = class_open(reader, object, &attached);
		return err ? err : class_path(reader, symbols, &attached, depth + 1, text);
	}
	*ret_plain = true;
	err = class_of_singleton(reader, klass->address, &attached);
	if (err)
		return err;
	text__string(text, "(singleton of ");
	err = class_path(reader, symbols, &attached, depth + 1, text);
	text__string(text, ")");
	return err;
}

static int class_path(struct reader *reader, struct symbols *symbols, const struct klass *klass,
		      int depth, struct text *text)
{
	uint64_t value;
	bool found, plain;
	int err;

	if (depth > MAX_NESTED)
		return -ELOOP;
	if (klass->refinement)
		return class_refinement(reader, symbols, klass, depth, text);
	if (klass->singleton) {
		text__string(text, "#<Class:");
		err = class_singleton_of(reader, symbols, klass, depth, text, &plain);
		text__string(text, ">");
		return err;
	}
	err = class_name(reader, symbols, klass, &found, &value);
	if (err)
		return err;
	if (found)
		return object__string(reader, value, NAME_BYTES, text);
	text__string(text,
		     klass->type == RUBY_T_MODULE ? "(anonymous Module)" : "(anonymous Class)");
	return 0;
}

int class__owner(struct reader *reader, struct symbols *symbols, uint64_t address,
		 struct text *text, bool *ret_nameless)
{
	const uint32_t since = reader->count;
	const size_t begin = text->length;
	struct klass klass;
	bool plain, nameless;
	int err;

	err = class_resolve(reader, address, &klass);
	if (err)
		return err;
	if (klass.singleton)
		err = class_singleton_of(reader, symbols, &klass, 0, text, &plain);
	else
		err = class_path(reader, symbols, &klass, 0, text);
	if (err)
		return err;
	nameless =
		memmem(text->bytes + begin, text->length - begin, anonymous, sizeof(anonymous) - 1);
	if (nameless) /* it may get one, but a name stays */
		reader__mark_key(reader, since);
	if (ret_nameless)
		*ret_nameless = nameless;
	text__string(text, klass.singleton ? "." : "#");
	return 0;
}

int class__of_object(struct reader *reader, struct symbols *symbols, uint64_t address,
		     struct text *text)
{
	struct klass klass;
	uint64_t value;
	bool found;
	int err = class_open(reader, address, &klass);

	if (!err && klass.type != RUBY_T_CLASS)
		err = -EINVAL;
	if (!err && klass.singleton)
		err = class_of_singleton(reader, address, &klass);
	if (!err)
		err = class_name(reader, symbols, &klass, &found, &value);
	if (!err && !found)
		err = -ENOENT;
	return err ? err : object__string(reader, value, NAME_BYTES, text);
}
