/* SPDX-License-Identifier: BSD-2-Clause */
/* rbprof-bpf diff: what changed between two saved profiles. */
#include "cmd.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agg/profile_group.h"
#include "core/log.h"
#include "core/options.h"
#include "core/saved_profile.h"
#include "out/diff.h"
#include "out/out.h"
#include "out/view.h"

struct pair {
	struct profile *profiles[2]; /* BASE, HEAD */
	size_t types[2];
	const struct out_format *format;
	const struct options *options;
};

static int choose_format(const struct options *options, const struct out_format **ret_format)
{
	const struct out_format *format = NULL;

	if (options->format)
		format = out__format_by_name(options->format);
	else if (options->output)
		format = out__format_by_suffix(options->output);
	if (!format)
		format = out__format_by_name("text");
	*ret_format = format;
	if (diff__format(format))
		return CMD_DONE;
	log__error("no difference in format '%s': choose one of text, json, folded, html",
		   format->name);
	return CMD_USAGE;
}

static bool has_type(const struct pair *pair, int side, const char *type, size_t *ret_index)
{
	int index = profile__type_index(pair->profiles[side], type);

	if (index >= 0)
		*ret_index = (size_t)index;
	return index >= 0;
}

/* The default of BASE if HEAD has it, else the first that both have. */
static int choose_common_type(struct pair *pair)
{
	size_t preferred = out__default_type(pair->profiles[0]);
	size_t count = profile__type_count(pair->profiles[0]);

	for (size_t i = 0; i <= count; i++) {
		pair->types[0] = i ? i - 1 : preferred;
		if (has_type(pair, 1, profile__type(pair->profiles[0], pair->types[0])->type,
			     &pair->types[1]))
			return CMD_DONE;
	}
	log__error("cannot compare '%s' with '%s': they have no sample type in common",
		   pair->options->file, pair->options->head);
	return CMD_INCOMPATIBLE;
}

static int choose_types(struct pair *pair)
{
	const char *value = pair->options->value;
	bool in_base, in_head;
	int status;

	if (!value) {
		status = choose_common_type(pair);
		if (status)
			return status;
	} else {
		in_base = has_type(pair, 0, value, &pair->types[0]);
		in_head = has_type(pair, 1, value, &pair->types[1]);
		if (!in_base && !in_head)
			return saved_profile__type(pair->profiles[0], value, &pair->types[0]);
		if (!in_base || !in_head) {
			log__error("cannot compare by %s: '%s' has none", value,
				   in_base ? pair->options->head : pair->options->file);
			return CMD_INCOMPATIBLE;
		}
	}
	if (!strcmp(profile__type(pair->profiles[0], pair->types[0])->unit,
		    profile__type(pair->profiles[1], pair->types[1])->unit))
		return CMD_DONE;
	log__error("cannot compare '%s' with '%s': %s has other units", pair->options->file,
		   pair->options->head, profile__type(pair->profiles[0], pair->types[0])->type);
	return CMD_INCOMPATIBLE;
}

/* By what is asked for, as a new profile; NULL: by method. */
static int group(const struct profile *profile, const struct pair *pair,
		 const struct out_options *out, struct profile **ret_profile)
{
	struct out_options lines = { .lines = true };

	*ret_profile = NULL;
	if (out->by && pair->format->write == folded__write)
		return view__stacks(profile, pair->format, out, ret_profile);
	if (out->by)
		return view__table(profile, out, ret_profile);
	/* Lines must be in the names: first lines of functions are not compared. */
	if (out->lines)
		return view__stacks(profile, out__format_by_name("folded"), &lines, ret_profile);
	return 0;
}

static int64_t sum_of(const struct profile *profile, size_t type)
{
	int64_t sum = 0;

	for (size_t i = 0; i < profile__row_count(profile); i++)
		sum += profile__row(profile, i)->values[type];
	return sum;
}

static int write_diff(void *context, const struct out_options *options, FILE *stream)
{
	struct pair *pair = context;
	struct profile *groups[2] = { NULL, NULL }, *both = NULL;
	struct profile_diff difference = {
		.base_type = pair->types[0],
		.head_type = pair->types[1],
		.is_normalized = pair->options->normalize,
	};
	struct diff diff = {
		.base = pair->profiles[0],
		.head = pair->profiles[1],
		.base_path = pair->options->file,
		.head_path = pair->options->head,
		.type = profile__type(pair->profiles[0], pair->types[0]),
		.base_sum = sum_of(pair->profiles[0], pair->types[0]),
		.head_sum = sum_of(pair->profiles[1], pair->types[1]),
		.is_normalized = pair->options->normalize,
	};
	int error = 0;

	for (int i = 0; i < 2 && !error; i++)
		error = group(pair->profiles[i], pair, options, &groups[i]);
	difference.base = groups[0] ? groups[0] : pair->profiles[0];
	difference.head = groups[1] ? groups[1] : pair->profiles[1];
	if (!error)
		error = profile_diff__new(&difference, &both);
	diff.both = both;
	if (!error)
		error = diff__format(pair->format)(&diff, options, stream);
	profile__free(both);
	profile__free(groups[0]);
	profile__free(groups[1]);
	return error;
}

static int diff(const struct options *options)
{
	struct out_options out = { .path = options->output, .lines = options->by_line };
	struct selection selection = { 0 };
	struct pair pair = { .options = options };
	int status = choose_format(options, &pair.format);

	if (!status)
		status = saved_profile__read(options->file, &pair.profiles[0]);
	if (!status)
		status = saved_profile__read(options->head, &pair.profiles[1]);
	if (!status)
		status = choose_types(&pair);
	if (!status)
		status = selection__init(&selection, options, pair.profiles, 2);
	for (int i = 0; i < 2 && !status; i++)
		status = selection__apply(&selection, &pair.profiles[i]);
	out.by = selection.by;
	if (!status)
		status = saved_profile__write(&out, pair.format, write_diff, &pair);
	selection__free(&selection);
	profile__free(pair.profiles[0]);
	profile__free(pair.profiles[1]);
	return status;
}

int cmd_diff(int argc, char **argv)
{
	struct options options;
	int status, error = options__parse(OPTIONS_DIFF, argc, argv, &options);

	if (error == -ENOMEM) {
		log__error("out of memory");
		return CMD_FILE;
	}
	if (error)
		return CMD_USAGE;
	status = diff(&options);
	options__free(&options);
	return status;
}
