/* SPDX-License-Identifier: BSD-2-Clause */
#include "subclasses.h"

#include <errno.h>

/* Singleton classes, and modules that subclasses include, are in the lists too. */
#define MAX_ENTRIES 256
#define MAX_DEPTH   32

struct search {
	struct reader *reader;
	uint32_t entries; /* looked at so far */
	bool found;
};

static int classext_of(struct reader *reader, uint64_t klass, uint64_t *ret_classext)
{
	const struct ruby_layout *layout = reader->layout;

	if (layout->rclass__classext == RUBY_NO_FIELD)
		return reader__word(reader, klass + layout->rclass__classext_ptr, ret_classext);
	*ret_classext = klass + layout->rclass__classext;
	return 0;
}

/* The first entry of the list; 0: there is none. Some releases begin it with one of no class. */
static int first_entry(struct reader *reader, uint64_t klass, uint64_t *ret_entry)
{
	const struct ruby_layout *layout = reader->layout;
	uint64_t classext, entry;
	int err = classext_of(reader, klass, &classext);

	if (!err)
		err = reader__word(reader, classext + layout->classext__subclasses, &entry);
	if (!err && entry && layout->subclass_anchor__head != RUBY_NO_FIELD)
		err = reader__word(reader, entry + layout->subclass_anchor__head, &entry);
	if (!err)
		*ret_entry = entry;
	return err;
}

static int open_class(struct reader *reader, uint64_t value, uint32_t *ret_type,
		      bool *ret_singleton)
{
	const uint32_t singleton = reader->layout->fl_singleton;
	uint64_t flags;
	int err = reader__object(reader, value, singleton, &flags);

	if (!err) {
		*ret_type = flags & RUBY_T_MASK;
		/* The bit means something else in what is no class. */
		*ret_singleton = *ret_type == RUBY_T_CLASS && flags & singleton;
	}
	return err;
}

/* Where a subclass includes a module, the module's include class is in its place, and has it. */
static int search_subclass(struct search *search, uint64_t klass, int depth)
{
	const struct ruby_layout *layout = search->reader->layout;
	uint64_t entry, subclass;
	bool singleton = false;
	uint32_t type = 0;
	int err;

	err = depth < MAX_DEPTH ? first_entry(search->reader, klass, &entry) : -ELOOP;
	while (!err && entry && !search->found) {
		if (++search->entries > MAX_ENTRIES)
			return -E2BIG;
		err = reader__word(search->reader, entry + layout->subclass__klass, &subclass);
		if (!err && subclass) {
			err = open_class(search->reader, subclass, &type, &singleton);
			if (!err && type == RUBY_T_ICLASS)
				err = search_subclass(search, subclass, depth + 1);
			else if (!err && type != RUBY_T_CLASS)
				err = -EINVAL;
			search->found |= !err && type == RUBY_T_CLASS && !singleton;
		}
		if (!err)
			err = reader__word(search->reader, entry + layout->subclass__next, &entry);
	}
	return err;
}

int subclasses__is_final(struct reader *reader, uint64_t defined_class, bool *ret_final)
{
	struct search search = { .reader = reader };
	bool singleton = false;
	uint32_t type;
	int err;

	if (reader->layout->classext__subclasses == RUBY_NO_FIELD)
		return -ENOTSUP;
	err = open_class(reader, defined_class, &type, &singleton);
	/* The origin of a class that prepends a module stands for the class. */
	if (!err && type == RUBY_T_ICLASS)
		err = reader__word(reader, defined_class + reader->layout->rbasic__klass,
				   &defined_class);
	if (!err)
		err = open_class(reader, defined_class, &type, &singleton);
	if (!err && type == RUBY_T_CLASS && !singleton)
		err = search_subclass(&search, defined_class, 0);
	if (!err)
		*ret_final = type == RUBY_T_CLASS && !singleton && !search.found;
	return err;
}
