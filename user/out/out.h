/* SPDX-License-Identifier: BSD-2-Clause */
/* The formats in which a profile can be written: one file a format, and their table. */
#ifndef RBPROF_OUT_H
#define RBPROF_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "../agg/profile.h"

struct profile_filter;

struct out_options {
	const char *path;     /* name of the file that is written; NULL or "-": none */
	size_t type;	      /* index of the value, for formats with one value */
	unsigned int columns; /* text: cut lines to this width, 0: never */
	unsigned int rows;    /* text: at most this many functions, 0: all */
	bool color;	      /* text */
	/* What the profile was made of, for formats that are tables: see view.h. */
	const char *by; /* --by: a label's key, or PROFILE_GROUP_GEM; NULL: methods */
	bool lines;	/* --lines */
	const struct profile_filter *filters; /* that have been applied, to be told */
	size_t filter_count;
};

struct out_format {
	const char *name;	     /* of -f */
	const char *const *suffixes; /* of file names, best first, NULL at the end */
	bool has_one_value;	     /* shows options->type only */
	bool is_binary;
	/*
	 * Writes profile (which it does not change) to stream. 0, or -errno. Errors of the
	 * stream itself are the stream owner's to find.
	 */
	int (*write)(struct profile *profile, const struct out_options *options, FILE *stream);
	/* Why this profile cannot be had in this format; NULL: it can. NULL itself: any can. */
	const char *(*refuse)(const struct profile *profile);
	bool needs_times; /* end_timestamp_ns on the samples */
};

/* All formats. NULL after the last one. */
const struct out_format *out__format(size_t index);

/* By the name of -f; NULL: no such format. */
const struct out_format *out__format_by_name(const char *name);

/* By the suffix of a file's name; NULL without a known one ("-" too). */
const struct out_format *out__format_by_suffix(const char *path);
/* The same, but pprof without a known one. */
const struct out_format *out__format_by_path(const char *path);

/* The value that formats with one value show unless told: cpu-time, else the profile's default. */
size_t out__default_type(struct profile *profile);

/*
 * Writes a profile whose sums are complete. 0 or -errno: -ENOMEM also if the profile had an
 * allocation fail (profile__failed()), -ENOTSUP for a profile that the format refuses.
 */
int out__write(const struct out_format *format, struct profile *profile,
	       const struct out_options *options, FILE *stream);

/* Why this profile cannot be had in this format, as error text; NULL: it can. */
const char *out__refuses(const struct out_format *format, const struct profile *profile);

/* The formats of this version. */
int pprof__write(struct profile *profile, const struct out_options *options, FILE *stream);
int folded__write(struct profile *profile, const struct out_options *options, FILE *stream);
int json__write(struct profile *profile, const struct out_options *options, FILE *stream);
int html__write(struct profile *profile, const struct out_options *options, FILE *stream);
int text__write(struct profile *profile, const struct out_options *options, FILE *stream);
int speedscope__write(struct profile *profile, const struct out_options *options, FILE *stream);
int firefox__write(struct profile *profile, const struct out_options *options, FILE *stream);
int chrome__write(struct profile *profile, const struct out_options *options, FILE *stream);
const char *speedscope__refuse(const struct profile *profile);
const char *chrome__refuse(const struct profile *profile);

#endif
