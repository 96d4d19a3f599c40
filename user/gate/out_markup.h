/* SPDX-License-Identifier: BSD-2-Clause */
/* Text put into formats whose characters have a meaning; for out_*.c only. */
#ifndef RBPROF_GATE_OUT_MARKUP_H
#define RBPROF_GATE_OUT_MARKUP_H

#include <stdio.h>

/*
 * For XML 1.0 and HTML, as content or in a quoted attribute: & < > " ' as entities; characters
 * that XML does not allow as U+FFFD. text is valid UTF-8.
 */
void gate_markup__xml(FILE *stream, const char *text);

/* For Markdown, in text or a cell of a table: all punctuation as entities, so nothing is markup. */
void gate_markup__markdown(FILE *stream, const char *text);

/* For a workflow command of GitHub: its message, or one of its properties. */
void gate_markup__github(FILE *stream, const char *text);
void gate_markup__github_property(FILE *stream, const char *text);

/* For the path of a URI: all but unreserved characters and / as %XX. */
void gate_markup__uri(FILE *stream, const char *text);

#endif
