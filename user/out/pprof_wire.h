/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The outermost level of a protobuf message, field by field. A library that unpacks a whole
 * profile at once needs fifty times the file's size for it; this way only one sample, location
 * or function is unpacked at a time.
 */
#ifndef RBPROF_PPROF_WIRE_H
#define RBPROF_PPROF_WIRE_H

#include <stddef.h>
#include <stdint.h>

enum wire_type {
	WIRE_VARINT = 0,
	WIRE_FIXED64 = 1,
	WIRE_BYTES = 2,
	WIRE_FIXED32 = 5,
};

/* What is left to read. */
struct wire {
	const uint8_t *at;
	const uint8_t *end;
};

struct wire_field {
	uint32_t number;
	enum wire_type type;
	uint64_t value;	      /* of a varint */
	const uint8_t *bytes; /* of everything else: points into the message */
	size_t length;
};

/* The same as wire__varint(), for numbers of any length. */
int wire__long_varint(struct wire *wire, uint64_t *ret_value);

/* 0 and the value, or -EBADMSG: the message ends within it, or it has more than 64 bits. */
static inline int wire__varint(struct wire *wire, uint64_t *ret_value)
{
	const uint8_t *at = wire->at;

	/* Nearly all have one byte or two. */
	if (at != wire->end && at[0] < 0x80) {
		*ret_value = at[0];
		wire->at = at + 1;
		return 0;
	}
	if (wire->end - at > 1 && at[1] < 0x80) {
		*ret_value = (uint64_t)(at[0] & 0x7f) | (uint64_t)at[1] << 7;
		wire->at = at + 2;
		return 0;
	}
	return wire__long_varint(wire, ret_value);
}

/* 1 and the next field; 0 at the end; -EBADMSG: not a protobuf message from here on. */
int wire__next(struct wire *wire, struct wire_field *ret_field);

#endif
