/* SPDX-License-Identifier: BSD-2-Clause */
#include "baseline.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "../cmd.h"
#include "../core/log.h"
#include "../out/pprof_bytes.h"
#include "../util/output.h"

#define MAX_RUNS    10000
#define SMALL_SHARE 0.0001 /* stacks below are put together: they make most of a large file */
#define SMALL_NAME  "(small stacks)"
#define FILE_OF_US  "<rbprof>"

/* ---- writing ---- */

static json_t *text_of(const struct profile *profile, uint32_t string)
{
	return json_stringn(profile__text(profile, string), profile__text_length(profile, string));
}

static json_t *figures(const double *values, size_t count)
{
	json_t *array = json_array();

	for (size_t i = 0; array && i < count; i++)
		if (json_array_append_new(array, json_integer((json_int_t)llround(values[i])))) {
			json_decref(array);
			return NULL;
		}
	return array;
}

static json_t *functions_of(const struct gate_side *side)
{
	json_t *array = json_array();

	/* All of them: stacks name a function by its place here. */
	for (uint32_t i = 0; array && i < side->function_count; i++) {
		const struct profile_function *it = profile__function_at(side->profile, i);
		const struct gate_function *function = &side->functions[i];
		json_t *row = json_pack("{s:o, s:o, s:I, s:o, s:o}", "name",
					text_of(side->profile, it->name), "file",
					text_of(side->profile, it->file), "line",
					(json_int_t)function->line, "self",
					figures(function->self, side->run_count), "total",
					figures(function->total, side->run_count));

		if (!row || json_array_append_new(array, row)) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

static int add_stack(json_t *array, const struct profile *profile, const struct profile_row *row)
{
	struct profile_stack stack = profile__stack_at(profile, row->stack);
	json_t *frames = json_array(), *pair;

	for (uint32_t i = 0; frames && i < stack.count; i++)
		if (json_array_append_new(
			    frames,
			    json_integer(profile__frame_at(profile, stack.frames[i])->function))) {
			json_decref(frames);
			return -ENOMEM;
		}
	pair = json_pack("[o, I]", frames, (json_int_t)row->values[0]);
	return pair && !json_array_append_new(array, pair) ? 0 : -ENOMEM;
}

static json_t *stacks_of(const struct gate_side *side, json_int_t *ret_small)
{
	json_t *array = json_array();
	double sum = 0;

	*ret_small = 0;
	for (size_t i = 0; i < profile__row_count(side->profile); i++)
		sum += (double)profile__row(side->profile, i)->values[0];
	for (size_t i = 0; array && i < profile__row_count(side->profile); i++) {
		const struct profile_row *row = profile__row(side->profile, i);

		if ((double)row->values[0] < sum * SMALL_SHARE) {
			*ret_small += row->values[0];
		} else if (add_stack(array, side->profile, row)) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

static json_t *runs_of(const struct gate_side *side)
{
	json_t *array = json_array();

	for (size_t i = 0; array && i < side->run_count; i++) {
		json_t *run = gate_run__to_json(&side->runs[i]);

		if (!run || json_array_append_new(array, run)) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

static json_t *to_json(const struct gate_side *side)
{
	json_int_t small = 0;
	json_t *stacks = stacks_of(side, &small);

	return json_pack("{s:s, s:i, s:b, s:o, s:o, s:o, s:I}", "kind", GATE_BASELINE_KIND,
			 "format", GATE_BASELINE_FORMAT, "has_cpu", side->has_cpu, "runs",
			 runs_of(side), "functions", functions_of(side), "stacks", stacks,
			 "small_stacks", small);
}

static int pack(FILE *stream, const char *text, size_t length)
{
	z_stream zip = { .next_in = (Bytef *)text, .avail_in = (uInt)length };
	unsigned char bytes[65536];
	int code;

	if (length > UINT32_MAX)
		return -EFBIG;
	/* 16: with a gzip header; its time is 0, so that equal baselines are equal files. */
	if (deflateInit2(&zip, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	do {
		zip.next_out = bytes;
		zip.avail_out = sizeof(bytes);
		code = deflate(&zip, Z_FINISH);
		fwrite(bytes, 1, sizeof(bytes) - zip.avail_out, stream);
	} while (code == Z_OK);
	deflateEnd(&zip);
	return code == Z_STREAM_END ? 0 : -EIO;
}

static int write_text(const char *path, const char *text)
{
	size_t length = strlen(path);
	bool is_packed = length > 3 && !strcmp(path + length - 3, ".gz");
	struct output *output;
	int error = output__open(path, &output);

	if (error)
		return error;
	if (is_packed)
		error = pack(output__stream(output), text, strlen(text));
	else
		fprintf(output__stream(output), "%s\n", text);
	if (!error)
		return output__commit(output);
	output__abort(output);
	return error;
}

int gate_baseline__write(const struct gate_side *side, const char *path)
{
	json_t *root = to_json(side);
	char *text = root ? json_dumps(root, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
	int error = text ? write_text(path, text) : -ENOMEM;

	json_decref(root);
	free(text);
	if (!error)
		return CMD_DONE;
	log__error("cannot write '%s': %s", path, strerror(-error));
	return CMD_FILE;
}

/* ---- reading ---- */

struct reader {
	const char *path;
	struct gate_side *side;
	uint32_t *ids; /* of functions, by their place in the file */
	size_t id_count;
	char why[256];
};

static int refuse(struct reader *reader, const char *why)
{
	snprintf(reader->why, sizeof(reader->why), "%s", why);
	return -EBADMSG;
}

static int read_figures(struct reader *reader, const json_t *array, double *values)
{
	size_t count = reader->side->run_count;

	if (!json_is_array(array) || json_array_size(array) != count)
		return refuse(reader, "a function has not one figure a run");
	for (size_t i = 0; i < count; i++) {
		const json_t *value = json_array_get(array, i);

		if (!json_is_integer(value) || json_integer_value(value) < 0)
			return refuse(reader, "a figure of a function is no number of ns");
		values[i] += (double)json_integer_value(value);
	}
	return 0;
}

static int read_function(struct reader *reader, const json_t *row, size_t index)
{
	const json_t *name = json_object_get(row, "name"), *file = json_object_get(row, "file");
	const json_t *line = json_object_get(row, "line");
	struct gate_function *function;
	uint32_t id;
	int error;

	if (!json_is_string(name) || !json_is_string(file) || !json_is_integer(line))
		return refuse(reader, "a function has no name, file or line");
	id = gate_side__function(reader->side, json_string_value(name), json_string_length(name),
				 json_string_value(file), json_string_length(file));
	if (id == PROFILE_NONE)
		return -ENOMEM;
	reader->ids[index] = id;
	function = &reader->side->functions[id];
	function->line = json_integer_value(line);
	error = read_figures(reader, json_object_get(row, "self"), function->self);
	return error ? error : read_figures(reader, json_object_get(row, "total"), function->total);
}

static int read_functions(struct reader *reader, const json_t *array)
{
	int error = 0;

	if (!json_is_array(array))
		return refuse(reader, "it has no functions");
	reader->id_count = json_array_size(array);
	reader->ids = calloc(reader->id_count + 1, sizeof(*reader->ids));
	if (!reader->ids)
		return -ENOMEM;
	for (size_t i = 0; !error && i < reader->id_count; i++)
		error = read_function(reader, json_array_get(array, i), i);
	return error;
}

static int add_row(struct reader *reader, const uint32_t *functions, size_t count, int64_t value)
{
	struct profile *profile = reader->side->profile;
	uint32_t *frames = calloc(count + 1, sizeof(*frames));
	int error;

	if (!frames)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		frames[i] = profile__frame(profile, functions[i], 0);
	error = profile__add(profile, profile__stack(profile, frames, count),
			     profile__label_set(profile, NULL, 0), &value);
	free(frames);
	return error == -EOVERFLOW ? refuse(reader, "its stacks sum up to too much") : error;
}

static int read_stack(struct reader *reader, const json_t *pair)
{
	const json_t *frames = json_array_get(pair, 0), *value = json_array_get(pair, 1);
	size_t count = json_array_size(frames);
	uint32_t *functions;
	int error = 0;

	if (!json_is_array(frames) || !json_is_integer(value) || json_integer_value(value) < 0)
		return refuse(reader, "a stack is no pair of frames and ns");
	functions = calloc(count + 1, sizeof(*functions));
	if (!functions)
		return -ENOMEM;
	for (size_t i = 0; !error && i < count; i++) {
		const json_t *index = json_array_get(frames, i);

		if (!json_is_integer(index) || json_integer_value(index) < 0 ||
		    (size_t)json_integer_value(index) >= reader->id_count)
			error = refuse(reader, "a stack names a function that is not there");
		else
			functions[i] = reader->ids[json_integer_value(index)];
	}
	if (!error)
		error = add_row(reader, functions, count, json_integer_value(value));
	free(functions);
	return error;
}

static int read_stacks(struct reader *reader, const json_t *root)
{
	const json_t *array = json_object_get(root, "stacks");
	json_int_t small = json_integer_value(json_object_get(root, "small_stacks"));
	int error = 0;

	if (!json_is_array(array) || small < 0)
		return refuse(reader, "it has no stacks");
	for (size_t i = 0; !error && i < json_array_size(array); i++)
		error = read_stack(reader, json_array_get(array, i));
	if (!error && small) {
		uint32_t id = gate_side__function(reader->side, SMALL_NAME, strlen(SMALL_NAME),
						  FILE_OF_US, strlen(FILE_OF_US));

		error = id == PROFILE_NONE ? -ENOMEM : add_row(reader, &id, 1, small);
	}
	return error;
}

static int read_runs(struct reader *reader, const json_t *array)
{
	size_t count = json_array_size(array);
	int error;

	if (!json_is_array(array) || !count)
		return refuse(reader, "it has no runs");
	if (count > MAX_RUNS)
		return refuse(reader, "it has more than 10,000 runs");
	error = gate_side__init(reader->side, reader->path, count);
	for (size_t i = 0; !error && i < count; i++)
		error = gate_run__from_json(json_array_get(array, i), &reader->side->runs[i],
					    reader->why, sizeof(reader->why));
	return error;
}

static int read_root(struct reader *reader, const json_t *root)
{
	const json_t *kind = json_object_get(root, "kind"),
		     *format = json_object_get(root, "format");
	int error;

	if (!json_is_string(kind) || strcmp(json_string_value(kind), GATE_BASELINE_KIND))
		return refuse(reader, "it is no baseline: rbprof-bpf gate baseline update makes "
				      "one");
	if (!json_is_integer(format))
		return refuse(reader, "it has no format");
	if (json_integer_value(format) != GATE_BASELINE_FORMAT) {
		snprintf(reader->why, sizeof(reader->why),
			 "it is of format %lld, this version knows %d: make it anew",
			 (long long)json_integer_value(format), GATE_BASELINE_FORMAT);
		return -EPROTONOSUPPORT;
	}
	error = read_runs(reader, json_object_get(root, "runs"));
	if (error)
		return error;
	reader->side->is_baseline = true;
	reader->side->has_cpu = json_is_true(json_object_get(root, "has_cpu"));
	error = read_functions(reader, json_object_get(root, "functions"));
	return error ? error : read_stacks(reader, root);
}

/* 0 and the file's text, unpacked, which the caller frees. */
static int read_text(struct reader *reader, uint8_t **ret_text, size_t *ret_length)
{
	int error, fd = open(reader->path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	uint8_t *bytes;
	size_t length;

	if (fd < 0)
		return -errno;
	error = pprof_bytes__read(fd, &bytes, &length);
	close(fd);
	if (error)
		return error;
	if (length < 2 || bytes[0] != 0x1f || bytes[1] != 0x8b) {
		*ret_text = bytes;
		*ret_length = length;
		return 0;
	}
	error = pprof_bytes__gunzip(bytes, length, ret_text, ret_length, reader->why);
	free(bytes);
	return error;
}

static int read_file(struct reader *reader)
{
	json_error_t json_error;
	uint8_t *text;
	size_t length;
	json_t *root;
	int error = read_text(reader, &text, &length);

	if (error)
		return error;
	root = json_loadb((const char *)text, length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL,
			  &json_error);
	free(text);
	if (!root) {
		snprintf(reader->why, sizeof(reader->why), "no JSON: %s (line %d)", json_error.text,
			 json_error.line);
		return -EBADMSG;
	}
	error = read_root(reader, root);
	json_decref(root);
	return error;
}

int gate_baseline__read(const char *path, struct gate_side *ret_side)
{
	struct reader reader = { .path = path, .side = ret_side };
	int error = read_file(&reader);

	free(reader.ids);
	if (!error)
		return CMD_DONE;
	log__error("cannot read '%s': %s", path, *reader.why ? reader.why : strerror(-error));
	return error == -EPROTONOSUPPORT ? CMD_INCOMPATIBLE : CMD_FILE;
}
