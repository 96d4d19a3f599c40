/* SPDX-License-Identifier: BSD-2-Clause */
#include "run_json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../util/output.h"
#include "../util/utf8.h"

#define MAX_BYTES (1024 * 1024)

/* The keys, in the order of the file. Those of spec/cli.md must be there. */
struct key {
	const char *name;
	size_t offset;
	bool is_optional;
	int64_t minimum;
};

#define KEY(field, optional, least) { #field, offsetof(struct gate_run, field), optional, least }

static const struct key strings[] = {
	KEY(ruby, false, 0),	 KEY(kernel, false, 0), KEY(cpu, false, 0),
	KEY(gc_source, true, 0), KEY(started, true, 0), KEY(version, true, 0),
};

static const struct key numbers[] = {
	KEY(hz, false, 1),	 KEY(pair, true, 1),	   KEY(work, false, 1),
	KEY(cpu_ns, false, 0),	 KEY(wall_ns, false, 0),   KEY(gc_ns, false, 0),
	KEY(gc_count, false, 0), KEY(allocated, false, 0), KEY(samples, false, 0),
	KEY(lost, false, 0),	 KEY(status, false, 0),	   KEY(calibration_ns, true, 1),
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static char **string_at(const struct gate_run *run, const struct key *key)
{
	return (char **)((char *)run + key->offset);
}

static int64_t *number_at(const struct gate_run *run, const struct key *key)
{
	return (int64_t *)((char *)run + key->offset);
}

void gate_run__init(struct gate_run *run)
{
	size_t i;

	memset(run, 0, sizeof(*run));
	for (i = 0; i < COUNT(numbers); i++)
		*number_at(run, &numbers[i]) = GATE_RUN_UNKNOWN;
}

void gate_run__free(struct gate_run *run)
{
	size_t i;

	for (i = 0; i < run->command_count; i++)
		free(run->command[i]);
	free(run->command);
	for (i = 0; i < COUNT(strings); i++)
		free(*string_at(run, &strings[i]));
	gate_run__init(run);
}

/* ---- writing ---- */

/* A command line may hold any bytes. */
static json_t *clean_string(const char *text)
{
	size_t length = strlen(text), limit = length * 3; /* U+FFFD takes three bytes */
	char *clean = malloc(limit + 1);
	json_t *string;

	if (!clean)
		return NULL;
	utf8__clean(text, length, clean, limit);
	string = json_string(clean);
	free(clean);
	return string;
}

static json_t *command_json(const struct gate_run *run)
{
	json_t *command;
	size_t i;

	if (!run->command)
		return json_null();
	command = json_array();
	for (i = 0; i < run->command_count; i++)
		if (json_array_append_new(command, clean_string(run->command[i]))) {
			json_decref(command);
			return NULL;
		}
	return command;
}

json_t *gate_run__to_json(const struct gate_run *run)
{
	json_t *json =
		json_pack("{s:i, s:o}", "format", GATE_RUN_FORMAT, "command", command_json(run));
	int failed = !json;
	size_t i;

	for (i = 0; i < COUNT(strings) && !failed; i++) {
		const char *text = *string_at(run, &strings[i]);

		failed = json_object_set_new(json, strings[i].name,
					     text ? clean_string(text) : json_null());
	}
	for (i = 0; i < COUNT(numbers) && !failed; i++) {
		int64_t number = *number_at(run, &numbers[i]);

		failed = json_object_set_new(json, numbers[i].name,
					     number >= 0 ? json_integer(number) : json_null());
	}
	if (!failed)
		return json;
	json_decref(json);
	return NULL;
}

int gate_run__write(const struct gate_run *run, const char *path)
{
	json_t *json = gate_run__to_json(run);
	struct output *output;
	int error;

	if (!json)
		return -ENOMEM;
	error = output__open(path, &output);
	if (!error) {
		/* What fails here is told by the commit. */
		(void)json_dumpf(json, output__stream(output), JSON_INDENT(2));
		fputc('\n', output__stream(output));
		error = output__commit(output);
	}
	json_decref(json);
	return error;
}

/* ---- reading ---- */

static const char *type_name(const json_t *json)
{
	switch (json_typeof(json)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "an array";
	case JSON_STRING:
		return "a string";
	case JSON_INTEGER:
	case JSON_REAL:
		return "a number";
	case JSON_NULL:
		return "null";
	default:
		return "true or false";
	}
}

static int say(char *why, size_t why_size, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(why, why_size, format, arguments);
	va_end(arguments);
	return -EBADMSG;
}

/* 0 and NULL: there is none, or null. */
static int find(const json_t *json, const struct key *key, const json_t **ret_value, char *why,
		size_t why_size)
{
	const json_t *value = json_object_get(json, key->name);

	if (!value && !key->is_optional)
		return say(why, why_size, "key '%s' is missing", key->name);
	*ret_value = value && json_is_null(value) ? NULL : value;
	return 0;
}

static int read_string(const json_t *json, const struct key *key, struct gate_run *run, char *why,
		       size_t why_size)
{
	const json_t *value = NULL;
	int error = find(json, key, &value, why, why_size);
	char *text;

	if (error || !value)
		return error;
	if (!json_is_string(value))
		return say(why, why_size, "key '%s' is %s, not a string", key->name,
			   type_name(value));
	text = strdup(json_string_value(value));
	if (!text)
		return -ENOMEM;
	*string_at(run, key) = text;
	return 0;
}

static int read_number(const json_t *json, const struct key *key, struct gate_run *run, char *why,
		       size_t why_size)
{
	const json_t *value = NULL;
	int error = find(json, key, &value, why, why_size);

	if (error || !value)
		return error;
	if (!json_is_integer(value))
		return say(why, why_size, "key '%s' is %s, not a whole number", key->name,
			   json_is_real(value) ? "a fraction" : type_name(value));
	if (json_integer_value(value) < key->minimum)
		return say(why, why_size, "key '%s' is %" JSON_INTEGER_FORMAT ", less than %d",
			   key->name, json_integer_value(value), (int)key->minimum);
	*number_at(run, key) = json_integer_value(value);
	return 0;
}

static int read_command(const json_t *json, struct gate_run *run, char *why, size_t why_size)
{
	const json_t *command = json_object_get(json, "command");
	size_t count = json_array_size(command), i;

	if (!command)
		return say(why, why_size, "key 'command' is missing");
	if (json_is_null(command))
		return 0;
	if (!json_is_array(command))
		return say(why, why_size, "key 'command' is %s, not an array", type_name(command));
	run->command = calloc(count + 1, sizeof(*run->command));
	if (!run->command)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		const json_t *word = json_array_get(command, i);

		if (!json_is_string(word))
			return say(why, why_size, "key 'command' has %s in it, not only strings",
				   type_name(word));
		run->command[i] = strdup(json_string_value(word));
		if (!run->command[i])
			return -ENOMEM;
		run->command_count++;
	}
	return 0;
}

