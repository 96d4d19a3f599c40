/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line: what is accepted, what is refused, and that --help and the pages say it. */
#include <stdlib.h>
#include <time.h>

#include "capture.h"
#include "user/core/options.h"
#include "version.h"

#define MAX_ARGUMENTS 32

/* The words of a command line, apart by spaces; argv[0] is the command. */
struct line {
	char text[8192];
	char *argv[MAX_ARGUMENTS + 1];
	int argc;
};

static void line__split(struct line *line, const char *text)
{
	char *rest = line->text, *word;

	assert_true(strlen(text) < sizeof(line->text));
	memcpy(line->text, text, strlen(text) + 1);
	line->argc = 0;
	while ((word = strsep(&rest, " ")) && line->argc < MAX_ARGUMENTS)
		line->argv[line->argc++] = word;
	line->argv[line->argc] = NULL;
}

static enum options_command command_of(const char *name)
{
	for (int i = 0; i < OPTIONS_COMMAND_COUNT; i++)
		if (!strcmp(options__command_name(i), name))
			return i;
	/* Commands of `gate` are parsed under their own names. */
	if (!strcmp(name, "run") || !strcmp(name, "compare"))
		return OPTIONS_GATE;
	fail_msg("no command %s", name);
	return 0;
}

static int parse(struct line *line, const char *text, struct options *options)
{
	line__split(line, text);
	return options__parse(command_of(line->argv[0]), line->argc, line->argv, options);
}

/* Accepted, without a word. */
static void accept(struct line *line, const char *text, struct options *options)
{
	static struct capture capture;
	int error;

	capture__begin(&capture, STDERR_FILENO);
	error = parse(line, text, options);
	capture__end(&capture);
	if (error || *capture.text)
		fail_msg("%s: %d %s", text, error, capture.text);
}

/* Refused as wrong usage, in a message that has the words; the options stay untouched. */
static void refuse(const char *text, const char *words)
{
	static struct capture capture;
	struct options options, before;
	struct line line;
	int error;

	memset(&options, 0x5a, sizeof(options));
	memcpy(&before, &options, sizeof(options));
	capture__begin(&capture, STDERR_FILENO);
	error = parse(&line, text, &options);
	capture__end(&capture);
	if (error != -EINVAL || strncmp(capture.text, "rbprof-bpf: ", 12) ||
	    !strstr(capture.text, words))
		fail_msg("%s: %d, '%s' has no '%s'", text, error, capture.text, words);
	assert_memory_equal(&options, &before, sizeof(options));
}

static void test_defaults(void **state)
{
	struct options options;
	struct line line;

	(void)state;
	accept(&line, "record", &options);
	assert_true(options.all);
	assert_null(options.command);
	assert_int_equal(options.frequency_hz, 99);
	assert_int_equal(options.duration_ns, 0);
	assert_int_equal(options.ring_ns, 0);
	assert_int_equal(options.max_frames, 1000);
	assert_true(options.cpu && options.wall && options.gc);
	assert_false(options.no_gc_stack || options.no_uprobes || options.timeline);
	assert_false(options.no_frame_endpoint);
	assert_null(options.output);
	assert_null(options.format);
	assert_null(options.value);
	assert_int_equal(options.stats, OPTIONS_STATS_NONE);
	assert_int_equal(options.verbosity, 0);
	assert_int_equal(options.color, LOG_COLOR_AUTO);
	assert_string_equal(line.argv[0], "record");
	options__free(&options);
}

