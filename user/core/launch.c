/* SPDX-License-Identifier: BSD-2-Clause */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <paths.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "log.h"
#include "options.h"

#define MAX_GROUPS 65536 /* Linux's NGROUPS_MAX */

/* What the parent says when it lets the child go. */
struct go {
	bool hides_terminal;
	bool has_output;
	int output; /* fd: in the child's table since the fork */
};

struct launch {
	pid_t pid;
	int pidfd;
	int go_fd;    /* writing end: one byte lets the child exec; -1 once it was */
	int error_fd; /* reading end: the child's errno, or its end where the exec worked */
	struct go go;
	bool is_gone;
	int status;
};

/* Who the child runs as. */
struct identity {
	bool is_other; /* than who we are */
	uid_t uid;
	gid_t gid;
	gid_t *groups;
	int group_count;
};

static struct {
	bool is_saved;
	sigset_t mask;
	bool is_ignored[NSIG];
} inherited;

void launch__save_signals(void)
{
	sigprocmask(SIG_SETMASK, NULL, &inherited.mask);
	for (int number = 1; number < NSIG; number++) {
		struct sigaction action;

		inherited.is_ignored[number] =
			!sigaction(number, NULL, &action) && action.sa_handler == SIG_IGN;
	}
	inherited.is_saved = true;
}

/* In the child. The mask comes last: a signal that waited finds its disposition in place. */
static void restore_signals(void)
{
	sigset_t mask;

	for (int number = 1; number < NSIG; number++) {
		struct sigaction action = {
			.sa_handler = inherited.is_ignored[number] ? SIG_IGN : SIG_DFL,
		};

		/* Fails for SIGKILL, SIGSTOP and the C library's own. */
		(void)sigaction(number, &action, NULL);
	}
	sigemptyset(&mask);
	sigprocmask(SIG_SETMASK, inherited.is_saved ? &inherited.mask : &mask, NULL);
}

/* ---- the user behind sudo ---- */

/* 0, -ENOENT: not set, -EINVAL. */
static int read_id(const char *variable, uint32_t *ret_id)
{
	const char *text = getenv(variable);
	uint64_t id;

	if (!text)
		return -ENOENT;
	/* (uid_t)-1 means "leave as it is" to the kernel. */
	if (options__number(text, 0, UINT32_MAX - 1, &id))
		return -EINVAL;
	*ret_id = (uint32_t)id;
	return 0;
}

static int read_groups(struct identity *identity)
{
	const struct passwd *user = getpwuid(identity->uid);
	int count = 64;
	gid_t *groups;

	/* A user without entry has no groups but the one. */
	if (!user) {
		identity->groups = malloc(sizeof(gid_t));
		if (!identity->groups)
			return -ENOMEM;
		identity->groups[0] = identity->gid;
		identity->group_count = 1;
		return 0;
	}
	for (;;) {
		int room = count;

		groups = realloc(identity->groups, (size_t)room * sizeof(gid_t));
		if (!groups)
			return -ENOMEM;
		identity->groups = groups;
		if (getgrouplist(user->pw_name, identity->gid, groups, &count) >= 0)
			break;
		if (count <= room)
			count = room * 2;
		if (count > MAX_GROUPS)
			return -EINVAL;
	}
	identity->group_count = count;
	return 0;
}

/* Never falls back to root where it is unclear who the user is. */
static int find_identity(struct identity *ret_identity)
{
	int uid_error = read_id("SUDO_UID", &ret_identity->uid);
	int gid_error = read_id("SUDO_GID", &ret_identity->gid);

	if (geteuid() || (uid_error == -ENOENT && gid_error == -ENOENT))
		return 0;
	if (uid_error || gid_error) {
		log__error(
			"SUDO_UID or SUDO_GID is not a user's number: unset both to run as root");
		return -EINVAL;
	}
	if (ret_identity->uid == 0)
		return 0;
	ret_identity->is_other = true;
	return read_groups(ret_identity);
}

bool launch__other_user(uid_t *ret_uid, gid_t *ret_gid)
{
	uid_t uid;
	gid_t gid;

	if (geteuid() || read_id("SUDO_UID", &uid) || read_id("SUDO_GID", &gid) || !uid)
		return false;
	*ret_uid = uid;
	*ret_gid = gid;
	return true;
}

static int take_identity(const struct identity *identity)
{
	if (!identity->is_other)
		return 0;
	if (setgroups((size_t)identity->group_count, identity->groups) ||
	    setresgid(identity->gid, identity->gid, identity->gid) ||
	    setresuid(identity->uid, identity->uid, identity->uid))
		return -errno;
	return 0;
}

/* ---- the child ---- */

static ssize_t read_fd(int fd, void *into, size_t size)
{
	ssize_t length;

	do {
		length = read(fd, into, size);
	} while (length < 0 && errno == EINTR);
	return length;
}

/* A file that the kernel cannot run is a script for the shell, as execvp() has it. */
static void exec_shell(const char *path, char *const argv[])
{
	size_t count = 0;
	char **shell;

	while (argv[count])
		count++;
	shell = calloc(count + 2, sizeof(*shell));
	if (!shell)
		return;
	shell[0] = (char[]){ "sh" };
	shell[1] = strdup(path);
	for (size_t i = 1; i < count; i++)
		shell[i + 1] = argv[i];
	execv(_PATH_BSHELL, shell);
}

