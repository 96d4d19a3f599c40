/* SPDX-License-Identifier: BSD-2-Clause */
/* doctor: whether this host can be profiled, and if not what is missing. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "core/doctor.h"
#include "core/log.h"
#include "core/options.h"

static int print_json(const struct doctor_report *report)
{
	json_t *checks = json_array();
	json_t *root = NULL;
	char *text = NULL;
	int error = -ENOMEM;

	for (size_t i = 0; i < report->count; i++) {
		const struct doctor_check *check = &report->checks[i];
		json_t *object = json_pack("{s:s, s:b, s:s, s:s?}", "name", check->name, "ok",
					   check->is_ok, "found", check->found, "remedy",
					   check->is_ok ? NULL : check->remedy);

		if (json_array_append_new(checks, object))
			goto out;
	}
	root = json_pack("{s:i, s:b, s:O}", "schema", 1, "ok", report->is_ok, "checks", checks);
	text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
	if (!text)
		goto out;
	puts(text);
	error = 0;
out:
	free(text);
	json_decref(root);
	json_decref(checks);
	return error;
}

static void print_text(const struct doctor_report *report)
{
	bool is_colored = log__wants_color(STDOUT_FILENO);
	size_t failed = 0;

	for (size_t i = 0; i < report->count; i++) {
		const struct doctor_check *check = &report->checks[i];
		const char *color = check->is_ok ? "\033[32m" : "\033[31m";

		failed += !check->is_ok;
		if (check->is_ok && log__verbosity() < 0)
			continue;
		printf("%s%-4s%s  %-22s  %s\n", is_colored ? color : "",
		       check->is_ok ? "ok" : "FAIL", is_colored ? "\033[0m" : "", check->name,
		       check->found);
		if (!check->is_ok)
			printf("      %-22s  to do: %s\n", "", check->remedy);
	}
	if (log__verbosity() < 0)
		return;
	if (failed)
		printf("\nthis host cannot be profiled: %zu of %zu checks failed\n", failed,
		       report->count);
	else
		printf("\nthis host can be profiled\n");
}

int cmd_doctor(int argc, char **argv)
{
	struct doctor_facts facts;
	struct doctor_report report;
	struct options options;
	int error, status = CMD_UNABLE;

	if (options__parse(OPTIONS_DOCTOR, argc, argv, &options))
		return CMD_USAGE;
	error = doctor__collect(&facts);
	if (error) {
		log__error("cannot look at this host: %s", strerror(-error));
		goto out;
	}
	doctor__judge(&facts, &report);
	if (options.json)
		error = print_json(&report);
	else
		print_text(&report);
	if (!error && (fflush(stdout) || ferror(stdout)))
		error = -errno;
	if (error) {
		log__error("cannot write the result: %s", strerror(-error));
		status = CMD_FILE;
		goto out;
	}
	status = report.is_ok ? CMD_DONE : CMD_UNABLE;
out:
	options__free(&options);
	return status;
}