static int check_format(const json_t *json, char *why, size_t why_size)
{
	const json_t *format = json_object_get(json, "format");

	if (!format)
		return say(why, why_size, "key 'format' is missing");
	if (!json_is_integer(format))
		return say(why, why_size, "key 'format' is %s, not a whole number",
			   type_name(format));
	if (json_integer_value(format) == GATE_RUN_FORMAT)
		return 0;
	say(why, why_size, "its format is %" JSON_INTEGER_FORMAT ", this version knows %d",
	    json_integer_value(format), GATE_RUN_FORMAT);
	return -EPROTONOSUPPORT;
}

int gate_run__from_json(const json_t *json, struct gate_run *ret_run, char *why, size_t why_size)
{
	struct gate_run run;
	int error;
	size_t i;

	gate_run__init(&run);
	if (!json_is_object(json))
		return say(why, why_size, "it is %s, not an object", type_name(json));
	error = check_format(json, why, why_size);
	if (!error)
		error = read_command(json, &run, why, why_size);
	for (i = 0; i < COUNT(strings) && !error; i++)
		error = read_string(json, &strings[i], &run, why, why_size);
	for (i = 0; i < COUNT(numbers) && !error; i++)
		error = read_number(json, &numbers[i], &run, why, why_size);
	if (error == -ENOMEM)
		say(why, why_size, "out of memory");
	if (error)
		gate_run__free(&run);
	else
		*ret_run = run;
	return error;
}

/* The whole file, which is small. 0 or -errno; *ret_text is the caller's to free. */
static int read_text(const char *path, char **ret_text, size_t *ret_length)
{
	/* Not to wait for who would write into a pipe. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), error = 0;
	char *text = NULL;
	size_t length = 0;
	struct stat stat;
	ssize_t got;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &stat))
		error = -errno;
	else if (S_ISDIR(stat.st_mode))
		error = -EISDIR;
	else if (!S_ISREG(stat.st_mode))
		error = -EINVAL;
	if (!error)
		text = malloc(MAX_BYTES + 1);
	if (!error && !text)
		error = -ENOMEM;
	while (!error && (got = read(fd, text + length, MAX_BYTES + 1 - length))) {
		if (got < 0 && errno != EINTR)
			error = -errno;
		length += got > 0 ? (size_t)got : 0;
		if (length > MAX_BYTES)
			error = -EFBIG;
	}
	close(fd);
	if (error) {
		free(text);
		return error;
	}
	*ret_text = text;
	*ret_length = length;
	return 0;
}

int gate_run__read(const char *path, struct gate_run *ret_run, char *why, size_t why_size)
{
	json_error_t where;
	json_t *json;
	size_t length = 0;
	char *text = NULL;
	int error = read_text(path, &text, &length);

	if (error == -EFBIG)
		say(why, why_size, "more than %d bytes", MAX_BYTES);
	else if (error)
		say(why, why_size, "%s", strerror(-error));
	if (error)
		return error;
	json = json_loadb(text, length, JSON_REJECT_DUPLICATES, &where);
	free(text);
	if (!json)
		return say(why, why_size, "no JSON: line %d: %s", where.line, where.text);
	error = gate_run__from_json(json, ret_run, why, why_size);
	json_decref(json);
	return error;
}
