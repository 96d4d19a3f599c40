/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the program says on stderr. Text is lower case, without full stop or newline at its end:
 * what failed, why, what to do. Control characters in it (names come from other processes)
 * are made harmless. Each message is one write.
 */
#ifndef RBPROF_LOG_H
#define RBPROF_LOG_H

#include <stdarg.h>
#include <stdbool.h>

enum log_color {
	LOG_COLOR_AUTO = 0, /* on a terminal, unless NO_COLOR is set or TERM is dumb */
	LOG_COLOR_ALWAYS,
	LOG_COLOR_NEVER,
};

/*
 * verbosity: -1 errors and warnings only (-q), 0 also information, 1 and more also details (-v).
 * Before the first call: 0 and LOG_COLOR_AUTO.
 */
void log__setup(int verbosity, enum log_color color);
int log__verbosity(void);

/* Whether text written to this descriptor may carry colours. */
bool log__wants_color(int fd);

/* "rbprof-bpf: TEXT". log__error() and log__warn() ("warning: TEXT") also with -q. */
void log__error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log__warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Not with -q. */
void log__info(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Only with -v. */
void log__debug(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log__vdebug(const char *format, va_list arguments);

/*
 * The progress line: each call takes the place of the last one, cut to the terminal's width.
 * Nothing where stderr is not a terminal, or with -q. Other messages wipe it first; so does
 * log__progress_clear(), to be called before anything else is printed on the terminal.
 */
void log__progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log__progress_clear(void);
/* Whether log__progress() would show anything. */
bool log__has_progress(void);

#endif
