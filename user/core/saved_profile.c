/* SPDX-License-Identifier: BSD-2-Clause */
#include "saved_profile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../agg/profile_group.h"
#include "../agg/profile_labels.h"
#include "../cmd.h"
#include "../out/pprof_read.h"
#include "../util/heap.h"
#include "../util/output.h"
#include "log.h"

#define DEFAULT_COLUMNS	 80
#define ROWS_ON_TERMINAL 20

int saved_profile__read(const char *path, struct profile **ret_profile)
{
	bool is_stdin = !strcmp(path, "-");
	const char *name = is_stdin ? "stdin" : path;
	int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	char why[PPROF_READ_REASON];
	int error;

	if (fd < 0) {
		log__error("cannot open '%s': %s", name, strerror(errno));
		return CMD_FILE;
	}
	heap__use_large_pages();
	error = pprof_read__fd(fd, ret_profile, why);
	if (!is_stdin)
		close(fd);
	if (!error)
		return CMD_DONE;
	log__error("cannot read '%s': %s", name, why);
	return CMD_FILE;
}

/* ---- selection ---- */

static int out_of_memory(void)
{
	log__error("out of memory");
	return CMD_FILE;
}

/* The key's text in the first profile that has it; NULL: none has. */
static const char *find_label(struct profile *const *profiles, size_t count, const char *name,
			      size_t length)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t key = profile_labels__find(profiles[i], name, length);

		if (key != PROFILE_NONE)
			return profile__text(profiles[i], key);
	}
	return NULL;
}

static bool are_empty(struct profile *const *profiles, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (profile__row_count(profiles[i]))
			return false;
	return true;
}

static int refuse_label(struct profile *const *profiles, size_t count, const char *name,
			size_t length)
{
	char *list;
	size_t i = 0;

	/* Of two profiles the one that has any is as good as the other. */
	while (i + 1 < count && !profile__row_count(profiles[i]))
		i++;
	if (profile_labels__list(profiles[i], &list))
		return out_of_memory();
	log__error("no label '%.*s' in this profile: it has %s", (int)length, name,
		   *list ? list : "none");
	free(list);
	return CMD_USAGE;
}

static int add_filters(struct selection *selection, const struct options_list *list,
		       bool is_ignored, struct profile *const *profiles, size_t count)
{
	for (size_t i = 0; i < list->count; i++) {
		struct profile_filter *filter = &selection->filters[selection->filter_count++];

		if (profile_filter__parse(list->items[i], is_ignored, filter))
			return CMD_USAGE;
		if (!find_label(profiles, count, filter->label, filter->label_length) &&
		    !are_empty(profiles, count))
			return refuse_label(profiles, count, filter->label, filter->label_length);
	}
	return CMD_DONE;
}

static int find_by(struct selection *selection, const char *by, struct profile *const *profiles,
		   size_t count)
{
	const char *key = by;

	if (!by)
		return CMD_DONE;
	if (strcmp(by, PROFILE_GROUP_GEM)) {
		key = find_label(profiles, count, by, strlen(by));
		if (!key && !are_empty(profiles, count))
			return refuse_label(profiles, count, by, strlen(by));
	}
	selection->by = strdup(key ? key : by);
	return selection->by ? CMD_DONE : out_of_memory();
}

int selection__init(struct selection *selection, const struct options *options,
		    struct profile *const *profiles, size_t count)
{
	size_t filters = options->focuses.count + options->ignores.count;
	int status;

	*selection =
		(struct selection){ .filters = calloc(filters + 1, sizeof(*selection->filters)) };
	if (!selection->filters)
		return out_of_memory();
	status = add_filters(selection, &options->focuses, false, profiles, count);
	if (!status)
		status = add_filters(selection, &options->ignores, true, profiles, count);
	if (!status)
		status = find_by(selection, options->by, profiles, count);
	if (status)
		selection__free(selection);
	return status;
}

void selection__free(struct selection *selection)
{
	free(selection->filters);
	free(selection->by);
	*selection = (struct selection){ 0 };
}

int selection__apply(const struct selection *selection, struct profile **profile)
{
	struct profile *part;

	if (!selection->filter_count)
		return CMD_DONE;
	if (profile_filter__apply(*profile, selection->filters, selection->filter_count, &part))
		return out_of_memory();
	if (!profile__row_count(part) && profile__row_count(*profile))
		log__warn("no sample fits: --focus and --ignore leave nothing");
	profile__free(*profile);
	*profile = part;
	return CMD_DONE;
}

/* ---- value ---- */

static void list_types(const struct profile *profile, char *text, size_t size)
{
	size_t used = 0;

	*text = '\0';
	for (size_t i = 0; i < profile__type_count(profile) && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "",
					 profile__type(profile, i)->type);
}

int saved_profile__type(struct profile *profile, const char *value, size_t *ret_type)
{
	char types[512];
	int index;

	if (!value) {
		*ret_type = out__default_type(profile);
		return CMD_DONE;
	}
	index = profile__type_index(profile, value);
	if (index < 0) {
		list_types(profile, types, sizeof(types));
		log__error("no '%s' in this profile: it has %s", value, types);
		return CMD_USAGE;
	}
	*ret_type = (size_t)index;
	return CMD_DONE;
}

/* ---- output ---- */

static unsigned int terminal_columns(void)
{
	struct winsize window = { 0 };

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) || !window.ws_col)
		return DEFAULT_COLUMNS;
	return window.ws_col;
}

int saved_profile__write(struct out_options *options, const struct out_format *format,
			 int (*write)(void *context, const struct out_options *options,
				      FILE *stream),
			 void *context)
{
	const char *path = options->path ? options->path : "-";
	bool is_stdout = !strcmp(path, "-");
	const char *name = is_stdout ? "stdout" : path;
	struct output *output;
	int error = output__open(path, &output);

	if (error) {
		log__error("cannot write '%s': %s", name, strerror(-error));
		return CMD_FILE;
	}
	if (format->is_binary && output__is_terminal(output)) {
		log__error("%s is not for a terminal: name a file with -o", format->name);
		output__abort(output);
		return CMD_USAGE;
	}
	if (is_stdout && output__is_terminal(output)) {
		options->columns = terminal_columns();
		options->rows = ROWS_ON_TERMINAL;
	}
	options->color = is_stdout && log__wants_color(STDOUT_FILENO);
	error = write(context, options, output__stream(output));
	if (error)
		output__abort(output);
	else
		error = output__commit(output);
	if (!error)
		return CMD_DONE;
	log__error("cannot write '%s': %s", name, strerror(-error));
	return CMD_FILE;
}
