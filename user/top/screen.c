/* SPDX-License-Identifier: BSD-2-Clause */
#include "screen.h"

#include <curses.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../out/escape.h"
#include "lines.h"
#include "screen_impl.h"

#define TABLE_TOP   5 /* lines above the rows, the heading included */
#define TABLE_BELOW 1 /* the line of keys and messages */
#define HOT_PERCENT 10

enum pair {
	PAIR_HOT = 1,
	PAIR_OF_C,
	PAIR_SPECIAL,
	PAIR_DIM,
	PAIR_WARN,
};

static const char *const help[] = {
	"v        next value: cpu, wall, gc          c w g    one of them",
	"b        next group: method, process,       m p t    method, process, thread,",
	"         thread, endpoint, state            e s      endpoint, state",
	"o        order: self, total, name           L        a row for each line",
	"+ -      a longer or shorter window         /        filter by a part of name or file",
	"Enter    look into the row: methods of a    Esc      out again, and no filter",
	"         process, stacks with a method",
	"Space    freeze and go on",
	"arrows, j k, Page Up, Page Down, Home, End  move",
	"h        this help                          q        quit",
	"",
	"cpu   time on a CPU, and the collector's: 100 % are all that is shown",
	"wall  time of every thread, running or waiting; group by state tells for what",
	"gc    time of the garbage collector, by the code that set it off",
	"self  what a method used itself; total: with all that it called",
};
#define HELP_LINES (sizeof(help) / sizeof(help[0]))

/* ---- rows ---- */

size_t screen__rows(void)
{
	return LINES > TABLE_TOP + TABLE_BELOW ? (size_t)LINES - TABLE_TOP - TABLE_BELOW : 0;
}

const struct view_row *screen__row(const struct screen *screen)
{
	if (screen->cursor >= screen->shown_count)
		return NULL;
	return &screen->model->view->rows[screen->shown[screen->cursor]];
}

static void scroll_to_cursor(struct screen *screen)
{
	size_t rows = screen__rows();

	if (screen->cursor < screen->first)
		screen->first = screen->cursor;
	if (rows && screen->cursor >= screen->first + rows)
		screen->first = screen->cursor - rows + 1;
	/* No empty lines at the end while there are rows above. */
	if (screen->first + rows > screen->shown_count)
		screen->first = screen->shown_count > rows ? screen->shown_count - rows : 0;
}

static void remember_row(struct screen *screen)
{
	const struct view_row *row = screen__row(screen);

	free(screen->cursor_name);
	/* At the top it stays at the top, whatever comes there. */
	screen->cursor_name = row && screen->cursor ? strdup(row->name) : NULL;
}

void screen__move(struct screen *screen, long by)
{
	long to = (long)screen->cursor + by;

	if (to >= (long)screen->shown_count)
		to = (long)screen->shown_count - 1;
	screen->cursor = to > 0 ? (size_t)to : 0;
	remember_row(screen);
	scroll_to_cursor(screen);
}

void screen__choose_rows(struct screen *screen)
{
	const struct view *view = screen->model->view;
	size_t count = view ? view->count : 0, i;

	if (count > screen->shown_room) {
		size_t *shown = realloc(screen->shown, count * sizeof(*shown));

		if (!shown)
			return;
		screen->shown = shown;
		screen->shown_room = count;
	}
	screen->shown_count = 0;
	for (i = 0; i < count; i++) {
		const struct view_row *row = &view->rows[i];

		/* What has nothing of this value (any more) is no row. */
		if (row->total && top_model__shows(screen->model, row))
			screen->shown[screen->shown_count++] = i;
	}
	if (!screen->cursor_name)
		screen->cursor = 0;
	for (i = 0; screen->cursor_name && i < screen->shown_count; i++) {
		if (!strcmp(view->rows[screen->shown[i]].name, screen->cursor_name))
			screen->cursor = i;
	}
	if (screen->cursor >= screen->shown_count)
		screen->cursor = screen->shown_count ? screen->shown_count - 1 : 0;
	scroll_to_cursor(screen);
}

void screen__refresh(struct screen *screen)
{
	/* Out of memory: the old table stays, and the next slice may find some. */
	if (!top_model__refresh(screen->model))
		screen__choose_rows(screen);
	screen->is_old = true;
}

void screen__update(struct screen *screen)
{
	screen->is_old = true;
	if (!screen->model->frozen)
		screen__refresh(screen);
}

void screen__touch(struct screen *screen)
{
	screen->is_old = true;
	scroll_to_cursor(screen);
}

/* ---- drawing ---- */

static int attribute(const struct screen *screen, enum pair pair)
{
	return screen->has_color ? (int)COLOR_PAIR(pair) : 0;
}

/* A line that may be cut at the screen's end. */
static void draw_line(int y, int attributes, const char *text)
{
	char cut[LINE_BYTES + 8];

	snprintf(cut, sizeof(cut) - 4, "%s", text);
	escape__cut_end(cut, COLS > 0 ? (size_t)COLS : 0);
	attrset(attributes);
	mvaddstr(y, 0, cut);
	attrset(0);
}