static void test_all_of_record(void **state)
{
	struct options options;
	struct line line;

	(void)state;
	accept(&line,
	       "record -F 997 -d 1h30m -o out.txt -f json --value cpu-samples --stats=json "
	       "--max-frames 4000 -v -v --color=never --cpu -p 12,7 -p 12 --comm puma*",
	       &options);
	assert_false(options.all);
	assert_int_equal(options.frequency_hz, 997);
	assert_int_equal(options.duration_ns, 5400 * 1000000000LL);
	assert_string_equal(options.output, "out.txt");
	assert_string_equal(options.format, "json");
	assert_string_equal(options.value, "cpu-samples");
	assert_int_equal(options.stats, OPTIONS_STATS_JSON);
	assert_int_equal(options.max_frames, 4000);
	assert_int_equal(options.verbosity, 2);
	assert_int_equal(options.color, LOG_COLOR_NEVER);
	assert_int_equal(options.pid_count, 2);
	assert_int_equal(options.pids[0], 12);
	assert_int_equal(options.pids[1], 7);
	assert_int_equal(options.comms.count, 1);
	assert_string_equal(options.comms.items[0], "puma*");

	assert_true(options__selects(&options, 7, "other"));
	assert_true(options__selects(&options, 8, "puma: cluster"));
	assert_false(options__selects(&options, 8, "sidekiq"));
	options__free(&options);
}

/* What is collected: the last word about each counts. */
static void test_what_is_collected(void **state)
{
	struct options options;
	struct line line;

	(void)state;
	accept(&line, "record --no-cpu --no-wall --no-gc --ring 90s", &options);
	assert_false(options.cpu || options.wall || options.gc);
	assert_int_equal(options.ring_ns, 90 * 1000000000LL);
	options__free(&options);
	accept(&line, "record --no-cpu --cpu --no-wall --wall --no-gc --gc", &options);
	assert_true(options.cpu && options.wall && options.gc);
	options__free(&options);
	accept(&line, "record --no-trace --no-endpoint", &options);
	assert_true(options.no_trace && options.no_endpoint);
	options__free(&options);
	accept(&line, "record --no-gc-stack --no-uprobes --timeline --value wall-time", &options);
	assert_true(options.no_gc_stack && options.no_uprobes && options.timeline);
	assert_false(options.no_frame_endpoint);
	options__free(&options);
	accept(&line, "record --no-frame-endpoint --value wall-time", &options);
	assert_true(options.no_frame_endpoint);
	assert_string_equal(options.value, "wall-time");
	options__free(&options);
	accept(&line, "record --value timeline", &options);
	options__free(&options);
}

/* Everything behind the first word that is no option is COMMAND's own. */
static void test_command(void **state)
{
	static const char *const lines[] = {
		"record -d 5 -- ruby -w app.rb -p 1 -- -a",
		"record -d 5 ruby -w app.rb -p 1 -- -a",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct options options;
		struct line line;

		accept(&line, lines[i], &options);
		assert_false(options.all);
		assert_int_equal(options.pid_count, 0);
		assert_non_null(options.command);
		assert_string_equal(options.command[0], "ruby");
		assert_string_equal(options.command[1], "-w");
		assert_string_equal(options.command[6], "-a");
		assert_null(options.command[7]);
		assert_false(options__selects(&options, 1, "ruby"));
		options__free(&options);
	}
	refuse("record --", "no COMMAND");
	refuse("record -d 5 --", "no COMMAND");
}

static void test_conflicting_targets(void **state)
{
	(void)state;
	refuse("record -a -p 1", "-a is every");
	refuse("record --comm x -a", "-a is every");
	refuse("dump -a -p 1", "-a is every");
	refuse("record -p 1 -- ls", "COMMAND 'ls'");
	refuse("record -a ls", "COMMAND 'ls'");
	refuse("record --comm ruby -- ls", "COMMAND 'ls'");
}

