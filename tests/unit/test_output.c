/* SPDX-License-Identifier: BSD-2-Clause */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "user/util/output.h"

static char directory[64];

static int enter_directory(void **state)
{
	(void)state;
	snprintf(directory, sizeof(directory), "/tmp/rbprof-output-XXXXXX");
	return mkdtemp(directory) && !chdir(directory) ? 0 : -1;
}

static int leave_directory(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return chdir("/") || system(command) ? -1 : 0;
}

/* Files in the current directory, hidden ones included. */
static int count_files(void)
{
	DIR *here = opendir(".");
	int count = 0;

	assert_non_null(here);
	while (readdir(here))
		count++;
	closedir(here);
	return count - 2;
}

static void put_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void expect_file(const char *path, const char *text)
{
	char found[256] = "";
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	found[fread(found, 1, sizeof(found) - 1, file)] = '\0';
	fclose(file);
	assert_string_equal(found, text);
}

static void write_file(const char *path, const char *text)
{
	struct output *output;

	assert_int_equal(output__open(path, &output), 0);
	fputs(text, output__stream(output));
	assert_int_equal(output__commit(output), 0);
}

static void a_file_is_there_only_after_commit(void **state)
{
	struct output *output;
	struct stat file;

	(void)state;
	umask(027);
	assert_int_equal(output__open("new", &output), 0);
	assert_false(output__is_terminal(output));
	fputs("hello", output__stream(output));
	assert_int_equal(access("new", F_OK), -1);
	assert_int_equal(output__commit(output), 0);
	expect_file("new", "hello");
	assert_int_equal(stat("new", &file), 0);
	assert_int_equal(file.st_mode & 07777, 0640);
	assert_int_equal(count_files(), 1);
	unlink("new");
	umask(022);
}

/* So large that parts of it are on the disk before it ends. */
static void a_large_file_has_every_byte(void **state)
{
	const uint32_t count = 9U << 20; /* numbers: 36 MiB */
	struct output *output;
	uint32_t found;
	FILE *file;

	(void)state;
	assert_int_equal(output__open("large", &output), 0);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(fwrite(&i, sizeof(i), 1, output__stream(output)), 1);
	assert_int_equal(output__commit(output), 0);

	file = fopen("large", "r");
	assert_non_null(file);
	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(fread(&found, sizeof(found), 1, file), 1);
		if (found != i)
			assert_int_equal(found, i);
	}
	assert_int_equal(fgetc(file), EOF);
	fclose(file);
	unlink("large");
}

static void abort_leaves_nothing(void **state)
{
	struct output *output;

	(void)state;
	assert_int_equal(output__open("new", &output), 0);
	for (int i = 0; i < 100000; i++)
		fputs("0123456789", output__stream(output));
	assert_int_equal(count_files(), 1);
	output__abort(output);
	assert_int_equal(count_files(), 0);
	output__abort(NULL);
}

static void a_file_that_is_there_is_replaced_as_a_whole(void **state)
{
	struct output *output;
	struct stat file;

	(void)state;
	put_file("old", "old");
	assert_int_equal(chmod("old", 0604), 0);
	assert_int_equal(output__open("old", &output), 0);
	fputs("new", output__stream(output));
	fflush(output__stream(output));
	expect_file("old", "old");
	output__abort(output);
	expect_file("old", "old");

	write_file("./old", "new");
	expect_file("old", "new");
	assert_int_equal(stat("old", &file), 0);
	assert_int_equal(file.st_mode & 07777, 0604);
	assert_int_equal(count_files(), 1);
	unlink("old");
}

static void the_owner_of_a_replaced_file_stays(void **state)
{
	struct stat file;

	(void)state;
	if (geteuid())
		skip();
	put_file("old", "old");
	assert_int_equal(chown("old", 1234, 2345), 0);
	write_file("old", "new");
	assert_int_equal(stat("old", &file), 0);
	assert_int_equal(file.st_uid, 1234);
	assert_int_equal(file.st_gid, 2345);
	unlink("old");
}

static void a_link_stays_a_link(void **state)
{
	struct stat file;

	(void)state;
	assert_int_equal(mkdir("sub", 0755), 0);
	put_file("sub/target", "old");
	assert_int_equal(symlink("sub/target", "link"), 0);
	write_file("link", "new");
	expect_file("sub/target", "new");
	assert_int_equal(lstat("link", &file), 0);
	assert_true(S_ISLNK(file.st_mode));
	assert_int_equal(count_files(), 2);
	unlink("link");
	unlink("sub/target");
	rmdir("sub");
}

