/* SPDX-License-Identifier: BSD-2-Clause */
#include "pprof_bytes.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "../util/heap.h"

#define FIRST_BYTES	 (64 * 1024)
#define GZIP_WINDOW_BITS (15 + 16) /* zlib: the largest window, gzip only */

/*
 * No profile packs as well as zeroes do (1,030 to 1): even the same stack of thousands of frames
 * over and over has some bytes of its own in every sample.
 */
#define BOMB_RATIO 1000
#define BOMB_BYTES (64ULL << 20) /* not asked below this */

struct growing {
	uint8_t *bytes;
	size_t length;
	size_t capacity;
};

/* Makes room for more bytes. 0, -EFBIG or -ENOMEM. */
static int growing__grow(struct growing *growing)
{
	size_t capacity = growing->capacity ? growing->capacity * 2 : FIRST_BYTES;
	uint8_t *bytes;

	if (growing->length < growing->capacity)
		return 0;
	/* One more than the limit, to see that there is more. */
	if (capacity > PPROF_BYTES_MAX + 1)
		capacity = PPROF_BYTES_MAX + 1;
	if (capacity <= growing->capacity)
		return -EFBIG;
	bytes = realloc(growing->bytes, capacity);
	if (!bytes)
		return -ENOMEM;
	growing->bytes = bytes;
	growing->capacity = capacity;
	return 0;
}

/* Room for so many bytes and one more to see that there are not; without it, it grows as it goes.
 */
static void growing__expect(struct growing *growing, size_t size)
{
	if (size < FIRST_BYTES || size >= PPROF_BYTES_MAX)
		return;
	growing->bytes = malloc(size + 1);
	if (!growing->bytes)
		return;
	growing->capacity = size + 1;
	heap__advise(growing->bytes, size + 1);
}

int pprof_bytes__read(int fd, uint8_t **ret_bytes, size_t *ret_length)
{
	struct growing in = { 0 };
	ssize_t got;
	int error;

	for (;;) {
		error = growing__grow(&in);
		if (error)
			goto failed;
		got = read(fd, in.bytes + in.length, in.capacity - in.length);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			error = -errno;
			goto failed;
		}
		if (!got)
			break;
		in.length += (size_t)got;
	}
	*ret_bytes = in.bytes;
	*ret_length = in.length;
	return 0;
failed:
	free(in.bytes);
	return error;
}

static int fail(char *why, int error, const char *text)
{
	snprintf(why, PPROF_BYTES_REASON, "%s", text);
	return error;
}

/* Unpacks what fits into the room there is. 0, 1 (end of a member) or -errno. */
static int inflate_some(z_stream *gzip, struct growing *out, char *why)
{
	size_t room = out->capacity - out->length;
	unsigned int before;
	int status;

	gzip->next_out = out->bytes + out->length;
	gzip->avail_out = room > INT_MAX ? INT_MAX : (unsigned int)room;
	before = gzip->avail_out;
	status = inflate(gzip, Z_NO_FLUSH);
	out->length += before - gzip->avail_out;

	if (status == Z_STREAM_END)
		return 1;
	if (status == Z_MEM_ERROR)
		return fail(why, -ENOMEM, "out of memory");
	if (status == Z_BUF_ERROR || (status == Z_OK && gzip->avail_out && !gzip->avail_in))
		return fail(why, -EBADMSG, "the gzip data is cut off");
	if (status != Z_OK)
		return fail(why, -EBADMSG, "the gzip data is corrupt");
	return 0;
}

static int check_size(const z_stream *gzip, size_t packed_length, const struct growing *out,
		      char *why)
{
	size_t consumed = packed_length - gzip->avail_in;

	if (out->length > PPROF_BYTES_MAX)
		return fail(why, -EFBIG, "it unpacks to more than 1 GiB");
	if (out->length > BOMB_BYTES && out->length / BOMB_RATIO > consumed)
		return fail(why, -EFBIG, "it unpacks to more than 1,000 times its size");
	return 0;
}

/*
 * What the last member says that it unpacks to, by its size modulo 4 GiB. A file may say anything:
 * no more than it could, and not one byte of it is touched before it is unpacked.
 */
static size_t expected_size(const uint8_t *packed, size_t packed_length)
{
	uint32_t size = 0;

	for (size_t i = 0; i < sizeof(size) && packed_length > sizeof(size); i++)
		size |= (uint32_t)packed[packed_length - sizeof(size) + i] << 8 * i;
	return size / BOMB_RATIO > packed_length ? 0 : size;
}

int pprof_bytes__gunzip(const uint8_t *packed, size_t packed_length, uint8_t **ret_bytes,
			size_t *ret_length, char ret_why[static PPROF_BYTES_REASON])
{
	z_stream gzip = { .next_in = (uint8_t *)packed };
	struct growing out = { 0 };
	int error;

	if (packed_length > PPROF_BYTES_MAX)
		return fail(ret_why, -EFBIG, "it is larger than 1 GiB");
	growing__expect(&out, expected_size(packed, packed_length));
	gzip.avail_in = (unsigned int)packed_length;
	if (inflateInit2(&gzip, GZIP_WINDOW_BITS) != Z_OK)
		return fail(ret_why, -ENOMEM, "out of memory");
	do {
		error = growing__grow(&out);
		if (error == -ENOMEM)
			fail(ret_why, error, "out of memory");
		if (error)
			break;
		error = inflate_some(&gzip, &out, ret_why);
		if (error < 0)
			break;
		/* Members that follow each other are one file. */
		if (error == 1 && gzip.avail_in && inflateReset(&gzip) == Z_OK)
			error = 0;
		if (check_size(&gzip, packed_length, &out, ret_why)) {
			error = -EFBIG;
			break;
		}
	} while (!error);
	inflateEnd(&gzip);
	if (error < 0) {
		free(out.bytes);
		return error;
	}
	*ret_bytes = out.bytes;
	*ret_length = out.length;
	return 0;
}
