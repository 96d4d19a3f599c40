/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of the live view: what the slices of a recording's last time come to, by method or by
 * the value of a label. It owns all of its texts, so that it can outlive the slices.
 */
#ifndef RBPROF_VIEW_H
#define RBPROF_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../core/session.h"
#include "rules.h"

enum view_kind {
	VIEW_RUBY = 0,
	VIEW_C,	      /* a method in C */
	VIEW_SPECIAL, /* garbage collection and what else stands for no method */
	VIEW_LABEL,
};

struct view_row {
	char *name;
	char *file;   /* VIEW_LABEL: the method with the largest self sum in it */
	int64_t line; /* 0: none */
	enum view_kind kind;
	int64_t self, total; /* equal for VIEW_LABEL */
	int64_t hottest;     /* VIEW_LABEL: the self sum of that method */
};

enum view_order {
	VIEW_BY_SELF = 0,
	VIEW_BY_TOTAL,
	VIEW_BY_NAME,
};

struct view_query {
	const char *value; /* the sample type */
	const char *by;	   /* a label's key; NULL: methods */
	bool by_line;	   /* methods: a row a line of them */
	struct rules rules;
	uint64_t window_ns; /* how far back; whole slices are taken */
};

struct view {
	struct view_row *rows;
	size_t count, room;
	int64_t sum; /* of all that fits the rules: 100 % */
	const char *unit;
	uint64_t window_ns; /* what the slices in it are long */

	/* Of everything in the window, whatever the rules. */
	int64_t cpu_ns, gc_ns, overhead_ns;
};

/*
 * Rows of the newest slices, sorted by self. With the value `timeline`, which is the collector's,
 * self is what a method set off: the collector itself is left out of stacks that have others.
 * 0 and a view to be freed; -ENOMEM.
 */
int view__new(const struct session_slice *slices, const struct view_query *query,
	      struct view **ret_view);
void view__free(struct view *view);

/* Largest first; ties by name and place. */
void view__sort(struct view *view, enum view_order order);

#endif