/* A rename onto /dev/null or /dev/stdout would take them away from everybody. */
static void devices_pipes_and_stdout_by_name_are_written_in_place(void **state)
{
	struct stat before, after;
	char text[8] = "";
	int ends[2];
	char path[32];

	(void)state;
	assert_int_equal(stat("/dev/null", &before), 0);
	write_file("/dev/null", "gone");
	assert_int_equal(stat("/dev/null", &after), 0);
	assert_true(S_ISCHR(after.st_mode));
	assert_int_equal(before.st_ino, after.st_ino);

	assert_int_equal(pipe(ends), 0);
	snprintf(path, sizeof(path), "/dev/fd/%d", ends[1]);
	write_file(path, "piped");
	assert_int_equal(read(ends[0], text, sizeof(text)), 5);
	assert_string_equal(text, "piped");
	close(ends[0]);
	close(ends[1]);
}

static void a_file_that_has_no_name_any_more_is_written_in_place(void **state)
{
	char path[32], text[16] = "";
	int fd = open("gone", O_RDWR | O_CREAT, 0600);

	(void)state;
	assert_int_equal(write(fd, "something", 9), 9);
	unlink("gone");
	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	write_file(path, "new");
	assert_int_equal(pread(fd, text, sizeof(text), 0), 3);
	assert_string_equal(text, "new");
	assert_int_equal(count_files(), 0);
	close(fd);
}

static void a_name_of_any_allowed_length_works(void **state)
{
	char name[NAME_MAX + 2];

	(void)state;
	memset(name, 'n', sizeof(name));
	name[NAME_MAX] = '\0';
	write_file(name, "long");
	expect_file(name, "long");
	unlink(name);
}

static void what_cannot_be_opened_says_why(void **state)
{
	struct output *output = NULL;
	char name[NAME_MAX + 2];

	(void)state;
	memset(name, 'n', sizeof(name));
	name[NAME_MAX + 1] = '\0';
	assert_int_equal(output__open("missing/file", &output), -ENOENT);
	assert_int_equal(output__open("", &output), -ENOENT);
	assert_int_equal(output__open(".", &output), -EISDIR);
	assert_int_equal(output__open("/tmp", &output), -EISDIR);
	assert_int_equal(output__open("missing/", &output), -EISDIR);
	assert_int_equal(output__open(name, &output), -ENAMETOOLONG);
	put_file("file", "x");
	assert_int_equal(output__open("file/below", &output), -ENOTDIR);
	unlink("file");
	assert_int_equal(output__open("/proc/new", &output), -ENOENT);
	assert_null(output);
	assert_int_equal(count_files(), 0);
}

/* A child without root's rights: its exit status says whether the error was the expected one. */
static void a_directory_or_file_that_is_not_writable(void **state)
{
	int status;
	pid_t child;

	(void)state;
	if (geteuid())
		skip();
	put_file("theirs", "old");
	chmod(".", 0755);
	child = fork();
	if (!child) {
		struct output *output;

		if (setgid(65534) || setuid(65534))
			_exit(9);
		if (output__open("new", &output) != -EACCES)
			_exit(1);
		_exit(output__open("theirs", &output) == -EACCES ? 0 : 2);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	expect_file("theirs", "old");
	unlink("theirs");
	assert_int_equal(count_files(), 0);
}

static void a_full_disk_is_an_error_and_leaves_nothing(void **state)
{
	struct output *output;

	(void)state;
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		skip();
	assert_int_equal(mkdir("small", 0755), 0);
	assert_int_equal(mount("none", "small", "tmpfs", 0, "size=64k"), 0);
	assert_int_equal(chdir("small"), 0);
	put_file("old", "old");
	for (int i = 0; i < 2; i++) {
		assert_int_equal(output__open(i ? "old" : "new", &output), 0);
		for (int j = 0; j < 100000; j++)
			fputs("0123456789", output__stream(output));
		assert_int_equal(output__commit(output), -ENOSPC);
	}
	expect_file("old", "old");
	assert_int_equal(count_files(), 1);
	/* Room is free again. */
	write_file("old", "new");
	expect_file("old", "new");
	assert_int_equal(chdir(directory), 0);
	assert_int_equal(umount("small"), 0);
	rmdir("small");
}

static void a_full_device_is_an_error(void **state)
{
	struct output *output;

	(void)state;
	assert_int_equal(output__open("/dev/full", &output), 0);
	fputs("x", output__stream(output));
	assert_int_equal(output__commit(output), -ENOSPC);
}

/* In a child, whose stdout it is. Returns the wait status. */
static int write_to_stdout(int fd, const char *text, int times)
{
	int status;
	pid_t child = fork();

	if (!child) {
		struct output *output;
		int error;

		signal(SIGPIPE, SIG_DFL);
		if (fd < 0)
			close(STDOUT_FILENO);
		else
			dup2(fd, STDOUT_FILENO);
		error = output__open("-", &output);
		if (error)
			_exit(-error);
		for (int i = 0; i < times; i++)
			fputs(text, output__stream(output));
		_exit(-output__commit(output));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void stdout_is_written_and_stays_open(void **state)
{
	char text[16] = "";
	int ends[2], status;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	status = write_to_stdout(ends[1], "all", 1);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(read(ends[0], text, sizeof(text)), 3);
	assert_string_equal(text, "all");
	close(ends[0]);
	close(ends[1]);
}

static void a_closed_pipe_is_an_error_and_no_signal(void **state)
{
	int ends[2], status;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	close(ends[0]);
	status = write_to_stdout(ends[1], "0123456789", 20000);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), EPIPE);
	close(ends[1]);
}

static void a_closed_stdout_is_an_error(void **state)
{
	int status = write_to_stdout(-1, "x", 1);

	(void)state;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), EBADF);
}

