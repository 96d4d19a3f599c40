/* SPDX-License-Identifier: BSD-2-Clause */
#include "calibrate.h"

#include <stddef.h>
#include <time.h>

#define WORDS	   (32 * 1024) /* 256 KB: a second level cache holds them, a first does not */
#define PARTS	   5
#define PART_STEPS 1000000

static uint64_t table[WORDS];

/* Pseudo-random walk: each step depends on the one before, so nothing of it can be left out. */
static uint64_t walk(uint64_t state)
{
	size_t i;

	for (i = 0; i < PART_STEPS; i++) {
		uint64_t *word = &table[(state >> 17) % WORDS];

		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		if (state & 64)
			*word += state;
		else
			state += *word | 1;
	}
	return state;
}

static int64_t cpu_ns(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now))
		return -1;
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* The median part, times the parts: an interrupt in one of them does not count. */
int64_t calibrate__ns(void)
{
	static volatile uint64_t result;
	int64_t parts[PARTS];
	uint64_t state = 0x9e3779b97f4a7c15ULL;
	size_t i, k;

	for (i = 0; i < WORDS; i++)
		table[i] = i;
	state = walk(state); /* the caches are warm from here on */
	for (i = 0; i < PARTS; i++) {
		int64_t before = cpu_ns(), after;

		state = walk(state);
		after = cpu_ns();
		if (before < 0 || after < 0)
			return -1;
		for (k = i; k && parts[k - 1] > after - before; k--)
			parts[k] = parts[k - 1];
		parts[k] = after - before;
	}
	result = state;
	(void)result;
	return parts[PARTS / 2] * PARTS;
}
