/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Starts a program so many times a second, for so many seconds, and says how often it came to that:
 * start_many RATE SECONDS PROGRAM
 */
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000L + now.tv_nsec;
}

int main(int argc, char **argv)
{
	char *none[] = { NULL };
	long from, rate, limit, i;

	if (argc != 4)
		return 2;
	rate = strtol(argv[1], NULL, 10);
	from = now_ns();
	limit = from + strtol(argv[2], NULL, 10) * 1000000000L;
	signal(SIGCHLD, SIG_IGN); /* nobody waits for them */
	for (i = 0; now_ns() < limit; i++) {
		long wait_ns = from + i * (1000000000L / rate) - now_ns();
		struct timespec time = { 0, wait_ns };
		pid_t pid;

		if (wait_ns > 0)
			nanosleep(&time, NULL);
		if (posix_spawn(&pid, argv[3], NULL, NULL, argv + 3, none))
			return 1;
	}
	printf("%ld\n", i);
	return 0;
}
