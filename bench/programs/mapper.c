/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process with very many mappings of a file, every other one executable: mapper COUNT. Told
 * "RATE SECONDS", it replaces executable ones that often; it answers how many in how long.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define PAGE	4096
#define EACH_NS 1000000 /* how long it sleeps between two lots */

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void *map(void *at, int fd, int is_executable)
{
	return mmap(at, PAGE, is_executable ? PROT_READ | PROT_EXEC : PROT_READ,
		    MAP_PRIVATE | (at ? MAP_FIXED : 0), fd, 0);
}

static long replace_many(void **pages, long count, int fd, long rate, int64_t from, int64_t limit)
{
	const struct timespec pause = { 0, EACH_NS };
	long replaced = 0;
	int64_t now;

	while ((now = now_ns()) < limit) {
		for (; replaced < (double)(now - from) / 1e9 * rate; replaced++)
			if (map(pages[replaced * 2 % count], fd, 1) == MAP_FAILED)
				return -1;
		nanosleep(&pause, NULL);
	}
	return replaced;
}

int main(int argc, char **argv)
{
	long count = argc == 2 ? strtol(argv[1], NULL, 10) / 2 * 2 : 0, rate, seconds, i;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	void **pages = calloc(count, sizeof(*pages));

	if (!count || fd < 0 || !pages)
		return 2;
	for (i = 0; i < count; i++) {
		pages[i] = map(NULL, fd, i % 2 == 0);
		if (pages[i] == MAP_FAILED)
			return 1;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	while (scanf("%ld %ld", &rate, &seconds) == 2) {
		int64_t from = now_ns();
		long replaced =
			replace_many(pages, count, fd, rate, from, from + seconds * 1000000000LL);

		printf("{\"replaced\": %ld, \"ns\": %lld}\n", replaced,
		       (long long)(now_ns() - from));
	}
	return 0;
}
