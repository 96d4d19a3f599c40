/* SPDX-License-Identifier: BSD-2-Clause */
/* Between the two halves of the pprof reader (pprof_read.c and pprof_stacks.c); nobody else's. */
#ifndef RBPROF_PPROF_READER_H
#define RBPROF_PPROF_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../agg/profile.h"
#include "pprof_wire.h"

/* Bounds of what a file may make us do; all far beyond any profile of use. */
#define READER_MAX_ENTITIES	 (4U << 20) /* strings, functions, locations, mappings: of each */
#define READER_MAX_SAMPLES	 (16U << 20)
#define READER_MAX_COMMENTS	 65536
#define READER_MAX_MESSAGE_BYTES (1U << 20) /* one sample, location, ... */
#define READER_MAX_TEXT_BYTES	 65535
#define READER_MAX_STACK	 65536	     /* frames, inlined ones included */
#define READER_MAX_NODES	 (32U << 20) /* of the tree of all stacks */
#define READER_MAX_LABELS	 256	     /* of one sample */

enum reader_field {
	FIELD_SAMPLE_TYPE = 1,
	FIELD_SAMPLE,
	FIELD_MAPPING,
	FIELD_LOCATION,
	FIELD_FUNCTION,
	FIELD_STRING,
	FIELD_TIME = 9,
	FIELD_DURATION,
	FIELD_PERIOD_TYPE,
	FIELD_PERIOD,
	FIELD_COMMENT,
	FIELD_DEFAULT_TYPE,
	FIELD_COUNT,
};

struct reader_text {
	const uint8_t *bytes;
	uint32_t length;
	uint32_t id; /* in the profile, PROFILE_NONE until it is used */
};

/* A mapping, function or location: found by its id once the table is sorted. */
struct reader_entry {
	uint64_t id;
	uint32_t first; /* mapping: string of its file; function; location: first of its frames */
	uint32_t count; /* location: number of frames */
};

struct reader_table {
	const char *what;
	struct reader_entry *entries;
	size_t count;
};

/* A label as the file has it: indexes of strings. */
struct reader_label {
	int64_t key, text, number, unit;
};

struct reader_sample {
	bool has_locations;
	struct wire packed;    /* the ids, if they are one packed field; else at is NULL, and */
	size_t location_count; /* of reader.sample_locations */
	size_t value_count;    /* may be more than there is room for */
	size_t label_count;
	int64_t values[PROFILE_MAX_TYPES];
	struct reader_label labels[READER_MAX_LABELS];
};

struct reader {
	const uint8_t *bytes;
	size_t length;
	char *why; /* PPROF_READ_REASON bytes */
	struct profile *profile;
	size_t counts[FIELD_COUNT];	/* how often each field is there */
	int64_t numbers[FIELD_COUNT];	/* last value of the fields that are a number */
	struct wire spans[FIELD_COUNT]; /* from the first to the end of the last of each field */
	struct wire period_type;
	bool owns_bytes;	   /* they may be given back to the system once read */
	const uint8_t *given_back; /* the samples before this are */
	size_t comment_bytes;
	struct reader_text *strings;
	size_t string_count;
	struct reader_table mappings, functions, locations;
	uint32_t *location_frames;
	size_t location_frame_count, location_frame_capacity;
	struct reader_sample sample; /* the one that is read */
	uint64_t *sample_locations;  /* READER_MAX_STACK ids */
	struct wire packed_before;   /* of the sample before; its frames are in stack */
	bool has_single_frames;	     /* each location is one frame */
	uint32_t *stack;	     /* READER_MAX_STACK frames, filled from the end */
	uint64_t expanded;	     /* frames of all samples so far */
	char clean[READER_MAX_TEXT_BYTES + 1];
};

typedef int reader_handler(struct reader *reader, const struct wire_field *field);

/* Notes the reason; returns error. */
int reader__fail(struct reader *reader, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int reader__fail_memory(struct reader *reader);

/* Calls handle for every field with this number, in the order of the file, until it fails. */
int reader__each(struct reader *reader, enum reader_field number, reader_handler *handle);

/* The profile's id of a string of the file. 0 or -errno, with the reason noted. */
int reader__string(struct reader *reader, int64_t index, uint32_t *ret_id);

/* A sample's fields into reader->sample. 0 or -errno, with the reason noted. */
int reader__parse_sample(struct reader *reader, const struct wire_field *field);

/*
 * The frames of the sample that was parsed, leaf first, until the next one's. Neighbours in a file
 * have most of their stack in common: what the packed ids of the sample before ended in as well
 * is not looked up again. 0 or -errno, with the reason noted.
 */
int reader__stack(struct reader *reader, const uint32_t **ret_frames, size_t *ret_depth);

/* The location with this id; NULL, with the reason noted: there is none. */
const struct reader_entry *reader__location(struct reader *reader, uint64_t id);

/*
 * Gives the memory of the samples before this one back to the system, some megabytes at a time:
 * what they say takes more room in the profile than in the file, and both together would be the
 * peak. Nothing is given back where strings lie among them, which are read when they are first
 * used.
 */
void reader__give_back(struct reader *reader, const struct wire_field *field);

/* Mappings, functions, locations and samples into the profile. 0 or -errno. */
int reader__read_samples(struct reader *reader);

#endif
