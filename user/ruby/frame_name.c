/* SPDX-License-Identifier: BSD-2-Clause */
/* What a frame is called: `Class#method`, `block in Class.method`, `<main>`. */
#include "names_impl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util/utf8.h"
#include "class.h"
#include "method.h"
#include "subclasses.h"

#define LABEL_BYTES 4096 /* of a label that are looked at; its tail tells the prefix */
#define MAX_PARENTS 256	 /* blocks in blocks */

struct naming {
	struct names *names;
	struct reader *reader;
	struct iseq iseq;
	struct iseq local;
	struct method method;
	bool nameless;	 /* its class has no name */
	bool has_serial; /* it belongs to a method definition */
	bool continuous; /* see proof.h, the third way */
	bool agrees;	 /* the method entry is that of the code */
	struct text text;
};

void frame_name__clear(struct frame_name *name)
{
	proof__free(&name->proof);
	iseq_lines__free(&name->lines);
}

/* The error that the reading of a part failed with, as a reason. */
static int reason(int err, int otherwise)
{
	if (err >= 0 || err == -ESRCH || err == -ENOMEM)
		return err;
	return err == -EFAULT ? RBPROF_E_NAME_FAULT : otherwise;
}

static int naming_intern(struct naming *naming, const char *file, size_t length, int64_t line,
			 uint32_t *ret_function)
{
	struct profile *profile = naming->names->profile;
	struct profile_function function = { .start_line = line > 0 ? line : 0 };
	char text[UTF8_LIMIT_PATH + 1];
	size_t size;

	size = utf8__clean(naming->text.bytes, naming->text.length, text, UTF8_LIMIT_METHOD);
	function.name = profile__string(profile, text, size);
	function.system_name = profile__string(profile, "", 0);
	size = utf8__clean(file, length, text, UTF8_LIMIT_PATH);
	function.file = profile__string(profile, text, size);
	*ret_function = profile__function(profile, &function);
	return *ret_function == PROFILE_NONE ? -ENOMEM : 0;
}

static int naming_owner(struct naming *naming)
{
	return reason(class__owner(naming->reader, naming->names->symbols,
				   naming->method.defined_class, &naming->text, &naming->nameless),
		      RBPROF_E_CLASS_INVALID);
}

static int naming_original_id(struct naming *naming)
{
	return reason(
		symbols__name(naming->names->symbols, naming->method.original_id, &naming->text),
		RBPROF_E_SYMBOL_INVALID);
}

static int name_c_function(struct naming *naming, uint64_t method_entry, uint32_t *ret_function)
{
	static const char file[] = "<cfunc>";
	int err;

	err = reason(method__read(naming->reader, method_entry, &naming->method),
		     RBPROF_E_METHOD_INVALID);
	if (!err)
		err = naming_owner(naming);
	if (!err)
		err = naming_original_id(naming);
	if (err)
		return err;
	/* An entry of the class's own table is there as long as the definition. */
	naming->continuous = naming->method.owner == naming->method.defined_class;
	naming->has_serial = true;
	return naming_intern(naming, file, sizeof(file) - 1, 0, ret_function);
}

/*
 * Follows the code that contains the frame's, from the frame's own to `end`, to the main script,
 * or to a sequence that has no parent. *ret_owned: each is part of the next (an eval's code is not
 * part of the code that it was evaluated in).
 */
static int naming_parents(struct naming *naming, uint64_t end, struct iseq *ret_last,
			  bool *ret_owned)
{
	struct iseq at = naming->iseq;
	int i, err;

	*ret_owned = true;
	/* The main script has a parent too: that of the top level binding. */
	for (i = 0; at.address != end && at.type != ISEQ_TYPE_MAIN && at.parent; i++) {
		if (i == MAX_PARENTS)
			return -ELOOP;
		if (at.type == ISEQ_TYPE_EVAL)
			*ret_owned = false;
		err = iseq__read(naming->reader, at.parent, &at);
		if (err)
			return err;
	}
	*ret_last = at;
	return 0;
}

