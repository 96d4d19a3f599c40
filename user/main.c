/* SPDX-License-Identifier: BSD-2-Clause */
/* The command table: which subcommands there are, and what to say when there is none. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "core/launch.h"
#include "core/log.h"
#include "core/options.h"
#include "version.h"

#define MAX_DISTANCE 2 /* typing errors up to which a command is suggested */
#define MAX_LENGTH   16

static int (*const commands[OPTIONS_COMMAND_COUNT])(int argc, char **argv) = {
	[OPTIONS_RECORD] = cmd_record, [OPTIONS_TOP] = cmd_top,	      [OPTIONS_DUMP] = cmd_dump,
	[OPTIONS_PS] = cmd_ps,	       [OPTIONS_REPORT] = cmd_report, [OPTIONS_STATE] = cmd_state,
	[OPTIONS_DOCTOR] = cmd_doctor, [OPTIONS_DIFF] = cmd_diff,     [OPTIONS_GATE] = cmd_gate,
};

static const char *const later[] = { "agent" };

static void print_help(FILE *stream)
{
	fputs("Usage: rbprof-bpf COMMAND [OPTION...]\n"
	      "Profile Ruby programs on this host, without touching them.\n\n",
	      stream);
	for (int i = 0; i < OPTIONS_COMMAND_COUNT; i++)
		fprintf(stream, "  %-8s %s\n", options__command_name(i),
			options__command_summary(i));
	fputs("\n"
	      "  sudo rbprof-bpf record -- ruby app.rb         profile a program from its start\n"
	      "  sudo rbprof-bpf record -d 10                  every Ruby process, 10 seconds\n"
	      "  rbprof-bpf report rbprof-HOST-TIME.pb.gz      look at what was recorded\n"
	      "\n"
	      "rbprof-bpf COMMAND --help tells a command's options, man rbprof-bpf(8) the rest.\n",
	      stream);
}

/* Levenshtein distance; neither word is longer than MAX_LENGTH. */
static size_t distance(const char *from, const char *to)
{
	size_t row[MAX_LENGTH + 1], columns = strlen(to);

	for (size_t j = 0; j <= columns; j++)
		row[j] = j;
	for (size_t i = 0; from[i]; i++) {
		size_t diagonal = row[0];

		row[0] = i + 1;
		for (size_t j = 0; j < columns; j++) {
			size_t best = diagonal + (from[i] != to[j]);

			diagonal = row[j + 1];
			if (best > row[j] + 1)
				best = row[j] + 1;
			if (best > row[j + 1] + 1)
				best = row[j + 1] + 1;
			row[j + 1] = best;
		}
	}
	return row[columns];
}

static void say_unknown(const char *word)
{
	size_t best = MAX_DISTANCE + 1;
	const char *close = NULL;

	for (int i = 0; i < OPTIONS_COMMAND_COUNT && strlen(word) <= MAX_LENGTH; i++) {
		const char *name = options__command_name(i);
		size_t typing_errors = distance(word, name);

		/* As many errors as letters is another word. */
		if (typing_errors >= best || typing_errors >= strlen(name))
			continue;
		best = typing_errors;
		close = name;
	}
	if (close)
		log__error("unknown command '%s': did you mean '%s'?", word, close);
	else
		log__error("unknown command '%s': see rbprof-bpf --help", word);
}

static int run(int argc, char **argv)
{
	const char *word = argv[0];

	if (!word) {
		print_help(stderr);
		return CMD_USAGE;
	}
	if (!strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "-?")) {
		print_help(stdout);
		return CMD_DONE;
	}
	if (!strcmp(word, "--version") || !strcmp(word, "-V")) {
		puts("rbprof-bpf " RBPROF_VERSION);
		return CMD_DONE;
	}
	for (int i = 0; i < OPTIONS_COMMAND_COUNT; i++)
		if (!strcmp(word, options__command_name(i)))
			return commands[i](argc, argv);
	for (size_t i = 0; i < sizeof(later) / sizeof(later[0]); i++) {
		if (strcmp(word, later[i]))
			continue;
		log__error("command '%s': not in this version", word);
		return CMD_USAGE;
	}
	if (*word == '-')
		log__error("unknown option '%s': options come after the command, see rbprof-bpf "
			   "--help",
			   word);
	else
		say_unknown(word);
	return CMD_USAGE;
}

/* What did not reach stdout must not end in success. Called for exit() out of --help too. */
static void check_stdout(int status, void *context)
{
	(void)context;
	if (status != CMD_DONE)
		return;
	if (ferror(stdout))
		log__error("cannot write to stdout");
	else if (fflush(stdout))
		log__error("cannot write to stdout: %m");
	else
		return;
	_exit(CMD_FILE);
}

/*
 * A file of ours must not get the number of a standard stream that we were started without. The
 * stand-in cannot be used either, so that the failure shows.
 */
static void hold_standard_streams(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDONLY);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	hold_standard_streams();
	launch__save_signals();
	if (on_exit(check_stdout, NULL))
		return CMD_UNABLE;
	if (argc < 1)
		return CMD_USAGE;
	return run(argc - 1, argv + 1);
}
