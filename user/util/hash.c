/* SPDX-License-Identifier: BSD-2-Clause */
/* SipHash-1-3 (Aumasson and Bernstein), keyed with the 16 random bytes of the aux vector. */
#include "hash.h"

#include <endian.h>
#include <string.h>
#include <sys/auxv.h>

struct state {
	uint64_t a, b, c, d;
};

static uint64_t rotate(uint64_t word, unsigned int bits)
{
	return word << bits | word >> (64 - bits);
}

static void mix(struct state *state)
{
	state->a += state->b;
	state->c += state->d;
	state->b = rotate(state->b, 13) ^ state->a;
	state->d = rotate(state->d, 16) ^ state->c;
	state->a = rotate(state->a, 32);
	state->c += state->b;
	state->a += state->d;
	state->b = rotate(state->b, 17) ^ state->c;
	state->d = rotate(state->d, 21) ^ state->a;
	state->c = rotate(state->c, 32);
}

static void key_of_this_run(uint64_t key[2])
{
	const void *random = (const void *)getauxval(AT_RANDOM);

	/* The kernel has given these bytes to every program since 2.6.29. */
	if (random)
		memcpy(key, random, 2 * sizeof(*key));
}

uint32_t hash__bytes(const void *bytes, size_t length)
{
	static uint64_t key[2];
	const unsigned char *at = bytes;
	size_t left = length;
	struct state state;
	uint64_t word = 0;

	if (!key[0])
		key_of_this_run(key);
	state.a = key[0] ^ 0x736f6d6570736575ULL;
	state.b = key[1] ^ 0x646f72616e646f6dULL;
	state.c = key[0] ^ 0x6c7967656e657261ULL;
	state.d = key[1] ^ 0x7465646279746573ULL;

	for (; left >= sizeof(word); at += sizeof(word), left -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		word = le64toh(word);
		state.d ^= word;
		mix(&state);
		state.a ^= word;
	}
	word = (uint64_t)length << 56;
	while (left) {
		left--;
		word |= (uint64_t)at[left] << 8 * left;
	}
	state.d ^= word;
	mix(&state);
	state.a ^= word;

	state.c ^= 0xff;
	mix(&state);
	mix(&state);
	mix(&state);
	word = state.a ^ state.b ^ state.c ^ state.d;
	return (uint32_t)(word ^ word >> 32);
}
