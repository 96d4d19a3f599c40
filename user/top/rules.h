/* SPDX-License-Identifier: BSD-2-Clause */
/* Which rows of a profile are looked at: by their labels, and by a method in their stacks. */
#ifndef RBPROF_RULES_H
#define RBPROF_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../agg/profile.h"
#include "../agg/profile_labels.h"

enum rule_kind {
	RULE_FOCUS = 0, /* the label's value fits; RULES_NO_LABEL: or there is none */
	RULE_IGNORE,	/* the contrary */
	RULE_VALUE,	/* the label's value is this very text; RULES_NO_LABEL: there is none */
	RULE_METHOD,	/* a method of this name and file is in the stack */
};

/* What a row without the label that rows are grouped by is shown under. */
#define RULES_NO_LABEL PROFILE_LABELS_NONE

struct rule {
	enum rule_kind kind;
	const char *label; /* RULE_METHOD: the method's name */
	const char *text;  /* a glob, a value, or the method's file */
};

struct rules {
	const struct rule *rules;
	size_t count;
};

/*
 * Whether rows with this label set are looked at, as far as labels tell. Of several RULE_FOCUS
 * with the same label one has to fit; all other rules have to.
 */
bool rules__fit_labels(const struct rules *rules, const struct profile *profile,
		       uint32_t label_set);

/* Whether the function of the profile is the one of a RULE_METHOD. */
bool rule__is_function(const struct rule *rule, const struct profile *profile, uint32_t function);

/* The label of the set with this key, or NULL. */
const struct profile_label *rules__label(const struct profile *profile, uint32_t label_set,
					 const char *key);

/* "thread" to "thread name", "endpoint" to "trace endpoint"; others are what they are called. */
const char *rules__label_name(const char *name);

#endif
