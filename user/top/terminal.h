/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The terminal while a screen of ours is on it: it is put back as it was found however we end,
 * by a crash, too. What is said on stderr meanwhile is kept and said afterwards.
 */
#ifndef RBPROF_TOP_TERMINAL_H
#define RBPROF_TOP_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

struct terminal;

/*
 * Whether a screen can be shown: stdout is a terminal, its TERM is not dumb, and there is a
 * keyboard (stdin, else /dev/tty).
 */
bool terminal__is_usable(void);

/*
 * Shows the screen (ncurses). 0; -ENOENT: this kind of terminal is not known; -errno. Only one at
 * a time; to be closed in any case.
 */
int terminal__open(bool wants_color, struct terminal **ret_terminal);
/* Puts the terminal back, and says what was kept. NULL is allowed. */
void terminal__close(struct terminal *terminal);

/* Readable when a key was pressed, or the terminal is gone. */
int terminal__fd(const struct terminal *terminal);

/* Whether there is nobody at the other end any more. */
bool terminal__is_gone(const struct terminal *terminal);

/* Whether it takes what we write at once: one that was stopped (Ctrl-S) must not stop us. */
bool terminal__is_ready(const struct terminal *terminal);

/* Takes over the terminal's size. */
void terminal__resize(struct terminal *terminal);
/* Gives the terminal back and stops us, as Ctrl-Z asks for; comes back when we go on. */
void terminal__suspend(struct terminal *terminal);
/* Draws all anew: others may have written on it. */
void terminal__restore(struct terminal *terminal);

/* The last line that was said meanwhile; "" if there is none. */
const char *terminal__message(struct terminal *terminal);
/* It has been read. */
void terminal__clear_message(struct terminal *terminal);

#endif
