/* SPDX-License-Identifier: BSD-2-Clause */
/* Profiles for the tests of what reads and writes them. */
#ifndef RBPROF_SAMPLE_PROFILE_H
#define RBPROF_SAMPLE_PROFILE_H

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/agg/profile.h"
#include "user/out/out.h"

static inline uint32_t sample_frame(struct profile *profile, const char *name, const char *file,
				    int64_t start_line, int64_t line)
{
	struct profile_function function = {
		.name = profile__cstring(profile, name),
		.system_name = profile__cstring(profile, ""),
		.file = profile__cstring(profile, file),
		.start_line = start_line,
	};

	return profile__frame(profile, profile__function(profile, &function), line);
}

static inline struct profile_label sample_text(struct profile *profile, const char *key,
					       const char *text)
{
	return (struct profile_label){
		.key = profile__cstring(profile, key),
		.text = profile__cstring(profile, text),
		.unit = PROFILE_NONE,
	};
}

static inline struct profile_label sample_number(struct profile *profile, const char *key,
						 int64_t number)
{
	return (struct profile_label){
		.key = profile__cstring(profile, key),
		.text = PROFILE_NONE,
		.number = number,
		.unit = PROFILE_NONE,
	};
}

static inline uint32_t sample_labels(struct profile *profile, const char *thread, int64_t pid)
{
	char process[32];
	struct profile_label labels[3];

	snprintf(process, sizeof(process), "ruby (%d)", (int)pid);
	labels[0] = sample_text(profile, "thread name", thread);
	labels[1] = sample_number(profile, "pid", pid);
	labels[2] = sample_text(profile, "process", process);
	return profile__label_set(profile, labels, 3);
}

static inline void sample_add(struct profile *profile, const uint32_t *frames, size_t count,
			      uint32_t labels, int64_t samples, int64_t nanoseconds)
{
	int64_t values[] = { samples, nanoseconds };
	int error = profile__add(profile, profile__stack(profile, frames, count), labels, values);

	assert(!error);
	(void)error;
}

/* No rows yet. */
static inline struct profile *sample_empty(void)
{
	static const struct profile_type types[] = {
		{ "cpu-samples", "count" },
		{ "cpu-time", "nanoseconds" },
	};
	struct profile *profile = NULL;
	struct profile_info *info;
	int error = profile__new(types, 2, &profile);

	assert(!error);
	(void)error;
	info = profile__info(profile);
	info->time_ns = 1700000000123456789;
	info->duration_ns = 5000000000;
	info->period = 10101010;
	info->period_type = types[1];
	info->default_type = 1;
	return profile;
}

/* Names that readers get wrong, recursion, two threads, a thread with an empty name. */
static inline struct profile *sample_new(void)
{
	struct profile *profile = sample_empty();
	uint32_t root = sample_frame(profile, "<main>", "/app/main.rb", 1, 40);
	uint32_t other_line = sample_frame(profile, "<main>", "/app/main.rb", 1, 41);
	uint32_t compare = sample_frame(profile, "Integer#<=>", "<cfunc>", 0, 0);
	uint32_t baz = sample_frame(profile, "Foo::Bar.baz", "/app/bar.rb", 10, 12);
	uint32_t block = sample_frame(profile, "block in Foo::Bar.baz", "/app/bar.rb", 11, 12);
	uint32_t main_thread = sample_labels(profile, "main", 1234);
	uint32_t unnamed = sample_labels(profile, "", 1234);

	sample_add(profile, (uint32_t[]){ compare, baz, root }, 3, main_thread, 70, 700000000);
	sample_add(profile, (uint32_t[]){ compare, baz, other_line }, 3, main_thread, 1, 10000001);
	sample_add(profile, (uint32_t[]){ baz, block, baz, root }, 4, main_thread, 20, 200000000);
	sample_add(profile, (uint32_t[]){ baz, root }, 2, unnamed, 9, 90000000);
	sample_add(profile, (uint32_t[]){ root }, 1, unnamed, 1, 0);
	profile__mapping(profile)->start = 0x400000;
	profile__mapping(profile)->limit = 0x401000;
	profile__mapping(profile)->file = profile__cstring(profile, "/usr/bin/ruby3.1");
	profile__mapping(profile)->build_id = profile__cstring(profile, "0123abcd");
	profile__comment(profile, "rbprof-bpf record -p 1234");
	profile__comment(profile, "linux 6.1.0");
	return profile;
}

/* Written by this format. The caller frees it. */
static inline char *sample_written(struct profile *profile, const char *format,
				   const struct out_options *options, size_t *ret_length)
{
	char *text = NULL;
	FILE *stream = open_memstream(&text, ret_length);
	int error = out__write(out__format_by_name(format), profile, options, stream);

	fclose(stream);
	if (error) {
		free(text);
		return NULL;
	}
	return text;
}

#endif
