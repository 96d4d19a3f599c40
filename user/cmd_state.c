/* SPDX-License-Identifier: BSD-2-Clause */
/* `state`: the inner state of running recordings. */
#include "cmd.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "core/control.h"
#include "core/log.h"
#include "core/options.h"
#include "core/stats_text.h"

struct answers {
	json_t *recordings;
	int error; /* the last one */
	pid_t failed_pid;
};

static void ask(pid_t pid, void *context)
{
	struct answers *answers = context;
	json_t *state;
	int error = control__ask(pid, &state);

	if (error) {
		answers->error = error;
		answers->failed_pid = pid;
		return;
	}
	json_object_set_new(state, "recording_pid", json_integer(pid));
	json_array_append_new(answers->recordings, state);
}

static void print_text(const json_t *recordings)
{
	const json_t *state;
	size_t index;

	json_array_foreach (recordings, index, state) {
		const json_t *runtime;
		size_t i;

		printf("recording %lld\n",
		       json_integer_value(json_object_get(state, "recording_pid")));
		stats_text__print(state, stdout);
		json_array_foreach (json_object_get(state, "runtimes"), i, runtime)
			printf("\nruby %s: layout %s, ec by %s, vm by %s, symbols by %s\n",
			       json_string_value(json_object_get(runtime, "version")),
			       json_string_value(json_object_get(runtime, "layout")),
			       json_string_value(json_object_get(runtime, "ec")),
			       json_string_value(json_object_get(runtime, "vm")),
			       json_string_value(json_object_get(runtime, "symbols")));
	}
}

int cmd_state(int argc, char **argv)
{
	struct answers answers = { 0 };
	struct options options;
	int status = CMD_DONE, error;

	if (options__parse(OPTIONS_STATE, argc, argv, &options))
		return CMD_USAGE;
	answers.recordings = json_array();
	if (options.pid) {
		ask(options.pid, &answers);
	} else {
		error = control__each(ask, &answers);
		if (error)
			answers.error = error;
	}
	if (!json_array_size(answers.recordings)) {
		status = CMD_UNABLE;
		if (answers.error && answers.error != -ENOENT)
			log__error("cannot ask the recording: %s", strerror(-answers.error));
		else if (options.pid)
			log__error("process %d is no recording of rbprof-bpf", options.pid);
		else
			log__error("no recording is running; start one with `rbprof-bpf record`");
	} else if (options.json) {
		json_t *document =
			json_pack("{s:i, s:O}", "schema", 1, "recordings", answers.recordings);

		json_dumpf(document, stdout, JSON_INDENT(2));
		putchar('\n');
		json_decref(document);
	} else {
		print_text(answers.recordings);
	}
	json_decref(answers.recordings);
	options__free(&options);
	return fflush(stdout) ? CMD_FILE : status;
}
