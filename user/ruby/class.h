/* SPDX-License-Identifier: BSD-2-Clause */
/* How a class or module is called: the part of a method's name before '#' or '.'. */
#ifndef RBPROF_CLASS_H
#define RBPROF_CLASS_H

#include "object.h"
#include "symbols.h"

/*
 * Adds to text the owner part of a method defined in klass (a cme's defined_class), with its
 * separator: "Foo::Bar#", "Foo.", "(anonymous Class)#", "(singleton of Foo).",
 * "#<refinement:String@Rf>#". There is never an address in it.
 * *ret_nameless (may be NULL): a class in it has no name, but may get one.
 * 0, or -errno: -EINVAL if klass is no class, -ENOTSUP in a release whose classes are not known.
 */
int class__owner(struct reader *reader, struct symbols *symbols, uint64_t klass, struct text *text,
		 bool *ret_nameless);

/*
 * Adds to text the name of the class of an object whose RBasic.klass is klass: of itself, or of
 * what it is a singleton class of. 0; -ENOENT: the class has no name of its own; -EINVAL: it is no
 * class; -errno.
 */
int class__of_object(struct reader *reader, struct symbols *symbols, uint64_t klass,
		     struct text *text);

#endif
