/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * JSON written as it goes, for files too large for a tree of values. The caller puts brackets and
 * commas. A failing stream is its owner's to find.
 */
#ifndef RBPROF_JSON_TEXT_H
#define RBPROF_JSON_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "../agg/profile.h"

/* A string in quotes, escaped. text is valid UTF-8 (any character, NUL included). */
void json_text__string(FILE *stream, const char *text, size_t length);

/* The same for text that ends in NUL, and for a string of a profile (PROFILE_NONE: ""). */
void json_text__cstring(FILE *stream, const char *text);
void json_text__id(FILE *stream, const struct profile *profile, uint32_t string);

/* All digits, though many readers round numbers beyond 2^53. */
void json_text__number(FILE *stream, int64_t number);

/* The same, but as a string where such readers would round it. */
void json_text__exact(FILE *stream, int64_t number);

/* ns in a larger unit, exactly: 12.345678 (per_unit 1000000: ms), 12.345 (1000: us). */
void json_text__decimal(FILE *stream, int64_t ns, uint32_t per_unit);

#endif
