/* SPDX-License-Identifier: BSD-2-Clause */
/* Profile files that are damaged, packed in unusual ways, or made to hurt. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>
#include <zlib.h>
#include <cmocka.h>

#include "sample_profile.h"
#include "user/out/pprof_read.h"

/* The error, the reason, and that no profile comes out. */
static void expect_bytes(const void *bytes, size_t length, int error, const char *reason)
{
	char why[PPROF_READ_REASON] = "";
	struct profile *profile = NULL;

	assert_int_equal(pprof_read__bytes(bytes, length, &profile, why), error);
	assert_null(profile);
	if (!strstr(why, reason))
		assert_string_equal(why, reason);
}

static uint8_t *plain_sample(size_t *ret_length)
{
	struct profile *profile = sample_new();
	struct out_options options = { .path = "x.pb" };
	char *bytes = sample_written(profile, "pprof", &options, ret_length);

	profile__free(profile);
	assert_non_null(bytes);
	return (uint8_t *)bytes;
}

static uint8_t *deflated(const void *bytes, size_t length, size_t *ret_length)
{
	z_stream gzip = { 0 };
	uint8_t *out;

	assert_int_equal(deflateInit2(&gzip, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
	*ret_length = deflateBound(&gzip, length);
	out = malloc(*ret_length);
	gzip.next_in = (uint8_t *)bytes;
	gzip.avail_in = (unsigned int)length;
	gzip.next_out = out;
	gzip.avail_out = (unsigned int)*ret_length;
	assert_int_equal(deflate(&gzip, Z_FINISH), Z_STREAM_END);
	*ret_length -= gzip.avail_out;
	deflateEnd(&gzip);
	return out;
}

static void gzip_that_is_corrupt_or_cut_off(void **state)
{
	size_t length, gzip_length;
	uint8_t *bytes = plain_sample(&length), *gzip;

	(void)state;
	gzip = deflated(bytes, length, &gzip_length);
	expect_bytes("\x1f\x8b", 2, -EBADMSG, "cut off");
	expect_bytes(gzip, gzip_length - 1, -EBADMSG, "cut off");
	expect_bytes(gzip, 20, -EBADMSG, "cut off");
	gzip[gzip_length - 6] ^= 1; /* the checksum */
	expect_bytes(gzip, gzip_length, -EBADMSG, "corrupt");
	gzip[gzip_length - 6] ^= 1;
	gzip[2] = 9; /* no such method */
	expect_bytes(gzip, gzip_length, -EBADMSG, "corrupt");
	free(gzip);
	free(bytes);
}

/* It says how much memory to ask for, and nothing else. */
static void gzip_that_says_a_wrong_size(void **state)
{
	static const uint32_t sizes[] = { 0, 1, 70000, 100000000, 0x7fffffff, 0xffffffff };
	uint8_t *zeroes = calloc(1, 200000), *gzip;
	size_t length;

	(void)state;
	gzip = deflated(zeroes, 200000, &length);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		memcpy(gzip + length - sizeof(sizes[i]), &sizes[i], sizeof(sizes[i]));
		expect_bytes(gzip, length, -EBADMSG, "corrupt");
	}
	free(gzip);
	free(zeroes);
}

static void gzip_members_in_a_row_are_one_file(void **state)
{
	char why[PPROF_READ_REASON];
	struct profile *profile = NULL;
	size_t length, first_length, second_length;
	uint8_t *bytes = plain_sample(&length), *first, *second, *both;

	(void)state;
	first = deflated(bytes, 10, &first_length);
	second = deflated(bytes + 10, length - 10, &second_length);
	both = malloc(first_length + second_length);
	memcpy(both, first, first_length);
	memcpy(both + first_length, second, second_length);
	assert_int_equal(pprof_read__bytes(both, first_length + second_length, &profile, why), 0);
	assert_int_equal(profile__row_count(profile), 5);
	profile__free(profile);
	expect_bytes(both, first_length + second_length - 3, -EBADMSG, "cut off");
	both[first_length] = 'x';
	expect_bytes(both, first_length + second_length, -EBADMSG, "corrupt");
	free(bytes);
	free(first);
	free(second);
	free(both);
}

/* 100 MiB of zeroes in 100 kB: refused by its ratio, long before all of it is unpacked. */
static void a_gzip_bomb_is_refused(void **state)
{
	size_t size = 100 << 20, length;
	uint8_t *zeroes = calloc(1, size);
	uint8_t *bomb = deflated(zeroes, size, &length);

	(void)state;
	assert_true(length < 200000);
	free(zeroes);
	expect_bytes(bomb, length, -EFBIG, "1,000 times its size");
	free(bomb);
}

/* ---- every file cut off anywhere, and every byte of it changed ---- */

static int try_bytes(const uint8_t *bytes, size_t length)
{
	/* A copy of the exact size: reading past it is seen. */
	uint8_t *copy = malloc(length ? length : 1);
	char why[PPROF_READ_REASON] = "";
	struct profile *profile = NULL;
	int error;

	memcpy(copy, bytes, length);
	error = pprof_read__bytes(copy, length, &profile, why);
	free(copy);
	if (error) {
		assert_null(profile);
		assert_string_not_equal(why, "");
	} else {
		assert_non_null(profile);
		assert_false(profile__failed(profile));
	}
	profile__free(profile);
	return error;
}

static void a_file_cut_off_at_any_byte(void **state)
{
	struct profile *profile = sample_new();
	struct out_options options = { .path = "x.pb" };
	size_t length;
	char *bytes = sample_written(profile, "pprof", &options, &length);

	(void)state;
	assert_int_equal(try_bytes((uint8_t *)bytes, length), 0);
	/* The strings come last: without all of them nothing holds together. */
	for (size_t i = 0; i < length; i++)
		assert_int_not_equal(try_bytes((uint8_t *)bytes, i), 0);
	free(bytes);
	options.path = NULL;
	bytes = sample_written(profile, "pprof", &options, &length);
	for (size_t i = 0; i < length; i++)
		assert_int_equal(try_bytes((uint8_t *)bytes, i), -EBADMSG);
	free(bytes);
	profile__free(profile);
}

static void a_file_with_any_byte_changed(void **state)
{
	struct profile *profile = sample_new();
	struct out_options options = { .path = "x.pb" };
	size_t length;
	char *bytes = sample_written(profile, "pprof", &options, &length);

	(void)state;
	for (size_t i = 0; i < length; i++) {
		static const uint8_t changes[] = { 0x01, 0x08, 0x80, 0xff };

		for (size_t j = 0; j < sizeof(changes); j++) {
			bytes[i] = (char)(bytes[i] ^ changes[j]);
			try_bytes((uint8_t *)bytes, length);
			bytes[i] = (char)(bytes[i] ^ changes[j]);
		}
	}
	free(bytes);
	profile__free(profile);
}

static void what_cannot_be_read_from_a_descriptor(void **state)
{
	char why[PPROF_READ_REASON] = "";
	struct profile *profile = NULL;
	int fd = open("/", O_RDONLY | O_DIRECTORY);

	(void)state;
	assert_int_equal(pprof_read__fd(fd, &profile, why), -EISDIR);
	assert_string_not_equal(why, "");
	close(fd);
	assert_int_equal(pprof_read__fd(fd, &profile, why), -EBADF);
	fd = open("/dev/null", O_RDONLY);
	assert_int_equal(pprof_read__fd(fd, &profile, why), -EBADMSG);
	assert_string_equal(why, "the file is empty");
	close(fd);
	assert_null(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gzip_that_is_corrupt_or_cut_off),
		cmocka_unit_test(gzip_that_says_a_wrong_size),
		cmocka_unit_test(gzip_members_in_a_row_are_one_file),
		cmocka_unit_test(a_gzip_bomb_is_refused),
		cmocka_unit_test(a_file_cut_off_at_any_byte),
		cmocka_unit_test(a_file_with_any_byte_changed),
		cmocka_unit_test(what_cannot_be_read_from_a_descriptor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