static void test_bad_values(void **state)
{
	static const char *const bad_hz[] = {
		"0",	 "abc", "99x", "-1",   "+9",  "1e3",
		"10001", "",	"0x9", "99.5", "\t9", "99999999999999999999999999"
	};
	static const char *const bad_time[] = { "-1",
						"0",
						"0s",
						"x",
						"",
						"10x",
						"1h30",
						"1.",
						"s",
						".5s",
						"30m1h",
						"1m1m",
						"1s\n",
						"1,5s",
						"0.0000000001s",
						"99999999999999999999999s",
						"3651d",
						"18446744073709551616" };
	static const char *const bad_frames[] = { "-1", "4001", "x", "", "99999999999999999999" };
	static const char *const bad_pids[] = { "0",	"-1",  "x", "1,",	  ",1",
						"1,,2", "1;2", "",  "99999999999" };
	char text[128];

	(void)state;
	for (size_t i = 0; i < sizeof(bad_hz) / sizeof(bad_hz[0]); i++) {
		snprintf(text, sizeof(text), "record -F %s", bad_hz[i]);
		refuse(text, "frequency");
	}
	for (size_t i = 0; i < sizeof(bad_time) / sizeof(bad_time[0]); i++) {
		snprintf(text, sizeof(text), "record -d %s", bad_time[i]);
		refuse(text, "duration");
		snprintf(text, sizeof(text), "record --ring %s", bad_time[i]);
		refuse(text, "--ring");
	}
	for (size_t i = 0; i < sizeof(bad_frames) / sizeof(bad_frames[0]); i++) {
		snprintf(text, sizeof(text), "record --max-frames %s", bad_frames[i]);
		refuse(text, "--max-frames");
	}
	for (size_t i = 0; i < sizeof(bad_pids) / sizeof(bad_pids[0]); i++) {
		snprintf(text, sizeof(text), "dump -p %s", bad_pids[i]);
		refuse(text, "pid");
	}
	refuse("record --stats=xml", "--stats");
	refuse("record --color=pink", "--color");
	refuse("record --value time", "sample type");
	refuse("record --value heap-live-size", "not in this version");
	refuse("record --ring", "requires an argument");
	refuse("record --comm ", "--comm");
	refuse("record -o ", "-o");
	refuse("record -F", "requires an argument");
	refuse("record --no-such-thing", "record --help");
	refuse("ps -p 1", "ps --help");
}

static void test_durations(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = {
		{ "10", 10000000000 },
		{ "10s", 10000000000 },
		{ "500ms", 500000000 },
		{ "5m", 300000000000 },
		{ "1h", 3600000000000 },
		{ "1d", 86400000000000 },
		{ "1.5m", 90000000000 },
		{ "0.25", 250000000 },
		{ "1h30m", 5400000000000 },
		{ "1m0.5s", 60500000000 },
		{ "1s500ms", 1500000000 },
		{ "0.000000001s", 1 },
		{ "3650d", OPTIONS_MAX_DURATION_NS },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		uint64_t ns = 0;

		assert_int_equal(options__duration(good[i].text, &ns), 0);
		assert_int_equal(ns, good[i].ns);
	}
}

static void test_formats(void **state)
{
	struct options options;
	struct line line;

	(void)state;
	refuse("record -f xml", "unknown format 'xml'");
	accept(&line, "record -o a.trace.json -f text", &options);
	options__free(&options);
	accept(&line, "record -o a.html", &options);
	options__free(&options);
	accept(&line, "record -o a.json", &options);
	options__free(&options);
}

static void test_other_commands(void **state)
{
	struct options options;
	struct line line;

	(void)state;
	accept(&line, "report a.pb.gz -f folded --value wall-time -o -", &options);
	assert_string_equal(options.file, "a.pb.gz");
	assert_string_equal(options.value, "wall-time");
	assert_string_equal(options.output, "-");
	options__free(&options);
	accept(&line, "state 17 --json", &options);
	assert_int_equal(options.pid, 17);
	assert_true(options.json);
	options__free(&options);
	accept(&line, "dump -p 3 --json -q", &options);
	assert_int_equal(options.verbosity, -1);
	options__free(&options);

	refuse("report", "no file");
	refuse("report a b", "more than one file");
	refuse("report a --focus x", "bad --focus 'x': give LABEL=GLOB");
	refuse("report a --ignore =x", "bad --ignore '=x'");
	refuse("report a --by=", "empty --by");
	refuse("diff", "no files given");
	refuse("diff a", "one file is no comparison");
	refuse("diff a b c", "more than two files");
	refuse("diff a b -f xml", "unknown format");
	refuse("state x", "bad pid");
	refuse("state 1 2", "more than one pid");
	refuse("dump 12", "-p 12");
	refuse("dump ruby", "takes no argument");
	refuse("ps x", "takes no argument");
	refuse("doctor x", "takes no argument");
}

