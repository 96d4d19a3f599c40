/* SPDX-License-Identifier: BSD-2-Clause */
/* A verdict for scripts; the fields are told in rbprof-bpf-gate(8). */
#include <errno.h>
#include <math.h>

#include <jansson.h>

#include "report.h"

/* What is not known, and growth from nothing, is null. */
static json_t *number(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *text_or_null(const char *text)
{
	return (text ? json_string(text) : NULL) ?: json_null();
}

static json_t *neighbours(const struct gate_neighbour *list, size_t count)
{
	json_t *array = json_array();

	for (size_t i = 0; array && i < count; i++) {
		json_t *row = json_pack("{s:s, s:s, s:o, s:o}", "name", list[i].name, "file",
					list[i].file, "before", number(list[i].before), "after",
					number(list[i].after));

		if (!row || json_array_append_new(array, row)) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

static const char *kind_of(const struct gate_row *row)
{
	return row->kind == GATE_ROW_SELF ? "self" : row->kind == GATE_ROW_TOTAL ? "total" : NULL;
}

static int add_function_keys(json_t *object, const struct gate_verdict *verdict)
{
	const struct gate_row *row = verdict->row;
	json_t *through = json_null();

	if (verdict->through)
		through = json_pack("{s:s, s:s, s:s}", "name", verdict->through->row->name, "file",
				    verdict->through->row->file, "kind",
				    kind_of(verdict->through->row));
	return json_object_set_new(object, "file", json_string(row->file)) ||
			       json_object_set_new(object, "line",
						   row->line > 0 ? json_integer(row->line)
								 : json_null()) ||
			       json_object_set_new(object, "kind", json_string(kind_of(row))) ||
			       json_object_set_new(object, "share",
						   json_pack("{s:o, s:o}", "before",
							     number(row->base_share), "after",
							     number(row->head_share))) ||
			       json_object_set_new(object, "part_of", through)
		       ? -ENOMEM
		       : 0;
}

static json_t *verdict_json(const struct gate_verdict *verdict)
{
	const struct gate_row *row = verdict->row;
	bool is_known = !row->missing;
	json_t *object = json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
				   row->name, "verdict", gate_state__name(verdict->state), "before",
				   number(is_known ? verdict->before : NAN), "after",
				   number(is_known ? verdict->after : NAN), "change",
				   number(is_known ? verdict->change : NAN), "low",
				   number(verdict->low), "high", number(verdict->high), "p",
				   number(verdict->p), "limit", number(verdict->limit));

	if (object && row->kind != GATE_ROW_METRIC && add_function_keys(object, verdict)) {
		json_decref(object);
		return NULL;
	}
	if (object && verdict->state == GATE_IGNORED)
		json_object_set_new(object, "ignored",
				    json_pack("{s:s, s:s}", "reason", verdict->rule->reason,
					      "until", verdict->rule->until));
	return object;
}

static json_t *rows(const struct gate_report *report, bool are_functions)
{
	json_t *array = json_array();

	for (size_t i = 0; array && i < report->result->count; i++) {
		const struct gate_verdict *verdict = &report->result->verdicts[i];
		const struct gate_finding *finding = gate_report__finding(report, verdict);
		json_t *object;

		if ((verdict->row->kind != GATE_ROW_METRIC) != are_functions)
			continue;
		object = verdict_json(verdict);
		if (object && finding && are_functions &&
		    (json_object_set_new(object, "callers",
					 neighbours(finding->callers, finding->caller_count)) ||
		     json_object_set_new(object, "callees",
					 neighbours(finding->callees, finding->callee_count)))) {
			json_decref(object);
			object = NULL;
		}
		if (!object || json_array_append_new(array, object)) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

static json_t *reasons(const struct gate_result *result)
{
	json_t *array = json_array();

	for (size_t i = 0; array && i < result->reason_count; i++)
		json_array_append_new(array, json_string(result->reasons[i]));
	return array;
}

static json_t *side_json(const struct gate_side *side, size_t compared)
{
	const struct gate_run *run = &side->runs[0];

	/* A path is any bytes: null where it is no text. */
	return json_pack("{s:o, s:b, s:I, s:I, s:o, s:o, s:o}", "path", text_or_null(side->path),
			 "is_baseline", side->is_baseline, "runs", (json_int_t)side->run_count,
			 "compared", (json_int_t)compared, "ruby", text_or_null(run->ruby),
			 "kernel", text_or_null(run->kernel), "cpu", text_or_null(run->cpu));
}

int gate_json__write(const struct gate_report *report, FILE *stream)
{
	const struct gate_result *result = report->result;
	const struct gate_table *table = result->table;
	json_t *root = json_pack(
		"{s:i, s:s, s:i, s:b, s:b, s:b, s:f, s:f, s:f, s:I, s:o, s:o, s:o, s:o, s:o}",
		"schema", 1, "verdict", gate_result__name(result), "status",
		gate_result__status(result), "paired", table->is_paired, "per_work",
		table->is_per_work, "calibrated", table->is_calibrated, "alpha",
		result->config->alpha, "smallest_p", result->smallest_p, "min_share",
		result->config->min_share, "runs_needed", (json_int_t)result->runs_needed, "base",
		side_json(report->base, table->base_count), "head",
		side_json(report->head, table->head_count), "reasons", reasons(result), "metrics",
		rows(report, false), "functions", rows(report, true));

	if (!root)
		return -ENOMEM;
	json_dumpf(root, stream, JSON_INDENT(1) | JSON_REAL_PRECISION(12));
	putc('\n', stream);
	json_decref(root);
	return 0;
}
