/* SPDX-License-Identifier: BSD-2-Clause */
/* The gate's configuration, as text: what it takes, and what it says of what it does not take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "capture.h"
#include "user/cmd.h"
#include "user/core/yaml_file.h"
#include "user/gate/config.h"

#define TODAY "2026-01-31"

static char path[] = "/tmp/rbprof-config-XXXXXX";

/* A status, and what was said, without the path before it. */
struct said {
	int status;
	char text[4096];
};

static struct said read_bytes(struct gate_config *config, const char *text, size_t length)
{
	static struct capture capture;
	struct said said;
	FILE *stream = fopen(path, "we");
	const char *told;

	assert_non_null(stream);
	assert_int_equal(fwrite(text, 1, length, stream), length);
	fclose(stream);
	gate_config__init(config);
	capture__begin(&capture, STDERR_FILENO);
	said.status = gate_config__read(config, path, TODAY);
	told = capture__end(&capture);
	if (strstr(told, path))
		told = strstr(told, path) + strlen(path);
	snprintf(said.text, sizeof(said.text), "%s", told);
	return said;
}

static struct said read_text(struct gate_config *config, const char *text)
{
	return read_bytes(config, text, strlen(text));
}

static void takes(struct gate_config *config, const char *text)
{
	struct said said = read_text(config, text);

	if (said.status)
		fail_msg("'%s' was refused: %s", text, said.text);
}

static void refuses(const char *text, const char *expected)
{
	struct gate_config config;
	struct said said = read_text(&config, text);

	assert_int_equal(said.status, CMD_USAGE);
	if (strncmp(said.text, expected, strlen(expected)) != 0)
		fail_msg("'%s': said '%s', not '%s'", text, said.text, expected);
	gate_config__free(&config);
}

static void nothing_is_the_default(void **state)
{
	static const char *const empty[] = { "", "# nothing\n", "---\n", "{}\n", "~\n" };

	(void)state;
	for (size_t i = 0; i < sizeof(empty) / sizeof(*empty); i++) {
		struct gate_config config;

		takes(&config, empty[i]);
		assert_float_equal(config.alpha, 0.01, 1e-12);
		assert_float_equal(config.limit, 0.05, 1e-12);
		assert_float_equal(config.min_share, 0.01, 1e-12);
		assert_true(config.has_metric[GATE_CPU] && !config.has_metric[GATE_WALL]);
		assert_false(config.are_metrics_given);
		gate_config__free(&config);
	}
}

static void every_key(void **state)
{
	struct gate_config config;

	(void)state;
	takes(&config, "alpha: 0.05\nlimit: 2.5 %\nmin-share: 3\nmetrics: [wall, gc-count]\n"
		       "limits: {wall: 20%}\nbaseline: b.json\nhead: runs\nformat: junit\n"
		       "output: out.xml\nfunctions:\n- {match: '^A', limit: 7%}\n"
		       "- match: B\n  ignore: \"it's old\"\n  until: 2026-01-31\n");
	assert_float_equal(config.alpha, 0.05, 1e-12);
	assert_float_equal(config.limit, 0.025, 1e-12);
	assert_float_equal(config.min_share, 0.03, 1e-12);
	assert_float_equal(config.limits[GATE_WALL], 0.2, 1e-12);
	assert_true(config.limits[GATE_CPU] < 0);
	assert_true(config.are_metrics_given);
	assert_true(config.has_metric[GATE_WALL] && config.has_metric[GATE_GC_COUNT]);
	assert_false(config.has_metric[GATE_CPU] || config.has_metric[GATE_FUNCTIONS]);
	assert_string_equal(config.baseline, "b.json");
	assert_string_equal(config.head, "runs");
	assert_string_equal(config.format, "junit");
	assert_string_equal(config.output, "out.xml");
	assert_int_equal(config.rule_count, 2);
	assert_float_equal(gate_config__rule(&config, "AB")->limit, 0.07, 1e-12);
	assert_string_equal(gate_config__rule(&config, "xB")->reason, "it's old");
	assert_null(gate_config__rule(&config, "xA"));
	gate_config__free(&config);
	takes(&config, "command: [ruby, 'b c.rb']\nruns: 12\nwarmup: 0\ninterleave: ruby a.rb\n"
		       "work: 5\nfrequency: 499\n");
	assert_int_equal(config.command_count, 2);
	assert_string_equal(config.command[1], "b c.rb");
	assert_null(config.command[2]);
	assert_string_equal(config.run_options[GATE_OPTION_RUNS], "12");
	assert_string_equal(config.run_options[GATE_OPTION_INTERLEAVE], "ruby a.rb");
	gate_config__free(&config);
}

