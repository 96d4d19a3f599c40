/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records a fixture (user/util/memory_fixture.h) from a live Ruby process:
 *	record-fixture PID VERSION TRUTH-FILE OUTPUT.gz
 * The process must stand still: all its threads asleep, and no garbage collection. It resolves
 * the names of every thread's stack and keeps the memory that this touched. TRUTH-FILE holds what
 * the program printed about itself.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "../user/discover/ruby_process.h"
#include "../user/ruby/layout.h"
#include "../user/ruby/names.h"
#include "../user/ruby/stack.h"
#include "../user/ruby/threads.h"
#include "../user/util/memory.h"

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#define PIECE 64 /* bytes; a page holds whole pieces, so one that is touched is readable */

struct piece {
	UT_hash_handle hh;
	uint64_t address;
	char bytes[PIECE];
};

struct recording {
	struct memory memory;
	struct memory *live;
	struct piece *pieces;
};

static int recording_piece(struct recording *recording, uint64_t address, struct piece **ret_piece)
{
	struct piece *piece = NULL;
	int err;

	HASH_FIND(hh, recording->pieces, &address, sizeof(address), piece);
	if (!piece) {
		piece = calloc(1, sizeof(*piece));
		if (!piece)
			return -ENOMEM;
		piece->address = address;
		err = memory__read(recording->live, address, piece->bytes, PIECE);
		if (err) {
			free(piece);
			return err;
		}
		HASH_ADD(hh, recording->pieces, address, sizeof(piece->address), piece);
	}
	*ret_piece = piece;
	return 0;
}

static int recording_read(struct memory *memory, const struct memory_range *ranges, size_t count)
{
	struct recording *recording = (struct recording *)memory;
	size_t i, done, part;

	for (i = 0; i < count; i++) {
		for (done = 0; done < ranges[i].size; done += part) {
			const uint64_t address = ranges[i].address + done;
			struct piece *piece;
			int err = recording_piece(recording, address - address % PIECE, &piece);

			if (err)
				return err;
			part = PIECE - address % PIECE;
			if (part > ranges[i].size - done)
				part = ranges[i].size - done;
			memcpy((char *)ranges[i].into + done, piece->bytes + address % PIECE, part);
		}
	}
	return 0;
}

static const struct memory_ops recording_ops = { .read = recording_read };

static int by_address(const struct piece *a, const struct piece *b)
{
	return a->address < b->address ? -1 : a->address > b->address;
}

/* Pieces that touch become one segment. */
static void write_segments(struct recording *recording, gzFile out)
{
	struct piece *piece, *run, *last;

	HASH_SORT(recording->pieces, by_address);
	for (piece = recording->pieces; piece; piece = last->hh.next) {
		size_t size = PIECE;

		for (last = piece; last->hh.next; last = last->hh.next, size += PIECE) {
			run = last->hh.next;
			if (run->address != last->address + PIECE)
				break;
		}
		gzprintf(out, "segment %" PRIx64 " %zu\n", piece->address, size);
		for (run = piece;; run = run->hh.next) {
			gzwrite(out, run->bytes, PIECE);
			if (run == last)
				break;
		}
		gzputs(out, "\n");
	}
}

static int write_truth(const char *path, gzFile out)
{
	char line[4096];
	FILE *file = fopen(path, "r");

	if (!file)
		return -errno;
	while (fgets(line, sizeof(line), file))
		gzprintf(out, "truth %s", line);
	fclose(file);
	return 0;
}

