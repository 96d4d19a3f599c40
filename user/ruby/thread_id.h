/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ruby's object_id of a Thread, if the VM has given it one. Nothing is given by reading.
 *
 * Up to 3.4 (gc.c, gc/default/default.c: rb_find_object_id, rb_gc_impl_object_id) the collector
 * keeps the ids of all objects in a table, and marks an object that is in it by a flag. In 4.0
 * (gc.c: object_id0; shape.c: rb_shape_object_id) the id lies among the object's fields, at an
 * index that its shape tells.
 */
#ifndef RBPROF_THREAD_ID_H
#define RBPROF_THREAD_ID_H

#include <stdint.h>

#include "../../include/rbprof_abi.h"
#include "../util/memory.h"

#define THREAD_ID_NONE (-1)

struct thread_id_source {
	struct memory *memory;
	const struct ruby_layout *layout;
	uint64_t vm_ptr_address;     /* of ruby_current_vm_ptr */
	uint64_t shape_tree_address; /* of rb_shape_tree, 4.0; 0: not known */
};

/*
 * The id of the Thread `object` (a VALUE) that belongs to `thread` (rb_thread_t).
 * 0: *ret_id is its id; THREAD_ID_NONE: it has none, or one that is no Fixnum. -ESTALE: the
 * structure belongs to another object by now. Else -errno: it cannot be told at this moment, or
 * not at all; *ret_id is untouched.
 */
int thread_id__read(const struct thread_id_source *source, uint64_t thread, uint64_t object,
		    int64_t *ret_id);

#endif
