/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Starts a program again and again, two at a time at most: spawner PROGRAM. Told "RATE SECONDS",
 * it answers how many it started in how long.
 */
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>

#define AT_A_TIME 2

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void wait_until(int64_t time_ns)
{
	struct timespec time = { time_ns / 1000000000, time_ns % 1000000000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL))
		;
}

/* How many were started: less than asked for if this host is not that fast. */
static long start_many(char **program, long rate, int64_t from, int64_t limit)
{
	char *none[] = { NULL };
	int running = 0;
	long started = 0;
	pid_t pid;

	while (now_ns() < limit) {
		wait_until(from + started * (1000000000LL / rate));
		if (posix_spawn(&pid, program[0], NULL, NULL, program, none))
			return -1;
		started++;
		running++;
		while (running && waitpid(-1, NULL, running >= AT_A_TIME ? 0 : WNOHANG) > 0)
			running--;
	}
	while (running-- && waitpid(-1, NULL, 0) > 0)
		;
	return started;
}

int main(int argc, char **argv)
{
	long rate, seconds;

	if (argc != 2)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	while (scanf("%ld %ld", &rate, &seconds) == 2) {
		int64_t from = now_ns();
		long started = start_many(argv + 1, rate, from, from + seconds * 1000000000LL);

		printf("{\"started\": %ld, \"ns\": %lld}\n", started, (long long)(now_ns() - from));
	}
	return 0;
}
