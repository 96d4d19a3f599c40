/* SPDX-License-Identifier: BSD-2-Clause */
/* COMMAND, with real children: what runs, as whom, when, and how its end is told. */
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "capture.h"
#include "user/core/launch.h"

#define ARGV(...) ((char *const[]){ __VA_ARGS__, NULL })

static char folder[] = "/tmp/rbprof-launch-XXXXXX";

/* The path of a file in our folder, in one of some buffers used in turn. */
static char *in_folder(const char *name)
{
	static char paths[8][PATH_MAX];
	static unsigned int turn;
	char *path = paths[turn++ % 8];

	snprintf(path, PATH_MAX, "%s/%s", folder, name);
	return path;
}

static char *make_file(const char *name, const char *text, mode_t mode)
{
	char *path = in_folder(name);
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path, mode), 0);
	return path;
}

/* The value of a line of a saved /proc/PID/status. */
static char *status_line(const char *path, const char *key)
{
	static char line[4096];
	size_t length = strlen(key);
	FILE *file = fopen(path, "re");

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, key, length) || line[length] != ':')
			continue;
		fclose(file);
		line[strcspn(line, "\n")] = '\0';
		return line + length + 1 + strspn(line + length + 1, "\t ");
	}
	fail_msg("%s has no %s", path, key);
	return NULL;
}

/* From start to end. The exit status that is told, or -errno. */
static int run(char *const argv[])
{
	struct launch *launch;
	int error, status = -1;

	error = launch__new(argv, &launch);
	if (error)
		return error;
	error = launch__go(launch);
	if (!error)
		error = launch__wait(launch, &status);
	launch__free(launch);
	return error ? error : status;
}

/* ---- which file ---- */

static void test_path(void **state)
{
	char *path = NULL;
	char *plain = make_file("plain", "text", 0644);
	char search[PATH_MAX];

	(void)state;
	make_file("tool", "#!/bin/sh\n", 0755);
	snprintf(search, sizeof(search), "/nonexistent:%s:/bin", folder);
	setenv("PATH", search, 1);
	assert_int_equal(launch__path("tool", &path), 0);
	assert_string_equal(path, in_folder("tool"));
	free(path);
	assert_int_equal(launch__path("/bin/sh", &path), 0);
	assert_string_equal(path, "/bin/sh");
	free(path);

	path = NULL;
	assert_int_equal(launch__path("no-such-tool", &path), -ENOENT);
	assert_int_equal(launch__path("", &path), -ENOENT);
	assert_int_equal(launch__path("plain", &path), -EACCES);
	assert_int_equal(launch__path(plain, &path), -EACCES);
	assert_int_equal(launch__path(folder, &path), -EACCES);
	assert_int_equal(launch__path("/no/such/file", &path), -ENOENT);
	assert_null(path);

	/* An empty part of PATH is the current directory. */
	assert_int_equal(chdir(folder), 0);
	setenv("PATH", "/nonexistent:", 1);
	assert_int_equal(launch__path("tool", &path), 0);
	assert_string_equal(path, "./tool");
	free(path);
	assert_int_equal(chdir("/"), 0);
	setenv("PATH", "/usr/local/bin:/usr/bin:/bin", 1);
}

static void expect_interpreter(char *const argv[], const char *name)
{
	char *path;
	int error = launch__interpreter(argv, &path);

	if (error)
		fail_msg("%s: %s", argv[0], strerror(-error));
	assert_non_null(strrchr(path, '/'));
	assert_string_equal(strrchr(path, '/') + 1, name);
	free(path);
}

static void refuse_interpreter(char *const argv[], int expected)
{
	char *path = NULL;

	assert_int_equal(launch__interpreter(argv, &path), expected);
	assert_null(path);
}

static void test_interpreter(void **state)
{
	char *direct = make_file("direct", "#!/bin/cat  \nbody\n", 0755);
	char *spaced = make_file("spaced", "#! \t/bin/cat -u \t\n", 0755);
	char *by_env = make_file("by-env", "#!/usr/bin/env cat\n", 0755);
	char *split = make_file("split", "#!/usr/bin/env -S A=1 cat -u\n", 0755);
	char *no_end = make_file("no-end", "#!/bin/cat", 0755);
	char nested[PATH_MAX];

	(void)state;
	expect_interpreter(ARGV("cat", "-u"), "cat");
	expect_interpreter(ARGV(direct), "cat");
	expect_interpreter(ARGV(spaced), "cat");
	expect_interpreter(ARGV(by_env), "cat");
	expect_interpreter(ARGV(split), "cat");
	expect_interpreter(ARGV(no_end), "cat");
	expect_interpreter(ARGV("env", "A=1", "-u", "B", "cat", "x"), "cat");
	expect_interpreter(ARGV("env", "--", by_env), "cat");
	snprintf(nested, sizeof(nested), "#!%s\n", by_env);
	expect_interpreter(ARGV(make_file("nested", nested, 0755)), "cat");
}

