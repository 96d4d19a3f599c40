/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes as a profile: an error, or a profile that every format can write and whose own pprof
 * reads back as the same bytes.
 */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/out/out.h"
#include "user/out/pprof_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *write_as(struct profile *profile, const char *format, size_t *ret_length)
{
	struct out_options options = {
		.path = "x.pb",
		.type = out__default_type(profile),
		.columns = 60,
		.rows = 10,
		.color = true,
	};
	char *text = NULL;
	FILE *stream = open_memstream(&text, ret_length);
	int error = out__write(out__format_by_name(format), profile, &options, stream);

	fclose(stream);
	if (error)
		abort();
	return text;
}

/* One line a stack: a name, a space, and a number. */
static void check_folded(const char *text, size_t length)
{
	for (const char *line = text; line < text + length;) {
		const char *end = memchr(line, '\n', (size_t)(text + length - line));
		const char *space;

		if (!end)
			abort();
		space = memrchr(line, ' ', (size_t)(end - line));
		if (!space || space == line || space + 1 == end)
			abort();
		for (const char *digit = space + 1; digit < end; digit++)
			if (!strchr("-0123456789", *digit))
				abort();
		line = end + 1;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const formats[] = { "json", "text", "speedscope", "firefox", "chrome" };
	struct profile *profile = NULL, *again = NULL;
	size_t length, again_length;
	char why[PPROF_READ_REASON] = "";
	char *bytes, *again_bytes;

	if (pprof_read__bytes(data, size, &profile, why)) {
		if (!*why || profile)
			abort();
		return 0;
	}
	bytes = write_as(profile, "pprof", &length);
	if (pprof_read__bytes(bytes, length, &again, why)) {
		fprintf(stderr, "our own file: %s\n", why);
		abort();
	}
	again_bytes = write_as(again, "pprof", &again_length);
	if (length != again_length || memcmp(bytes, again_bytes, length))
		abort();
	free(bytes);
	free(again_bytes);

	bytes = write_as(profile, "folded", &length);
	check_folded(bytes, length);
	free(bytes);
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (!out__refuses(out__format_by_name(formats[i]), profile))
			free(write_as(profile, formats[i], &length));
	profile__free(again);
	profile__free(profile);
	return 0;
}
