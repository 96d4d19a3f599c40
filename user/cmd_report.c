/* SPDX-License-Identifier: BSD-2-Clause */
/* rbprof-bpf report: prints or converts a saved profile. */
#include "cmd.h"

#include <errno.h>
#include <stdio.h>

#include "core/log.h"
#include "core/options.h"
#include "core/saved_profile.h"
#include "out/out.h"
#include "out/view.h"

static const struct out_format *choose_format(const struct options *options)
{
	const struct out_format *format = NULL;

	if (options->format)
		return out__format_by_name(options->format);
	if (options->output)
		format = out__format_by_suffix(options->output);
	return format ? format : out__format_by_name("text");
}

struct written {
	const struct out_format *format;
	struct profile *profile;
};

static int write_profile(void *context, const struct out_options *options, FILE *stream)
{
	struct written *written = context;
	struct profile *stacks = NULL;
	int error = 0;

	if (!view__is_table(written->format))
		error = view__stacks(written->profile, written->format, options, &stacks);
	if (!error)
		error = out__write(written->format, stacks ? stacks : written->profile, options,
				   stream);
	profile__free(stacks);
	return error;
}

static int report(const struct options *options)
{
	struct out_options out = { .path = options->output, .lines = options->by_line };
	struct written written = { .format = choose_format(options) };
	struct selection selection = { 0 };
	int status = saved_profile__read(options->file, &written.profile);
	const char *why = status ? NULL : out__refuses(written.format, written.profile);

	if (why) {
		log__error("%s", why);
		status = CMD_USAGE;
	}
	if (!status)
		status = saved_profile__type(written.profile, options->value, &out.type);
	if (!status)
		status = selection__init(&selection, options, &written.profile, 1);
	if (!status)
		status = selection__apply(&selection, &written.profile);
	out.by = selection.by;
	out.filters = selection.filters;
	out.filter_count = selection.filter_count;
	if (!status)
		status = saved_profile__write(&out, written.format, write_profile, &written);
	selection__free(&selection);
	profile__free(written.profile);
	return status;
}

int cmd_report(int argc, char **argv)
{
	struct options options;
	int status, error = options__parse(OPTIONS_REPORT, argc, argv, &options);

	if (error == -ENOMEM) {
		log__error("out of memory");
		return CMD_FILE;
	}
	if (error)
		return CMD_USAGE;
	status = report(&options);
	options__free(&options);
	return status;
}
