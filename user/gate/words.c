/* SPDX-License-Identifier: BSD-2-Clause */
#include "words.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Of a shell, outside of single quotes; those of the second kind inside of double ones, too. */
#define SPECIAL		"|&;<>()*?[]{}#~!\n"
#define ALWAYS_SPECIAL	"$`"
#define ESCAPED_IN_TEXT "\"\\"

struct splitter {
	const char *at;
	char *word; /* room for all of the text */
	size_t length;
	bool is_open; /* there is a word, maybe an empty one */
	char **argv;
	size_t count;
};

static int end_word(struct splitter *splitter)
{
	char **argv;

	if (!splitter->is_open)
		return 0;
	argv = realloc(splitter->argv, (splitter->count + 2) * sizeof(*argv));
	if (!argv)
		return -ENOMEM;
	splitter->argv = argv;
	argv[splitter->count] = strndup(splitter->word, splitter->length);
	if (!argv[splitter->count])
		return -ENOMEM;
	argv[++splitter->count] = NULL;
	splitter->length = 0;
	splitter->is_open = false;
	return 0;
}

static void add(struct splitter *splitter, char character)
{
	splitter->word[splitter->length++] = character;
	splitter->is_open = true;
}

/* A quoted part; at: behind the quote. 0, -EINVAL, or 1: a shell is needed. */
static int take_quoted(struct splitter *splitter, char quote)
{
	splitter->is_open = true;
	for (; *splitter->at != quote; splitter->at++) {
		if (!*splitter->at)
			return -EINVAL;
		if (quote == '"' && strchr(ALWAYS_SPECIAL, *splitter->at))
			return 1;
		if (quote == '"' && *splitter->at == '\\' && splitter->at[1] &&
		    strchr(ESCAPED_IN_TEXT ALWAYS_SPECIAL, splitter->at[1]))
			splitter->at++;
		add(splitter, *splitter->at);
	}
	splitter->at++;
	return 0;
}

static int take(struct splitter *splitter)
{
	char character = *splitter->at++;

	if (character == ' ' || character == '\t')
		return end_word(splitter);
	if (character == '\'' || character == '"')
		return take_quoted(splitter, character);
	if (character == '\\') {
		if (!*splitter->at)
			return -EINVAL;
		character = *splitter->at++;
	} else if (strchr(SPECIAL ALWAYS_SPECIAL, character) ||
		   (character == '=' && !splitter->count)) {
		return 1;
	}
	add(splitter, character);
	return 0;
}

static int use_shell(const char *text, char ***ret_argv)
{
	const char *const words[] = { "sh", "-c", text };
	char **argv = calloc(4, sizeof(*argv));
	size_t i;

	if (!argv)
		return -ENOMEM;
	for (i = 0; i < 3; i++) {
		argv[i] = strdup(words[i]);
		if (argv[i])
			continue;
		words__free(argv);
		return -ENOMEM;
	}
	*ret_argv = argv;
	return 0;
}

int words__split(const char *text, char ***ret_argv)
{
	struct splitter splitter = { .at = text };
	int result = 0;

	splitter.word = malloc(strlen(text) + 1);
	if (!splitter.word)
		return -ENOMEM;
	while (!result && *splitter.at)
		result = take(&splitter);
	if (!result)
		result = end_word(&splitter);
	if (!result && !splitter.count)
		result = -EINVAL;
	free(splitter.word);
	if (!result) {
		*ret_argv = splitter.argv;
		return 0;
	}
	words__free(splitter.argv);
	return result > 0 ? use_shell(text, ret_argv) : result;
}

void words__free(char **argv)
{
	size_t i;

	for (i = 0; argv && argv[i]; i++)
		free(argv[i]);
	free(argv);
}