static void test_no_interpreter(void **state)
{
	char loop[PATH_MAX], huge[2000];

	(void)state;
	refuse_interpreter(ARGV("no-such-tool"), -ENOENT);
	refuse_interpreter(ARGV(make_file("hidden", "#!/bin/cat\n", 0644)), -EACCES);
	refuse_interpreter(ARGV(make_file("lost", "#!/no/such/interpreter\n", 0755)), -ENOENT);
	refuse_interpreter(ARGV(make_file("lost-env", "#!/usr/bin/env no-such\n", 0755)), -ENOENT);
	refuse_interpreter(ARGV(make_file("shell", "echo hello\n", 0755)), -ENOEXEC);
	refuse_interpreter(ARGV(make_file("empty", "", 0755)), -ENOEXEC);
	refuse_interpreter(ARGV(make_file("bare", "#!", 0755)), -ENOEXEC);
	refuse_interpreter(ARGV(make_file("blank", "#!  \n", 0755)), -ENOEXEC);
	refuse_interpreter(ARGV("env"), -ENOEXEC);
	refuse_interpreter(ARGV("env", "-i", "cat"), -ENOEXEC);
	refuse_interpreter(ARGV("env", "PATH=/x", "cat"), -ENOEXEC);
	/* Only a name, never looked up in PATH. */
	refuse_interpreter(ARGV(make_file("named", "#!cat\n", 0755)), -ENOENT);

	snprintf(loop, sizeof(loop), "#!%s\n", in_folder("loop"));
	refuse_interpreter(ARGV(make_file("loop", loop, 0755)), -ELOOP);
	memset(huge, 'x', sizeof(huge) - 1);
	huge[sizeof(huge) - 1] = '\0';
	memcpy(huge, "#!/", 3);
	refuse_interpreter(ARGV(make_file("huge", huge, 0755)), -ENOENT);
}

/* ---- start and end ---- */

static void test_status(void **state)
{
	(void)state;
	assert_int_equal(run(ARGV("/bin/true")), 0);
	assert_int_equal(run(ARGV("true")), 0);
	assert_int_equal(run(ARGV("false")), 1);
	assert_int_equal(run(ARGV("sh", "-c", "exit 7")), 7);
	assert_int_equal(run(ARGV("sh", "-c", "exit 200")), 200);
	assert_int_equal(run(ARGV("sh", "-c", "kill -9 $$")), 137);
	assert_int_equal(run(ARGV("sh", "-c", "kill -TERM $$")), 143);
	/* Without `#!` a file is the shell's. */
	assert_int_equal(run(ARGV(make_file("plain-shell", "exit $1\n", 0755), "9")), 9);
}

static void test_cannot_start(void **state)
{
	(void)state;
	assert_int_equal(run(ARGV("no-such-tool")), -ENOENT);
	assert_int_equal(run(ARGV("/no/such/tool")), -ENOENT);
	assert_int_equal(run(ARGV(make_file("not-executable", "#!/bin/sh\n", 0644))), -EACCES);
	assert_int_equal(run(ARGV(folder)), -EACCES);
	/* Found out by the kernel only. */
	assert_int_equal(run(ARGV(make_file("lost", "#!/no/such\n", 0755))), -ENOENT);

	assert_int_equal(launch__exit_status(-ENOENT), 127);
	assert_int_equal(launch__exit_status(-EACCES), 126);
	assert_int_equal(launch__exit_status(-ENOEXEC), 126);
}

/* Nothing of COMMAND runs before it is let go, and all of it after. */
static void test_waits_for_go(void **state)
{
	char *mark = in_folder("mark");
	char exe[64], before[PATH_MAX] = "", own[PATH_MAX] = "";
	struct launch *launch;
	struct pollfd end;
	int status = -1;

	(void)state;
	assert_int_equal(launch__new(ARGV("touch", mark), &launch), 0);
	assert_int_equal(launch__wait(launch, &status), -EAGAIN);
	usleep(50000);
	assert_int_equal(access(mark, F_OK), -1);
	assert_int_equal(launch__poll(launch, &status), -EBUSY);
	snprintf(exe, sizeof(exe), "/proc/%d/exe", launch__pid(launch));
	assert_true(readlink(exe, before, sizeof(before) - 1) > 0);
	assert_true(readlink("/proc/self/exe", own, sizeof(own) - 1) > 0);
	assert_string_equal(before, own);
	assert_int_equal(getpgid(launch__pid(launch)), getpgid(0));
	end = (struct pollfd){ .fd = launch__pidfd(launch), .events = POLLIN };
	assert_int_equal(poll(&end, 1, 0), 0);

	assert_int_equal(launch__go(launch), 0);
	assert_int_equal(launch__go(launch), -EALREADY);
	assert_int_equal(poll(&end, 1, 60000), 1);
	assert_int_equal(launch__wait(launch, &status), 0);
	assert_int_equal(status, 0);
	assert_int_equal(launch__poll(launch, &status), 0);
	assert_int_equal(access(mark, F_OK), 0);
	launch__free(launch);
}