/* An error leaves the terminal to the child: it shows more than it should. */
static void leave_terminal(void)
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC), fd;

	for (fd = STDIN_FILENO; nothing >= 0 && fd <= STDERR_FILENO; fd++) {
		if (isatty(fd))
			dup2(nothing, fd);
	}
	if (nothing >= 0)
		close(nothing);
}

/* 0 or -errno. */
static int set_streams(const struct go *go)
{
	int nothing;

	if (go->hides_terminal)
		leave_terminal();
	if (!go->has_output)
		return 0;
	nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(go->output, STDOUT_FILENO) < 0 ||
	    dup2(go->output, STDERR_FILENO) < 0)
		return -errno;
	close(nothing);
	return 0;
}

static _Noreturn void run_child(const char *path, char *const argv[],
				const struct identity *identity, int go_fd, int error_fd)
{
	struct go go;
	int error;

	/* No word: our parent is gone, or will not have us run. */
	if (read_fd(go_fd, &go, sizeof(go)) != sizeof(go))
		_exit(0);
	error = -set_streams(&go);
	if (!error)
		error = -take_identity(identity);
	if (!error) {
		restore_signals();
		execv(path, argv);
		if (errno == ENOEXEC)
			exec_shell(path, argv);
		error = errno;
	}
	while (write(error_fd, &error, sizeof(error)) < 0 && errno == EINTR)
		;
	_exit(launch__exit_status(-error));
}

/* ---- the parent ---- */

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static int fork_child(const char *path, char *const argv[], const struct identity *identity,
		      struct launch *launch)
{
	int go[2] = { -1, -1 }, failed[2] = { -1, -1 };
	int error = 0;

	if (pipe2(go, O_CLOEXEC) || pipe2(failed, O_CLOEXEC)) {
		error = -errno;
		goto out;
	}
	launch->pid = fork();
	if (launch->pid < 0) {
		error = -errno;
		goto out;
	}
	if (!launch->pid) {
		/* Its own copy would keep the parent's end from being the end. */
		close(go[1]);
		close(failed[0]);
		run_child(path, argv, identity, go[0], failed[1]);
	}
	launch->go_fd = go[1];
	launch->error_fd = failed[0];
	go[1] = failed[0] = -1;
	launch->pidfd = (int)syscall(SYS_pidfd_open, launch->pid, 0);
	if (launch->pidfd < 0)
		error = -errno;
out:
	close_fd(&go[0]);
	close_fd(&go[1]);
	close_fd(&failed[0]);
	close_fd(&failed[1]);
	return error;
}

int launch__new(char *const argv[], struct launch **ret_launch)
{
	struct identity identity = { 0 };
	struct launch *launch = calloc(1, sizeof(*launch));
	char *path = NULL;
	int error;

	if (!launch)
		return -ENOMEM;
	launch->pid = -1;
	launch->pidfd = launch->go_fd = launch->error_fd = -1;
	error = launch__path(argv[0], &path);
	if (!error)
		error = find_identity(&identity);
	if (!error)
		error = fork_child(path, argv, &identity, launch);
	free(path);
	free(identity.groups);
	if (error)
		launch__free(launch);
	else
		*ret_launch = launch;
	return error;
}

pid_t launch__pid(const struct launch *launch)
{
	return launch->pid;
}

int launch__pidfd(const struct launch *launch)
{
	return launch->pidfd;
}

void launch__hide_terminal(struct launch *launch)
{
	launch->go.hides_terminal = true;
}

void launch__set_output(struct launch *launch, int fd)
{
	launch->go.has_output = true;
	launch->go.output = fd;
}

int launch__go(struct launch *launch)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
	ssize_t length;
	int error = 0, status;

	if (launch->go_fd < 0)
		return -EALREADY;
	/* A child that was killed meanwhile must not kill us by the pipe. */
	sigaction(SIGPIPE, &ignore, &before);
	while (write(launch->go_fd, &launch->go, sizeof(launch->go)) < 0 && errno == EINTR)
		;
	sigaction(SIGPIPE, &before, NULL);
	close_fd(&launch->go_fd);

	length = read_fd(launch->error_fd, &error, sizeof(error));
	close_fd(&launch->error_fd);
	if (length == 0)
		return 0;
	launch__wait(launch, &status);
	return length == sizeof(error) && error > 0 ? -error : -EIO;
}

int launch__exit_status(int error)
{
	return error == -ENOENT || error == -ENOTDIR ? 127 : 126;
}

static int wait_child(struct launch *launch, int options, int *ret_status)
{
	pid_t pid;
	int status;

	if (launch->is_gone) {
		*ret_status = launch->status;
		return 0;
	}
	do {
		pid = waitpid(launch->pid, &status, options);
	} while (pid < 0 && errno == EINTR);
	if (pid < 0)
		return -errno;
	if (pid == 0)
		return -EBUSY;
	launch->is_gone = true;
	launch->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	*ret_status = launch->status;
	return 0;
}

int launch__wait(struct launch *launch, int *ret_status)
{
	if (launch->go_fd >= 0)
		return -EAGAIN;
	return wait_child(launch, 0, ret_status);
}

int launch__poll(struct launch *launch, int *ret_status)
{
	return wait_child(launch, WNOHANG, ret_status);
}

void launch__free(struct launch *launch)
{
	int status;

	if (!launch)
		return;
	/* One that waits reads the end of its pipe, ends, and leaves nothing behind. */
	if (launch->go_fd >= 0) {
		close_fd(&launch->go_fd);
		if (launch->pid > 0)
			wait_child(launch, 0, &status);
	}
	close_fd(&launch->error_fd);
	close_fd(&launch->pidfd);
	free(launch);
}
