/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What commands that look at saved profiles have in common: reading, the part that is asked for,
 * the value that is shown, and the output. All return an enum cmd_status; what is wrong has been
 * said.
 */
#ifndef RBPROF_SAVED_PROFILE_H
#define RBPROF_SAVED_PROFILE_H

#include <stddef.h>
#include <stdio.h>

#include "../agg/profile.h"
#include "../agg/profile_filter.h"
#include "../out/out.h"
#include "options.h"

/* path "-" is stdin. CMD_DONE, and the caller frees *ret_profile; CMD_FILE. */
int saved_profile__read(const char *path, struct profile **ret_profile);

/* --focus, --ignore and --by, understood. */
struct selection {
	struct profile_filter *filters;
	size_t filter_count;
	char *by; /* as out_options.by */
};

/*
 * A label must be in one of the profiles, else CMD_USAGE and a list of those that are. Nothing is
 * refused where the profiles are empty. Points into options, which must outlive it. CMD_DONE, and
 * the caller calls selection__free(); CMD_USAGE; CMD_FILE without memory.
 */
int selection__init(struct selection *selection, const struct options *options,
		    struct profile *const *profiles, size_t count);
void selection__free(struct selection *selection);

/* The part of *profile that fits takes its place. CMD_DONE, or CMD_FILE without memory. */
int selection__apply(const struct selection *selection, struct profile **profile);

/* The type that --value names (NULL: the default). CMD_DONE or CMD_USAGE. */
int saved_profile__type(struct profile *profile, const char *value, size_t *ret_type);

/*
 * Calls write() with options->path opened (NULL: stdout) and options->columns, rows and color as
 * they are right there. The file is written whole or not at all. CMD_DONE; CMD_USAGE (binary, to a
 * terminal); CMD_FILE.
 */
int saved_profile__write(struct out_options *options, const struct out_format *format,
			 int (*write)(void *context, const struct out_options *options,
				      FILE *stream),
			 void *context);

#endif
