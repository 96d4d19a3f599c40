/* SPDX-License-Identifier: BSD-2-Clause */
/* run.json: what is written is read again, and nothing else is taken for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/gate/run_json.h"

static char folder[] = "/tmp/rbprof-run-json-XXXXXX";
static char path[64];

static int make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/run.json", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(folder);
}

static void write_text(const char *text, size_t length)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, length, file), length);
	assert_int_equal(fclose(file), 0);
}

/* Refused with this error, and a reason that has these words; the run stays untouched. */
static void refuse_text(const char *text, size_t length, int error, const char *words)
{
	struct gate_run run = { .hz = 7 };
	char why[256] = "";

	write_text(text, length);
	assert_int_equal(gate_run__read(path, &run, why, sizeof(why)), error);
	if (!strstr(why, words))
		fail_msg("'%s' has no '%s'", why, words);
	assert_int_equal(run.hz, 7);
	assert_null(run.command);
}

static json_t *good(void)
{
	return json_pack("{s:i, s:[s,s], s:s, s:s, s:n, s:i, s:n, s:i, s:i, s:i, s:n, s:i, s:i, "
			 "s:i, s:i}",
			 "format", GATE_RUN_FORMAT, "command", "ruby", "x.rb", "ruby", "3.1.2",
			 "kernel", "6.1.0", "cpu", "hz", 99, "work", "cpu_ns", 1000, "wall_ns",
			 2000, "gc_ns", 10, "gc_count", "allocated", 5, "samples", 3, "lost", 0,
			 "status", 0);
}

static void refuse_key(const char *key, json_t *value, int error, const char *words)
{
	json_t *json = good();
	char *text;

	if (value)
		json_object_set_new(json, key, value);
	else
		assert_int_equal(json_object_del(json, key), 0);
	text = json_dumps(json, 0);
	refuse_text(text, strlen(text), error, words);
	free(text);
	json_decref(json);
}

static void test_round_trip(void **state)
{
	char *words[] = { "ruby", "-e", "p \"\303\244\" # \377", NULL };
	struct gate_run run, back;
	char why[256];

	(void)state;
	gate_run__init(&run);
	assert_int_equal(run.cpu_ns, GATE_RUN_UNKNOWN);
	run.command = words;
	run.command_count = 3;
	run.kernel = "6.1.0";
	run.cpu_ns = INT64_MAX;
	run.allocated = 0;
	run.work = 12;
	run.pair = 3;
	assert_int_equal(gate_run__write(&run, path), 0);
	assert_int_equal(gate_run__read(path, &back, why, sizeof(why)), 0);
	assert_int_equal(back.command_count, 3);
	assert_string_equal(back.command[1], "-e");
	assert_string_equal(back.command[2], "p \"\303\244\" # \357\277\275");
	assert_null(back.command[3]);
	assert_string_equal(back.kernel, "6.1.0");
	assert_null(back.ruby);
	assert_true(back.cpu_ns == INT64_MAX);
	assert_int_equal(back.allocated, 0);
	assert_int_equal(back.work, 12);
	assert_int_equal(back.pair, 3);
	assert_int_equal(back.gc_count, GATE_RUN_UNKNOWN);
	assert_int_equal(back.calibration_ns, GATE_RUN_UNKNOWN);
	gate_run__free(&back);
	assert_null(back.command);
	assert_int_equal(back.cpu_ns, GATE_RUN_UNKNOWN);
}

/* What is not known is null in the file, never 0. */
static void test_unknown_is_null(void **state)
{
	struct gate_run run;
	json_t *json;

	(void)state;
	gate_run__init(&run);
	json = gate_run__to_json(&run);
	assert_true(json_is_null(json_object_get(json, "allocated")));
	assert_true(json_is_null(json_object_get(json, "command")));
	assert_true(json_is_null(json_object_get(json, "ruby")));
	assert_int_equal(json_integer_value(json_object_get(json, "format")), GATE_RUN_FORMAT);
	json_decref(json);
}

