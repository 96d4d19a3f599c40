/* SPDX-License-Identifier: BSD-2-Clause */
/* Method entries: whose method it is, and what it runs. */
#ifndef RBPROF_METHOD_H
#define RBPROF_METHOD_H

#include "iseq.h"
#include "object.h"

/* method.h: enum rb_method_type_t, 2.7 to 4.0: a method that a refinement hides */
#define METHOD_TYPE_REFINED 11

struct method {
	uint64_t defined_class;
	uint64_t owner;
	uint64_t definition;
	uint32_t type;	      /* RUBY_METHOD_TYPE_* */
	uint64_t original_id; /* the name it was defined by, whatever alias was called */
	uint64_t serial;      /* of the definition: never given twice in a process */
	uint64_t own_serial;  /* of what the entry itself has: another if that hides it */
	uint64_t body;	      /* first word: the iseq, the function, the proc */
};

/*
 * Reads the method entry at address; one that a refinement hides is seen through. All of it is
 * recorded as telling who it is. 0, -EINVAL (no method entry) or -errno.
 */
int method__read(struct reader *reader, uint64_t address, struct method *ret_method);

/*
 * The block of a proc (a T_DATA): its instruction sequence. 0, -ENOENT (not made of Ruby code)
 * or -errno.
 */
int proc__iseq(struct reader *reader, uint64_t proc, uint64_t *ret_iseq);

#endif
