/* SPDX-License-Identifier: BSD-2-Clause */
#include "html_pack.h"

#include <errno.h>
#include <stdlib.h>

#include <zlib.h>

#define MAX_NUMBER_BYTES 5

static unsigned char *put_number(unsigned char *at, uint32_t number)
{
	for (; number > 0x7f; number >>= 7)
		*at++ = (unsigned char)(number | 0x80);
	*at++ = (unsigned char)number;
	return at;
}

static size_t put_columns(const struct html_tree *tree, unsigned char *bytes)
{
	unsigned char *at = bytes;

	for (size_t i = 1; i < tree->count; i++)
		at = put_number(at, tree->depths[i - 1] + 1 - tree->depths[i]);
	for (size_t i = 1; i < tree->count; i++)
		at = put_number(at, tree->frames[i]);
	return (size_t)(at - bytes);
}

static void write_base64(const unsigned char *bytes, size_t size, FILE *stream)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < size; i += 3) {
		size_t left = size - i;
		uint32_t group = (uint32_t)bytes[i] << 16;
		char text[4] = "====";

		if (left > 1)
			group |= (uint32_t)bytes[i + 1] << 8;
		if (left > 2)
			group |= bytes[i + 2];
		for (size_t j = 0; j < (left > 2 ? 4 : left + 1); j++)
			text[j] = digits[group >> (18 - 6 * j) & 63];
		fwrite(text, 1, sizeof(text), stream);
	}
}

int html_pack__tree(const struct html_tree *tree, FILE *stream)
{
	unsigned char *columns = malloc(tree->count * 2 * MAX_NUMBER_BYTES);
	unsigned char *packed = NULL;
	uLong size, bound;
	int error = -ENOMEM;

	if (!columns)
		return -ENOMEM;
	size = put_columns(tree, columns);
	bound = compressBound(size);
	packed = malloc(bound);
	if (packed && compress2(packed, &bound, columns, size, Z_BEST_SPEED) == Z_OK) {
		fprintf(stream, "\"nodes\":{\"count\":%zu,\"packed\":\"", tree->count);
		write_base64(packed, bound, stream);
		fputs("\"},\n", stream);
		error = 0;
	}
	free(columns);
	free(packed);
	return error;
}
