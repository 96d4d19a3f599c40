/* SPDX-License-Identifier: BSD-2-Clause */
#include "method.h"

#include <errno.h>
#include <string.h>

#define MAX_PROCS 8 /* procs made of procs */

/* vm_core.h: enum vm_block_type */
#define BLOCK_TYPE_PROC 3

static int method_definition(struct reader *reader, struct method *method)
{
	const struct ruby_layout *layout = reader->layout;
	const uint64_t def = method->definition;
	uint64_t word, id_serial[2];
	int err;

	if (!def || def % 8)
		return -EINVAL;
	/* Counts of who shares the definition stand behind the type, and change. */
	err = reader__masked(reader, def, RUBY_METHOD_TYPE_MASK, &word);
	if (!err)
		err = reader__word(reader, def + layout->def__body, &method->body);
	if (!err && layout->def__method_serial != layout->def__original_id + 8)
		err = -ENOTSUP;
	if (!err)
		err = reader__read(reader, def + layout->def__original_id, id_serial,
				   sizeof(id_serial));
	if (err)
		return err;
	method->type = (uint32_t)word;
	method->original_id = id_serial[0];
	method->serial = id_serial[1];
	return 0;
}

static int method_entry(struct reader *reader, uint64_t address, struct method *method)
{
	const struct ruby_layout *layout = reader->layout;
	const uint32_t imemo = RUBY_IMEMO_MASK << RUBY_FL_USHIFT;
	const uint32_t first = layout->cme__defined_class;
	uint64_t flags, words[4]; /* defined_class, def, called_id, owner */
	int err;

	if (layout->cme__def != first + 8 || layout->cme__owner != first + 24)
		return -ENOTSUP;
	err = reader__object(reader, address, imemo, &flags);
	if (!err && flags != (RUBY_T_IMEMO | RUBY_IMEMO_MENT << RUBY_FL_USHIFT))
		err = -EINVAL;
	if (!err)
		err = reader__read(reader, address + first, words, sizeof(words));
	if (err)
		return err;
	method->defined_class = words[0];
	method->definition = words[1];
	method->owner = words[3];
	return method_definition(reader, method);
}

int method__read(struct reader *reader, uint64_t address, struct method *ret_method)
{
	const uint32_t since = reader->count;
	struct method method, hidden;
	int err;

	memset(&method, 0, sizeof(method));
	memset(&hidden, 0, sizeof(hidden));
	err = method_entry(reader, address, &method);
	method.own_serial = method.serial;
	if (!err && method.type == METHOD_TYPE_REFINED && method.body) {
		err = method_entry(reader, method.body, &hidden);
		method.definition = hidden.definition;
		method.type = hidden.type;
		method.original_id = hidden.original_id;
		method.serial = hidden.serial;
		method.body = hidden.body;
	}
	reader__mark_key(reader, since);
	if (!err)
		*ret_method = method;
	return err;
}

int proc__iseq(struct reader *reader, uint64_t proc, uint64_t *ret_iseq)
{
	const struct ruby_layout *layout = reader->layout;
	uint64_t data, type;
	int i, err;

	for (i = 0; i < MAX_PROCS; i++) {
		err = object__data(reader, proc, &data);
		if (!err && !data)
			err = -EINVAL;
		if (!err)
			err = reader__masked(reader, data + layout->proc__block_type, UINT8_MAX,
					     &type);
		if (err)
			return err;
		if (type == RUBY_BLOCK_TYPE_ISEQ)
			return reader__word(reader,
					    data + layout->proc__block + layout->captured__code,
					    ret_iseq);
		if (type != BLOCK_TYPE_PROC)
			return -ENOENT;
		err = reader__word(reader, data + layout->proc__block, &proc);
		if (err)
			return err;
	}
	return -ELOOP;
}
