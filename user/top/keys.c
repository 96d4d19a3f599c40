/* SPDX-License-Identifier: BSD-2-Clause */
#include <curses.h>
#include <stdlib.h>
#include <string.h>

#include "screen_impl.h"

#define KEY_OF_ESCAPE	 27
#define KEY_OF_BACKSPACE 127
#define CONTROL(letter)	 ((letter) & 0x1f)

/* ---- the filter ---- */

static void type_filter(struct screen *screen, int key)
{
	struct top_model *model = screen->model;
	size_t length = strlen(screen->typed);

	switch (key) {
	case '\r':
	case '\n':
	case KEY_ENTER:
		screen->is_typing = false;
		return;
	case KEY_OF_ESCAPE:
		screen->is_typing = false;
		screen->typed[0] = '\0';
		break;
	case KEY_BACKSPACE:
	case KEY_OF_BACKSPACE:
	case CONTROL('h'):
		/* The whole of a character of several bytes. */
		while (length && (screen->typed[--length] & 0xc0) == 0x80)
			;
		screen->typed[length] = '\0';
		break;
	case CONTROL('u'):
		screen->typed[0] = '\0';
		break;
	default:
		if (key < ' ' || key > 0xff || length + 1 >= sizeof(screen->typed))
			return;
		screen->typed[length] = (char)key;
		screen->typed[length + 1] = '\0';
	}
	/* What is typed takes effect at once. */
	memcpy(model->filter, screen->typed, sizeof(model->filter));
	screen__choose_rows(screen);
}

static void begin_filter(struct screen *screen)
{
	screen->is_typing = true;
	memcpy(screen->typed, screen->model->filter, sizeof(screen->typed));
}

/* ---- what is shown ---- */

static void look_into(struct screen *screen)
{
	const struct view_row *row = screen__row(screen);

	if (!row || top_model__zoom_in(screen->model, row))
		return;
	free(screen->cursor_name);
	screen->cursor_name = NULL;
	screen__refresh(screen);
}

static void look_out(struct screen *screen)
{
	if (*screen->model->filter) {
		screen->model->filter[0] = '\0';
		screen__choose_rows(screen);
	} else if (top_model__zoom_out(screen->model)) {
		screen__refresh(screen);
	}
}

static void change_window(struct screen *screen, bool is_longer)
{
	struct top_model *model = screen->model;

	/* What is frozen has one window. */
	if (model->frozen)
		return;
	if (is_longer && model->window + 1 < model->window_count)
		model->window++;
	else if (!is_longer && model->window)
		model->window--;
	screen__refresh(screen);
}

static void freeze(struct screen *screen)
{
	top_model__freeze(screen->model, !screen->model->frozen);
	screen__refresh(screen);
}

/* True: the key was for this, and the table is made anew. */
static bool choose(struct screen *screen, int key)
{
	struct top_model *model = screen->model;

	switch (key) {
	case 'v':
		top_model__next_value(model);
		return true;
	case 'c':
		top_model__set_value(model, "cpu-time");
		return true;
	case 'w':
		top_model__set_value(model, "wall-time");
		return true;
	case 'g':
		top_model__set_value(model, "timeline");
		return true;
	case 'b':
		top_model__next_by(model);
		return true;
	case 'm':
		top_model__set_by(model, NULL);
		return true;
	case 'p':
		top_model__set_by(model, "process");
		return true;
	case 't':
		top_model__set_by(model, "thread name");
		return true;
	case 'e':
		top_model__set_by(model, "trace endpoint");
		return true;
	case 's':
		top_model__set_by(model, "state");
		return true;
	case 'o':
		top_model__next_order(model);
		return true;
	case 'L':
		model->by_line = !model->by_line;
		return true;
	default:
		return false;
	}
}

static void move_cursor(struct screen *screen, int key)
{
	long page = (long)screen__rows();

	switch (key) {
	case KEY_UP:
	case 'k':
		screen__move(screen, -1);
		break;
	case KEY_DOWN:
	case 'j':
		screen__move(screen, 1);
		break;
	case KEY_PPAGE:
		screen__move(screen, -page);
		break;
	case KEY_NPAGE:
		screen__move(screen, page);
		break;
	case KEY_HOME:
		screen__move(screen, -(long)screen->shown_count);
		break;
	case KEY_END:
		screen__move(screen, (long)screen->shown_count);
		break;
	}
}

/* False: to end. */
static bool press(struct screen *screen, int key)
{
	screen->is_old = true;
	terminal__clear_message(screen->terminal);
	if (screen->is_typing) {
		type_filter(screen, key);
		return true;
	}
	if (key == 'q' || key == 'Q')
		return false;
	/* Any key takes the help away, and does no more. */
	if (screen->has_help || key == 'h' || key == '?' || key == KEY_F(1)) {
		screen->has_help = !screen->has_help;
		return true;
	}
	if (choose(screen, key)) {
		screen__refresh(screen);
		return true;
	}
	switch (key) {
	case '/':
		begin_filter(screen);
		break;
	case '\r':
	case '\n':
	case KEY_ENTER:
	case KEY_RIGHT:
		look_into(screen);
		break;
	case KEY_OF_ESCAPE:
	case KEY_BACKSPACE:
	case KEY_OF_BACKSPACE:
	case CONTROL('h'):
	case KEY_LEFT:
		look_out(screen);
		break;
	case '+':
	case '=':
	case '-':
		change_window(screen, key != '-');
		break;
	case ' ':
	case 'f':
		freeze(screen);
		break;
	case CONTROL('l'):
		terminal__restore(screen->terminal);
		break;
	default:
		move_cursor(screen, key);
	}
	return true;
}

bool screen__keys(struct screen *screen)
{
	int key;

	while ((key = getch()) != ERR) {
		if (!press(screen, key))
			return false;
	}
	return true;
}
