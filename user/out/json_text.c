/* SPDX-License-Identifier: BSD-2-Clause */
#include "json_text.h"

#include <stdbool.h>
#include <string.h>

#define MAX_DIGITS 20
#define MAX_EXACT  (1LL << 53)

static bool is_plain(unsigned char byte)
{
	return byte >= 0x20 && byte != '"' && byte != '\\' && byte != 0x7f;
}

static void put_escape(FILE *stream, unsigned char byte)
{
	static const char hex[] = "0123456789abcdef";
	char text[6] = { '\\', 'u', '0', '0' };

	if (byte == '"' || byte == '\\') {
		putc_unlocked('\\', stream);
		putc_unlocked(byte, stream);
		return;
	}
	text[4] = hex[byte >> 4];
	text[5] = hex[byte & 15];
	fwrite_unlocked(text, 1, sizeof(text), stream);
}

void json_text__string(FILE *stream, const char *text, size_t length)
{
	size_t from = 0;

	putc_unlocked('"', stream);
	for (size_t i = 0; i < length; i++) {
		if (is_plain((unsigned char)text[i]))
			continue;
		fwrite_unlocked(text + from, 1, i - from, stream);
		put_escape(stream, (unsigned char)text[i]);
		from = i + 1;
	}
	fwrite_unlocked(text + from, 1, length - from, stream);
	putc_unlocked('"', stream);
}

void json_text__cstring(FILE *stream, const char *text)
{
	json_text__string(stream, text, strlen(text));
}

void json_text__id(FILE *stream, const struct profile *profile, uint32_t string)
{
	if (string == PROFILE_NONE)
		json_text__string(stream, "", 0);
	else
		json_text__string(stream, profile__text(profile, string),
				  profile__text_length(profile, string));
}

/* Right-aligned in text; where it starts. */
static char *digits(char text[MAX_DIGITS], uint64_t number, int least)
{
	char *at = text + MAX_DIGITS;

	do {
		*--at = (char)('0' + number % 10);
		number /= 10;
		least--;
	} while (number || least > 0);
	return at;
}

static uint64_t magnitude(FILE *stream, int64_t number)
{
	if (number >= 0)
		return (uint64_t)number;
	putc_unlocked('-', stream);
	return -(uint64_t)number;
}

void json_text__number(FILE *stream, int64_t number)
{
	char text[MAX_DIGITS], *at = digits(text, magnitude(stream, number), 1);

	fwrite_unlocked(at, 1, (size_t)(text + MAX_DIGITS - at), stream);
}

void json_text__exact(FILE *stream, int64_t number)
{
	bool as_text = number > MAX_EXACT || number < -MAX_EXACT;

	if (as_text)
		putc_unlocked('"', stream);
	json_text__number(stream, number);
	if (as_text)
		putc_unlocked('"', stream);
}

void json_text__decimal(FILE *stream, int64_t ns, uint32_t per_unit)
{
	char text[MAX_DIGITS], *at, *end = text + MAX_DIGITS;
	uint64_t whole = magnitude(stream, ns);
	int places = per_unit == 1000000 ? 6 : 3;

	at = digits(text, whole / per_unit, 1);
	fwrite_unlocked(at, 1, (size_t)(end - at), stream);
	if (!(whole % per_unit))
		return;
	at = digits(text, whole % per_unit, places);
	while (end[-1] == '0')
		end--;
	putc_unlocked('.', stream);
	fwrite_unlocked(at, 1, (size_t)(end - at), stream);
}
