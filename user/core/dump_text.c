/* SPDX-License-Identifier: BSD-2-Clause */
#include "dump.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../out/escape.h"

#define WORDS_BYTES 8192

/* Prints text from another process so that it stays on its line. */
static int print_escaped(FILE *stream, const char *text)
{
	char *escaped = escape__text(text, strlen(text), ESCAPE_LINE);

	if (!escaped)
		return -ENOMEM;
	fputs(escaped, stream);
	free(escaped);
	return 0;
}

static int print_name(const struct dump *dump, const struct dump_thread *thread, FILE *stream)
{
	int err;

	fputc('"', stream);
	err = print_escaped(stream, dump_thread__name(dump, thread));
	if (thread->state.tid > 0)
		fprintf(stream, "\" tid %d", thread->state.tid);
	else
		fputs("\" without a native thread", stream);
	return err;
}

static int print_frame(const struct dump *dump, uint32_t id, FILE *stream)
{
	const struct profile_frame *frame = profile__frame_at(dump->profile, id);
	const struct profile_function *function =
		profile__function_at(dump->profile, frame->function);
	const char *file = profile__text(dump->profile, function->file);
	int err;

	fputs("    ", stream);
	err = print_escaped(stream, profile__text(dump->profile, function->name));
	/* Special frames explain themselves. */
	if (!err && *file && strcmp(file, "<rbprof>")) {
		fputs(" (", stream);
		err = print_escaped(stream, file);
		if (frame->line > 0)
			fprintf(stream, ":%lld", (long long)frame->line);
		fputc(')', stream);
	}
	fputc('\n', stream);
	return err;
}

static int print_thread(const struct dump *dump, const struct dump_thread *thread, FILE *stream)
{
	char words[WORDS_BYTES];
	int err = print_name(dump, thread, stream);

	if (!thread->ruby.address)
		fputs(", native", stream);
	if (thread->ruby.ractor_id > 1)
		fprintf(stream, ", ractor %llu", (unsigned long long)thread->ruby.ractor_id);
	fprintf(stream, ": %s", dump_thread__state(thread));
	if (dump_thread__kind(thread)) {
		dump_thread__words(dump, thread, words, sizeof(words));
		fputs(", waits for ", stream);
		if (!err)
			err = print_escaped(stream, words);
	}
	if (!thread->is_instant)
		fputs(" (it moved on while it was read)", stream);
	fputc('\n', stream);
	for (uint32_t i = 0; !err && i < thread->frame_count; i++)
		err = print_frame(dump, thread->frames[i], stream);
	return err;
}

static int print_deadlock(const struct dump *dump, const struct dump_deadlock *deadlock,
			  FILE *stream)
{
	char words[WORDS_BYTES];
	int err = 0;

	fprintf(stream, "deadlock of %zu thread%s:\n", deadlock->count,
		deadlock->count == 1 ? "" : "s");
	for (size_t i = 0; !err && i < deadlock->count; i++) {
		const struct dump_thread *thread = &dump->threads[deadlock->members[i]];

		fputs("    ", stream);
		err = print_name(dump, thread, stream);
		dump_thread__words(dump, thread, words, sizeof(words));
		fputs(" waits for ", stream);
		if (!err)
			err = print_escaped(stream, words);
		fputc('\n', stream);
	}
	return err;
}

int dump__print(const struct dump *dump, FILE *stream)
{
	int err;

	fprintf(stream, "process %d (", dump->process.pid);
	err = print_escaped(stream, dump->process.comm);
	fprintf(stream, "), ruby %s, %zu thread%s\n", dump->process.runtime->version, dump->count,
		dump->count == 1 ? "" : "s");
	for (size_t i = 0; !err && i < dump->deadlock_count; i++) {
		fputc('\n', stream);
		err = print_deadlock(dump, &dump->deadlocks[i], stream);
	}
	for (size_t i = 0; !err && i < dump->count; i++) {
		fputc('\n', stream);
		err = print_thread(dump, &dump->threads[i], stream);
	}
	return err;
}
