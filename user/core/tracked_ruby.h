/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ruby threads that a native thread was seen to run. Up to 3.1 the VM uses a native thread again
 * for the next Thread, and M:N ones run many by turns; what is known of one (its object id) must
 * not go to the samples of another. Rows point to them, so they are counted.
 */
#ifndef RBPROF_TRACKED_RUBY_H
#define RBPROF_TRACKED_RUBY_H

#include <stdbool.h>
#include <stdint.h>
#include <uthash.h>

/* Two Threads in turn at the same addresses, on one native thread, are taken for one. */
struct tracked_ruby_key {
	uint64_t thread; /* rb_thread_t; 0: it ran none */
	uint64_t object; /* VALUE of its Thread */
};

struct tracked_ruby {
	struct tracked_ruby_key key;
	uint32_t tid;
	uint32_t references;
	int64_t object_id;	    /* the last known, or THREAD_ID_NONE */
	uint64_t number;	    /* in rows of the ring that were put aside before it had one */
	uint64_t next_ns, pause_ns; /* when to read it again, CLOCK_MONOTONIC */
	uint32_t ractor;	    /* id; 0: the main one */
	bool has_ractor;	    /* it was read */
	UT_hash_handle hh;
};

/* Those that new samples may be of; each has one reference. */
struct tracked_rubies {
	struct tracked_ruby *known;
	struct tracked_ruby *latest; /* of the last sample; NULL: none yet */
};

/*
 * The Ruby thread of a sample, made if it is new. The caller owns no reference. NULL: out of
 * memory. Of very many the older ones are let go: they are made anew when they run again.
 */
struct tracked_ruby *tracked_rubies__get(struct tracked_rubies *rubies, uint32_t tid,
					 const struct tracked_ruby_key *key);
/* The thread is over: what comes with its key from now on is another one. */
void tracked_rubies__end(struct tracked_rubies *rubies, struct tracked_ruby *ruby);
void tracked_rubies__clear(struct tracked_rubies *rubies);

/* NULL is allowed; hold returns what it was given. */
struct tracked_ruby *tracked_ruby__hold(struct tracked_ruby *ruby);
void tracked_ruby__release(struct tracked_ruby *ruby);

#endif
