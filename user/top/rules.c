/* SPDX-License-Identifier: BSD-2-Clause */
#include "rules.h"

#include <fnmatch.h>
#include <string.h>

const char *rules__label_name(const char *name)
{
	const char *known = profile_labels__known(name, strlen(name));

	return known ? known : name;
}

const struct profile_label *rules__label(const struct profile *profile, uint32_t label_set,
					 const char *key)
{
	const struct profile_label_set set = profile__label_set_at(profile, label_set);
	const struct profile_label *label;

	for (label = set.labels; label < set.labels + set.count; label++) {
		if (!strcmp(profile__text(profile, label->key), key))
			return label;
	}
	return NULL;
}

static bool fits(const struct rule *rule, const char *text)
{
	/* As in a saved profile: no pattern fits what is not there, but for its name. */
	if (!text)
		return !strcmp(rule->text, PROFILE_LABELS_NONE);
	if (rule->kind == RULE_VALUE)
		return !strcmp(rule->text, text);
	return !fnmatch(rule->text, text, 0);
}

/* Another RULE_FOCUS with the same label that fits. */
static bool has_other_focus(const struct rules *rules, const struct rule *rule, const char *text)
{
	size_t i;

	for (i = 0; i < rules->count; i++) {
		const struct rule *other = &rules->rules[i];

		if (other->kind == RULE_FOCUS && !strcmp(other->label, rule->label) &&
		    fits(other, text))
			return true;
	}
	return false;
}

bool rules__fit_labels(const struct rules *rules, const struct profile *profile, uint32_t label_set)
{
	char number[PROFILE_LABELS_NUMBER];
	size_t i;

	for (i = 0; i < rules->count; i++) {
		const struct rule *rule = &rules->rules[i];
		const struct profile_label *label;
		const char *text = NULL;

		if (rule->kind == RULE_METHOD)
			continue;
		label = rules__label(profile, label_set, rule->label);
		if (label)
			text = profile_labels__value(profile, label, number);
		if (fits(rule, text) == (rule->kind != RULE_IGNORE))
			continue;
		if (rule->kind != RULE_FOCUS || !has_other_focus(rules, rule, text))
			return false;
	}
	return true;
}

bool rule__is_function(const struct rule *rule, const struct profile *profile, uint32_t function)
{
	const struct profile_function *at = profile__function_at(profile, function);

	return !strcmp(profile__text(profile, at->name), rule->label) &&
	       !strcmp(profile__text(profile, at->file), rule->text);
}
