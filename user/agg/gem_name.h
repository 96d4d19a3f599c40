/* SPDX-License-Identifier: BSD-2-Clause */
/* Which gem a file belongs to, by its path. */
#ifndef RBPROF_GEM_NAME_H
#define RBPROF_GEM_NAME_H

#include <stddef.h>

#define GEM_NAME_APPLICATION "(application)"
#define GEM_NAME_STDLIB	     "(ruby stdlib)"
#define GEM_NAME_CORE	     "(ruby core)" /* <internal:kernel> and the like */

/*
 * The name without its version ("rack" for /usr/lib/ruby/gems/3.1.0/gems/rack-2.2.4/lib/rack.rb),
 * or one of the above: what lies in no gem and not in Ruby's own directories is the application's.
 * Path and name (which may point into the path) need not be terminated; the length is returned.
 */
size_t gem_name__of(const char *path, size_t length, const char **ret_name);

#endif