static void draw_figures(const struct screen *screen)
{
	const struct top_model *model = screen->model;
	uint64_t seconds = top_model__elapsed_ns(model) / 1000000000;
	char text[LINE_BYTES];

	snprintf(text, sizeof(text),
		 "rbprof-bpf top  %s  %02" PRIu64 ":%02" PRIu64 ":%02" PRIu64 "  %u Hz%s",
		 model->host, seconds / 3600, seconds / 60 % 60, seconds % 60,
		 model->options->frequency_hz, model->frozen ? "  [frozen]" : "");
	draw_line(0, A_BOLD | (model->frozen ? attribute(screen, PAIR_WARN) : 0), text);
	lines__counts(model, text, sizeof(text));
	draw_line(1, model->summary.lost ? attribute(screen, PAIR_WARN) : 0, text);
	lines__costs(model, text, sizeof(text));
	draw_line(2, 0, text);
	lines__shown(model, text, sizeof(text));
	draw_line(3, A_BOLD, text);
}

static int row_attributes(const struct screen *screen, const struct view_row *row)
{
	switch (row->kind) {
	case VIEW_C:
		return attribute(screen, PAIR_OF_C);
	case VIEW_SPECIAL:
		return attribute(screen, PAIR_SPECIAL);
	default:
		return 0;
	}
}

static void draw_row(const struct screen *screen, int y, const struct view_row *row,
		     const struct lines_columns *columns, bool is_chosen)
{
	bool is_hot = lines__percent(screen->model, row->self) >= HOT_PERCENT;
	int chosen = is_chosen ? A_REVERSE : 0;
	struct lines_row line;

	if (lines__row(screen->model, row, columns, &line))
		return;
	attrset(chosen | (is_hot ? A_BOLD | attribute(screen, PAIR_HOT) : 0));
	mvaddstr(y, 0, line.numbers);
	attrset(chosen | row_attributes(screen, row));
	addstr(line.name);
	attrset(chosen | attribute(screen, PAIR_DIM));
	addstr("  ");
	addstr(line.place);
	attrset(0);
	if (is_chosen)
		mvchgat(y, 0, -1, A_REVERSE, 0, NULL);
	lines__free_row(&line);
}

static void draw_table(const struct screen *screen)
{
	struct lines_columns columns = lines__divide(screen->model, COLS > 0 ? (size_t)COLS : 1);
	size_t rows = screen__rows(), i;
	char text[LINE_BYTES];

	lines__heading(screen->model, &columns, text, sizeof(text));
	draw_line(TABLE_TOP - 1, A_REVERSE, text);
	mvchgat(TABLE_TOP - 1, 0, -1, A_REVERSE, 0, NULL);
	for (i = 0; i < rows && screen->first + i < screen->shown_count; i++) {
		size_t at = screen->first + i;

		draw_row(screen, TABLE_TOP + (int)i, &screen->model->view->rows[screen->shown[at]],
			 &columns, at == screen->cursor);
	}
	if (screen->shown_count)
		return;
	if (!screen->model->view)
		draw_line(TABLE_TOP + 1, 0, "  the first figures come in a moment");
	else if (*screen->model->filter)
		draw_line(TABLE_TOP + 1, 0, "  nothing fits the filter; Esc takes it away");
	else if (!screen->model->summary.processes)
		draw_line(TABLE_TOP + 1, 0, "  no ruby process yet: one that starts is shown");
	else
		draw_line(TABLE_TOP + 1, 0, "  nothing of this in the window");
}

static void draw_help(void)
{
	size_t i;

	for (i = 0; i < HELP_LINES; i++)
		draw_line(TABLE_TOP - 1 + (int)i, 0, help[i]);
}

static void draw_bottom(const struct screen *screen)
{
	const char *message = terminal__message(screen->terminal);
	char text[LINE_BYTES];

	if (screen->is_typing) {
		char *harmless = escape__text(screen->typed, strlen(screen->typed), ESCAPE_LINE);

		snprintf(text, sizeof(text), "filter: %s_", harmless ? harmless : "");
		free(harmless);
		draw_line(LINES - 1, A_BOLD, text);
	} else if (*message) {
		draw_line(LINES - 1, attribute(screen, PAIR_WARN), message);
	} else {
		draw_line(LINES - 1, attribute(screen, PAIR_DIM),
			  "q quit  h help  v value  b group  o order  / filter  Enter look into  "
			  "Space freeze");
	}
}

void screen__draw(struct screen *screen)
{
	if (!screen->is_old || !terminal__is_ready(screen->terminal))
		return;
	screen->is_old = false;
	erase();
	draw_figures(screen);
	if (screen->has_help)
		draw_help();
	else
		draw_table(screen);
	draw_bottom(screen);
	refresh();
}

/* ---- the whole ---- */

static void choose_colors(void)
{
	init_pair(PAIR_HOT, COLOR_RED, -1);
	init_pair(PAIR_OF_C, COLOR_CYAN, -1);
	init_pair(PAIR_SPECIAL, COLOR_MAGENTA, -1);
	init_pair(PAIR_DIM, COLORS > 8 ? 8 : -1, -1);
	init_pair(PAIR_WARN, COLOR_YELLOW, -1);
}

int screen__open(struct top_model *model, bool wants_color, struct screen **ret_screen)
{
	struct screen *screen = calloc(1, sizeof(*screen));
	int error;

	if (!screen)
		return -ENOMEM;
	screen->model = model;
	screen->is_old = true;
	error = terminal__open(wants_color, &screen->terminal);
	if (error) {
		screen__close(screen);
		return error;
	}
	screen->has_color = wants_color && has_colors();
	if (screen->has_color)
		choose_colors();
	*ret_screen = screen;
	return 0;
}

void screen__close(struct screen *screen)
{
	if (!screen)
		return;
	terminal__close(screen->terminal);
	free(screen->shown);
	free(screen->cursor_name);
	free(screen);
}

struct terminal *screen__terminal(struct screen *screen)
{
	return screen->terminal;
}
