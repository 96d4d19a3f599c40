/* SPDX-License-Identifier: BSD-2-Clause */
/* A C library whose threads the Ruby VM does not know: short ones and one that stays. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

static int64_t cpu_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void *burn(void *argument)
{
	int64_t *slot = argument;
	int64_t limit = slot[0];

	pthread_setname_np(pthread_self(), "native-burner");
	while (cpu_now() < limit)
		;
	slot[1] = gettid();
	slot[0] = cpu_now();
	return NULL;
}

/*
 * Runs a thread that uses ns of CPU and ends. Its own clock's last figure goes to slot[0], its
 * id to slot[1]. 0 or an error number.
 */
int run_native_thread(int64_t ns, int64_t *slot)
{
	pthread_t thread;
	int error;

	slot[0] = ns;
	error = pthread_create(&thread, NULL, burn, slot);
	return error ? error : pthread_join(thread, NULL);
}