static void test_minimal(void **state)
{
	json_t *json = good();
	struct gate_run run;
	char why[256];

	(void)state;
	/* Keys that a later version may add do no harm. */
	json_object_set_new(json, "later", json_pack("{s:i}", "x", 1));
	assert_int_equal(gate_run__from_json(json, &run, why, sizeof(why)), 0);
	assert_int_equal(run.samples, 3);
	assert_null(run.cpu);
	assert_int_equal(run.pair, GATE_RUN_UNKNOWN);
	gate_run__free(&run);
	json_decref(json);
}

static void test_wrong_keys(void **state)
{
	static const char *const needed[] = {
		"format",   "command",	 "ruby",    "kernel",  "cpu",
		"hz",	    "work",	 "cpu_ns",  "wall_ns", "gc_ns",
		"gc_count", "allocated", "samples", "lost",    "status",
	};
	char words[64];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		snprintf(words, sizeof(words), "key '%s' is missing", needed[i]);
		refuse_key(needed[i], NULL, -EBADMSG, words);
	}
	refuse_key("cpu_ns", json_string("1"), -EBADMSG, "key 'cpu_ns' is a string");
	refuse_key("cpu_ns", json_real(1.5), -EBADMSG, "key 'cpu_ns' is a fraction");
	refuse_key("cpu_ns", json_integer(-1), -EBADMSG, "key 'cpu_ns' is -1");
	refuse_key("work", json_integer(0), -EBADMSG, "key 'work' is 0");
	refuse_key("hz", json_true(), -EBADMSG, "key 'hz' is true or false");
	refuse_key("ruby", json_integer(3), -EBADMSG, "key 'ruby' is a number, not a string");
	refuse_key("calibration_ns", json_array(), -EBADMSG, "key 'calibration_ns' is an array");
	refuse_key("command", json_string("ruby"), -EBADMSG, "key 'command' is a string");
	refuse_key("command", json_pack("[s,i]", "ruby", 1), -EBADMSG,
		   "key 'command' has a number");
	refuse_key("format", json_string("1"), -EBADMSG, "key 'format' is a string");
	refuse_key("format", json_integer(2), -EPROTONOSUPPORT, "format is 2");
}

static void test_no_json(void **state)
{
	static const char bytes[] = "\0\377\0{", twice[] = "{\"format\":1,\"format\":1}";
	char *huge = malloc(2 << 20);
	size_t i;

	(void)state;
	refuse_text("", 0, -EBADMSG, "no JSON");
	refuse_text("{", 1, -EBADMSG, "no JSON: line 1");
	refuse_text("[]", 2, -EBADMSG, "an array, not an object");
	refuse_text("{} x", 4, -EBADMSG, "no JSON");
	refuse_text(bytes, sizeof(bytes), -EBADMSG, "no JSON");
	refuse_text(twice, sizeof(twice) - 1, -EBADMSG, "no JSON");
	assert_non_null(huge);
	memset(huge, ' ', 2 << 20);
	refuse_text(huge, 2 << 20, -EFBIG, "more than");
	/* Nested deeply, within the size. */
	for (i = 0; i < 1 << 20; i++)
		huge[i] = '[';
	refuse_text(huge, 1 << 20, -EBADMSG, "no JSON");
	free(huge);
}

static void test_no_file(void **state)
{
	struct gate_run run;
	char why[256] = "", pipe[64];

	(void)state;
	unlink(path);
	assert_int_equal(gate_run__read(path, &run, why, sizeof(why)), -ENOENT);
	assert_string_equal(why, "No such file or directory");
	assert_int_equal(gate_run__read(folder, &run, why, sizeof(why)), -EISDIR);
	snprintf(pipe, sizeof(pipe), "%s/pipe", folder);
	assert_int_equal(mkfifo(pipe, 0600), 0);
	assert_int_equal(gate_run__read(pipe, &run, why, sizeof(why)), -EINVAL);
	unlink(pipe);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip), cmocka_unit_test(test_unknown_is_null),
		cmocka_unit_test(test_minimal),	   cmocka_unit_test(test_wrong_keys),
		cmocka_unit_test(test_no_json),	   cmocka_unit_test(test_no_file),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
