/* SPDX-License-Identifier: BSD-2-Clause */
/* What the profile says about itself: from its header, its comments and its sums. */
#include "text_parts.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../agg/profile_filter.h"

#define MAX_COMMENTS  20 /* of a kind */
#define MAX_PROCESSES 5
#define MAX_RUBIES    8
#define LOST_PERCENT  1 /* from here on it is a warning */
#define BUILD_DIGITS  12
#define NS_PER_S      1000000000

/* The words that comments of ours begin with (core/session_labels.c). */
enum comment {
	COMMENT_OTHER = 0,
	COMMENT_COMMAND,
	COMMENT_HOST,
	COMMENT_KERNEL,
	COMMENT_RUBY,
	COMMENT_TICKS,
	COMMENT_PROCESS,
	COMMENT_COUNTER, /* "what: number": something was missed, or it would not be there */
};

static const char *const beginnings[] = {
	[COMMENT_COMMAND] = "rbprof-bpf ", [COMMENT_HOST] = "host: ",
	[COMMENT_KERNEL] = "kernel: ",	   [COMMENT_RUBY] = "ruby: ",
	[COMMENT_TICKS] = "ticks: ",	   [COMMENT_PROCESS] = "process ",
};

static bool is_counter(const char *text)
{
	const char *colon = strrchr(text, ':');

	if (!colon || colon[1] != ' ' || !colon[2])
		return false;
	return strspn(colon + 2, "0123456789") == strlen(colon + 2);
}

static enum comment kind_of(const char *text)
{
	for (size_t i = COMMENT_COMMAND; i < sizeof(beginnings) / sizeof(*beginnings); i++)
		if (!strncmp(text, beginnings[i], strlen(beginnings[i])))
			return (enum comment)i;
	return is_counter(text) ? COMMENT_COUNTER : COMMENT_OTHER;
}

/* The n-th comment of the kind, from its colon on; NULL: no more. */
static const char *comment_at(const struct text *text, enum comment kind, size_t n)
{
	for (size_t i = 0; i < profile__comment_count(text->profile); i++) {
		const char *comment = profile__comment_at(text->profile, i);

		if (kind_of(comment) == kind && !n--)
			return comment;
	}
	return NULL;
}

static int print_time(const struct text *text)
{
	const struct profile_info *info = profile__info(text->profile);
	const struct profile_type *of = &info->period_type;
	time_t seconds = (time_t)(info->time_ns / NS_PER_S);
	char when[64] = "", duration[TEXT_VALUE_BYTES], period[TEXT_VALUE_BYTES];
	char line[256];
	struct tm local;
	size_t used;

	if (info->time_ns > 0 && localtime_r(&seconds, &local))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S %z", &local);
	used = (size_t)snprintf(line, sizeof(line), "%s", when);
	if (info->duration_ns > 0) {
		text__value(duration, info->duration_ns, "nanoseconds");
		used += (size_t)snprintf(line + used, sizeof(line) - used, "%sfor %s",
					 used ? ", " : "", duration);
	}
	if (info->period > 0 && info->period <= NS_PER_S && of->type && of->unit &&
	    !strcmp(of->type, "cpu-time") && !strcmp(of->unit, "nanoseconds")) {
		used += (size_t)snprintf(line + used, sizeof(line) - used, "%sat %.0f Hz",
					 used ? ", " : "", 1e9 / (double)info->period);
	} else if (info->period > 0 && of->type && of->unit) {
		text__value(period, info->period, of->unit);
		used += (size_t)snprintf(line + used, sizeof(line) - used, "%severy %s of %.64s",
					 used ? ", " : "", period, of->type);
	}
	return used ? text__fact(text, "", "recorded", line) : 0;
}

/* "web1, kernel 6.1.0 x86_64" */
static int print_host(const struct text *text)
{
	const char *host = comment_at(text, COMMENT_HOST, 0);
	const char *kernel = comment_at(text, COMMENT_KERNEL, 0);
	char line[512];

	if (!host && !kernel)
		return 0;
	snprintf(line, sizeof(line), "%s%s%s", host ? host + strlen("host: ") : "",
		 host && kernel ? ", kernel " : "", kernel ? kernel + strlen("kernel: ") : "");
	return text__fact(text, "", host ? "host" : "kernel", line);
}

/* "3.1.2 (803542d97ea7), 3.4.1 (0123456789ab)": version and build-id. */
static int print_rubies(const struct text *text)
{
	char line[512] = "";
	const char *comment;
	size_t used = 0, n;

	for (n = 0; n < MAX_RUBIES && (comment = comment_at(text, COMMENT_RUBY, n)); n++) {
		char version[32] = "", build[BUILD_DIGITS + 1] = "";

		if (sscanf(comment, "ruby: %31s build-id %12s", version, build) < 1)
			continue;
		used += (size_t)snprintf(line + used, sizeof(line) - used, "%s%s%s%s%s",
					 used ? ", " : "", version, *build ? " (build " : "", build,
					 *build ? ")" : "");
	}
	if (comment_at(text, COMMENT_RUBY, n) && n == MAX_RUBIES)
		snprintf(line + used, sizeof(line) - used, ", and more");
	return used ? text__fact(text, "", "ruby", line) : 0;
}