/* What somebody else has sent before is not swallowed, and the mask is as it was. */
static void signals_of_others_stay_pending(void **state)
{
	struct output *output;
	sigset_t set, before;
	int ends[2];
	char path[32];

	(void)state;
	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	sigprocmask(SIG_BLOCK, &set, &before);
	raise(SIGPIPE);
	assert_int_equal(pipe(ends), 0);
	snprintf(path, sizeof(path), "/dev/fd/%d", ends[1]);
	assert_int_equal(output__open(path, &output), 0);
	close(ends[0]);
	fputs("x", output__stream(output));
	assert_int_equal(output__commit(output), -EPIPE);
	sigpending(&set);
	assert_int_equal(sigismember(&set, SIGPIPE), 1);
	signal(SIGPIPE, SIG_IGN);
	sigprocmask(SIG_SETMASK, &before, NULL);
	signal(SIGPIPE, SIG_DFL);
	close(ends[1]);
}

/* A shell may have made the terminal or pipe non-blocking: everything still arrives. */
static void a_non_blocking_pipe_is_waited_for(void **state)
{
	static char text[4096];
	int ends[2], status;
	size_t total = 0;
	ssize_t got;
	pid_t child;

	(void)state;
	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	child = fork();
	if (!child) {
		close(ends[0]);
		status = write_to_stdout(ends[1], "0123456789", 50000);
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 99);
	}
	close(ends[1]);
	while ((got = read(ends[0], text, sizeof(text)))) {
		if (got > 0)
			total += (size_t)got;
		else
			usleep(100);
	}
	close(ends[0]);
	assert_int_equal(total, 500000);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_there_only_after_commit),
		cmocka_unit_test(a_large_file_has_every_byte),
		cmocka_unit_test(abort_leaves_nothing),
		cmocka_unit_test(a_file_that_is_there_is_replaced_as_a_whole),
		cmocka_unit_test(the_owner_of_a_replaced_file_stays),
		cmocka_unit_test(a_link_stays_a_link),
		cmocka_unit_test(devices_pipes_and_stdout_by_name_are_written_in_place),
		cmocka_unit_test(a_file_that_has_no_name_any_more_is_written_in_place),
		cmocka_unit_test(a_name_of_any_allowed_length_works),
		cmocka_unit_test(what_cannot_be_opened_says_why),
		cmocka_unit_test(a_directory_or_file_that_is_not_writable),
		cmocka_unit_test(a_full_disk_is_an_error_and_leaves_nothing),
		cmocka_unit_test(a_full_device_is_an_error),
		cmocka_unit_test(stdout_is_written_and_stays_open),
		cmocka_unit_test(a_closed_pipe_is_an_error_and_no_signal),
		cmocka_unit_test(a_closed_stdout_is_an_error),
		cmocka_unit_test(signals_of_others_stay_pending),
		cmocka_unit_test(a_non_blocking_pipe_is_waited_for),
	};

	return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
