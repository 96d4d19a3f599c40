/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the threads' time went, and what the collector took. */
#include "text_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../agg/profile_labels.h"
#include "escape.h"

#define MAX_SHOWN      12
#define MAX_HOLDERS    3
#define NOTE_COLUMN    42 /* width of what stands before a note */
#define FOR_CPU_LIMIT  5  /* percent of the time in which threads could run */
#define THROTTLE_LIMIT 1
#define GC_LIMIT       25 /* percent of CPU */

/* Sums of one type by the text of a label. */
struct shares {
	const struct profile *profile;
	int64_t *sums;	 /* by string id */
	uint32_t *order; /* string ids with a sum, largest first */
	size_t count;
	int64_t all;
};

static int compare_shares(const void *left, const void *right, void *context)
{
	const struct shares *shares = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	if (shares->sums[a] != shares->sums[b])
		return shares->sums[a] < shares->sums[b] ? 1 : -1;
	return strcmp(profile__text(shares->profile, a), profile__text(shares->profile, b));
}

static void shares__free(struct shares *shares)
{
	free(shares->sums);
	free(shares->order);
}

static const char *text_of(const struct profile *profile, const struct profile_label *label)
{
	return label && label->text != PROFILE_NONE ? profile__text(profile, label->text) : NULL;
}

/* Label keys that rows are chosen by, looked up once. */
struct keys {
	uint32_t state, event;
};

static struct keys find_keys(const struct profile *profile)
{
	return (struct keys){
		.state = profile_labels__find(profile, "state", strlen("state")),
		.event = profile_labels__find(profile, "event", strlen("event")),
	};
}

static bool is_gc(const struct profile *profile, const struct keys *keys,
		  struct profile_label_set set)
{
	const char *event = text_of(profile, profile_labels__of(set, keys->event));

	return event && !strcmp(event, "gc");
}

/*
 * Of the rows that are the collector's or not, by this label; `state` NULL: of any state. A
 * thread's time contains that of its collections, so they are never added.
 */
static int shares__init(struct shares *shares, const struct profile *profile, size_t type,
			const char *label, bool of_gc, const char *state)
{
	uint32_t key = profile_labels__find(profile, label, strlen(label));
	struct keys keys = find_keys(profile);

	*shares = (struct shares){ .profile = profile };
	shares->sums = calloc(profile__string_count(profile) + 1, sizeof(*shares->sums));
	shares->order = calloc(profile__string_count(profile) + 1, sizeof(*shares->order));
	if (!shares->sums || !shares->order) {
		shares__free(shares);
		return -ENOMEM;
	}
	for (size_t i = 0; i < profile__row_count(profile); i++) {
		const struct profile_row *row = profile__row(profile, i);
		struct profile_label_set set = profile__label_set_at(profile, row->label_set);
		const struct profile_label *value = profile_labels__of(set, key);
		const char *row_state = text_of(profile, profile_labels__of(set, keys.state));

		if (!text_of(profile, value) || is_gc(profile, &keys, set) != of_gc ||
		    (state && (!row_state || strcmp(row_state, state))))
			continue;
		shares->sums[value->text] += row->values[type];
		shares->all += row->values[type];
	}
	for (uint32_t i = 0; i < profile__string_count(profile); i++)
		if (shares->sums[i])
			shares->order[shares->count++] = i;
	qsort_r(shares->order, shares->count, sizeof(*shares->order), compare_shares, shares);
	return 0;
}

static int64_t share_of(const struct shares *shares, const char *text)
{
	for (size_t i = 0; i < shares->count; i++)
		if (!strcmp(profile__text(shares->profile, shares->order[i]), text))
			return shares->sums[shares->order[i]];
	return 0;
}

/* "worker 1 60%, worker 2 40%" */
static void print_shares(const struct shares *shares, size_t limit, FILE *stream)
{
	for (size_t i = 0; i < shares->count && i < limit; i++)
		fprintf(stream, "%s%s %.0f%%", i ? ", " : "",
			profile__text(shares->profile, shares->order[i]),
			text__percent(shares->sums[shares->order[i]], shares->all));
	if (shares->count > limit)
		fprintf(stream, ", %zu more", shares->count - limit);
}

/* ---- states ---- */

/* What a state's row says beside its figures; the caller frees it. NULL: out of memory. */
static char *note_of(const struct text *text, size_t type, const char *state, bool is_considerable)
{
	struct shares holders;
	char *note = NULL;
	size_t length;
	FILE *stream;

	if (is_considerable)
		return strdup(strcmp(state, "throttled")
				      ? "! ready to run, but every cpu was taken"
				      : "! stopped by the cpu limit of the cgroup");
	if (strcmp(state, "waiting for gvl"))
		return strdup("");
	if (shares__init(&holders, text->profile, type, "gvl holder", false, state))
		return NULL;
	stream = open_memstream(&note, &length);
	if (stream) {
		if (holders.count)
			fputs("held by ", stream);
		print_shares(&holders, MAX_HOLDERS, stream);
		if (fclose(stream)) {
			free(note);
			note = NULL;
		}
	}
	shares__free(&holders);
	return note;
}