/* "ruby (12) 60.0%, puma (34) 40.0%, 2 more": out of the sums of a label. */
static int print_processes(const struct text *text)
{
	size_t type = text->options->type, count, shown = 0, all = 0, length;
	struct totals_label *labels;
	char *line = NULL;
	FILE *memory;
	int error;

	error = totals__labels(text->profile, type, &labels, &count);
	if (error)
		return error;
	memory = open_memstream(&line, &length);
	if (!memory) {
		free(labels);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++) {
		const char *value = profile__text(text->profile, labels[i].label.text);

		if (!value || strcmp(profile__text(text->profile, labels[i].label.key), "process"))
			continue;
		if (++all > MAX_PROCESSES)
			continue;
		fprintf(memory, "%s%s %.1f%%", shown++ ? ", " : "", value,
			text__percent(labels[i].sums.values[type], text->sum));
	}
	if (all > shown)
		fprintf(memory, ", %zu more", all - shown);
	free(labels);
	if (fclose(memory))
		error = -ENOMEM;
	else if (all)
		error = text__fact(text, "", all > 1 ? "processes" : "process", line);
	free(line);
	return error;
}

static int print_ticks(const struct text *text)
{
	const char *comment = comment_at(text, COMMENT_TICKS, 0);
	uint64_t fired, taken, lost;
	double percent;
	char line[128];

	if (!comment ||
	    sscanf(comment, "ticks: %" SCNu64 " fired, %" SCNu64 " taken, %" SCNu64 " lost", &fired,
		   &taken, &lost) != 3)
		return 0;
	percent = fired ? 100 * (double)lost / (double)fired : 0;
	snprintf(line, sizeof(line), "%" PRIu64 " taken, %" PRIu64 " lost (%.1f%%)", taken, lost,
		 percent);
	return text__fact(text, percent >= LOST_PERCENT ? TEXT_WARN : "", "samples", line);
}

/* "5.76 s cpu-time (0.9 cpus), 42.73 s wall-time", the one that is shown first. */
static int print_totals(const struct text *text, const struct totals *totals)
{
	int64_t duration_ns = profile__info(text->profile)->duration_ns;
	size_t count = profile__type_count(text->profile), used = 0;
	char line[PROFILE_MAX_TYPES * 128] = "";

	for (size_t i = 0; i < count; i++) {
		/* The shown one has changed places with the first. */
		size_t shown = text->options->type;
		size_t index = !i ? shown : i <= shown ? i - 1 : i;
		const struct profile_type *type = profile__type(text->profile, index);
		int64_t sum = totals->all.values[index];
		char value[TEXT_VALUE_BYTES];

		text__value(value, sum, type->unit);
		used += (size_t)snprintf(line + used, sizeof(line) - used, "%s%s %.64s",
					 used ? ", " : "", value, type->type);
		if (!strcmp(type->type, "cpu-time") && !strcmp(type->unit, "nanoseconds") &&
		    duration_ns > 0)
			used += (size_t)snprintf(line + used, sizeof(line) - used, " (%.2f cpus)",
						 (double)sum / (double)duration_ns);
	}
	return text__fact(text, TEXT_BOLD, "total", line);
}

static int print_filters(const struct text *text)
{
	const struct out_options *options = text->options;
	int error = 0;

	for (size_t i = 0; i < options->filter_count && !error; i++) {
		const struct profile_filter *filter = &options->filters[i];

		error = text__fact(text, "", filter->is_ignored ? "without" : "only",
				   filter->label);
	}
	return error;
}

/* All of a kind, but not without end. */
static int print_comments(const struct text *text, enum comment kind, const char *color,
			  const char *key)
{
	size_t shown = 0, all = 0;
	char more[64];
	int error = 0;

	for (size_t i = 0; i < profile__comment_count(text->profile) && !error; i++) {
		const char *comment = profile__comment_at(text->profile, i);

		if (kind_of(comment) != kind || all++ >= MAX_COMMENTS)
			continue;
		shown++;
		error = text__fact(text, color, key, comment);
	}
	if (error || all == shown)
		return error;
	snprintf(more, sizeof(more), "(%zu more, see -f json)", all - shown);
	return text__fact(text, color, key, more);
}

int text__heading(const struct text *text, const struct totals *totals)
{
	const char *file = profile__text(text->profile, profile__mapping(text->profile)->file);
	int error = print_time(text);

	if (!error)
		error = print_comments(text, COMMENT_COMMAND, "", "command");
	if (!error)
		error = print_host(text);
	if (!error)
		error = print_rubies(text);
	if (!error && file && *file)
		error = text__fact(text, "", "executable", file);
	if (!error)
		error = print_processes(text);
	if (!error)
		error = print_comments(text, COMMENT_OTHER, "", "comment");
	if (!error)
		error = print_comments(text, COMMENT_PROCESS, "", "note");
	if (!error)
		error = print_ticks(text);
	if (!error)
		error = print_filters(text);
	if (!error)
		error = print_totals(text, totals);
	if (!error)
		error = print_comments(text, COMMENT_COUNTER, TEXT_WARN, "warning");
	return error;
}
