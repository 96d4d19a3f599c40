/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A C library with a native thread that begins, waits and ends; the VM would keep a thread of its
 * own for the next Thread.new.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

/* Asked: how long. Told: who it was, and from when to when it knows that it lived. */
struct sleeper {
	int64_t ns, tid, from_ns, to_ns;
};

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void *sleep_and_end(void *argument)
{
	struct sleeper *sleeper = argument;
	struct timespec time = { sleeper->ns / 1000000000, sleeper->ns % 1000000000 };

	sleeper->from_ns = now();
	sleeper->tid = gettid();
	while (nanosleep(&time, &time))
		;
	sleeper->to_ns = now();
	return NULL;
}

/* 0 or an error number. */
int run_native_sleeper(struct sleeper *sleeper)
{
	pthread_t thread;
	int error;

	error = pthread_create(&thread, NULL, sleep_and_end, sleeper);
	return error ? error : pthread_join(thread, NULL);
}
