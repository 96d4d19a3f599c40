/* SPDX-License-Identifier: BSD-2-Clause */
#include "stack_copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TRIES	   50
#define PART_MOST  (1u << 20) /* bytes of a part; what lies behind is read as it is */
#define EC_WORDS   16
#define CFP_WORDS  16
#define PAGE_BYTES 4096
#define MAX_PAGES  64

struct part {
	uint64_t address;
	size_t size;
	unsigned char *bytes;
};

struct page {
	uint64_t address;
	unsigned char bytes[PAGE_BYTES];
};

/*
 * Reads of what was copied are answered from the copy. All others are the process's: method
 * entries and environments on the heap, which do not change, and lie close together: a page of
 * them is read at a time and kept for this one walk.
 */
struct copy {
	struct memory memory;
	struct memory *base;
	const struct ruby_layout *layout;
	uint64_t thread, ec;
	struct part head;   /* the words of the execution context */
	struct part frames; /* control frames */
	struct part values; /* environments of the frames */
	uint64_t head_words[EC_WORDS];
	unsigned char *again; /* the frames, read once more */
	struct page *pages;   /* some of them asked for but not read yet: see fetch_pages() */
	size_t page_count;
};

static bool part_has(const struct part *part, const struct memory_range *range)
{
	return range->address >= part->address && range->size <= part->size &&
	       range->address - part->address <= part->size - range->size;
}

/* Index of a page that was read or asked for; page_count if it is neither. */
static size_t find_page(const struct copy *copy, uint64_t address)
{
	size_t i;

	/* The last first: neighbours lie close together. */
	if (copy->page_count && copy->pages[copy->page_count - 1].address == address)
		return copy->page_count - 1;
	for (i = 0; i < copy->page_count && copy->pages[i].address != address; i++)
		;
	return i;
}

static bool has_pages(struct copy *copy)
{
	if (!copy->pages)
		copy->pages = malloc(MAX_PAGES * sizeof(*copy->pages));
	return copy->pages;
}

static int read_through(struct copy *copy, const struct memory_range *range)
{
	const uint64_t address = range->address & ~(uint64_t)(PAGE_BYTES - 1);
	const uint64_t offset = range->address - address;
	struct page *page;
	size_t i;

	if (!has_pages(copy) || range->size > PAGE_BYTES - offset)
		return memory__read_ranges(copy->base, range, 1);
	i = find_page(copy, address);
	page = &copy->pages[i];
	if (i == copy->page_count) {
		if (i == MAX_PAGES || memory__read(copy->base, address, page->bytes, PAGE_BYTES))
			return memory__read_ranges(copy->base, range, 1);
		page->address = address;
		copy->page_count++;
	}
	memcpy(range->into, page->bytes + offset, range->size);
	return 0;
}

/* Asks for the page of an object, if it can be one. */
static void want_page(struct copy *copy, uint64_t object)
{
	const uint64_t address = object & ~(uint64_t)(PAGE_BYTES - 1);

	if (address && object % 8 == 0 && copy->page_count < MAX_PAGES &&
	    find_page(copy, address) == copy->page_count)
		copy->pages[copy->page_count++].address = address;
}

/* Reads all pages asked for since there were `first`, in one call; or none of them. */
static void fetch_pages(struct copy *copy, size_t first)
{
	struct memory_range ranges[MAX_PAGES];
	size_t i;

	for (i = first; i < copy->page_count; i++)
		ranges[i - first] = (struct memory_range){ copy->pages[i].address,
							   copy->pages[i].bytes, PAGE_BYTES };
	if (i > first && memory__read_ranges(copy->base, ranges, i - first))
		copy->page_count = first;
}

static int copy_read(struct memory *memory, const struct memory_range *ranges, size_t count)
{
	struct copy *copy = (struct copy *)memory;
	const struct part *parts[] = { &copy->frames, &copy->values, &copy->head };
	size_t i, k;
	int err = 0;

	for (i = 0; !err && i < count; i++) {
		for (k = 0; k < 3 && !part_has(parts[k], &ranges[i]); k++)
			;
		if (k < 3)
			memcpy(ranges[i].into,
			       parts[k]->bytes + (ranges[i].address - parts[k]->address),
			       ranges[i].size);
		else
			err = read_through(copy, &ranges[i]);
	}
	return err;
}

static const struct memory_ops copy_ops = { .read = copy_read, .close = NULL };

