/* SPDX-License-Identifier: BSD-2-Clause */
/* SARIF 2.1.0, which code hosts show beside the code. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "out_markup.h"
#include "version.h"
#include "report.h"

#define SCHEMA "https://json.schemastore.org/sarif-2.1.0.json"

enum rule {
	RULE_FUNCTION = 0,
	RULE_METRIC,
	RULES,
};

static const struct {
	const char *id, *name, *text, *help;
} rules[RULES] = {
	[RULE_FUNCTION] = { "RBPROF1001", "SlowerFunction", "A function uses more CPU than before.",
			    "Look at the function and at what it calls: the message tells the "
			    "callers through which it grew. The diff flame graph (-f html) shows "
			    "the stacks." },
	[RULE_METRIC] = { "RBPROF1002", "WorseMetric",
			  "The program as a whole uses more than "
			  "before.",
			  "CPU, allocated objects or collections grew beyond the limit. The "
			  "functions that grew are results of their own." },
};

static json_t *message(const char *text)
{
	return json_pack("{s:s}", "text", text);
}

static json_t *rules_json(void)
{
	json_t *array = json_array();

	for (int i = 0; array && i < RULES; i++)
		json_array_append_new(array, json_pack("{s:s, s:s, s:o, s:o, s:o, s:{s:s}}", "id",
						       rules[i].id, "name", rules[i].name,
						       "shortDescription", message(rules[i].text),
						       "fullDescription", message(rules[i].text),
						       "help", message(rules[i].help),
						       "defaultConfiguration", "level", "error"));
	return array;
}

/* The path as a URI: relative to the root of the sources, or absolute. NULL: out of memory. */
static char *uri_of(const char *path)
{
	char *text = NULL;
	size_t length;
	FILE *stream = open_memstream(&text, &length);

	if (!stream)
		return NULL;
	if (*path == '/')
		fputs("file://", stream);
	gate_markup__uri(stream, path);
	if (!fclose(stream))
		return text;
	free(text);
	return NULL;
}

static json_t *physical(const struct gate_row *row, const char *path)
{
	char *uri = uri_of(path);
	json_t *artifact = uri ? json_pack("{s:s}", "uri", uri) : NULL, *location;

	free(uri);
	if (artifact && *path != '/')
		json_object_set_new(artifact, "uriBaseId", json_string("%SRCROOT%"));
	location = json_pack("{s:o, s:{s:I}}", "artifactLocation", artifact, "region", "startLine",
			     (json_int_t)(row->line > 0 ? row->line : 1));
	return location;
}

static json_t *locations(const struct gate_row *row)
{
	const char *path = gate_report__path(row->file);
	json_t *location = json_pack("{s:[{s:s, s:s}]}", "logicalLocations", "fullyQualifiedName",
				     row->name, "kind", "function");

	if (location && path)
		json_object_set_new(location, "physicalLocation", physical(row, path));
	return json_pack("[o]", location);
}

/* The same finding in the next run is the same for whoever keeps track of them. */
static json_t *fingerprint(const struct gate_row *row)
{
	char *text;
	json_t *object;

	if (asprintf(&text, "%s|%s", row->name, gate_report__measure(row)) < 0)
		return NULL;
	object = json_pack("{s:s}", "rbprofRow/v1", text);
	free(text);
	return object;
}

static json_t *result_json(const struct gate_report *report, const struct gate_finding *finding)
{
	const struct gate_verdict *verdict = finding->verdict;
	enum rule rule = verdict->row->kind == GATE_ROW_METRIC ? RULE_METRIC : RULE_FUNCTION;
	char *text = gate_report__verdict(report, verdict);
	char *more = gate_report__neighbours(finding), *both = NULL;
	json_t *object = NULL;

	if (text && more && asprintf(&both, "%s%s%s.", text, *more ? ", " : "", more) >= 0)
		object = json_pack("{s:s, s:i, s:s, s:o, s:o}", "ruleId", rules[rule].id,
				   "ruleIndex", rule, "level", "error", "message", message(both),
				   "partialFingerprints", fingerprint(verdict->row));
	if (object && rule == RULE_FUNCTION)
		json_object_set_new(object, "locations", locations(verdict->row));
	free(both);
	free(text);
	free(more);
	return object;
}

static json_t *results_json(const struct gate_report *report)
{
	json_t *array = json_array();

	for (size_t i = 0; array && i < report->findings->count; i++) {
		const struct gate_finding *finding = &report->findings->items[i];

		if (!finding->verdict->through &&
		    json_array_append_new(array, result_json(report, finding))) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

static json_t *invocation(const struct gate_result *result)
{
	json_t *notes = json_array();

	for (size_t i = 0; notes && i < result->reason_count; i++)
		json_array_append_new(notes, json_pack("{s:s, s:o}", "level", "warning", "message",
						       message(result->reasons[i])));
	return json_pack("{s:b, s:i, s:o}", "executionSuccessful", 1, "exitCode",
			 gate_result__status(result), "toolExecutionNotifications", notes);
}

int gate_sarif__write(const struct gate_report *report, FILE *stream)
{
	json_t *root = json_pack(
		"{s:s, s:s, s:[{s:{s:{s:s, s:s, s:s, s:o}}, s:[o], s:{s:{s:o}}, s:o, s:s}]}",
		"$schema", SCHEMA, "version", "2.1.0", "runs", "tool", "driver", "name",
		"rbprof-bpf", "fullName", "rbprof-bpf gate", "version", RBPROF_VERSION, "rules",
		rules_json(), "invocations", invocation(report->result), "originalUriBaseIds",
		"%SRCROOT%", "description", message("The folder in which the gate ran."), "results",
		results_json(report), "columnKind", "unicodeCodePoints");

	if (!root)
		return -ENOMEM;
	json_dumpf(root, stream, JSON_INDENT(1));
	putc('\n', stream);
	json_decref(root);
	return 0;
}