static void what_is_wrong_is_told_with_line_and_key(void **state)
{
	(void)state;
	refuses("limt: 5%\n", ":1: limt: unknown key: choose one of alpha, limit, ");
	refuses("alpha: 0.05\n\nlimit: -5%\n", ":3: limit: '-5%' is no percentage");
	refuses("limit: 5%%\n", ":1: limit: '5%%' is no percentage");
	refuses("limit: 0x5\n", ":1: limit: '0x5' is no percentage");
	refuses("limit: inf\n", ":1: limit: 'inf' is no percentage");
	refuses("limit: 1e3\n", ":1: limit: '1e3' is no percentage");
	refuses("limit:\n", ":1: limit: must be text or a number");
	refuses("limit: {a: 1}\n", ":1: limit: must be text or a number");
	refuses("alpha: 0\n", ":1: alpha: '0' is no such probability");
	refuses("alpha: 0.6\n", ":1: alpha: '0.6' is no such probability");
	refuses("min-share: 101%\n", ":1: min-share: '101%' is no percentage");
	refuses("metrics: cpu;\n", ":1: metrics: unknown metric 'cpu;'");
	refuses("metrics: [cpu, [gc]]\n", ":1: metrics: must be text");
	refuses("limits: 5%\n", ":1: limits: must be keys with values");
	refuses("limits:\n  speed: 5%\n", ":2: speed: unknown metric 'speed'");
	refuses("runs: 0\n", ":1: runs: '0': give a whole number from 1 to 1000");
	refuses("frequency: 10k\n", ":1: frequency: '10k': give a whole number from 1 to");
	refuses("command: ruby b.rb\n", ":1: command: must be a list");
	refuses("command: []\n", ":1: command: give a command");
	refuses("command: [a, [b]]\n", ":1: command: must be text");
	refuses("baseline: ''\n", ":1: baseline: must be text");
	refuses("a: b\na: c\n", ":1: a: unknown key");
	refuses("head: b\nhead: c\n", ":2: head: is there twice");
	refuses("[a]: b\n", ":1: a key must be text");
	refuses("head: \"a\\0b\"\n", ":1: head: must be text");
	refuses("head: &x [*x]\n", ":1: head: must be text");
	refuses("head: a\n---\nhead: b\n", ":3: a second document");
	refuses("head: [\n", ":2: no YAML: ");
	refuses("head: \xff\n", ":1: no YAML: ");
	refuses("\thead: a\n", ":1: no YAML: ");
}

static void rules(void **state)
{
	(void)state;
	refuses("functions:\n- match: '('\n  limit: 1%\n",
		":2: match: bad regular expression '(': unmatched");
	refuses("functions:\n- match: A\n", ":2: functions: a rule needs either");
	refuses("functions:\n- match: A\n  limit: 1%\n  ignore: x\n  until: 2026-12-31\n",
		":2: functions: a rule needs either");
	refuses("functions:\n- limit: 1%\n", ":2: functions: a rule needs `match`");
	refuses("functions:\n- match: A\n  limit: 1%\n  until: 2026-12-31\n",
		":2: functions: `until` goes with `ignore`");
	refuses("functions:\n- match: A\n  ignore: x\n", ":2: functions: `ignore` needs `until`");
	refuses("functions:\n- match: A\n  ignore: true\n  until: 2026-12-31\n",
		":3: ignore: say why");
	refuses("functions:\n- match: A\n  ignore: x\n  until: 2026-01-30\n",
		":4: until: expired on 2026-01-30");
	refuses("functions:\n- match: A\n  ignore: x\n  until: 2026-13-01\n",
		":4: until: '2026-13-01' is no date");
	refuses("functions:\n- match: A\n  ignore: x\n  until: 31.1.2026\n",
		":4: until: '31.1.2026' is no date");
	refuses("functions:\n- match: A\n  limits: 1%\n", ":3: limits: unknown key");
	refuses("functions:\n- A\n", ":2: functions: must be keys with values");
	refuses("functions: &f\n- *f\n", ":1: functions: must be keys with values");
}

static void files(void **state)
{
	static struct capture capture;
	static char large[YAML_FILE_MAX + 10];
	struct gate_config config;
	int status;

	(void)state;
	memset(large, '#', sizeof(large));
	assert_int_equal(read_bytes(&config, large, sizeof(large)).status, CMD_FILE);
	gate_config__free(&config);
	gate_config__init(&config);
	capture__begin(&capture, STDERR_FILENO);
	status = gate_config__read(&config, "/nowhere.yml", TODAY);
	assert_non_null(strstr(capture__end(&capture), "cannot open '/nowhere.yml'"));
	assert_int_equal(status, CMD_FILE);
	capture__begin(&capture, STDERR_FILENO);
	status = gate_config__read(&config, "/tmp", TODAY);
	assert_non_null(strstr(capture__end(&capture), "cannot read '/tmp'"));
	assert_int_equal(status, CMD_FILE);
	gate_config__free(&config);
}

/* Aliases that would be a thousand million values if they were written out. */
static void laughs(void **state)
{
	char text[4096];
	size_t used = (size_t)snprintf(text, sizeof(text), "limits:\n  a: &a [x]\n");

	(void)state;
	for (char name = 'b'; name < 'k'; name++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "  %c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n",
					 name, name, name - 1, name - 1, name - 1, name - 1,
					 name - 1, name - 1, name - 1, name - 1, name - 1,
					 name - 1);
	refuses(text, ":2: a: unknown metric");
}

static int make_path(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	if (fd >= 0)
		close(fd);
	return fd < 0;
}

static int remove_path(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_the_default),
		cmocka_unit_test(every_key),
		cmocka_unit_test(what_is_wrong_is_told_with_line_and_key),
		cmocka_unit_test(rules),
		cmocka_unit_test(files),
		cmocka_unit_test(laughs),
	};

	return cmocka_run_group_tests(tests, make_path, remove_path);
}
