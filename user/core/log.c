/* SPDX-License-Identifier: BSD-2-Clause */
#include "log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LOG_MAX_BYTES	 4096
#define LOG_DEFAULT_COLS 80

#define LOG_RED	   "\033[31m"
#define LOG_YELLOW "\033[33m"
#define LOG_PLAIN  "\033[0m"
#define LOG_WIPE   "\r\033[K"

static struct {
	int verbosity;
	enum log_color color;
	bool has_line; /* a progress line stands on the terminal */
} log_state;

void log__setup(int verbosity, enum log_color color)
{
	log_state.verbosity = verbosity;
	log_state.color = color;
}

int log__verbosity(void)
{
	return log_state.verbosity;
}

bool log__wants_color(int fd)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	if (log_state.color != LOG_COLOR_AUTO)
		return log_state.color == LOG_COLOR_ALWAYS;
	if (no_color && *no_color)
		return false;
	return isatty(fd) && term && *term && strcmp(term, "dumb") != 0;
}

/* stderr may be a full pipe or closed: there is nobody left to tell. */
static void write_all(const char *bytes, size_t length)
{
	while (length) {
		ssize_t written = write(STDERR_FILENO, bytes, length);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return;
		bytes += written;
		length -= (size_t)written;
	}
}

/* C0 and C1 control characters, which a terminal would obey, become '?'. */
static void make_harmless(char *text)
{
	for (unsigned char *at = (unsigned char *)text; *at; at++) {
		if (*at < 0x20 || *at == 0x7f) {
			*at = '?';
		} else if (*at == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0) {
			at[0] = '?';
			at[1] = '?';
		}
	}
}

/* Appends what finds room. */
static size_t append(char *line, size_t used, size_t size, const char *text)
{
	size_t length = strlen(text);

	if (length > size - used)
		length = size - used;
	memcpy(line + used, text, length);
	return used + length;
}

static void say(const char *color, const char *kind, const char *format, va_list arguments)
{
	char text[LOG_MAX_BYTES], line[LOG_MAX_BYTES + 64];
	const char *plain = "";
	size_t used = 0;

	if (vsnprintf(text, sizeof(text), format, arguments) < 0)
		return;
	make_harmless(text);
	if (*color && log__wants_color(STDERR_FILENO))
		plain = LOG_PLAIN;
	else
		color = "";

	if (log_state.has_line)
		used = append(line, used, sizeof(line), LOG_WIPE);
	log_state.has_line = false;
	used = append(line, used, sizeof(line), color);
	used = append(line, used, sizeof(line), "rbprof-bpf: ");
	used = append(line, used, sizeof(line), kind);
	used = append(line, used, sizeof(line), plain);
	used = append(line, used, sizeof(line), text);
	used = append(line, used, sizeof(line), "\n");
	write_all(line, used);
}

void log__error(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say(LOG_RED, "", format, arguments);
	va_end(arguments);
}

void log__warn(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say(LOG_YELLOW, "warning: ", format, arguments);
	va_end(arguments);
}

void log__info(const char *format, ...)
{
	va_list arguments;

	if (log_state.verbosity < 0)
		return;
	va_start(arguments, format);
	say("", "", format, arguments);
	va_end(arguments);
}

void log__vdebug(const char *format, va_list arguments)
{
	if (log_state.verbosity > 0)
		say("", "", format, arguments);
}

void log__debug(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	log__vdebug(format, arguments);
	va_end(arguments);
}

bool log__has_progress(void)
{
	const char *term = getenv("TERM");

	return log_state.verbosity >= 0 && isatty(STDERR_FILENO) && term && *term &&
	       strcmp(term, "dumb") != 0;
}

/* Cuts text to so many characters, not in the middle of one. */
static void cut(char *text, size_t columns)
{
	size_t characters = 0;

	for (; *text; text++) {
		if (((unsigned char)*text & 0xc0) == 0x80)
			continue;
		if (characters++ == columns) {
			*text = '\0';
			return;
		}
	}
}

void log__progress(const char *format, ...)
{
	char text[LOG_MAX_BYTES], line[LOG_MAX_BYTES + 16];
	struct winsize window = { 0 };
	va_list arguments;
	size_t used = 0, columns = LOG_DEFAULT_COLS;
	int length;

	if (!log__has_progress())
		return;
	va_start(arguments, format);
	length = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (length < 0)
		return;
	if (!ioctl(STDERR_FILENO, TIOCGWINSZ, &window) && window.ws_col > 1)
		columns = window.ws_col;

	make_harmless(text);
	/* The last column stays free: some terminals wrap as soon as it is filled. */
	cut(text, columns - 1);
	used = append(line, used, sizeof(line), LOG_WIPE);
	used = append(line, used, sizeof(line), text);
	write_all(line, used);
	log_state.has_line = true;
}

void log__progress_clear(void)
{
	if (!log_state.has_line)
		return;
	log_state.has_line = false;
	write_all(LOG_WIPE, strlen(LOG_WIPE));
}
