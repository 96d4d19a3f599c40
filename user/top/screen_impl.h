/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by screen.c, which draws, and keys.c. */
#ifndef RBPROF_TOP_SCREEN_IMPL_H
#define RBPROF_TOP_SCREEN_IMPL_H

#include "screen.h"

struct screen {
	struct top_model *model;
	struct terminal *terminal;
	bool has_color;
	bool is_old;   /* has to be drawn */
	bool has_help; /* is shown in place of the table */
	bool is_typing;
	char typed[TOP_MAX_FILTER];

	/* Rows that fit the filter, as indices into the view's. */
	size_t *shown;
	size_t shown_count, shown_room;
	size_t cursor, first; /* of the shown rows: where the cursor is, and the first one drawn */
	char *cursor_name;    /* of the row below the cursor, to stay with it; NULL: at the top */
};

/* How many rows there is room for. */
size_t screen__rows(void);
/* Makes the table anew. */
void screen__refresh(struct screen *screen);
/* Finds out which rows are shown, and where the cursor's is now. */
void screen__choose_rows(struct screen *screen);
/* The row below the cursor, or NULL. */
const struct view_row *screen__row(const struct screen *screen);
void screen__move(struct screen *screen, long by);

#endif