/* "rescue in block in " ... of a frame inside the block that is the body of a method. */
static int name_in_bmethod(struct naming *naming, uint64_t body)
{
	struct iseq at = naming->iseq;
	unsigned int blocks = 0;
	char prefix[64];
	int i, err;

	for (i = 0; at.address != body; i++) {
		if (i == MAX_PARENTS || !at.parent)
			return -ELOOP;
		if (at.type == RUBY_ISEQ_TYPE_BLOCK)
			blocks++;
		else if (at.type == ISEQ_TYPE_RESCUE && !blocks)
			text__string(&naming->text, "rescue in ");
		else if (at.type == ISEQ_TYPE_ENSURE && !blocks)
			text__string(&naming->text, "ensure in ");
		err = iseq__read(naming->reader, at.parent, &at);
		if (err)
			return err;
	}
	if (blocks == 1) {
		text__string(&naming->text, "block in ");
	} else if (blocks) {
		snprintf(prefix, sizeof(prefix), "block (%u levels) in ", blocks);
		text__string(&naming->text, prefix);
	}
	return 0;
}

/*
 * The method is a block (define_method): *ret_inside says whether the frame's code is that block
 * or lies in it.
 */
static int naming_bmethod(struct naming *naming, bool *ret_inside)
{
	struct iseq last;
	uint64_t body;
	int err;

	*ret_inside = false;
	err = proc__iseq(naming->reader, naming->method.body, &body);
	if (err == -ENOENT)
		return 0;
	if (!err)
		err = naming_parents(naming, body, &last, &naming->continuous);
	if (err)
		return reason(err, RBPROF_E_METHOD_INVALID);
	if (last.address != body) {
		naming->continuous = false;
		return 0;
	}
	*ret_inside = naming->agrees = naming->has_serial = true;
	err = reason(name_in_bmethod(naming, body), RBPROF_E_ISEQ_INVALID);
	if (!err)
		err = naming_owner(naming);
	return err ? err : naming_original_id(naming);
}

/* The label as Ruby has it, with the owner before the name where the method is `local`. */
static int naming_label(struct naming *naming, bool with_owner)
{
	struct text label = { .length = 0 }, base = { .length = 0 };
	size_t prefix;
	int err;

	err = object__string(naming->reader, naming->iseq.label, LABEL_BYTES, &label);
	if (!err)
		err = object__string(naming->reader, naming->iseq.base_label, LABEL_BYTES, &base);
	if (err)
		return reason(err, RBPROF_E_STRING_INVALID);
	prefix = label.length - base.length;
	if (!with_owner || label.length < base.length ||
	    memcmp(label.bytes + prefix, base.bytes, base.length)) {
		text__add(&naming->text, label.bytes, label.length);
		return 0;
	}
	text__add(&naming->text, label.bytes, prefix);
	err = naming_owner(naming);
	if (!err)
		text__add(&naming->text, base.bytes, base.length);
	return err;
}

static int naming_ruby_name(struct naming *naming, uint64_t method_entry)
{
	struct method *method = &naming->method;
	bool inside = false, own;
	struct iseq last;
	int err;

	if (method_entry == RBPROF_METHOD_UNREADABLE)
		return RBPROF_E_METHOD_INVALID;
	if (method_entry) {
		err = method__read(naming->reader, method_entry, method);
		if (err)
			return reason(err, RBPROF_E_METHOD_INVALID);
	}
	if (method_entry && method->type == RUBY_METHOD_TYPE_BMETHOD) {
		err = naming_bmethod(naming, &inside);
		if (err || inside)
			return err;
	}
	own = method_entry && method->type == RUBY_METHOD_TYPE_ISEQ &&
	      method->body == naming->local.address && naming->local.type == RUBY_ISEQ_TYPE_METHOD;
	/* A method's own frame has its entry: where it has not, it was not read in one piece. */
	if (!own && naming->iseq.type == RUBY_ISEQ_TYPE_METHOD)
		return RBPROF_E_METHOD_INVALID;
	err = naming_parents(naming, own ? naming->local.address : 0, &last, &naming->continuous);
	if (err)
		return reason(err, RBPROF_E_ISEQ_INVALID);
	naming->agrees = own || !method_entry;
	naming->has_serial = own;
	if (own ? last.address != naming->local.address : last.type != ISEQ_TYPE_MAIN)
		naming->continuous = false;
	return naming_label(naming, own);
}

