/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes from another process made into text that any reader accepts. */
#ifndef RBPROF_UTF8_H
#define RBPROF_UTF8_H

#include <stddef.h>
#include <stdint.h>

/*
 * Copies bytes (any content, NUL included) into text as valid UTF-8: each maximal invalid part
 * becomes U+FFFD, and a NUL too. If the result would exceed limit bytes it is cut at a character
 * boundary and ends in U+2026 (within the limit). text has room for limit + 1 bytes; it is
 * NUL-terminated. Returns the length in bytes.
 */
size_t utf8__clean(const char *bytes, size_t length, char *text, size_t limit);

/*
 * The first character of bytes: its length in bytes, and *ret_character. An invalid part is one
 * character, U+FFFD, of the length of the maximal invalid part; 0 only if length is 0.
 */
size_t utf8__decode(const char *bytes, size_t length, uint32_t *ret_character);

/* Limits of spec/samples.md section 4, in bytes. */
#define UTF8_LIMIT_NAME	     255 /* threads, endpoints, services */
#define UTF8_LIMIT_FILE_LINE 511
#define UTF8_LIMIT_METHOD    1024
#define UTF8_LIMIT_PATH	     4096

#endif
