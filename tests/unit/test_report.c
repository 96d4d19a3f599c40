/* SPDX-License-Identifier: BSD-2-Clause */
/* rbprof-bpf report as people run it: output, messages and exit status. */
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "sample_profile.h"
#include "user/cmd.h"

#define MAX_ARGUMENTS 12

static char directory[64];

/* What a run has printed. */
static char out[65536], err[65536];

static void put(const char *path, const void *bytes, size_t length)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fwrite(bytes, 1, length, file);
	fclose(file);
}

static size_t get(const char *path, char *text, size_t size)
{
	FILE *file = fopen(path, "r");
	size_t length;

	assert_non_null(file);
	length = fread(text, 1, size - 1, file);
	text[length] = '\0';
	fclose(file);
	return length;
}

/* Hidden ones included. */
static int count_files(const char *path)
{
	DIR *files = opendir(path);
	int count = 0;

	assert_non_null(files);
	while (readdir(files))
		count++;
	closedir(files);
	return count - 2;
}

/* In a child with files for stdin, stdout and stderr. Returns the wait status. */
static int run_with_stdout(const char *in, int stdout_fd, const char *const *arguments)
{
	char *argv[MAX_ARGUMENTS + 2] = { "report" };
	int argc = 1, status;
	pid_t child;

	for (; arguments[argc - 1]; argc++)
		argv[argc] = (char *)arguments[argc - 1];
	fflush(NULL);
	child = fork();
	if (!child) {
		signal(SIGPIPE, SIG_DFL);
		dup2(open(in, O_RDONLY), STDIN_FILENO);
		dup2(stdout_fd, STDOUT_FILENO);
		dup2(open("err", O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
		exit(cmd_report(argc, argv));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	get("err", err, sizeof(err));
	return status;
}

/* The exit status. */
#define RUN(...) run("sample.pb.gz", (const char *const[]){ __VA_ARGS__, NULL })
static int run(const char *in, const char *const *arguments)
{
	int fd = open("out", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	int status = run_with_stdout(in, fd, arguments);

	close(fd);
	get("out", out, sizeof(out));
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void expect_error(int status, int expected, const char *text)
{
	if (status != expected || !strstr(err, text))
		fail_msg("status %d, not %d; stderr: %s", status, expected, err);
	assert_string_equal(out, "");
	assert_null(strstr(err, "Sanitizer"));
}

static int set_up(void **state)
{
	struct profile *profile = sample_new();
	struct out_options options = { .type = 1 };
	size_t length;
	char *bytes;

	(void)state;
	setenv("TZ", "UTC", 1);
	unsetenv("NO_COLOR");
	snprintf(directory, sizeof(directory), "/tmp/rbprof-report-XXXXXX");
	if (!mkdtemp(directory) || chdir(directory))
		return -1;
	bytes = sample_written(profile, "pprof", &options, &length);
	put("sample.pb.gz", bytes, length);
	free(bytes);
	profile__free(profile);
	return 0;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return chdir("/") || system(command) ? -1 : 0;
}

static void a_table_on_stdout_is_the_default(void **state)
{
	(void)state;
	assert_int_equal(RUN("sample.pb.gz"), CMD_DONE);
	assert_non_null(strstr(out, "710.00 ms   71.0%  710.00 ms   71.0%  Integer#<=>"));
	assert_null(strstr(out, "\x1b"));
	assert_string_equal(err, "");
	assert_int_equal(RUN("-"), CMD_DONE);
	assert_non_null(strstr(out, "Integer#<=>"));
	assert_int_equal(RUN("sample.pb.gz", "-o", "-"), CMD_DONE);
	assert_non_null(strstr(out, "Integer#<=>"));
}

static void format_and_value_are_as_asked(void **state)
{
	(void)state;
	assert_int_equal(RUN("-f", "folded", "sample.pb.gz"), CMD_DONE);
	assert_non_null(strstr(out, "<main>;Foo::Bar.baz 90000000\n"));
	assert_int_equal(RUN("-f", "folded", "--value", "cpu-samples", "sample.pb.gz"), CMD_DONE);
	assert_non_null(strstr(out, "<main>;Foo::Bar.baz 9\n"));
	assert_int_equal(RUN("--format=json", "sample.pb.gz"), CMD_DONE);
	assert_non_null(strstr(out, "\"schema\": 1"));
	assert_int_equal(RUN("sample.pb.gz", "--color=always"), CMD_DONE);
	assert_non_null(strstr(out, "\x1b["));
}

static void the_suffix_of_the_output_names_the_format(void **state)
{
	char first[65536], second[65536];
	size_t length;

	(void)state;
	assert_int_equal(RUN("sample.pb.gz", "-o", "a.folded"), CMD_DONE);
	assert_string_equal(out, "");
	get("a.folded", first, sizeof(first));
	assert_memory_equal(first, "<main>;", 7);
	assert_int_equal(RUN("sample.pb.gz", "-o", "a.json"), CMD_DONE);
	get("a.json", first, sizeof(first));
	assert_int_equal(first[0], '{');
	assert_int_equal(RUN("sample.pb.gz", "-o", "a.txt"), CMD_DONE);
	get("a.txt", first, sizeof(first));
	assert_memory_equal(first, "recorded", 8);
	assert_int_equal(RUN("sample.pb.gz", "-o", "a.txt", "-f", "folded"), CMD_DONE);
	get("a.txt", first, sizeof(first));
	assert_memory_equal(first, "<main>;", 7);

	/* pprof to pprof, packed and not, and onto itself. */
	length = get("sample.pb.gz", first, sizeof(first));
	assert_int_equal(RUN("sample.pb.gz", "-o", "a.pb"), CMD_DONE);
	assert_int_equal(RUN("a.pb", "-o", "a.pb.gz"), CMD_DONE);
	assert_int_equal(RUN("a.pb.gz", "-o", "a.pb.gz"), CMD_DONE);
	assert_int_equal(get("a.pb.gz", second, sizeof(second)), length);
	assert_memory_equal(first, second, length);
}

static void wrong_usage_is_2(void **state)
{
	(void)state;
	expect_error(run("sample.pb.gz", (const char *const[]){ NULL }), CMD_USAGE,
		     "no file given");
	expect_error(RUN("a", "b"), CMD_USAGE, "more than one file");
	expect_error(RUN("sample.pb.gz", "-f", "yaml"), CMD_USAGE, "unknown format 'yaml'");
	expect_error(RUN("sample.pb.gz", "--value", "no-time"), CMD_USAGE,
		     "no 'no-time' in this profile: it has cpu-samples, cpu-time");
	expect_error(RUN("sample.pb.gz", "--color=perhaps"), CMD_USAGE, "perhaps");
	expect_error(RUN("sample.pb.gz", "--nonsense"), CMD_USAGE, "nonsense");
	expect_error(RUN("sample.pb.gz", "-o", ""), CMD_USAGE, "empty file name");
}

static void a_part_is_shown_by_what_is_asked_for(void **state)
{
	(void)state;
	assert_int_equal(RUN("sample.pb.gz", "--by", "thread"), CMD_DONE);
	assert_non_null(strstr(out, "910.00 ms   91.0%  main         78% Integer#<=>\n"));
	assert_non_null(strstr(out, "90.00 ms    9.0%  (empty)      100% Foo::Bar.baz\n"));
	assert_int_equal(RUN("sample.pb.gz", "--by=pid", "-f", "folded"), CMD_DONE);
	assert_non_null(strstr(out, "1234;<main>;Foo::Bar.baz 90000000\n"));
	assert_int_equal(RUN("sample.pb.gz", "--by", "gem"), CMD_DONE);
	assert_non_null(strstr(out, "1.00 s  100.0%  1.00 s  100.0%  (application)\n"));
	assert_int_equal(RUN("sample.pb.gz", "--focus", "thread=m*", "-f", "json"), CMD_DONE);
	assert_non_null(strstr(out, "\"cpu-samples\": 91"));
	assert_int_equal(RUN("sample.pb.gz", "--lines"), CMD_DONE);
	assert_non_null(strstr(out, "/app/main.rb:41\n"));
	assert_int_equal(RUN("sample.pb.gz", "--lines", "-f", "folded", "--ignore", "thread=main"),
			 CMD_DONE);
	assert_string_equal(out,
			    "<main> (/app/main.rb:40);Foo::Bar.baz (/app/bar.rb:12) 90000000\n");
	assert_int_equal(RUN("sample.pb.gz", "--focus", "thread=nobody"), CMD_DONE);
	assert_non_null(strstr(out, "the profile is empty"));
	assert_non_null(strstr(err, "no sample fits"));

	expect_error(RUN("sample.pb.gz", "--by", "colour"), CMD_USAGE,
		     "no label 'colour' in this profile: it has pid, process, thread");
	expect_error(RUN("sample.pb.gz", "--focus", "state=x"), CMD_USAGE, "no label 'state'");
	expect_error(RUN("sample.pb.gz", "--ignore", "state=x"), CMD_USAGE, "no label 'state'");
	expect_error(RUN("sample.pb.gz", "--focus", "thread"), CMD_USAGE, "give LABEL=GLOB");
	expect_error(RUN("sample.pb.gz", "--by", ""), CMD_USAGE, "empty --by");
}

static void what_has_no_times_is_no_trace(void **state)
{
	(void)state;
	expect_error(RUN("sample.pb.gz", "-o", "x.trace.json"), CMD_USAGE,
		     "chrome needs the time of each sample: record with --timeline");
	assert_int_equal(access("x.trace.json", F_OK), -1);
}

static void an_input_that_is_no_profile_is_5(void **state)
{
	char bytes[4096];
	size_t length = get("sample.pb.gz", bytes, sizeof(bytes));

	(void)state;
	expect_error(RUN("missing.pb.gz"), CMD_FILE, "missing.pb.gz");
	expect_error(RUN("."), CMD_FILE, "cannot read '.'");
	put("empty", "", 0);
	expect_error(RUN("empty"), CMD_FILE, "the file is empty");
	put("text", "hello\n", 6);
	expect_error(RUN("text"), CMD_FILE, "not a pprof profile");
	put("cut.pb.gz", bytes, length - 20);
	expect_error(RUN("cut.pb.gz", "-o", "cut.txt"), CMD_FILE, "the gzip data is cut off");
	assert_int_equal(access("cut.txt", F_OK), -1);
	bytes[length / 2] = (char)(bytes[length / 2] ^ 0xff);
	put("bad.pb.gz", bytes, length);
	expect_error(RUN("bad.pb.gz"), CMD_FILE, "bad.pb.gz");
	expect_error(run("text", (const char *const[]){ "-", NULL }), CMD_FILE,
		     "cannot read 'stdin'");
}

static void an_output_that_cannot_be_written_is_5(void **state)
{
	(void)state;
	expect_error(RUN("sample.pb.gz", "-o", "missing/x.txt"), CMD_FILE,
		     "cannot write 'missing/x.txt': No such file or directory");
	expect_error(RUN("sample.pb.gz", "-o", "."), CMD_FILE, "Is a directory");
	expect_error(RUN("sample.pb.gz", "-o", "/dev/full"), CMD_FILE, "No space left on device");
}

static void a_full_disk_leaves_the_old_file(void **state)
{
	struct profile *profile = sample_new();
	struct out_options options = { .path = "x.pb" };
	char name[20000], text[64], *bytes;
	size_t length;
	uint32_t frame;

	(void)state;
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		skip();
	for (int i = 0; i < 10; i++) {
		memset(name, 'a' + i, sizeof(name) - 1);
		name[sizeof(name) - 1] = '\0';
		frame = sample_frame(profile, name, "large.rb", i, i);
		sample_add(profile, &frame, 1, sample_labels(profile, "main", 1), 1, 1);
	}
	bytes = sample_written(profile, "pprof", &options, &length);
	put("large.pb", bytes, length);
	free(bytes);
	profile__free(profile);

	assert_int_equal(mkdir("small", 0755), 0);
	assert_int_equal(mount("none", "small", "tmpfs", 0, "size=64k"), 0);
	put("small/x.pb", "old", 3);
	expect_error(RUN("large.pb", "-o", "small/x.pb"), CMD_FILE, "No space left on device");
	assert_int_equal(get("small/x.pb", text, sizeof(text)), 3);
	assert_int_equal(count_files("small"), 1);
	assert_int_equal(umount("small"), 0);
	assert_int_equal(rmdir("small"), 0);
}

static void a_closed_pipe_is_5_and_no_signal(void **state)
{
	static const char *const arguments[] = { "sample.pb.gz", NULL };
	int ends[2], status;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	close(ends[0]);
	status = run_with_stdout("sample.pb.gz", ends[1], arguments);
	close(ends[1]);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), CMD_FILE);
	assert_non_null(strstr(err, "Broken pipe"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_on_stdout_is_the_default),
		cmocka_unit_test(format_and_value_are_as_asked),
		cmocka_unit_test(the_suffix_of_the_output_names_the_format),
		cmocka_unit_test(wrong_usage_is_2),
		cmocka_unit_test(a_part_is_shown_by_what_is_asked_for),
		cmocka_unit_test(what_has_no_times_is_no_trace),
		cmocka_unit_test(an_input_that_is_no_profile_is_5),
		cmocka_unit_test(an_output_that_cannot_be_written_is_5),
		cmocka_unit_test(a_full_disk_leaves_the_old_file),
		cmocka_unit_test(a_closed_pipe_is_5_and_no_signal),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
