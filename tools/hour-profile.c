/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes the profile that an hour of recording a Rails application would give, for measuring what
 * writers and readers take: hour-profile [--timeline] FILE.pb.gz. The same bytes at every run.
 *
 * 99 ticks a second of one busy CPU (a process's threads share the GVL), 100 threads, 2,000 methods
 * in 250 files. A stack is 130 to 170 deep: 70 levels of server and middleware, the same for all,
 * then what one of 60 actions calls, popular ones more often. A method calls others from six
 * places; which one is taken is nearly always the same near the action and varies towards the
 * leaf, so that some 6 of 10 ticks have a stack that no other one has. From one tick of a request
 * to the next the stack changes in its last 11 levels on average, as measured on programs of this
 * kind (bench/programs/rails_like.rb: 11 of 100). One tick in 12 is the collector's; each request
 * waits once for the database and once for the next request.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/agg/profile.h"
#include "user/out/out.h"

#define SECONDS	      3600
#define HZ	      99
#define PERIOD_NS     10101010
#define START_NS      1700000000000000000
#define THREADS	      100
#define METHODS	      2000
#define FILES	      250
#define SITES	      6	 /* places from which a method calls */
#define SHARED	      70 /* levels that all requests have */
#define ACTIONS	      60
#define MAX_DEPTH     171
#define MIN_DEPTH     130
#define DEPTHS	      40
#define REQUEST_TICKS 10
#define GC_TICKS      12
#define KEPT_MEAN     25
#define PID	      4711

enum value {
	SAMPLES = 0,
	CPU,
	WALL,
	TIMELINE,
	VALUES,
};

struct maker {
	struct profile *profile;
	bool timeline;
	uint64_t random;
	int64_t now_ns;
	uint32_t functions[METHODS];
	uint32_t frames[METHODS][SITES];
	uint32_t gc_frame, idle_frame;
	uint32_t ids[THREADS], names[THREADS]; /* strings of labels */
	uint32_t methods[MAX_DEPTH];	       /* the stack, root first */
	uint8_t sites[MAX_DEPTH];
	uint32_t depth;
	uint32_t action, thread;
};

/* Steele, Lea and Flood's SplitMix64. */
static uint64_t next(struct maker *maker)
{
	uint64_t mixed = maker->random += 0x9e3779b97f4a7c15;

	mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
	mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
	return mixed ^ (mixed >> 31);
}

static uint32_t below(struct maker *maker, uint32_t limit)
{
	return (uint32_t)(next(maker) % limit);
}

static uint32_t text(struct maker *maker, const char *format, unsigned int number)
{
	char name[128];

	snprintf(name, sizeof(name), format, number);
	return profile__cstring(maker->profile, name);
}

static uint32_t make_function(struct maker *maker, uint32_t name, uint32_t file, int64_t line)
{
	struct profile_function function = { .name = name, .file = file, .start_line = line };

	return profile__function(maker->profile, &function);
}

static void make_methods(struct maker *maker)
{
	for (uint32_t i = 0; i < METHODS; i++) {
		char name[128];
		uint32_t file = text(maker, "/srv/app/current/app/services/billing/part_%03u.rb",
				     i % FILES);
		int64_t line = 10 + i / FILES * 40;

		snprintf(name, sizeof(name), "Billing::Part%03u::Collection#each_step_%u",
			 i % FILES, i / FILES);
		maker->functions[i] =
			make_function(maker, profile__cstring(maker->profile, name), file, line);
		for (uint32_t j = 0; j < SITES; j++)
			maker->frames[i][j] = profile__frame(maker->profile, maker->functions[i],
							     line + 2 + 5 * j);
	}
	maker->gc_frame = profile__frame(maker->profile,
					 make_function(maker, text(maker, "Garbage Collection", 0),
						       text(maker, "<rbprof>", 0), 0),
					 0);
	maker->idle_frame = profile__frame(maker->profile,
					   make_function(maker, text(maker, "Thread::Queue#pop", 0),
							 text(maker, "<cfunc>", 0), 0),
					   0);
	for (uint32_t i = 0; i < THREADS; i++) {
		char id[64];

		snprintf(id, sizeof(id), "%u (%u)", PID + 1 + i, 8 * (i + 1));
		maker->ids[i] = profile__cstring(maker->profile, id);
		maker->names[i] = text(maker, "puma srv tp %03u", i + 1);
	}
}

/* ---- the stack ---- */

static uint32_t callee(uint32_t method, uint32_t site, uint32_t level)
{
	uint64_t mixed = ((uint64_t)method << 32 | site << 16 | level) * 0x9e3779b97f4a7c15;

	return SHARED + (uint32_t)((mixed >> 40) % (METHODS - SHARED));
}

/* Calls on from this level: more choice the further from the action. */
static void walk(struct maker *maker, uint32_t level)
{
	for (; level < maker->depth; level++) {
		uint32_t per_thousand = level < SHARED ? 0 : 2 + (level - SHARED) / 4;

		maker->sites[level] = 0;
		if (below(maker, 1000) < per_thousand)
			maker->sites[level] = (uint8_t)(1 + below(maker, SITES - 1));
		if (level + 1 == maker->depth)
			break;
		if (level + 1 < SHARED)
			maker->methods[level + 1] = level + 1;
		else if (level + 1 == SHARED)
			maker->methods[level + 1] = SHARED + maker->action;
		else
			maker->methods[level + 1] =
				callee(maker->methods[level], maker->sites[level], level);
	}
}

static void start_request(struct maker *maker)
{
	uint32_t draw = below(maker, 1000);

	maker->thread = below(maker, THREADS);
	/* Squared: popular ones more often. */
	maker->action = ACTIONS * draw / 1000 * draw / 1000;
	maker->depth = MIN_DEPTH + below(maker, DEPTHS);
	walk(maker, 0);
}

/* A tick later: the last levels are others. */
static void go_on(struct maker *maker)
{
	uint32_t changed = 1;

	while (changed < MIN_DEPTH - SHARED && below(maker, KEPT_MEAN))
		changed++;
	maker->depth = MIN_DEPTH + below(maker, DEPTHS);
	walk(maker, maker->depth - changed);
}

static uint32_t make_stack(struct maker *maker, uint32_t leaf, uint32_t depth)
{
	uint32_t frames[MAX_DEPTH + 1], count = 0;

	if (leaf != PROFILE_NONE)
		frames[count++] = leaf;
	while (depth-- > 0)
		frames[count++] = maker->frames[maker->methods[depth]][maker->sites[depth]];
	return profile__stack(maker->profile, frames, count);
}

/* ---- rows ---- */

static struct profile_label label(struct maker *maker, const char *key, uint32_t value)
{
	return (struct profile_label){
		.key = profile__cstring(maker->profile, key),
		.text = value,
		.unit = PROFILE_NONE,
	};
}

static struct profile_label number(struct maker *maker, const char *key, int64_t value)
{
	struct profile_label made = label(maker, key, PROFILE_NONE);

	made.number = value;
	return made;
}

static void add(struct maker *maker, uint32_t stack, const char *state, bool is_gc,
		const int64_t *values)
{
	struct profile_label labels[12];
	size_t count = 0;

	labels[count++] =
		label(maker, "thread id", is_gc ? text(maker, "GC", 0) : maker->ids[maker->thread]);
	labels[count++] =
		label(maker, "thread name",
		      is_gc ? text(maker, "Garbage Collection", 0) : maker->names[maker->thread]);
	labels[count++] = label(maker, "state", text(maker, state, 0));
	labels[count++] = label(maker, "process", text(maker, "puma (%u)", PID));
	labels[count++] = number(maker, "pid", PID);
	labels[count++] = label(maker, "ruby", text(maker, "3.3.8", 0));
	labels[count++] = label(maker, "trace endpoint",
				text(maker, "Billing%uController#show", maker->action));
	if (is_gc) {
		labels[count++] = label(maker, "event", text(maker, "gc", 0));
		labels[count++] = label(maker, "gc cause", text(maker, "newobj", 0));
		labels[count++] = label(maker, "gc type", text(maker, "minor", 0));
		labels[count++] = label(maker, "gc thread", maker->ids[maker->thread]);
	}
	if (maker->timeline)
		labels[count++] = number(maker, "end_timestamp_ns", maker->now_ns);
	if (profile__add(maker->profile, stack, profile__label_set(maker->profile, labels, count),
			 values))
		abort();
}

static void wait_for(struct maker *maker, uint32_t leaf, uint32_t depth, const char *state,
		     int64_t wall_ns)
{
	add(maker, make_stack(maker, leaf, depth), state, false,
	    (int64_t[VALUES]){ [SAMPLES] = 1, [WALL] = wall_ns });
}

static void tick(struct maker *maker, uint32_t at)
{
	int64_t cpu_ns = PERIOD_NS - below(maker, 100000);

	maker->now_ns = START_NS + (int64_t)(at + 1) * PERIOD_NS;
	if (at % REQUEST_TICKS == 0) {
		start_request(maker);
		wait_for(maker, maker->idle_frame, SHARED / 2, "waiting", THREADS * PERIOD_NS);
		wait_for(maker, PROFILE_NONE, SHARED + 20 + below(maker, 30), "network",
			 3 * PERIOD_NS);
	} else {
		go_on(maker);
	}
	if (at % GC_TICKS == 0)
		add(maker, make_stack(maker, maker->gc_frame, maker->depth), "had cpu", true,
		    (int64_t[VALUES]){ 1, cpu_ns, cpu_ns, cpu_ns });
	else
		add(maker, make_stack(maker, PROFILE_NONE, maker->depth), "had cpu", false,
		    (int64_t[VALUES]){ 1, cpu_ns, cpu_ns, 0 });
}

static int make(struct maker *maker)
{
	static const struct profile_type types[VALUES] = {
		{ "cpu-samples", "count" },
		{ "cpu-time", "nanoseconds" },
		{ "wall-time", "nanoseconds" },
		{ "timeline", "nanoseconds" },
	};
	struct profile_info *info;
	int error = profile__new(types, VALUES, &maker->profile);

	if (error)
		return error;
	info = profile__info(maker->profile);
	info->time_ns = START_NS;
	info->duration_ns = SECONDS * 1000000000LL;
	info->period = PERIOD_NS;
	info->period_type = types[CPU];
	info->default_type = CPU;
	make_methods(maker);
	for (uint32_t i = 0; i < SECONDS * HZ; i++)
		tick(maker, i);
	return 0;
}

int main(int argc, char **argv)
{
	struct maker maker = { .random = 1 };
	struct out_options options = { 0 };
	FILE *file;
	int error;

	maker.timeline = argc == 3 && !strcmp(argv[1], "--timeline");
	if (argc != 2 && !maker.timeline) {
		fprintf(stderr, "usage: hour-profile [--timeline] FILE\n");
		return 2;
	}
	options.path = argv[argc - 1];
	file = fopen(options.path, "w");
	if (!file) {
		perror(options.path);
		return 5;
	}
	error = make(&maker);
	if (!error)
		error = out__write(out__format_by_name("pprof"), maker.profile, &options, file);
	fprintf(stderr, "%zu rows, %zu stacks, %zu functions\n", profile__row_count(maker.profile),
		profile__stack_count(maker.profile), profile__function_count(maker.profile));
	if (fclose(file) || error) {
		fprintf(stderr, "error: cannot write %s\n", options.path);
		return 5;
	}
	profile__free(maker.profile);
	return 0;
}
