/* SPDX-License-Identifier: BSD-2-Clause */
#include "terminfo.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	const char *description; /* in the form that $TERMINFO may have */
} built_in[] = {
#include "terminfo_table.h"
};

/* Terminals that do what one of ours does. */
static const struct {
	const char *prefix, *like;
} kin[] = {
	{ "xterm", "xterm-256color" },
	{ "rxvt", "xterm" },
	{ "alacritty", "xterm-256color" },
	{ "foot", "xterm-256color" },
	{ "kitty", "xterm-256color" },
	{ "wezterm", "xterm-256color" },
	{ "screen", "screen" },
	{ "tmux", "screen-256color" },
	{ "linux", "linux" },
	{ "vt", "vt100" },
};

static const char *like(const char *term)
{
	size_t i;

	for (i = 0; i < sizeof(built_in) / sizeof(built_in[0]); i++) {
		if (!strcmp(built_in[i].name, term))
			return term;
	}
	for (i = 0; i < sizeof(kin) / sizeof(kin[0]); i++) {
		if (!strncmp(term, kin[i].prefix, strlen(kin[i].prefix)))
			return kin[i].like;
	}
	return NULL;
}

int terminfo__use_built_in(void)
{
	const char *term = getenv("TERM");
	const char *name = term ? like(term) : NULL;
	size_t i;

	for (i = 0; name && i < sizeof(built_in) / sizeof(built_in[0]); i++) {
		if (strcmp(built_in[i].name, name))
			continue;
		/* Curses takes a description only under the name that it has. */
		if (setenv("TERM", name, 1) || setenv("TERMINFO", built_in[i].description, 1))
			return -errno;
		return 0;
	}
	return -ENOENT;
}
