/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints the completions of a shell, from the same table as the parser and --help:
 * completions bash|zsh|fish
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "user/core/options.h"
#include "user/out/out.h"

#define PROGRAM "rbprof-bpf"

/* Words that an argument may be, by the name that --help gives it. */
static const struct {
	const char *argument, *words;
} known[] = {
	{ "TYPE", "cpu-time cpu-samples wall-time timeline" },
	{ "WHEN", "auto always never" },
	{ "json", "json" },
	{ "REPORT", "text markdown junit sarif github json html" },
	{ "LABEL", "method process thread endpoint state" },
	{ "TIME", "1s 10s 1m 10m 1h" },
	{ "HZ", "49 99 199 499 997" },
};

static const char *words_of(const struct options_row *row)
{
	static char formats[256];
	const struct out_format *format;
	size_t used = 0;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (!strcmp(known[i].argument, row->argument))
			return known[i].words;
	}
	if (strcmp(row->argument, "FORMAT"))
		return NULL;
	for (size_t i = 0; (format = out__format(i)) && used < sizeof(formats); i++)
		if (format->write)
			used += (size_t)snprintf(formats + used, sizeof(formats) - used, "%s%s",
						 used ? " " : "", format->name);
	return formats;
}

static bool is_file(const struct options_row *row)
{
	return !strcmp(row->argument, "FILE") || !strcmp(row->argument, "PATH");
}

static bool takes_command(int command)
{
	return command == OPTIONS_RECORD || command == OPTIONS_TOP || command == OPTIONS_GATE;
}

static const struct options_row *landed(int command, size_t *index)
{
	const struct options_row *row;

	while ((row = options__row(command, (*index)++)) && !row->is_landed)
		;
	return row;
}

/* In single quotes of a shell; characters of `special` with a backslash before them. */
static void quoted(const char *text, const char *special)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", stdout);
		else if (strchr(special, *text))
			printf("\\%c", *text);
		else
			putchar(*text);
	}
}

static void list_commands(void)
{
	for (int i = 0; i < OPTIONS_COMMAND_COUNT; i++)
		printf("%s%s", i ? " " : "", options__command_name(i));
}

/* ---- bash ---- */

static void bash_values(int command)
{
	const struct options_row *row;

	for (size_t i = 0; (row = landed(command, &i));) {
		const char *words = row->argument ? words_of(row) : NULL;

		/* An argument that may be left out is a part of its option. */
		if (!row->argument || row->is_optional)
			continue;
		printf("\t\t%s:--%s", options__command_name(command), row->name);
		if (row->letter)
			printf("|%s:-%c", options__command_name(command), row->letter);
		if (words)
			printf(") COMPREPLY=($(compgen -W '%s' -- \"$cur\")); return ;;\n", words);
		else if (is_file(row))
			printf(") COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n");
		else if (!strncmp(row->argument, "PID", 3))
			printf(") COMPREPLY=($(compgen -W \"$(cd /proc && echo [0-9]*)\" -- "
			       "\"$cur\")); return ;;\n");
		else
			printf(") return ;;\n");
	}
}

static void bash_options(int command)
{
	const struct options_row *row;

	printf("\t\t%s) options='", options__command_name(command));
	for (size_t i = 0; (row = landed(command, &i));)
		printf("--%s%s ", row->name, row->argument && row->is_optional ? "=" : "");
	printf("' ;;\n");
}

static void bash(void)
{
	fputs("# bash completion of " PROGRAM "; made by tools/completions.c\n"
	      "_rbprof_bpf() {\n"
	      "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
	      "\tlocal command=${COMP_WORDS[1]} options= i\n"
	      "\tCOMPREPLY=()\n"
	      "\tif ((COMP_CWORD == 1)); then\n"
	      "\t\tCOMPREPLY=($(compgen -W '",
	      stdout);
	list_commands();
	fputs(" --help --version' -- \"$cur\"))\n\t\treturn\n\tfi\n"
	      "\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
	      "\t\t[[ ${COMP_WORDS[i]} == -- ]] || continue\n"
	      "\t\tif ((i + 1 == COMP_CWORD)); then COMPREPLY=($(compgen -c -- \"$cur\"))\n"
	      "\t\telse COMPREPLY=($(compgen -f -- \"$cur\")); fi\n"
	      "\t\treturn\n"
	      "\tdone\n"
	      "\tcase $command:$prev in\n",
	      stdout);
	for (int i = 0; i < OPTIONS_COMMAND_COUNT; i++)
		bash_values(i);
	fputs("\tesac\n\tcase $command in\n", stdout);
	for (int i = 0; i < OPTIONS_COMMAND_COUNT; i++)
		bash_options(i);
	fputs("\tesac\n"
	      "\tif [[ $cur == -* ]]; then\n"
	      "\t\tCOMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
	      "\telse\n"
	      "\t\tCOMPREPLY=($(compgen -f -- \"$cur\"))\n"
	      "\tfi\n"
	      "}\n"
	      "complete -o filenames -F _rbprof_bpf " PROGRAM "\n",
	      stdout);
}

