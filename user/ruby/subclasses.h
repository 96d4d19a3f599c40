/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether a method can only have been called on an object of the very class it is defined in: the
 * class has no subclasses (internal/class.h: rb_subclass_entry; class.c: rb_class_subclass_add).
 */
#ifndef RBPROF_SUBCLASSES_H
#define RBPROF_SUBCLASSES_H

#include <stdbool.h>
#include <stdint.h>

#include "reader.h"

/*
 * defined_class as a method entry has it. 0: *ret_final says whether it is a class without
 * subclasses, those of single objects aside; false for a module, whoever includes it. -errno: not
 * readable, or more than can be looked at.
 */
int subclasses__is_final(struct reader *reader, uint64_t defined_class, bool *ret_final);

#endif