static void test_never_let_go(void **state)
{
	char *mark = in_folder("never");
	struct launch *launch;
	pid_t pid;

	(void)state;
	assert_int_equal(launch__new(ARGV("touch", mark), &launch), 0);
	pid = launch__pid(launch);
	launch__free(launch);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(errno, ESRCH);
	assert_int_equal(access(mark, F_OK), -1);
	launch__free(NULL);
}

static void test_killed_before_go(void **state)
{
	struct launch *launch;
	int status = -1;

	(void)state;
	assert_int_equal(launch__new(ARGV("true"), &launch), 0);
	kill(launch__pid(launch), SIGKILL);
	usleep(20000);
	assert_int_equal(launch__go(launch), 0);
	assert_int_equal(launch__wait(launch, &status), 0);
	assert_int_equal(status, 137);
	launch__free(launch);
}

/* ---- what it inherits ---- */

static void test_signals(void **state)
{
	char *saved = in_folder("status");
	char before[2][64];
	sigset_t mask, old;

	(void)state;
	snprintf(before[0], 64, "%s", status_line("/proc/self/status", "SigBlk"));
	snprintf(before[1], 64, "%s", status_line("/proc/self/status", "SigIgn"));
	launch__save_signals();
	/* As a recording does: signals by signalfd, closed pipes as errors. */
	sigemptyset(&mask);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	sigprocmask(SIG_BLOCK, &mask, &old);
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(run(ARGV("cp", "/proc/self/status", saved)), 0);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &old, NULL);
	assert_string_equal(status_line(saved, "SigBlk"), before[0]);
	assert_string_equal(status_line(saved, "SigIgn"), before[1]);
}

/* No descriptor of ours comes along: what was open without O_CLOEXEC, and ls's own. */
static void test_descriptors(void **state)
{
	static struct capture capture;
	char *rest = capture.text, *word;
	int status, others = 0;

	(void)state;
	capture__begin(&capture, STDOUT_FILENO);
	status = run(ARGV("ls", "/proc/self/fd"));
	capture__end(&capture);
	assert_int_equal(status, 0);
	while ((word = strsep(&rest, "\n"))) {
		int fd = atoi(word);

		/* The capture's copy of stdout was open until just now. */
		if (*word && fd != capture.saved && fcntl(fd, F_GETFD) != 0)
			others++;
	}
	assert_in_range(others, 0, 1);
}

static void test_sudo(void **state)
{
	char *saved = in_folder("status-sudo");

	(void)state;
	if (geteuid()) {
		print_message("changing the user needs root\n");
		skip();
	}
	assert_int_equal(chmod(folder, 0777), 0);
	setenv("SUDO_UID", "54321", 1);
	setenv("SUDO_GID", "54322", 1);
	assert_int_equal(run(ARGV("cp", "/proc/self/status", saved)), 0);
	assert_string_equal(status_line(saved, "Uid"), "54321\t54321\t54321\t54321");
	assert_string_equal(status_line(saved, "Gid"), "54322\t54322\t54322\t54322");
	assert_int_equal(atoi(status_line(saved, "Groups")), 54322);
	assert_string_equal(status_line(saved, "CapEff"), "0000000000000000");
	assert_string_equal(status_line(saved, "CapPrm"), "0000000000000000");

	/* In doubt it does not run as root. */
	setenv("SUDO_GID", "x", 1);
	assert_int_equal(run(ARGV("true")), -EINVAL);
	setenv("SUDO_GID", "-1", 1);
	assert_int_equal(run(ARGV("true")), -EINVAL);
	setenv("SUDO_GID", "4294967295", 1);
	assert_int_equal(run(ARGV("true")), -EINVAL);
	unsetenv("SUDO_GID");
	assert_int_equal(run(ARGV("true")), -EINVAL);

	/* root by sudo stays root. */
	setenv("SUDO_UID", "0", 1);
	setenv("SUDO_GID", "0", 1);
	assert_int_equal(run(ARGV("cp", "/proc/self/status", in_folder("status-root"))), 0);
	assert_string_equal(status_line(in_folder("status-root"), "Uid"), "0\t0\t0\t0");
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
}

static int make_folder(void **state)
{
	(void)state;
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	return run(ARGV("rm", "-r", folder));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_path),	       cmocka_unit_test(test_interpreter),
		cmocka_unit_test(test_no_interpreter), cmocka_unit_test(test_status),
		cmocka_unit_test(test_cannot_start),   cmocka_unit_test(test_waits_for_go),
		cmocka_unit_test(test_never_let_go),   cmocka_unit_test(test_killed_before_go),
		cmocka_unit_test(test_signals),	       cmocka_unit_test(test_descriptors),
		cmocka_unit_test(test_sudo),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
