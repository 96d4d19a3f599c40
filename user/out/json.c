/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions and labels of a profile with their sums, for scripts. */
#include "out.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "totals.h"
#include "view.h"

/* Strings of a profile are valid UTF-8, so NULL means that memory ran out. */
static json_t *text(const struct profile *profile, uint32_t string)
{
	if (string == PROFILE_NONE)
		return json_string("");
	return json_stringn(profile__text(profile, string), profile__text_length(profile, string));
}

/* {"cpu-samples": 1, "cpu-time": 10} */
static json_t *values(const struct profile *profile, const struct totals_values *sums)
{
	json_t *object = json_object();

	for (size_t i = 0; i < profile__type_count(profile); i++)
		if (json_object_set_new(object, profile__type(profile, i)->type,
					json_integer(sums->values[i]))) {
			json_decref(object);
			return NULL;
		}
	return object;
}

static json_t *types(const struct profile *profile)
{
	json_t *array = json_array();

	for (size_t i = 0; i < profile__type_count(profile); i++) {
		const struct profile_type *type = profile__type(profile, i);

		if (json_array_append_new(array, json_pack("{s:s, s:s}", "type", type->type, "unit",
							   type->unit))) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

static json_t *comments(const struct profile *profile)
{
	json_t *array = json_array();

	for (size_t i = 0; i < profile__comment_count(profile); i++)
		if (json_array_append_new(array, json_string(profile__comment_at(profile, i)))) {
			json_decref(array);
			return NULL;
		}
	return array;
}

/* ---- functions ---- */

static json_t *function(const struct profile *profile, const struct totals *totals, uint32_t id)
{
	const struct profile_function *it = profile__function_at(profile, id);

	return json_pack("{s:o, s:o, s:I, s:o, s:o}", "name", text(profile, it->name), "file",
			 text(profile, it->file), "line", (json_int_t)it->start_line, "self",
			 values(profile, &totals->self[id]), "total",
			 values(profile, &totals->total[id]));
}

static json_t *functions(const struct profile *profile, const struct totals *totals, size_t type)
{
	json_t *array = json_array();
	uint32_t *ids = NULL;
	size_t count = 0;

	if (!array || totals__order(totals, profile, type, &ids, &count))
		goto failed;
	for (size_t i = 0; i < count; i++)
		if (json_array_append_new(array, function(profile, totals, ids[i])))
			goto failed;
	free(ids);
	return array;
failed:
	free(ids);
	json_decref(array);
	return NULL;
}

/* The functions of a profile that was made of this one: groups or lines. */
static json_t *functions_of(const struct profile *made, size_t type)
{
	struct totals totals;
	json_t *array;

	if (totals__init(&totals, made))
		return NULL;
	array = functions(made, &totals, type);
	totals__free(&totals);
	return array;
}

static int add_made(json_t *root, const char *key, const struct profile *profile,
		    const struct out_options *options)
{
	struct profile *made;
	int error = view__table(profile, options, &made);

	if (error)
		return error;
	if (json_object_set_new(root, key, functions_of(made, options->type)))
		error = -ENOMEM;
	profile__free(made);
	return error;
}

/* What --by and --lines ask for. */
static int add_view(json_t *root, const struct profile *profile, const struct out_options *options)
{
	struct out_options lines = *options;
	int error = 0;

	lines.by = NULL;
	if (options->lines)
		error = add_made(root, "lines", profile, &lines);
	if (error || !options->by)
		return error;
	if (json_object_set_new(root, "by", json_string(options->by)))
		return -ENOMEM;
	return add_made(root, "groups", profile, options);
}

/* ---- labels ---- */

/* A number and a text that look alike are one value of the object: their sums are added. */
static int add_values(const struct profile *profile, json_t *object, const char *key,
		      const struct totals_values *sums)
{
	struct totals_values both = *sums;
	json_t *there = json_object_get(object, key);

	for (size_t i = 0; there && i < profile__type_count(profile); i++)
		both.values[i] +=
			json_integer_value(json_object_get(there, profile__type(profile, i)->type));
	return json_object_set_new(object, key, values(profile, &both));
}

static json_t *label_object(json_t *labels, const char *key)
{
	json_t *object = json_object_get(labels, key);

	if (object)
		return object;
	object = json_object();
	/* Takes the reference, also when it fails. */
	return json_object_set_new(labels, key, object) ? NULL : object;
}

static json_t *labels(const struct profile *profile, size_t type)
{
	struct totals_label *sums = NULL;
	json_t *object = json_object();
	size_t count = 0;

	if (!object || totals__labels(profile, type, &sums, &count))
		goto failed;
	for (size_t i = 0; i < count; i++) {
		const struct profile_label *label = &sums[i].label;
		json_t *of_key = label_object(object, profile__text(profile, label->key));
		const char *value = profile__text(profile, label->text);
		char number[32];

		if (!value) {
			snprintf(number, sizeof(number), "%" PRId64, label->number);
			value = number;
		}
		if (!of_key || add_values(profile, of_key, value, &sums[i].sums))
			goto failed;
	}
	free(sums);
	return object;
failed:
	free(sums);
	json_decref(object);
	return NULL;
}

static int add_info(json_t *root, struct profile *profile)
{
	const struct profile_info *info = profile__info(profile);
	const struct profile_type *type = profile__type(profile, info->default_type);
	const char *period = info->period_type.type;
	const char *unit = info->period_type.unit;

	if (json_object_set_new(root, "time_ns", json_integer(info->time_ns)) ||
	    json_object_set_new(root, "duration_ns", json_integer(info->duration_ns)) ||
	    json_object_set_new(root, "period", json_integer(info->period)) ||
	    json_object_set_new(root, "period_type",
				json_pack("{s:s, s:s}", "type", period ? period : "", "unit",
					  unit ? unit : "")) ||
	    json_object_set_new(root, "default_type", json_string(type ? type->type : "")) ||
	    json_object_set_new(root, "executable",
				text(profile, profile__mapping(profile)->file)) ||
	    json_object_set_new(root, "comments", comments(profile)))
		return -ENOMEM;
	return 0;
}

int json__write(struct profile *profile, const struct out_options *options, FILE *stream)
{
	json_t *root = json_object();
	struct totals totals;
	int error = -ENOMEM;

	if (totals__init(&totals, profile))
		goto out;
	if (json_object_set_new(root, "schema", json_integer(1)) ||
	    json_object_set_new(root, "types", types(profile)) || add_info(root, profile) ||
	    json_object_set_new(root, "total", values(profile, &totals.all)) ||
	    json_object_set_new(root, "functions", functions(profile, &totals, options->type)) ||
	    json_object_set_new(root, "labels", labels(profile, options->type)) ||
	    add_view(root, profile, options))
		goto out_totals;
	/* A failing stream is its owner's to find: the rest of the text goes nowhere. */
	json_dumpf(root, stream, JSON_INDENT(1));
	putc('\n', stream);
	error = 0;
out_totals:
	totals__free(&totals);
out:
	json_decref(root);
	return error;
}
