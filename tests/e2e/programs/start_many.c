/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts a program again and again, each when its time has come: start_many RATE SECONDS PROGRAM */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
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
	long from, rate, total, i;

	if (argc != 4)
		return 2;
	rate = strtol(argv[1], NULL, 10);
	total = rate * strtol(argv[2], NULL, 10);
	from = now_ns();
	for (i = 0; i < total; i++) {
		long wait_ns = from + i * (1000000000L / rate) - now_ns();
		struct timespec time = { 0, wait_ns };
		pid_t pid;

		if (wait_ns > 0)
			nanosleep(&time, NULL);
		if (posix_spawn(&pid, argv[3], NULL, NULL, argv + 3, none))
			return 1;
		waitpid(pid, NULL, 0);
	}
	printf("%ld\n", (now_ns() - from) / 1000000);
	return 0;
}
