/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Brings things of one profile into another: what an id stands for is interned there once, and
 * its id there is handed out from then on.
 */
#ifndef RBPROF_PROFILE_IMPORT_H
#define RBPROF_PROFILE_IMPORT_H

#include <stddef.h>
#include <stdint.h>

#include "profile.h"

struct profile_import;

/*
 * Neither profile is owned; `from` must not change while the import lives. 0 or -ENOMEM; the
 * caller frees *ret_import.
 */
int profile_import__new(const struct profile *from, struct profile *to,
			struct profile_import **ret_import);
void profile_import__free(struct profile_import *import);

/*
 * What becomes of a label's text on the way: the text itself, or one that is written into `into`
 * (valid UTF-8).
 */
typedef const char *profile_import_rename(void *context, const char *key, const char *text,
					  char *into, size_t size);
void profile_import__rename(struct profile_import *import, profile_import_rename *rename,
			    void *context);

/*
 * The id in `to` of the thing that has this id in `from`. PROFILE_NONE stays what it is, and is
 * the answer where memory runs out (profile__failed(to) is true then).
 */
uint32_t profile_import__string(struct profile_import *import, uint32_t id);
uint32_t profile_import__function(struct profile_import *import, uint32_t id);
uint32_t profile_import__frame(struct profile_import *import, uint32_t id);
uint32_t profile_import__stack(struct profile_import *import, uint32_t id);
uint32_t profile_import__label_set(struct profile_import *import, uint32_t id);

/* Adds a row of `from`, which must have the types of `to`. Errors as profile__add(). */
int profile_import__row(struct profile_import *import, const struct profile_row *row);

/* What `from` says about itself (info, mapping, comments) is said by `to`. 0 or -ENOMEM. */
int profile_import__about(const struct profile *from, struct profile *to);

/*
 * For what makes one profile of another: an empty one with the types of `from` that says the same
 * about itself, and the import into it. 0 or -ENOMEM; the caller frees both.
 */
int profile_import__begin(const struct profile *from, struct profile **ret_to,
			  struct profile_import **ret_import);

#endif