static void test_gate(void **state)
{
	struct options options;
	struct line line;

	(void)state;
	accept(&line, "run -n 3 --warmup 0 --work 7 --interleave true -o runs -- ruby -n x.rb",
	       &options);
	assert_int_equal(options.runs, 3);
	assert_int_equal(options.warmups, 0);
	assert_int_equal(options.work, 7);
	assert_string_equal(options.interleave, "true");
	assert_string_equal(options.output, "runs");
	assert_string_equal(options.command[1], "-n");
	options__free(&options);
	accept(&line, "run -o runs ruby", &options);
	assert_int_equal(options.runs, OPTIONS_DEFAULT_RUNS);
	assert_int_equal(options.warmups, 1);
	assert_int_equal(options.work, 0);
	options__free(&options);

	refuse("run -n 0 ruby", "bad number of runs '0'");
	refuse("run -n 1001 ruby", "from 1 to 1000");
	refuse("run --warmup -1 ruby", "bad --warmup '-1'");
	refuse("run --work 0 ruby", "bad --work '0'");
	refuse("run --work 1.5 ruby", "bad --work '1.5'");
	refuse("run -p 1", "invalid option");
	refuse("run --", "no COMMAND after --");
	refuse("run --alpha 0.1 ruby", "--alpha is no option of gate run");
	refuse("compare -n 3 a b", "--runs is no option of gate compare");
	refuse("compare -F 99 a b", "--frequency is no option of gate compare");
}

/* What has not landed is refused with these very words, by every command that will have it. */
static void test_not_in_this_version(void **state)
{
	static const char *const must_be[] = {
		"alloc", "no-alloc", "heap", "no-heap", "no-alloc-class", "native", "kernel",
	};
	char text[128];

	(void)state;
	for (int i = 0; i < OPTIONS_COMMAND_COUNT; i++) {
		const struct options_row *row;

		for (size_t j = 0; (row = options__row(i, j)); j++) {
			if (row->is_landed)
				continue;
			snprintf(text, sizeof(text), "%s --%s", options__command_name(i),
				 row->name);
			refuse(text, "not in this version");
			snprintf(text, sizeof(text), "%s --%s=5 x", options__command_name(i),
				 row->name);
			refuse(text, "not in this version");
		}
	}
	for (size_t i = 0; i < sizeof(must_be) / sizeof(must_be[0]); i++) {
		snprintf(text, sizeof(text), "record --%s", must_be[i]);
		refuse(text, "not in this version");
	}
}

/* Escape sequences of an argument do not reach the terminal; huge arguments do no harm. */
static void test_hostile_text(void **state)
{
	static struct capture capture;
	struct options options;
	struct line line;
	char text[8000];

	(void)state;
	capture__begin(&capture, STDERR_FILENO);
	assert_int_equal(parse(&line, "record -F \033[2J\302\2331m\a", &options), -EINVAL);
	capture__end(&capture);
	assert_null(strpbrk(capture.text, "\033\a\302"));

	memset(text, '9', sizeof(text));
	memcpy(text, "record -p ", 10);
	text[sizeof(text) - 1] = '\0';
	refuse(text, "bad pid");
	memcpy(text, "record -d ", 10);
	refuse(text, "bad duration");
}

/* ---- --help and the man pages ---- */

/* Whether text has `--name` as a whole word. */
static bool has_option(const char *text, const char *name)
{
	char word[64];
	const char *at = text;

	snprintf(word, sizeof(word), "--%s", name);
	while ((at = strstr(at, word))) {
		at += strlen(word);
		if (!strchr("-abcdefghijklmnopqrstuvwxyz", *at) || !*at)
			return true;
	}
	return false;
}

