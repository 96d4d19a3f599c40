/* SPDX-License-Identifier: BSD-2-Clause */
#include "pprof_wire.h"

#include <errno.h>

#define MAX_FIELD_NUMBER ((1U << 29) - 1)

int wire__long_varint(struct wire *wire, uint64_t *ret_value)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		uint8_t byte;

		if (wire->at == wire->end)
			return -EBADMSG;
		byte = *wire->at++;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret_value = value;
			return 0;
		}
	}
	return -EBADMSG;
}

static int take_bytes(struct wire *wire, uint64_t length, struct wire_field *field)
{
	if (length > (size_t)(wire->end - wire->at))
		return -EBADMSG;
	field->bytes = wire->at;
	field->length = (size_t)length;
	wire->at += length;
	return 0;
}

static int take_value(struct wire *wire, struct wire_field *field)
{
	uint64_t length;

	switch (field->type) {
	case WIRE_VARINT:
		return wire__varint(wire, &field->value);
	case WIRE_FIXED64:
		return take_bytes(wire, 8, field);
	case WIRE_FIXED32:
		return take_bytes(wire, 4, field);
	case WIRE_BYTES:
		if (wire__varint(wire, &length))
			return -EBADMSG;
		return take_bytes(wire, length, field);
	}
	return -EBADMSG;
}

int wire__next(struct wire *wire, struct wire_field *ret_field)
{
	struct wire_field field = { 0 };
	uint64_t key;

	if (wire->at == wire->end)
		return 0;
	if (wire__varint(wire, &key))
		return -EBADMSG;
	if (!(key >> 3) || key >> 3 > MAX_FIELD_NUMBER)
		return -EBADMSG;
	field.number = (uint32_t)(key >> 3);
	field.type = (enum wire_type)(key & 7);
	if (take_value(wire, &field))
		return -EBADMSG;
	*ret_field = field;
	return 1;
}
