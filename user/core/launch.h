/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * COMMAND of `record -- COMMAND`: our own child, forked early and held before its exec, so that
 * profiling is attached when its first instruction runs. It inherits our stdin, stdout, stderr,
 * environment and process group (the terminal's Ctrl-C reaches it too), and the signal mask and
 * ignored signals that we were started with. Under sudo it runs as who called sudo.
 */
#ifndef RBPROF_LAUNCH_H
#define RBPROF_LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>

struct launch;

/*
 * Remembers the signal mask and the ignored signals, for children to start with. Called once, at
 * the start of main() and before anything changes them. Without the call children start with
 * nothing blocked or ignored.
 */
void launch__save_signals(void);

/*
 * The file that execvp() would run for this name: a name without slash is looked up in PATH. 0
 * and *ret_path (to be freed); -ENOENT: no such file; -EACCES: there is one, but it is not
 * executable; -ENOMEM.
 */
int launch__path(const char *name, char **ret_path);

/*
 * The ELF file that will run for argv: through PATH, `#!` lines and env(1), so that a runtime can
 * be analysed before the exec. 0 and *ret_path (to be freed); -ENOENT, -EACCES as above, for
 * argv[0] or an interpreter; -ENOEXEC: neither ELF nor `#!` (a shell will run it); -ELOOP: too
 * many interpreters; -ENOMEM; -errno of reading.
 */
int launch__interpreter(char *const argv[], char **ret_path);

/*
 * Forks the child, which waits for launch__go(). argv is used until then, not kept after. 0 and
 * *ret_launch, to be freed with launch__free(); -ENOENT, -EACCES: argv[0] is not there or not
 * executable (see launch__exit_status()); -EINVAL: SUDO_UID or SUDO_GID makes no sense, already
 * said on stderr; -errno.
 */
int launch__new(char *const argv[], struct launch **ret_launch);

/*
 * Before launch__go(): the child gets /dev/null in place of each standard stream that is a
 * terminal.
 */
void launch__hide_terminal(struct launch *launch);

/*
 * Before launch__go(): the child's stdout and stderr go to fd, which was open when the child was
 * forked, and its stdin is /dev/null.
 */
void launch__set_output(struct launch *launch, int fd);

/* Of the child: its pid is valid until launch__wait() has returned 0, or launch__free(). */
pid_t launch__pid(const struct launch *launch);
/* Readable when the child has ended. Owned by launch. */
int launch__pidfd(const struct launch *launch);

/*
 * Lets the child exec and waits until it has. 0: it runs (or was killed just before: then
 * launch__wait() tells). -errno: the exec or the change of user failed; the child is gone.
 * -EALREADY on a second call.
 */
int launch__go(struct launch *launch);

/* Whether COMMAND runs as another user than we do, and as whom. False also where that makes no
 * sense.
 */
bool launch__other_user(uid_t *ret_uid, gid_t *ret_gid);

/* Exit status that a shell gives for an error of launch__new() or launch__go(): 127 or 126. */
int launch__exit_status(int error);

/*
 * Waits for the child's end. 0 and *ret_status: its exit code, or 128 + signal. The status can
 * be asked for again. -EAGAIN: it was not let go, so it would wait for ever. -errno.
 */
int launch__wait(struct launch *launch, int *ret_status);
/* The same without waiting: -EBUSY while it runs. */
int launch__poll(struct launch *launch, int *ret_status);

/*
 * A child that was not let go ends without having run anything; one that runs goes on. NULL is
 * allowed.
 */
void launch__free(struct launch *launch);

#endif
