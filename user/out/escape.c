/* SPDX-License-Identifier: BSD-2-Clause */
#include "escape.h"

#include <locale.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "../util/utf8.h"

#define ELLIPSIS     "\xe2\x80\xa6"
#define REPLACEMENT  "\xef\xbf\xbd"
#define MAX_ESCAPE   6 /* \uNNNN, for a character of two bytes or more; \xNN for one */
#define GROWTH	     4 /* at most, of a character's length */
#define ROOM_FOR_CUT 4 /* ELLIPSIS and NUL */

/* Line and paragraph separators, and what reorders a line (Unicode's bidirectional controls). */
static bool is_harmful(uint32_t character)
{
	if (character < 0x20 || (character >= 0x7f && character < 0xa0))
		return true;
	return character == 0x2028 || character == 0x2029 ||
	       (character >= 0x200e && character <= 0x200f) ||
	       (character >= 0x202a && character <= 0x202e) ||
	       (character >= 0x2066 && character <= 0x2069) || character == 0xfeff;
}

/* Bytes at the end that could be taken for a value, or would be stripped: spaces and digits. */
static size_t value_like_end(const char *text, size_t length)
{
	size_t digits = 0, spaces = 0;

	while (digits < length && strchr("0123456789.-+", text[length - digits - 1]))
		digits++;
	while (digits + spaces < length && text[length - digits - spaces - 1] == ' ')
		spaces++;
	return digits + spaces;
}

static size_t put_escape(char *into, uint32_t character)
{
	char text[MAX_ESCAPE + 1];
	size_t length;

	if (character == '\n')
		length = (size_t)snprintf(text, sizeof(text), "\\n");
	else if (character == '\t')
		length = (size_t)snprintf(text, sizeof(text), "\\t");
	else if (character == '\\')
		length = (size_t)snprintf(text, sizeof(text), "\\\\");
	else if (character < 0x80)
		length = (size_t)snprintf(text, sizeof(text), "\\x%02x", (unsigned char)character);
	else
		length = (size_t)snprintf(text, sizeof(text), "\\u%04x", (uint16_t)character);
	memcpy(into, text, length);
	return length;
}

char *escape__text(const char *text, size_t length, enum escape_for purpose)
{
	size_t spaces_from = length, leading = 0;
	size_t written = 0;
	char *copy;

	if (purpose == ESCAPE_FOLDED) {
		spaces_from = length - value_like_end(text, length);
		leading = strspn(text, " ");
	}
	copy = malloc(length * GROWTH + ROOM_FOR_CUT);
	if (!copy)
		return NULL;
	for (size_t i = 0, size; i < length; i += size) {
		bool escape;
		uint32_t character;

		size = utf8__decode(text + i, length - i, &character);
		escape = is_harmful(character);
		if (purpose == ESCAPE_FOLDED)
			escape |= character == ';' || character == '\\' ||
				  (character == ' ' && (i < leading || i >= spaces_from));
		if (escape) {
			written += put_escape(copy + written, character);
		} else if (character == 0xfffd) {
			/* Perhaps made of an invalid byte. */
			memcpy(copy + written, REPLACEMENT, sizeof(REPLACEMENT) - 1);
			written += sizeof(REPLACEMENT) - 1;
		} else {
			memcpy(copy + written, text + i, size);
			written += size;
		}
	}
	copy[written] = '\0';
	return copy;
}

/* Columns of one character. The C library's table, whatever locale the user has set. */
static size_t character_width(uint32_t character)
{
	static locale_t utf8;
	locale_t before;
	int width;

	if (character < 0x80)
		return 1;
	if (!utf8)
		utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	if (!utf8)
		return 1;
	before = uselocale(utf8);
	width = wcwidth((wchar_t)character);
	uselocale(before);
	/* Characters newer than the table are shown somehow. */
	return width < 0 ? 1 : (size_t)width;
}

size_t escape__width(const char *text)
{
	size_t length = strlen(text), width = 0;

	for (size_t i = 0; i < length;) {
		uint32_t character;

		i += utf8__decode(text + i, length - i, &character);
		width += character_width(character);
	}
	return width;
}

void escape__cut_end(char *text, size_t columns)
{
	size_t length = strlen(text), width = 0, cut = 0;

	for (size_t i = 0; i < length;) {
		uint32_t character;

		/* The last place that leaves a column for the ellipsis. */
		if (width + 1 <= columns)
			cut = i;
		i += utf8__decode(text + i, length - i, &character);
		width += character_width(character);
	}
	if (width <= columns)
		return;
	snprintf(text + cut, sizeof(ELLIPSIS), "%s", columns ? ELLIPSIS : "");
}

void escape__cut_start(char *text, size_t columns)
{
	size_t length = strlen(text), width = escape__width(text), i = 0;

	if (width <= columns)
		return;
	/* One column is the ellipsis'. */
	while (i < length && width + 1 > columns) {
		uint32_t character;

		i += utf8__decode(text + i, length - i, &character);
		width -= character_width(character);
	}
	if (!columns) {
		text[0] = '\0';
		return;
	}
	memmove(text + sizeof(ELLIPSIS) - 1, text + i, length - i + 1);
	memcpy(text, ELLIPSIS, sizeof(ELLIPSIS) - 1);
}

void escape__cut_middle(char *text, size_t columns)
{
	size_t length = strlen(text), width = escape__width(text), head = 0, tail = 0, used = 0;
	uint32_t character;

	if (width <= columns)
		return;
	if (columns < 5) {
		escape__cut_end(text, columns);
		return;
	}
	/* A third for the beginning; the rest, less the ellipsis, for the end. */
	while (head < length) {
		size_t size = utf8__decode(text + head, length - head, &character);

		if (used + character_width(character) > columns / 3)
			break;
		used += character_width(character);
		head += size;
	}
	width -= used;
	for (tail = head; tail < length && width > columns - used - 1;) {
		tail += utf8__decode(text + tail, length - tail, &character);
		width -= character_width(character);
	}
	memmove(text + head + sizeof(ELLIPSIS) - 1, text + tail, length - tail + 1);
	memcpy(text + head, ELLIPSIS, sizeof(ELLIPSIS) - 1);
}