/* Of the time in which the threads could have run. */
static bool is_considerable(const struct shares *states, const char *state)
{
	int64_t waiting = share_of(states, "waiting for cpu");
	int64_t throttled = share_of(states, "throttled");
	int64_t able = share_of(states, "had cpu") + waiting + throttled;

	if (!strcmp(state, "waiting for cpu"))
		return text__percent(waiting, able) >= FOR_CPU_LIMIT;
	return !strcmp(state, "throttled") && text__percent(throttled, able) >= THROTTLE_LIMIT;
}

static int print_state(const struct text *text, const struct shares *states, size_t type,
		       uint32_t state)
{
	const char *unit = profile__type(text->profile, type)->unit;
	const char *name = profile__text(text->profile, state);
	bool warn = is_considerable(states, name);
	char *note = note_of(text, type, name, warn), *safe = NULL, *label = NULL;
	size_t columns = text->options->columns;
	char value[TEXT_VALUE_BYTES];
	int error = -ENOMEM;

	if (note)
		safe = escape__text(note, strlen(note), ESCAPE_LINE);
	label = text__name(text->profile, state);
	if (!safe || !label)
		goto out;
	text__value(value, states->sums[state], unit);
	if (columns) {
		escape__cut_end(label, 20);
		escape__cut_end(safe, columns > NOTE_COLUMN ? columns - NOTE_COLUMN : 1);
	}
	fprintf(text->stream, "%s%10s %6.1f%%  %s", warn ? text__color(text, TEXT_WARN) : "", value,
		text__percent(states->sums[state], states->all), label);
	if (*safe)
		fprintf(text->stream, "%*s%s",
			(int)(escape__width(label) < 20 ? 20 - escape__width(label) : 0) + 2, "",
			safe);
	fprintf(text->stream, "%s\n", warn ? text__plain(text) : "");
	error = 0;
out:
	free(note);
	free(safe);
	free(label);
	return error;
}

/* Threads of the profile: one that only the collector or overhead has is none. */
static size_t thread_count(const struct profile *profile, size_t type)
{
	struct shares threads;
	size_t count;

	if (shares__init(&threads, profile, type, "thread id", false, NULL))
		return 0;
	count = threads.count;
	shares__free(&threads);
	return count;
}

/* Other profilers may not say which thread a sample is of. */
static void print_title(const struct text *text, const char *type, size_t threads)
{
	fprintf(text->stream, "\n%s%s", text__color(text, TEXT_BOLD), type);
	if (threads)
		fprintf(text->stream, " of %zu thread%s", threads, threads == 1 ? "" : "s");
	fprintf(text->stream, "%s\n", text__plain(text));
}

int text__states(const struct text *text)
{
	int index = profile__type_index(text->profile, "wall-time");
	size_t type = (size_t)index, threads;
	struct shares states;
	int error;

	if (index < 0)
		return 0;
	error = shares__init(&states, text->profile, type, "state", false, NULL);
	if (error)
		return error;
	threads = thread_count(text->profile, type);
	if (states.count)
		print_title(text, profile__type(text->profile, type)->type, threads);
	for (size_t i = 0; i < states.count && i < MAX_SHOWN && !error; i++)
		error = print_state(text, &states, type, states.order[i]);
	shares__free(&states);
	return error;
}

/* ---- the collector ---- */

static int print_gc_label(const struct text *text, size_t type, const char *label,
			  const char *before, FILE *stream)
{
	struct shares shares;
	int error = shares__init(&shares, text->profile, type, label, true, NULL);

	if (error)
		return error;
	if (shares.count) {
		fputs(before, stream);
		print_shares(&shares, MAX_HOLDERS, stream);
	}
	shares__free(&shares);
	return 0;
}

int text__gc(const struct text *text)
{
	int index = profile__type_index(text->profile, "cpu-time");
	size_t type = (size_t)index, length;
	char value[TEXT_VALUE_BYTES], *line = NULL;
	int64_t all = 0;
	struct shares gc;
	double percent;
	FILE *stream;
	int error;

	if (index < 0)
		return 0;
	error = shares__init(&gc, text->profile, type, "event", true, NULL);
	if (error)
		return error;
	shares__free(&gc);
	if (!gc.all)
		return 0;
	for (size_t i = 0; i < profile__row_count(text->profile); i++)
		all += profile__row(text->profile, i)->values[type];
	percent = text__percent(gc.all, all);
	stream = open_memstream(&line, &length);
	if (!stream)
		return -ENOMEM;
	text__value(value, gc.all, profile__type(text->profile, type)->unit);
	fprintf(stream, "%s, %.1f%% of cpu-time", value, percent);
	error = print_gc_label(text, type, "gc type", "; ", stream);
	if (!error)
		error = print_gc_label(text, type, "gc cause", "; set off by ", stream);
	if (fclose(stream))
		error = -ENOMEM;
	putc('\n', text->stream);
	if (!error)
		error = text__fact(text, percent >= GC_LIMIT ? TEXT_WARN : "", "gc", line);
	free(line);
	return error;
}
