/* SPDX-License-Identifier: BSD-2-Clause */
/* Which file runs for a command line: PATH, `#!` lines, env(1). */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHEBANG_BYTES 256 /* what Linux reads of a file's start, BINPRM_BUF_SIZE */
#define MAX_FOLLOWED  8	  /* files and env(1) before the one that runs; Linux: 5 `#!` */

/* What execvp() takes where there is no PATH. */
#define DEFAULT_PATH "/bin:/usr/bin"

static const char blanks[] = " \t";

/* 0, -EACCES or -ENOENT. */
static int check_executable(const char *path)
{
	struct stat status;

	if (stat(path, &status))
		return errno == EACCES ? -EACCES : -ENOENT;
	if (!S_ISREG(status.st_mode) || faccessat(AT_FDCWD, path, X_OK, AT_EACCESS))
		return -EACCES;
	return 0;
}

/* A name that is a path. */
static int take_path(const char *name, char **ret_path)
{
	int error = check_executable(name);
	char *path;

	if (error)
		return error;
	path = strdup(name);
	if (!path)
		return -ENOMEM;
	*ret_path = path;
	return 0;
}

int launch__path(const char *name, char **ret_path)
{
	const char *folders = getenv("PATH");
	bool is_forbidden = false;
	char *path;
	int error;

	if (!*name)
		return -ENOENT;
	if (strchr(name, '/'))
		return take_path(name, ret_path);
	if (!folders)
		folders = DEFAULT_PATH;
	for (;;) {
		size_t length = strcspn(folders, ":");

		/* An empty folder is the current one. */
		if (asprintf(&path, "%.*s%s%s", (int)length, folders, length ? "/" : "./", name) <
		    0)
			return -ENOMEM;
		error = check_executable(path);
		if (!error) {
			*ret_path = path;
			return 0;
		}
		free(path);
		is_forbidden |= error == -EACCES;
		if (!folders[length])
			return is_forbidden ? -EACCES : -ENOENT;
		folders += length + 1;
	}
}

/* A command line on its way to the file that runs. */
struct step {
	char program[PATH_MAX];
	bool is_in_path;	      /* a program without slash is looked up in PATH */
	char *const *arguments;	      /* behind program, ends in NULL; as far as env needs them */
	char line[SHEBANG_BYTES + 1]; /* a file's start */
	char argument[SHEBANG_BYTES + 1]; /* the one that a `#!` line has, for made */
	char *made[2];
};

static char *const nothing[] = { NULL };

static int set_program(struct step *step, const char *program)
{
	size_t length = strlen(program);

	if (length >= sizeof(step->program))
		return -ENOENT;
	memmove(step->program, program, length + 1);
	return 0;
}

/* env's -S: the first word of text that is no assignment. What env would unquote is left alone. */
static int split_command(struct step *step, const char *text)
{
	char *copy = strdup(text), *rest = copy, *word;
	int error = -ENOEXEC;

	if (!copy)
		return -ENOMEM;
	while ((word = strsep(&rest, blanks))) {
		if (strpbrk(word, "\\'\"$#") || *word == '-' || !strncmp(word, "PATH=", 5))
			break;
		if (!*word || strchr(word, '='))
			continue;
		step->arguments = nothing;
		error = set_program(step, word);
		break;
	}
	free(copy);
	return error;
}

/*
 * Steps over env and its options to the command that it will run. Options that change where a
 * command is found are not followed. 0 or -errno.
 */
static int skip_env(struct step *step)
{
	step->is_in_path = true;
	for (char *const *at = step->arguments; *at; at++) {
		const char *word = *at;

		if (!strcmp(word, "-S") && at[1])
			return split_command(step, at[1]);
		if (!strncmp(word, "-S", 2) && word[2])
			return split_command(step, word + 2);
		if (!strcmp(word, "-u") && at[1]) {
			at++;
			continue;
		}
		if (!strcmp(word, "--") || !strcmp(word, "-v") || !strncmp(word, "-u", 2))
			continue;
		if (*word == '-' || !strncmp(word, "PATH=", 5))
			return -ENOEXEC;
		if (strchr(word, '='))
			continue;
		step->arguments = at + 1;
		return set_program(step, word);
	}
	return -ENOEXEC;
}

/* `#!INTERPRETER [ARGUMENT]`, the argument being the rest of the line, as Linux takes it. */
static int follow_shebang(struct step *step)
{
	char *program, *argument;

	step->line[strcspn(step->line, "\n")] = '\0';
	program = step->line + 2 + strspn(step->line + 2, blanks);
	argument = program + strcspn(program, blanks);
	if (*argument)
		*argument++ = '\0';
	argument += strspn(argument, blanks);
	for (size_t length = strlen(argument); length && strchr(blanks, argument[length - 1]);)
		argument[--length] = '\0';
	if (!*program)
		return -ENOEXEC;

	memcpy(step->argument, argument, strlen(argument) + 1);
	step->made[0] = *argument ? step->argument : NULL;
	step->made[1] = NULL;
	step->arguments = step->made;
	step->is_in_path = false;
	return set_program(step, program);
}

/* The file's first bytes into step->line, as text. 0 or -errno. */
static int read_start(struct step *step, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t length;

	if (fd < 0)
		return -errno;
	length = pread(fd, step->line, SHEBANG_BYTES, 0);
	if (length < 0) {
		int error = -errno;

		close(fd);
		return error;
	}
	close(fd);
	step->line[length] = '\0';
	return 0;
}

/* 1: path is the file that runs. 0: step is now the next command line. -errno. */
static int take_step(struct step *step, const char *path)
{
	const char *name = strrchr(path, '/');
	int error = read_start(step, path);

	if (error)
		return error;
	if (!strncmp(step->line, "#!", 2))
		return follow_shebang(step);
	if (strncmp(step->line, "\177ELF", 4))
		return -ENOEXEC;
	if (strcmp(name ? name + 1 : path, "env"))
		return 1;
	return skip_env(step);
}

int launch__interpreter(char *const argv[], char **ret_path)
{
	struct step step = { .is_in_path = true, .arguments = argv + 1 };
	int result = set_program(&step, argv[0]);
	char *path;

	for (int i = 0; i < MAX_FOLLOWED && !result; i++) {
		/* Linux takes an interpreter's name as it is, from the current directory. */
		if (step.is_in_path)
			result = launch__path(step.program, &path);
		else
			result = take_path(step.program, &path);
		if (result)
			return result;
		result = take_step(&step, path);
		if (result > 0) {
			*ret_path = path;
			return 0;
		}
		free(path);
	}
	return result ? result : -ELOOP;
}
