/* SPDX-License-Identifier: BSD-2-Clause */
/* What changed, for scripts; the fields are told in rbprof-bpf-diff(8). */
#include <errno.h>
#include <stdlib.h>

#include <jansson.h>

#include "diff.h"

static json_t *text(const struct profile *profile, uint32_t string)
{
	return json_stringn(profile__text(profile, string), profile__text_length(profile, string));
}

static json_t *values(const struct totals_values *sums)
{
	return json_pack("{s:I, s:I, s:I}", "base", (json_int_t)sums->values[PROFILE_DIFF_BASE],
			 "head", (json_int_t)sums->values[PROFILE_DIFF_HEAD], "delta",
			 (json_int_t)diff__change(sums));
}

static json_t *about(const char *path, struct profile *profile, int64_t sum)
{
	const struct profile_info *info = profile__info(profile);

	/* A file's name is any bytes: null where it is no text. */
	return json_pack("{s:o, s:I, s:I, s:I}", "file", json_string(path) ?: json_null(),
			 "time_ns", (json_int_t)info->time_ns, "duration_ns",
			 (json_int_t)info->duration_ns, "total", (json_int_t)sum);
}

static json_t *functions(const struct diff *diff, const struct totals *totals)
{
	json_t *array = json_array();
	uint32_t *ids = NULL;
	size_t count = 0;

	if (!array || diff__order(diff, totals, &ids, &count))
		goto failed;
	for (size_t i = 0; i < count; i++) {
		const struct profile_function *it = profile__function_at(diff->both, ids[i]);

		if (json_array_append_new(array, json_pack("{s:o, s:o, s:o, s:o}", "name",
							   text(diff->both, it->name), "file",
							   text(diff->both, it->file), "self",
							   values(&totals->self[ids[i]]), "total",
							   values(&totals->total[ids[i]]))))
			goto failed;
	}
	free(ids);
	return array;
failed:
	free(ids);
	json_decref(array);
	return NULL;
}

int diff__json(const struct diff *diff, const struct out_options *options, FILE *stream)
{
	struct totals totals;
	json_t *root;
	int error = totals__init(&totals, diff->both);

	if (error)
		return error;
	root = json_pack("{s:i, s:s, s:s, s:b, s:o, s:o, s:o, s:o}", "schema", 1, "type",
			 diff->type->type, "unit", diff->type->unit, "normalized",
			 diff->is_normalized, "base",
			 about(diff->base_path, diff->base, diff->base_sum), "head",
			 about(diff->head_path, diff->head, diff->head_sum), "total",
			 values(&totals.all), "functions", functions(diff, &totals));
	if (root && options->by && json_object_set_new(root, "by", json_string(options->by)))
		error = -ENOMEM;
	if (!root)
		error = -ENOMEM;
	if (!error) {
		json_dumpf(root, stream, JSON_INDENT(1));
		putc('\n', stream);
	}
	json_decref(root);
	totals__free(&totals);
	return error;
}
