/* SPDX-License-Identifier: BSD-2-Clause */
#include "utf8.h"

#include <stdbool.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd"
#define ELLIPSIS    "\xe2\x80\xa6"
#define MARK_LENGTH 3 /* of either */

/* What may follow a leading byte: Unicode, table 3-7. length 0: no leading byte. */
static size_t sequence_length(unsigned char lead, unsigned char *ret_low, unsigned char *ret_high)
{
	*ret_low = 0x80;
	*ret_high = 0xbf;
	if (lead < 0x80)
		return 1;
	if (lead < 0xc2 || lead > 0xf4)
		return 0;
	if (lead < 0xe0)
		return 2;
	if (lead == 0xe0)
		*ret_low = 0xa0; /* no longer form than needed */
	if (lead == 0xed)
		*ret_high = 0x9f; /* no surrogates */
	if (lead < 0xf0)
		return 3;
	if (lead == 0xf0)
		*ret_low = 0x90;
	if (lead == 0xf4)
		*ret_high = 0x8f; /* not beyond U+10FFFF */
	return 4;
}

/* As utf8__decode(); *ret_valid says whether it is a character. */
static size_t decode(const unsigned char *bytes, size_t length, uint32_t *ret_character,
		     bool *ret_valid)
{
	unsigned char low, high;
	size_t size, i;

	*ret_valid = false;
	*ret_character = 0xfffd;
	if (!length)
		return 0;
	size = sequence_length(bytes[0], &low, &high);
	if (!size)
		return 1;
	for (i = 1; i < size; i++) {
		if (i == length || bytes[i] < low || bytes[i] > high)
			return i;
		low = 0x80;
		high = 0xbf;
	}
	*ret_valid = true;
	*ret_character = size == 1 ? bytes[0] : bytes[0] & (0xffU >> (size + 1));
	for (i = 1; i < size; i++)
		*ret_character = *ret_character << 6 | (bytes[i] & 0x3fU);
	return size;
}

size_t utf8__decode(const char *bytes, size_t length, uint32_t *ret_character)
{
	bool valid;

	return decode((const unsigned char *)bytes, length, ret_character, &valid);
}

size_t utf8__clean(const char *bytes, size_t length, char *text, size_t limit)
{
	size_t written = 0;
	size_t cut = 0; /* the last boundary that leaves room for the ellipsis */

	while (length) {
		uint32_t character;
		bool valid;
		size_t size = decode((const unsigned char *)bytes, length, &character, &valid);
		bool keep = valid && character;
		size_t add = keep ? size : MARK_LENGTH;

		if (add > limit - written) {
			written = 0;
			if (limit >= MARK_LENGTH) {
				memcpy(text + cut, ELLIPSIS, MARK_LENGTH);
				written = cut + MARK_LENGTH;
			}
			break;
		}
		memcpy(text + written, keep ? bytes : REPLACEMENT, add);
		written += add;
		if (written + MARK_LENGTH <= limit)
			cut = written;
		bytes += size;
		length -= size;
	}
	text[written] = '\0';
	return written;
}
