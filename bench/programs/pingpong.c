/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two processes hand a byte to and fro over pipes. Says "ready", answers each line "rounds N"
 * with the CPU time that both used for it, and ends with its input.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t read_clock(clockid_t clock)
{
	struct timespec now;

	if (clock_gettime(clock, &now))
		return 0;
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void echo(int from, int to)
{
	char byte;

	while (read(from, &byte, 1) == 1) {
		if (write(to, &byte, 1) != 1)
			break;
	}
	_exit(0);
}

static int play(unsigned long rounds, int to, int from)
{
	char byte = 'x';

	while (rounds--) {
		if (write(to, &byte, 1) != 1 || read(from, &byte, 1) != 1)
			return -1;
	}
	return 0;
}

int main(void)
{
	int there[2], back[2];
	clockid_t other;
	unsigned long rounds;
	uint64_t before;
	pid_t pid;

	if (pipe(there) || pipe(back))
		return 1;
	pid = fork();
	if (pid < 0)
		return 1;
	if (!pid) {
		close(there[1]);
		close(back[0]);
		echo(there[0], back[1]);
	}
	close(there[0]);
	close(back[1]);
	if (clock_getcpuclockid(pid, &other))
		return 1;
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	while (scanf(" rounds %lu", &rounds) == 1) {
		before = read_clock(CLOCK_PROCESS_CPUTIME_ID) + read_clock(other);
		if (play(rounds, there[1], back[0]))
			return 1;
		printf("{\"cpu_ns\": %llu, \"switches\": %lu}\n",
		       (unsigned long long)(read_clock(CLOCK_PROCESS_CPUTIME_ID) +
					    read_clock(other) - before),
		       2 * rounds);
	}
	close(there[1]);
	waitpid(pid, NULL, 0);
	return 0;
}
