/* SPDX-License-Identifier: BSD-2-Clause */
/* Options of `gate` that a configuration file may have, too: kept as texts, read by the gate. */
#include <argp.h>
#include <errno.h>
#include <string.h>

#include "options_table.h"

bool options__judges(enum options_command command, const char *word)
{
	return command == OPTIONS_GATE &&
	       (!strcmp(word, "compare") || !strcmp(word, "check") || !strcmp(word, "baseline"));
}

bool options__refuse(int key, const char *word)
{
	const bool judges = options__judges(OPTIONS_GATE, word);

	for (size_t i = 0; i < option_entry_count; i++) {
		const struct option_entry *entry = &option_entries[i];
		const bool is_of_run =
			entry->group == OPTION_GROUP_RUN || entry->group == OPTION_GROUP_COLLECT;
		const bool is_of_judges = entry->group == OPTION_GROUP_JUDGE || key == 'f';

		if (entry->key != key || !(entry->commands & 1u << OPTIONS_GATE) ||
		    !(judges ? is_of_run : is_of_judges))
			continue;
		log__error("--%s is no option of gate %s", entry->row.name, word);
		return true;
	}
	return false;
}

int options__setting(struct options *options, int key, const char *text)
{
	if (key == OPTION_KEY_CONFIG) {
		options->config = text;
		return 0;
	}
	for (size_t i = 0; i < option_entry_count; i++) {
		const struct option_entry *entry = &option_entries[i];
		int error;

		if (entry->key != key || entry->commands != 1u << OPTIONS_GATE)
			continue;
		error = options__add_to_list(&options->setting_names, entry->row.name,
					     entry->row.name);
		return error ? error
			     : options__add_to_list(&options->setting_texts, entry->row.name, text);
	}
	return ARGP_ERR_UNKNOWN;
}
