/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `top` shows: which table is asked for, the table, and the figures above it. Knows nothing
 * of terminals.
 */
#ifndef RBPROF_TOP_MODEL_H
#define RBPROF_TOP_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../core/recorder.h"
#include "view.h"

#define TOP_MAX_ZOOM   16
#define TOP_MAX_FILTER 64 /* bytes */
#define TOP_WINDOWS    3
#define TOP_RING_NS    60000000000ULL /* the longest window */
#define TOP_RATES      10	      /* slices over which rates are told */

/* The counters at the end of a slice. */
struct top_reading {
	uint64_t time_ns, samples, own_cpu_ns;
};

/* Into a label's value, or a method: a rule, and what rows were of before it. */
struct top_zoom {
	struct rule rule;
	char *label, *text; /* owned: what the rule points to */
	const char *by;	    /* before */
};

struct top_model {
	const struct options *options;
	const struct recorder *recorder;
	char host[65];

	/* What is asked for. */
	const char *value;	/* a sample type */
	const char *by;		/* a label's key; NULL: methods */
	const char *options_by; /* the one of --by, NULL: none, or one that is known anyway */
	bool by_line;
	enum view_order order;
	uint64_t windows_ns[TOP_WINDOWS];
	size_t window_count, window;
	char filter[TOP_MAX_FILTER];
	struct rule *rules; /* those of the options, then those of the zooms */
	size_t rule_count;
	char **rule_texts; /* what rules of the options point into */
	size_t rule_text_count;
	struct top_zoom zooms[TOP_MAX_ZOOM];
	size_t zoom_count;

	/* What there is. */
	struct session_slice *frozen; /* NULL: it goes on */
	struct view *view;	      /* NULL: nothing yet */
	uint64_t slice_ns;	      /* the end of the newest slice */
	struct session_summary summary;
	struct top_reading readings[TOP_RATES + 1]; /* the newest first */
	size_t reading_count;
};

/* 0 or -ENOMEM. The options and the recorder must outlive the model. */
int top_model__init(struct top_model *model, const struct options *options,
		    const struct recorder *recorder);
void top_model__free(struct top_model *model);

/* Whether a slice has ended since the last call: then the figures are new, and the table is old. */
bool top_model__poll(struct top_model *model);
/* Makes the table anew. 0 or -ENOMEM, and the table stays what it was. */
int top_model__refresh(struct top_model *model);
/* The same where the window is the newest slice alone. */
int top_model__refresh_slice(struct top_model *model);

/* Changes what is asked for; the table is old then. Names that are not known are not chosen. */
void top_model__next_value(struct top_model *model);
void top_model__set_value(struct top_model *model, const char *value);
void top_model__next_by(struct top_model *model);
void top_model__set_by(struct top_model *model, const char *by);
void top_model__next_order(struct top_model *model);

/* Looks only at what the row is of: methods of a label's value, or stacks that have the method. */
int top_model__zoom_in(struct top_model *model, const struct view_row *row);
/* False: it was not zoomed in. */
bool top_model__zoom_out(struct top_model *model);

/* Keeps what is now in the window, or goes on. 0 or -ENOMEM. */
int top_model__freeze(struct top_model *model, bool is_frozen);

/* Whether the row fits the filter: a part of its name or file, whatever the case of letters. */
bool top_model__shows(const struct top_model *model, const struct view_row *row);

/* Of the figures: since the recording started; a second, over the last slices; of one CPU. */
uint64_t top_model__elapsed_ns(const struct top_model *model);
double top_model__samples_per_second(const struct top_model *model);
double top_model__own_cpu(const struct top_model *model);

/* "cpu", "wall", "gc", "samples"; "method", "process", "thread", "endpoint", "state". */
const char *top_model__value_name(const struct top_model *model);
const char *top_model__by_name(const struct top_model *model);

#endif
