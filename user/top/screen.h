/* SPDX-License-Identifier: BSD-2-Clause */
/* `top` on a terminal: what is drawn, and what keys do. */
#ifndef RBPROF_TOP_SCREEN_H
#define RBPROF_TOP_SCREEN_H

#include <stdbool.h>

#include "model.h"
#include "terminal.h"

struct screen;

/* The model must outlive the screen. 0 or -errno of terminal__open(); to be closed in any case. */
int screen__open(struct top_model *model, bool wants_color, struct screen **ret_screen);
/* NULL is allowed. */
void screen__close(struct screen *screen);

struct terminal *screen__terminal(struct screen *screen);

/* Does what the pressed keys ask for. False: to end. */
bool screen__keys(struct screen *screen);
/* A slice has ended: shows the new figures, if the table is not frozen. */
void screen__update(struct screen *screen);
/* Has it drawn again. */
void screen__touch(struct screen *screen);
/* Draws, if something has changed. */
void screen__draw(struct screen *screen);

#endif
