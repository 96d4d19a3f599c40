/* SPDX-License-Identifier: BSD-2-Clause */
/* rbprof-bpf report: prints or converts a saved profile. */
#include "cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/log.h"
#include "core/options.h"
#include "out/out.h"
#include "out/pprof_read.h"
#include "util/output.h"

#define DEFAULT_COLUMNS	 80
#define ROWS_ON_TERMINAL 40

static int read_profile(const char *path, struct profile **ret_profile)
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
	error = pprof_read__fd(fd, ret_profile, why);
	if (!is_stdin)
		close(fd);
	if (!error)
		return CMD_DONE;
	log__error("cannot read '%s': %s", name, why);
	return CMD_FILE;
}

static void list_types(const struct profile *profile, char *text, size_t size)
{
	size_t used = 0;

	*text = '\0';
	for (size_t i = 0; i < profile__type_count(profile) && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "",
					 profile__type(profile, i)->type);
}

/* What --value names, or the default. */
static int choose_type(struct profile *profile, const char *value, size_t *ret_type)
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

static const struct out_format *choose_format(const struct options *options)
{
	const struct out_format *format = NULL;

	if (options->format)
		return out__format_by_name(options->format);
	if (options->output)
		format = out__format_by_suffix(options->output);
	return format ? format : out__format_by_name("text");
}

static unsigned int terminal_columns(void)
{
	struct winsize window = { 0 };

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) || !window.ws_col)
		return DEFAULT_COLUMNS;
	return window.ws_col;
}

static int write_profile(struct profile *profile, const struct out_format *format,
			 struct out_options *options)
{
	bool is_stdout = !strcmp(options->path, "-");
	const char *name = is_stdout ? "stdout" : options->path;
	const char *why = out__refuses(format, profile);
	struct output *output;
	int error;

	if (why) {
		log__error("%s", why);
		return CMD_USAGE;
	}
	error = output__open(options->path, &output);
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
	error = out__write(format, profile, options, output__stream(output));
	if (error)
		output__abort(output);
	else
		error = output__commit(output);
	if (!error)
		return CMD_DONE;
	log__error("cannot write '%s': %s", name, strerror(-error));
	return CMD_FILE;
}

int cmd_report(int argc, char **argv)
{
	struct out_options out = { 0 };
	struct profile *profile = NULL;
	struct options options;
	int status;
	int error = options__parse(OPTIONS_REPORT, argc, argv, &options);

	if (error == -ENOMEM) {
		log__error("out of memory");
		return CMD_FILE;
	}
	if (error)
		return CMD_USAGE;
	out.path = options.output ? options.output : "-";
	status = read_profile(options.file, &profile);
	if (!status)
		status = choose_type(profile, options.value, &out.type);
	if (!status)
		status = write_profile(profile, choose_format(&options), &out);
	profile__free(profile);
	options__free(&options);
	return status;
}
