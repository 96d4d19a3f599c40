/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ruby objects as they lie in the memory of a process. Everything read is checked and recorded
 * by the reader (reader.h). All return 0 or -errno: -EINVAL is an object of another kind than
 * asked for, or one whose fields contradict each other.
 */
#ifndef RBPROF_OBJECT_H
#define RBPROF_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader.h"

/* Raw bytes out of the process on their way to a name. What exceeds the room is dropped. */
#define TEXT_ROOM 8192
struct text {
	size_t length;
	char bytes[TEXT_ROOM];
};

void text__add(struct text *text, const char *bytes, size_t length);
void text__string(struct text *text, const char *string);

/*
 * Adds the content of the String value to text: its first `most` bytes if it is longer. Its
 * whole length is not kept: give more than the limit to which the text is cut later.
 */
int object__string(struct reader *reader, uint64_t value, size_t most, struct text *text);

/* Number of elements of an Array and the address of the first. */
int object__array(struct reader *reader, uint64_t value, uint64_t *ret_length,
		  uint64_t *ret_elements);

/* The type of the object: its flags masked by RUBY_T_MASK. */
int object__type(struct reader *reader, uint64_t value, uint32_t *ret_type);

/* Payload of a T_DATA. */
int object__data(struct reader *reader, uint64_t value, uint64_t *ret_data);

/* Value of a Fixnum. */
bool object__fixnum(uint64_t value, int64_t *ret_number);

/*
 * The value in an st_table under the first key for which `is` returns true: *ret_found says
 * whether there was one. Records the table's head and what was found, so a table that grows
 * has another fingerprint.
 */
int object__st_find(struct reader *reader, uint64_t table, bool (*is)(uint64_t key, void *context),
		    void *context, bool *ret_found, uint64_t *ret_value);

#endif