static int name_ruby(struct naming *naming, const struct frame_key *key, struct frame_name *name)
{
	struct text path = { .length = 0 };
	int err;

	err = iseq__read(naming->reader, key->iseq, &naming->iseq);
	if (!err && (!naming->iseq.code || !naming->iseq.size))
		err = -EINVAL;
	naming->local = naming->iseq;
	if (!err && naming->iseq.local && naming->iseq.local != key->iseq)
		err = iseq__read(naming->reader, naming->iseq.local, &naming->local);
	if (err)
		return reason(err, RBPROF_E_ISEQ_INVALID);
	err = naming_ruby_name(naming, key->method_entry);
	if (err)
		return err;
	err = iseq__path(naming->reader, &naming->iseq, false, &path);
	if (err)
		return reason(err, RBPROF_E_STRING_INVALID);
	err = iseq__lines(naming->reader, &naming->iseq, &name->lines);
	if (err && err != -ESRCH && err != -ENOMEM) {
		/* The name is right all the same. */
		naming->names->errors[RBPROF_E_LINE_TABLE]++;
		err = 0;
	}
	name->code = naming->iseq.code;
	name->code_bytes = naming->iseq.size * ISEQ_WORD;
	return err ? err
		   : naming_intern(naming, path.bytes, path.length, naming->iseq.first_line,
				   &name->function);
}

bool names__is_final(struct names *names, const struct rbprof_frame *frame)
{
	struct method method;
	struct reader reader;
	bool is_final = false;
	int err;

	if (!frame->method_entry || frame->method_entry == RBPROF_METHOD_UNREADABLE)
		return false;
	reader__init(&reader, names->memory, &names->layout);
	err = method__read(&reader, frame->method_entry, &method);
	/* An entry that was replaced meanwhile is of another definition. */
	if (!err && frame->method_serial != method.serial &&
	    frame->method_serial != method.own_serial)
		err = -ESTALE;
	if (!err)
		err = subclasses__is_final(&reader, method.defined_class, &is_final);
	reader__free(&reader);
	return !err && is_final;
}

int frame_name__read(struct names *names, const struct frame_key *key, struct frame_name *name)
{
	struct naming *naming;
	struct reader reader;
	int err;

	naming = calloc(1, sizeof(*naming));
	if (!naming)
		return -ENOMEM;
	reader__init(&reader, names->memory, &names->layout);
	(void)prover__vm(names->prover, &reader.vm);
	naming->names = names;
	naming->reader = &reader;
	err = key->iseq ? name_ruby(naming, key, name)
			: name_c_function(naming, key->method_entry, &name->function);
	if (err) {
		iseq_lines__free(&name->lines);
	} else {
		/* The main script has no serial number: all of its bytes tell who it is. */
		if (!naming->has_serial)
			reader__mark_key(&reader, 0);
		proof__init(&name->proof, &reader);
		name->proof.continuous = naming->continuous;
		/* A C function is all its definition; code must be owned by it. */
		if (naming->has_serial && (naming->continuous || !key->iseq))
			name->serial = naming->method.serial;
		name->method_serials[0] = naming->method.own_serial;
		name->method_serials[1] = naming->method.serial;
		name->passing = naming->nameless;
		name->proof.movable = !naming->agrees;
	}
	reader__free(&reader);
	free(naming);
	return err;
}
