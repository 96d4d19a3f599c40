/* SPDX-License-Identifier: BSD-2-Clause */
/* Names from other processes, put on a line that a person or a line-based tool reads. */
#ifndef RBPROF_ESCAPE_H
#define RBPROF_ESCAPE_H

#include <stddef.h>

enum escape_for {
	/* A terminal or a text: what could move the cursor, break or reorder the line. */
	ESCAPE_LINE = 0,
	/*
	 * A frame of a folded stack: also `;`, and `\` so that different names stay different,
	 * and the spaces that could be taken for the one before the value.
	 */
	ESCAPE_FOLDED,
};

/*
 * A copy in which such characters are \n, \t, \xNN or \uNNNN, and invalid UTF-8 is U+FFFD. The
 * caller frees it. NULL: out of memory.
 */
char *escape__text(const char *text, size_t length, enum escape_for purpose);

/* Columns that text (escaped, valid UTF-8) takes on a terminal. */
size_t escape__width(const char *text);

/*
 * Cuts text in place to at most this many columns, with `…` in place of its end (or of its
 * start: the end of a path says more). The result is never longer in bytes than text, plus 3:
 * there is always this much room in what escape__text() returns.
 */
void escape__cut_end(char *text, size_t columns);
void escape__cut_start(char *text, size_t columns);
/* In place of its middle: the beginning of a method's name and its end say most. */
void escape__cut_middle(char *text, size_t columns);

#endif
