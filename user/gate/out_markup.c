/* SPDX-License-Identifier: BSD-2-Clause */
#include "out_markup.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd"

/* U+FFFE and U+FFFF, which are no characters of XML. */
static bool is_no_character(const unsigned char *at)
{
	return at[0] == 0xef && at[1] == 0xbf && (at[2] == 0xbe || at[2] == 0xbf);
}

void gate_markup__xml(FILE *stream, const char *text)
{
	for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
		if (*at == '&' || *at == '<' || *at == '>' || *at == '"' || *at == '\'') {
			fprintf(stream, "&#%d;", *at);
		} else if (is_no_character(at)) {
			fputs(REPLACEMENT, stream);
			at += 2;
		} else if (*at < ' ' && !strchr("\t\n\r", *at)) {
			fputs(REPLACEMENT, stream);
		} else {
			putc(*at, stream);
		}
	}
}

void gate_markup__markdown(FILE *stream, const char *text)
{
	for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
		if (*at < ' ' || *at == 0x7f)
			putc(' ', stream);
		else if (*at < 0x80 && ispunct(*at))
			fprintf(stream, "&#%d;", *at);
		else
			putc(*at, stream);
	}
}

static void percent(FILE *stream, const char *text, const char *special)
{
	for (const char *at = text; *at; at++) {
		if (strchr(special, *at))
			fprintf(stream, "%%%02X", (unsigned char)*at);
		else
			putc(*at, stream);
	}
}

void gate_markup__github(FILE *stream, const char *text)
{
	percent(stream, text, "%\r\n");
}

void gate_markup__github_property(FILE *stream, const char *text)
{
	percent(stream, text, "%\r\n:,");
}

void gate_markup__uri(FILE *stream, const char *text)
{
	for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
		if ((*at < 0x80 && isalnum(*at)) || strchr("-._~/", *at))
			putc(*at, stream);
		else
			fprintf(stream, "%%%02X", *at);
	}
}
