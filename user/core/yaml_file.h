/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A configuration file (YAML), read against a table of keys. What is wrong is said with file, line
 * and key: "FILE:LINE: KEY: what is wrong, what to do".
 *
 * Functions that return an int give CMD_DONE, CMD_USAGE (the file says what it may not) or CMD_FILE
 * (it cannot be read); then it has been said.
 */
#ifndef RBPROF_YAML_FILE_H
#define RBPROF_YAML_FILE_H

#include <stdbool.h>
#include <stddef.h>

#define YAML_FILE_MAX (1 << 20) /* bytes */

struct yaml_file;

/* A value in a file; valid while the file is open. */
struct yaml_value {
	const struct yaml_file *file;
	const void *node;
	const char *key; /* under which it stands, for messages; "" at the root */
};

/* A key that a mapping may have. take() is given its value and the context of the table. */
struct yaml_key {
	const char *name;
	int (*take)(const struct yaml_value *value, void *context);
};

/* A file with one document, or none: then the root is null. The caller closes *ret_file. */
int yaml_file__open(const char *path, struct yaml_file **ret_file);
void yaml_file__close(struct yaml_file *file);
struct yaml_value yaml_file__root(const struct yaml_file *file);

/*
 * The value is a mapping (or null: without keys), with keys of the table only, each once. What is
 * taken first that fails ends it.
 */
int yaml_value__keys(const struct yaml_value *value, const struct yaml_key *keys, size_t count,
		     void *context);

/* The same for any key: a mapping whose keys are names that the caller knows. */
int yaml_value__entries(const struct yaml_value *value,
			int (*take)(const struct yaml_value *value, void *context), void *context);

/* The value is a list: take() is given each item. */
int yaml_value__items(const struct yaml_value *value,
		      int (*take)(const struct yaml_value *value, void *context), void *context);

/* Text, a number or a truth value as it stands there, owned by the file. NULL: a list or mapping.
 */
const char *yaml_value__text(const struct yaml_value *value);
bool yaml_value__is_list(const struct yaml_value *value);
int yaml_value__line(const struct yaml_value *value);

/* Says what is wrong with it; CMD_USAGE. */
int yaml_value__refuse(const struct yaml_value *value, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