/* ---- zsh ---- */

static void zsh_argument(const struct options_row *row)
{
	const char *words = words_of(row);

	printf(":%s:", row->argument);
	if (words)
		printf("(%s)", words);
	else if (is_file(row))
		printf("_files");
	else if (!strncmp(row->argument, "PID", 3))
		printf("_pids");
	else
		putchar(' ');
}

static void zsh_option(const struct options_row *row)
{
	char names[2][80];
	int count = 0;

	snprintf(names[count++], sizeof(names[0]), "--%s%s", row->name,
		 !row->argument	    ? ""
		 : row->is_optional ? "=-"
				    : "=");
	if (row->letter)
		snprintf(names[count++], sizeof(names[0]), "-%c%s", row->letter,
			 row->argument ? "+" : "");
	for (int i = 0; i < count; i++) {
		printf("\t\t\t'*%s[", names[i]);
		quoted(row->text, "[]:\\");
		putchar(']');
		if (row->argument && row->is_optional)
			putchar(':');
		if (row->argument)
			zsh_argument(row);
		fputs("' \\\n", stdout);
	}
}

static void zsh(void)
{
	fputs("#compdef " PROGRAM "\n# made by tools/completions.c\n"
	      "_rbprof_bpf() {\n"
	      "\tlocal -a commands\n"
	      "\tcommands=(\n",
	      stdout);
	for (int i = 0; i < OPTIONS_COMMAND_COUNT; i++) {
		printf("\t\t'%s:", options__command_name(i));
		quoted(options__command_summary(i), "");
		fputs("'\n", stdout);
	}
	fputs("\t)\n"
	      "\tif ((CURRENT == 2)); then\n"
	      "\t\t_describe command commands\n"
	      "\t\treturn\n"
	      "\tfi\n"
	      "\tshift words\n"
	      "\t((CURRENT--))\n"
	      "\tcase $words[1] in\n",
	      stdout);
	for (int i = 0; i < OPTIONS_COMMAND_COUNT; i++) {
		const struct options_row *row;

		printf("\t%s)\n\t\t_arguments -S -s \\\n", options__command_name(i));
		for (size_t j = 0; (row = landed(i, &j));)
			zsh_option(row);
		printf("\t\t\t'%s'\n\t\t;;\n",
		       takes_command(i) ? "*::command: _normal" : "*:file:_files");
	}
	fputs("\tesac\n}\n_rbprof_bpf \"$@\"\n", stdout);
}

/* ---- fish ---- */

static void fish_text(const char *text)
{
	for (; *text; text++)
		printf(*text == '\'' || *text == '\\' ? "\\%c" : "%c", *text);
}

static void fish_option(int command, const struct options_row *row)
{
	const char *words = row->argument ? words_of(row) : NULL;

	printf("complete -c " PROGRAM " -n '__fish_seen_subcommand_from %s' -l %s",
	       options__command_name(command), row->name);
	if (row->letter)
		printf(" -s %c", row->letter);
	if (words && row->is_optional)
		printf(" -f -a '%s'", words);
	else if (words)
		printf(" -x -a '%s'", words);
	else if (row->argument && !strncmp(row->argument, "PID", 3))
		printf(" -x -a '(__fish_complete_pids)'");
	else if (row->argument)
		printf(is_file(row) ? " -r -F" : " -x");
	fputs(" -d '", stdout);
	fish_text(row->text);
	fputs("'\n", stdout);
}

static void fish(void)
{
	fputs("# fish completion of " PROGRAM "; made by tools/completions.c\n", stdout);
	for (int i = 0; i < OPTIONS_COMMAND_COUNT; i++) {
		const struct options_row *row;

		printf("complete -c " PROGRAM " -n __fish_use_subcommand -f -a %s -d '",
		       options__command_name(i));
		fish_text(options__command_summary(i));
		fputs("'\n", stdout);
		for (size_t j = 0; (row = landed(i, &j));)
			fish_option(i, row);
	}
}

int main(int argc, char **argv)
{
	const char *shell = argc == 2 ? argv[1] : "";

	if (!strcmp(shell, "bash")) {
		bash();
	} else if (!strcmp(shell, "zsh")) {
		zsh();
	} else if (!strcmp(shell, "fish")) {
		fish();
	} else {
		fputs("usage: completions bash|zsh|fish\n", stderr);
		return 2;
	}
	return fflush(stdout) ? 1 : 0;
}
