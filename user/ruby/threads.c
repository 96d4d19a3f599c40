/* SPDX-License-Identifier: BSD-2-Clause */
#include "threads.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_RACTORS 4096
#define TRIES	    4

/*
 * glibc's struct pthread (nptl/descr.h, x86-64): its own address at 0x10, the kernel's id at
 * 0x2d0 (2.31 to 2.41). Checked by the former.
 */
#define PTHREAD_SELF 0x10
#define PTHREAD_TID  0x2d0

struct listing {
	struct memory *memory;
	const struct ruby_layout *layout;
	uint64_t main_thread;
	struct ruby_thread *threads;
	size_t count;
	size_t capacity;
};

/*
 * Walks a circular list (ccan/list): a head and nodes of two words, next and previous. A node
 * whose previous is not the one we came from is being moved, or is none.
 */
static int list_walk(struct listing *listing, uint64_t head, size_t most,
		     int (*each)(struct listing *listing, uint64_t node, uint64_t context),
		     uint64_t context)
{
	uint64_t at = head, links[2], next;
	size_t i;
	int err;

	err = memory__read_u64(listing->memory, head, &next);
	for (i = 0; !err && next != head; i++) {
		if (i == most || !next || next % 8)
			return -EINVAL;
		err = memory__read(listing->memory, next, links, sizeof(links));
		if (err)
			return err;
		if (links[1] != at)
			return -EAGAIN;
		err = each(listing, next, context);
		at = next;
		next = links[0];
	}
	return err;
}

static int thread_native(struct listing *listing, struct ruby_thread *thread)
{
	const struct ruby_layout *layout = listing->layout;
	uint64_t from = thread->address, pthread_at = layout->th__thread_id;
	uint64_t tid_at = layout->th__tid;
	uint32_t tid;
	int err;

	thread->tid = -1;
	if (layout->th__nt != RUBY_NO_FIELD) {
		err = memory__read_u64(listing->memory, from + layout->th__nt, &from);
		if (err || !from)
			return err;
		pthread_at = layout->nt__thread_id;
		tid_at = layout->nt__tid;
	}
	err = memory__read_u64(listing->memory, from + pthread_at, &thread->pthread);
	if (err || tid_at == RUBY_NO_FIELD)
		return err;
	err = memory__read_u32(listing->memory, from + tid_at, &tid);
	if (!err && tid && tid <= INT32_MAX)
		thread->tid = tid;
	return err;
}

static int thread_add(struct listing *listing, uint64_t node, uint64_t ractor_id)
{
	const struct ruby_layout *layout = listing->layout;
	struct ruby_thread thread = { .address = node - layout->th__lt_node,
				      .ractor_id = ractor_id };
	uint32_t status;
	int err;

	if (listing->count == THREADS_MAX)
		return -EINVAL;
	err = memory__read_u64(listing->memory, thread.address + layout->th__ec, &thread.ec);
	if (!err)
		err = memory__read_u64(listing->memory, thread.address + layout->th__self,
				       &thread.self);
	if (!err)
		err = memory__read_u64(listing->memory, thread.address + layout->th__name,
				       &thread.name);
	if (!err)
		err = memory__read_u32(listing->memory, thread.address + layout->th__status,
				       &status);
	if (!err)
		err = thread_native(listing, &thread);
	if (err)
		return err;
	thread.status = (status >> layout->th__status_shift) & 3;
	thread.is_main = thread.address == listing->main_thread;
	if (listing->count == listing->capacity) {
		size_t capacity = listing->capacity ? listing->capacity * 2 : 16;
		void *threads = realloc(listing->threads, capacity * sizeof(*listing->threads));

		if (!threads)
			return -ENOMEM;
		listing->threads = threads;
		listing->capacity = capacity;
	}
	listing->threads[listing->count++] = thread;
	return 0;
}

static int ractor_add(struct listing *listing, uint64_t node, uint64_t context)
{
	const struct ruby_layout *layout = listing->layout;
	const uint64_t ractor = node - layout->ractor__vmlr_node;
	uint32_t id;
	int err;

	(void)context;
	err = memory__read_u32(listing->memory, ractor + layout->ractor__id, &id);
	if (err)
		return err;
	return list_walk(listing, ractor + layout->ractor__threads_set, THREADS_MAX, thread_add,
			 id);
}

static int listing_read(struct listing *listing, uint64_t vm)
{
	const struct ruby_layout *layout = listing->layout;
	int err;

	listing->count = 0;
	err = memory__read_u64(listing->memory, vm + layout->vm__main_thread,
			       &listing->main_thread);
	if (err)
		return err;
	if (!listing->main_thread)
		return -EAGAIN;
	if (layout->vm__ractor_set != RUBY_NO_FIELD)
		return list_walk(listing, vm + layout->vm__ractor_set, MAX_RACTORS, ractor_add, 0);
	if (layout->vm__living_threads != RUBY_NO_FIELD)
		return list_walk(listing, vm + layout->vm__living_threads, THREADS_MAX, thread_add,
				 0);
	return -EINVAL;
}

int threads__list(struct memory *memory, const struct ruby_layout *layout, uint64_t vm_ptr_address,
		  struct ruby_thread **ret_threads, size_t *ret_count)
{
	struct listing listing = { .memory = memory, .layout = layout };
	uint64_t vm;
	int tries, err;

	err = memory__read_u64(memory, vm_ptr_address, &vm);
	if (err)
		return err;
	if (!vm)
		return -EAGAIN;
	/* A list that changes under us may look like anything, and lead anywhere. */
	for (tries = 0; tries < TRIES; tries++) {
		err = listing_read(&listing, vm);
		if (err != -EAGAIN && err != -EINVAL && err != -EFAULT)
			break;
	}
	if (err) {
		free(listing.threads);
		return err;
	}
	*ret_threads = listing.threads;
	*ret_count = listing.count;
	return 0;
}

int64_t threads__pthread_tid(struct memory *memory, uint64_t pthread)
{
	uint64_t self;
	uint32_t tid;

	if (!pthread || memory__read_u64(memory, pthread + PTHREAD_SELF, &self) ||
	    self != pthread || memory__read_u32(memory, pthread + PTHREAD_TID, &tid))
		return -1;
	return tid;
}