static int run_help(void *context)
{
	struct options options;
	struct line line;

	return parse(&line, context, &options) ? 2 : 99;
}

static void test_help(void **state)
{
	static struct capture capture;

	(void)state;
	for (int i = 0; i < OPTIONS_COMMAND_COUNT; i++) {
		const struct options_row *row;
		char text[64], usage[64];
		char *rest = capture.text, *written;

		snprintf(text, sizeof(text), "%s --help", options__command_name(i));
		snprintf(usage, sizeof(usage), "Usage: rbprof-bpf %s ", options__command_name(i));
		assert_int_equal(capture__run(&capture, STDOUT_FILENO, run_help, text), 0);
		assert_int_equal(strncmp(capture.text, usage, strlen(usage)), 0);
		for (size_t j = 0; (row = options__row(i, j)); j++) {
			if (has_option(capture.text, row->name) != row->is_landed)
				fail_msg("%s --help and --%s", options__command_name(i), row->name);
		}
		while ((written = strsep(&rest, "\n")))
			if (strlen(written) > 80)
				fail_msg("more than 80 columns: %s", written);
	}
}

static void test_version(void **state)
{
	static struct capture capture;

	(void)state;
	assert_int_equal(capture__run(&capture, STDOUT_FILENO, run_help, "ps --version"), 0);
	assert_string_equal(capture.text, "rbprof-bpf " RBPROF_VERSION "\n");
}

static void test_man_pages(void **state)
{
	(void)state;
	for (int i = 0; i < OPTIONS_COMMAND_COUNT; i++) {
		const struct options_row *row;
		char path[128], word[64], text[65536];
		size_t length;
		FILE *file;

		snprintf(path, sizeof(path), "docs/man/rbprof-bpf-%s.8.scd",
			 options__command_name(i));
		file = fopen(path, "re");
		if (!file)
			fail_msg("cannot open %s", path);
		length = fread(text, 1, sizeof(text) - 1, file);
		text[length] = '\0';
		fclose(file);
		for (size_t j = 0; (row = options__row(i, j)); j++) {
			if (row->letter)
				snprintf(word, sizeof(word), "\n*-%c*, *--%s*", row->letter,
					 row->name);
			else
				snprintf(word, sizeof(word), "\n*--%s*", row->name);
			if (row->is_landed && !strstr(text, word))
				fail_msg("%s has no entry '%s'", path, word);
			if (!row->is_landed && has_option(text, row->name))
				fail_msg("%s has --%s, which is refused", path, row->name);
		}
	}
}

static void test_default_output(void **state)
{
	char text[256], host[65] = "";
	char expected[256];

	(void)state;
	setenv("TZ", "UTC", 1);
	tzset();
	gethostname(host, sizeof(host) - 1);
	snprintf(expected, sizeof(expected), "rbprof-%s-20240229T235959.pb.gz", host);
	assert_int_equal(options__default_output(1709251199999999999, text, sizeof(text)), 0);
	assert_string_equal(text, expected);
	assert_int_equal(options__default_output(1709251199999999999, text, 10), -ENAMETOOLONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_all_of_record),
		cmocka_unit_test(test_what_is_collected),
		cmocka_unit_test(test_command),
		cmocka_unit_test(test_conflicting_targets),
		cmocka_unit_test(test_bad_values),
		cmocka_unit_test(test_durations),
		cmocka_unit_test(test_formats),
		cmocka_unit_test(test_other_commands),
		cmocka_unit_test(test_gate),
		cmocka_unit_test(test_not_in_this_version),
		cmocka_unit_test(test_hostile_text),
		cmocka_unit_test(test_help),
		cmocka_unit_test(test_version),
		cmocka_unit_test(test_man_pages),
		cmocka_unit_test(test_default_output),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