static int write_stack(struct memory *memory, const struct ruby_layout *layout, struct names *names,
		       const struct profile *profile, const struct ruby_thread *thread, gzFile out)
{
	static uint32_t ids[RBPROF_MAX_FRAMES];
	struct rbprof_gc_state gc;
	struct stack stack;
	uint32_t i, name;
	int err;

	err = stack__read(memory, layout, thread->ec, RBPROF_MAX_FRAMES, &stack);
	if (!err)
		err = names__gc_state(names, &gc);
	if (err)
		return err;
	names__frames(names, stack.frames, stack.count, &gc, ids, NULL);
	name = names__thread(names, thread->address, thread->name, 0, &gc);
	gzprintf(out, "stack %" PRIx64 " %" PRIx64 " %" PRIx64 " %u\n", (uint64_t)thread->address,
		 (uint64_t)thread->name, (uint64_t)thread->ec, stack.count);
	printf("-- %s\n", name == PROFILE_NONE ? "?" : profile__text(profile, name));
	for (i = 0; i < stack.count; i++) {
		const struct profile_frame *frame = profile__frame_at(profile, ids[i]);
		const struct profile_function *function =
			profile__function_at(profile, frame->function);

		gzprintf(out, "frame %" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIx64 "\n",
			 (uint64_t)stack.frames[i].iseq, (uint64_t)stack.frames[i].pc,
			 (uint64_t)stack.frames[i].method_entry,
			 (uint64_t)stack.frames[i].method_serial);
		printf("   %s  %s:%lld (%lld)\n", profile__text(profile, function->name),
		       profile__text(profile, function->file), (long long)frame->line,
		       (long long)function->start_line);
	}
	free(stack.frames);
	return 0;
}

static int record(struct recording *recording, const struct ruby_layout *layout,
		  const struct names_roots *roots, gzFile out)
{
	static const struct profile_type type = { "cpu-time", "nanoseconds" };
	struct profile *profile = NULL;
	struct ruby_thread *threads = NULL;
	struct names *names = NULL;
	const char *why = "";
	size_t count = 0, i;
	int err, round;

	err = layout__prove(&recording->memory, layout, roots->vm_ptr_address,
			    roots->symbols_address, &why);
	if (err) {
		fprintf(stderr, "layout not proved: %d %s\n", err, why);
		return -EINVAL;
	}
	err = threads__list(&recording->memory, layout, roots->vm_ptr_address, &threads, &count);
	if (!err)
		err = profile__new(&type, 1, &profile);
	if (!err)
		err = names__new(&recording->memory, layout, roots, profile, &names);
	for (i = 0; !err && i < count; i++)
		err = write_stack(&recording->memory, layout, names, profile, &threads[i], out);
	for (round = 0; !err && round < RBPROF_E_COUNT; round++)
		if (names__errors(names)[round])
			fprintf(stderr, "error %d: %" PRIu64 "\n", round,
				(uint64_t)names__errors(names)[round]);
	names__free(names);
	profile__free(profile);
	free(threads);
	return err;
}

int main(int argc, char **argv)
{
	struct recording recording = { .memory = { &recording_ops } };
	struct ruby_process process = { .pid = 0 };
	struct runtimes *runtimes = NULL;
	struct names_roots roots;
	gzFile out = NULL;
	int err;

	if (argc != 5) {
		fprintf(stderr, "usage: record-fixture PID VERSION TRUTH-FILE OUTPUT.gz\n");
		return 2;
	}
	err = runtimes__new(&runtimes);
	if (!err)
		err = ruby_process__find(runtimes, (pid_t)strtol(argv[1], NULL, 10), &process);
	if (err || process.error || strcmp(process.runtime->version, argv[2])) {
		fprintf(stderr, "%s: not a ruby %s that can be read\n", argv[1], argv[2]);
		return 1;
	}
	roots.vm_ptr_address = ruby_process__vm_ptr(&process);
	roots.symbols_address = ruby_process__symbols(&process);
	err = memory__open_process(process.pid, &recording.live);
	out = err ? NULL : gzopen(argv[4], "wb9");
	if (!out) {
		fprintf(stderr, "cannot read the process, or write %s\n", argv[4]);
		return 1;
	}
	gzprintf(out, "rbprof-fixture 1\nversion %s\n", argv[2]);
	gzprintf(out, "root vm %" PRIx64 "\nroot symbols %" PRIx64 "\n",
		 (uint64_t)roots.vm_ptr_address, (uint64_t)roots.symbols_address);
	err = record(&recording, &process.runtime->layout, &roots, out);
	if (!err)
		err = write_truth(argv[3], out);
	write_segments(&recording, out);
	gzputs(out, "end\n");
	if (gzclose(out) != Z_OK && !err)
		err = -EIO;
	memory__close(recording.live);
	runtimes__free(runtimes);
	if (err)
		fprintf(stderr, "failed: %s\n", strerror(err < 0 ? -err : EINVAL));
	return err ? 1 : 0;
}