static uint64_t word_at(const unsigned char *bytes, size_t offset)
{
	uint64_t word;

	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

static uint64_t head_word(const struct copy *copy, uint16_t offset)
{
	return copy->head_words[offset / 8 % EC_WORDS];
}

/* The execution context that the thread runs, and where its frames lie. */
static int copy_head(struct copy *copy)
{
	const struct ruby_layout *layout = copy->layout;
	int err;

	if (layout->ec__thread_ptr >= sizeof(copy->head_words) ||
	    layout->ec__cfp >= sizeof(copy->head_words) ||
	    layout->ec__vm_stack >= sizeof(copy->head_words) ||
	    layout->ec__vm_stack_size >= sizeof(copy->head_words) ||
	    layout->cfp__sizeof > CFP_WORDS * 8 || layout->cfp__sizeof < 32)
		return -EINVAL;
	err = memory__read_u64(copy->base, copy->thread + layout->th__ec, &copy->ec);
	if (!err && (!copy->ec || copy->ec % 8))
		err = -EINVAL;
	if (!err)
		err = memory__read(copy->base, copy->ec, copy->head_words,
				   sizeof(copy->head_words));
	if (!err && head_word(copy, layout->ec__thread_ptr) != copy->thread)
		err = -EINVAL;
	copy->head = (struct part){ copy->ec, sizeof(copy->head_words),
				    (unsigned char *)copy->head_words };
	return err;
}

static int part_open(struct part *part, uint64_t address, uint64_t size)
{
	if (size > PART_MOST)
		size = PART_MOST;
	part->address = address;
	part->size = (size_t)size;
	part->bytes = malloc(part->size ? part->size : 1);
	return part->bytes ? 0 : -ENOMEM;
}

/* The end of the environments on the VM stack that the frames point to. */
static uint64_t values_end(const struct copy *copy, uint64_t vm_stack)
{
	const struct ruby_layout *layout = copy->layout;
	uint64_t end = vm_stack, ep;
	size_t at;

	for (at = 0; at + layout->cfp__sizeof <= copy->frames.size; at += layout->cfp__sizeof) {
		ep = word_at(copy->frames.bytes, at + layout->cfp__ep);
		if (ep >= end && ep < copy->frames.address)
			end = ep + 8;
	}
	return end;
}

/* Finds the parts and reads them for the first time. 0, -EAGAIN (nothing to copy) or -errno. */
static int copy_open(struct copy *copy)
{
	const struct ruby_layout *layout = copy->layout;
	const uint64_t cfp = head_word(copy, layout->ec__cfp);
	const uint64_t vm_stack = head_word(copy, layout->ec__vm_stack);
	const uint64_t words = head_word(copy, layout->ec__vm_stack_size);
	const uint64_t end = vm_stack + 8 * words;
	uint64_t values;
	int err;

	/* What does not look like a stack is left to the walker, which says so. */
	if (words > UINT32_MAX || cfp % 8 || cfp < vm_stack || cfp + layout->cfp__sizeof > end)
		return -EAGAIN;
	err = part_open(&copy->frames, cfp, end - cfp);
	if (!err)
		err = memory__read(copy->base, cfp, copy->frames.bytes, copy->frames.size);
	if (err)
		return err;
	values = values_end(copy, vm_stack);
	/* The innermost environments are what a running thread changes. */
	if (values - vm_stack > PART_MOST)
		err = part_open(&copy->values, values - PART_MOST, PART_MOST);
	else
		err = part_open(&copy->values, vm_stack, values - vm_stack);
	copy->again = malloc(copy->frames.size);
	return err ? err : copy->again ? 0 : -ENOMEM;
}

/* Whether two copies show the same frames; how far the innermost has got does not matter. */
static bool same_frames(const struct copy *copy)
{
	const struct ruby_layout *layout = copy->layout;
	const unsigned char *first = copy->frames.bytes, *second = copy->again;

	if (word_at(first, layout->cfp__iseq) != word_at(second, layout->cfp__iseq) ||
	    word_at(first, layout->cfp__ep) != word_at(second, layout->cfp__ep) ||
	    word_at(first, layout->cfp__self) != word_at(second, layout->cfp__self))
		return false;
	return !memcmp(first + layout->cfp__sizeof, second + layout->cfp__sizeof,
		       copy->frames.size - layout->cfp__sizeof);
}

/* Copies in one call. 0, -EAGAIN (it changed meanwhile) or -errno. */
static int copy_take(struct copy *copy)
{
	const struct ruby_layout *layout = copy->layout;
	uint64_t cfp[2] = { 0, 1 }, ec = 0;
	const struct memory_range ranges[] = {
		{ copy->ec + layout->ec__cfp, &cfp[0], sizeof(cfp[0]) },
		{ copy->frames.address, copy->frames.bytes, copy->frames.size },
		{ copy->values.address, copy->values.bytes, copy->values.size },
		{ copy->frames.address, copy->again, copy->frames.size },
		{ copy->ec + layout->ec__cfp, &cfp[1], sizeof(cfp[1]) },
		{ copy->thread + layout->th__ec, &ec, sizeof(ec) },
	};
	int err = memory__read_ranges(copy->base, ranges, sizeof(ranges) / sizeof(ranges[0]));

	if (err)
		return err;
	if (cfp[0] != copy->frames.address || cfp[1] != cfp[0] || ec != copy->ec ||
	    !same_frames(copy))
		return -EAGAIN;
	return 0;
}

/* Reads for the first time what a thread that stands still will not change. */
static int copy_once(struct copy *copy)
{
	return memory__read(copy->base, copy->values.address, copy->values.bytes,
			    copy->values.size);
}

/* A word of what was copied, or of one of the first pages, which were read; 0: it is in neither. */
static uint64_t copied_word(const struct copy *copy, uint64_t address, size_t pages)
{
	const struct memory_range range = { .address = address, .size = 8 };
	size_t page;

	if (part_has(&copy->values, &range))
		return word_at(copy->values.bytes, address - copy->values.address);
	page = find_page(copy, address & ~(uint64_t)(PAGE_BYTES - 1));
	return page >= pages || address % 8
		       ? 0
		       : word_at(copy->pages[page].bytes, address % PAGE_BYTES);
}

/*
 * The walk reads the method entry of every frame, and its definition. That many small reads would
 * be most of its cost: their pages are read beforehand.
 */
static void prefetch(struct copy *copy, uint32_t max_frames)
{
	const struct ruby_layout *layout = copy->layout;
	size_t end = copy->frames.size / layout->cfp__sizeof, i, first;
	uint64_t ep;
	int level;

	if (end > max_frames)
		end = max_frames;
	if (!has_pages(copy))
		return;
	for (level = 0; level < 2; level++) {
		first = copy->page_count;
		for (i = 0; i < end; i++) {
			uint64_t entry;

			ep = word_at(copy->frames.bytes, i * layout->cfp__sizeof + layout->cfp__ep);
			entry = copied_word(copy, ep + 8 * RUBY_ENV_INDEX_ME_CREF, first);
			if (!entry || entry % 8)
				continue;
			if (level)
				entry = copied_word(copy, entry + layout->cme__def, first) +
					layout->def__method_serial;
			want_page(copy, entry);
		}
		fetch_pages(copy, first);
	}
}

static void copy_close(struct copy *copy)
{
	free(copy->frames.bytes);
	free(copy->values.bytes);
	free(copy->again);
	copy->frames = copy->values = (struct part){ .size = 0 };
	copy->again = NULL;
}

/* The receivers of the innermost frames that the walker puts out. */
static void copy_newest(const struct copy *copy, struct stack_copy *result)
{
	const struct ruby_layout *layout = copy->layout;
	uint64_t pc, iseq, ep, flags;
	size_t at;

	for (at = 0;
	     at + layout->cfp__sizeof <= copy->frames.size &&
	     result->newest_count < STACK_COPY_NEWEST && result->newest_count < result->stack.count;
	     at += layout->cfp__sizeof) {
		const unsigned char *frame = copy->frames.bytes + at;
		const struct rbprof_frame *walked = &result->stack.frames[result->newest_count];

		pc = word_at(frame, layout->cfp__pc);
		iseq = word_at(frame, layout->cfp__iseq);
		ep = word_at(frame, layout->cfp__ep);
		if (memory__read_u64((struct memory *)&copy->memory, ep, &flags))
			return;
		if (flags & RUBY_FRAME_FLAG_CFRAME) {
			if ((flags & RUBY_FRAME_MAGIC_MASK) != RUBY_FRAME_MAGIC_CFUNC)
				continue;
			pc = iseq = 0;
		} else if (!pc || !iseq) {
			continue;
		}
		if (walked->iseq != iseq || walked->pc != pc)
			return;
		result->newest[result->newest_count++] = word_at(frame, layout->cfp__self);
	}
}

static int read_stack(struct memory *memory, const struct ruby_layout *layout, uint64_t thread,
		      uint32_t max_frames, bool is_still, struct stack_copy *ret_copy)
{
	struct copy copy = {
		.memory.ops = &copy_ops, .base = memory, .layout = layout, .thread = thread
	};
	struct stack_copy result = { .is_instant = false };
	int tries, err;

	for (tries = 0; tries < TRIES; tries++) {
		copy_close(&copy);
		err = copy_head(&copy);
		if (!err && !head_word(&copy, layout->ec__vm_stack)) {
			/* One that is being started or has ended has no stack at all. */
			*ret_copy = (struct stack_copy){ .ec = copy.ec, .is_instant = true };
			goto out;
		}
		if (!err)
			err = copy_open(&copy);
		if (!err)
			err = is_still ? copy_once(&copy) : copy_take(&copy);
		if (err != -EAGAIN && err != -EFAULT && err != -EINVAL)
			break;
	}
	if (err == -EAGAIN) {
		/* Read as it comes, and marked so. */
		copy_close(&copy);
		err = 0;
	} else if (!err) {
		result.is_instant = copy.frames.size < PART_MOST;
		prefetch(&copy, max_frames);
	}
	if (!err)
		err = stack__read(&copy.memory, layout, copy.ec, max_frames, &result.stack);
	if (!err) {
		result.ec = copy.ec;
		copy_newest(&copy, &result);
		*ret_copy = result;
	}
out:
	copy_close(&copy);
	free(copy.pages);
	return err;
}

int stack_copy__read(struct memory *memory, const struct ruby_layout *layout, uint64_t thread,
		     uint32_t max_frames, struct stack_copy *ret_copy)
{
	return read_stack(memory, layout, thread, max_frames, false, ret_copy);
}

int stack_copy__read_still(struct memory *memory, const struct ruby_layout *layout, uint64_t thread,
			   uint32_t max_frames, struct stack_copy *ret_copy)
{
	return read_stack(memory, layout, thread, max_frames, true, ret_copy);
}
