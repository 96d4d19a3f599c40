/* SPDX-License-Identifier: BSD-2-Clause */
#include "pprof_pack.h"

#include <string.h>

#include "pprof_wire.h"

#define NUMBER_BYTES 10 /* a varint of 64 bits */
#define LABEL_BYTES  (1 + NUMBER_BYTES + 4 * (1 + NUMBER_BYTES))

enum {
	PROFILE_SAMPLE = 2, /* field numbers: see pprof.proto */
	SAMPLE_LOCATION = 1,
	SAMPLE_VALUE,
	SAMPLE_LABEL,
	LABEL_KEY = 1,
	LABEL_TEXT,
	LABEL_NUMBER,
	LABEL_UNIT,
};

static uint8_t *put_number(uint8_t *at, uint64_t number)
{
	for (; number > 0x7f; number >>= 7)
		*at++ = (uint8_t)(number | 0x80);
	*at++ = (uint8_t)number;
	return at;
}

static uint8_t *put_key(uint8_t *at, unsigned int field, enum wire_type type)
{
	*at++ = (uint8_t)(field << 3 | type);
	return at;
}

/* Puts field and length in front of what goes from body to end; where they begin. */
static uint8_t *put_head(uint8_t *body, const uint8_t *end, unsigned int field)
{
	uint8_t head[1 + NUMBER_BYTES], *at = put_key(head, field, WIRE_BYTES);

	at = put_number(at, (uint64_t)(end - body));
	body -= at - head;
	memcpy(body, head, (size_t)(at - head));
	return body;
}

/* What was packed with room for its head in front goes where it belongs; its end. */
static uint8_t *close_field(uint8_t *at, uint8_t *body, const uint8_t *end, unsigned int field)
{
	const uint8_t *from = put_head(body, end, field);
	size_t size = (size_t)(end - from);

	memmove(at, from, size);
	return at + size;
}

static uint8_t *put_locations(uint8_t *at, const struct pprof_pack_sample *sample)
{
	uint8_t *body = at + PPROF_PACK_HEAD_BYTES, *end = body;

	if (!sample->location_count)
		return at;
	for (size_t i = 0; i < sample->location_count; i++)
		end = put_number(end, sample->locations[i]);
	return close_field(at, body, end, SAMPLE_LOCATION);
}

static uint8_t *put_values(uint8_t *at, const struct pprof_pack_sample *sample)
{
	uint8_t *body = at + PPROF_PACK_HEAD_BYTES, *end = body;

	for (size_t i = 0; i < sample->value_count; i++)
		end = put_number(end, (uint64_t)sample->values[i]);
	return close_field(at, body, end, SAMPLE_VALUE);
}

static uint8_t *put_field(uint8_t *at, unsigned int field, int64_t number)
{
	return number ? put_number(put_key(at, field, WIRE_VARINT), (uint64_t)number) : at;
}

static uint8_t *put_label(uint8_t *at, const struct pprof_pack_label *label)
{
	uint8_t *body = at + PPROF_PACK_HEAD_BYTES, *end = body;

	end = put_field(end, LABEL_KEY, label->key);
	end = put_field(end, LABEL_TEXT, label->text);
	end = put_field(end, LABEL_NUMBER, label->number);
	end = put_field(end, LABEL_UNIT, label->unit);
	return close_field(at, body, end, SAMPLE_LABEL);
}

size_t pprof_pack__room(size_t locations, size_t values, size_t labels)
{
	return 4 * PPROF_PACK_HEAD_BYTES + (locations + values) * NUMBER_BYTES +
	       labels * LABEL_BYTES;
}

const uint8_t *pprof_pack__sample(const struct pprof_pack_sample *sample, uint8_t *buffer,
				  size_t *ret_size)
{
	uint8_t *body = buffer + PPROF_PACK_HEAD_BYTES, *end;

	end = put_values(put_locations(body, sample), sample);
	for (size_t i = 0; i < sample->label_count; i++)
		end = put_label(end, &sample->labels[i]);
	body = put_head(body, end, PROFILE_SAMPLE);
	*ret_size = (size_t)(end - body);
	return body;
}
