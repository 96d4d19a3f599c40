/* SPDX-License-Identifier: BSD-2-Clause */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "write_behind.h"

#define BUFFER_BYTES (256 << 10)
#define NAME_TRIES   100

struct output {
	FILE *stream;
	int fd;
	int error;     /* -errno of the first write that failed */
	int cancel_fd; /* -1: none */
	int directory; /* -1: written in place */
	char *name;    /* the final one, in the directory */
	char temporary[32];
	struct write_behind behind;
	char buffer[BUFFER_BYTES]; /* the stream's: without one the C library takes 8 KiB */
};

/* write() to a pipe without reader: -EPIPE, whatever the process does with SIGPIPE. */
static ssize_t write_quietly(int fd, const void *bytes, size_t size)
{
	const struct timespec now = { 0 };
	sigset_t broken_pipe, blocked, pending;
	bool was_pending;
	ssize_t written;
	int error;

	sigemptyset(&broken_pipe);
	sigaddset(&broken_pipe, SIGPIPE);
	sigpending(&pending);
	was_pending = sigismember(&pending, SIGPIPE) == 1;
	pthread_sigmask(SIG_BLOCK, &broken_pipe, &blocked);
	written = write(fd, bytes, size);
	error = errno;
	if (written < 0 && error == EPIPE && !was_pending)
		while (sigtimedwait(&broken_pipe, NULL, &now) < 0 && errno == EINTR)
			;
	pthread_sigmask(SIG_SETMASK, &blocked, NULL);
	return written < 0 ? -error : written;
}

/* Waits until something can be written without waiting again. 0 or -ECANCELED. */
static int wait_for_room(const struct output *output)
{
	struct pollfd ready[2] = {
		{ .fd = output->fd, .events = POLLOUT },
		{ .fd = output->cancel_fd, .events = POLLIN },
	};

	while (poll(ready, output->cancel_fd < 0 ? 1 : 2, -1) < 0 && errno == EINTR)
		;
	return ready[1].revents && !ready[0].revents ? -ECANCELED : 0;
}

static int write_all(const struct output *output, const char *bytes, size_t size)
{
	int fd = output->fd;

	while (size) {
		size_t part = size;
		ssize_t written;

		/* What poll() promises room for in a pipe; a regular file always has some. */
		if (output->cancel_fd >= 0) {
			if (wait_for_room(output))
				return -ECANCELED;
			part = size < PIPE_BUF ? size : PIPE_BUF;
		}
		written = write_quietly(fd, bytes, part);
		if (written == -EAGAIN) {
			/* Somebody made our stdout non-blocking. */
			if (wait_for_room(output))
				return -ECANCELED;
		} else if (written < 0 && written != -EINTR) {
			return (int)written;
		} else if (written > 0) {
			bytes += written;
			size -= (size_t)written;
		}
	}
	return 0;
}

static ssize_t stream_write(void *cookie, const char *bytes, size_t size)
{
	struct output *output = cookie;

	if (!output->error)
		output->error = write_all(output, bytes, size);
	if (!output->error && output->temporary[0])
		output->error = write_behind__add(&output->behind, output->fd, size);
	if (output->error) {
		errno = -output->error;
		return 0;
	}
	return (ssize_t)size;
}

/* Opens an unused name in the output's directory. */
static int create_temporary(struct output *output)
{
	int fd;

	for (int i = 0; i < NAME_TRIES; i++) {
		uint64_t random;

		if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
			return -EIO;
		/* Short, so that it fits wherever the final name does. */
		snprintf(output->temporary, sizeof(output->temporary), ".rbprof-%012" PRIx64,
			 random & 0xffffffffffff);
		fd = openat(output->directory, output->temporary,
			    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0666);
		if (fd >= 0) {
			output->fd = fd;
			return 0;
		}
		if (errno != EEXIST)
			break;
	}
	output->temporary[0] = '\0';
	return -errno;
}

/* Splits path into an open directory and a name in it. */
static int open_directory(struct output *output, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	char *directory;
	int error = 0;

	if (!*path)
		return -ENOENT;
	if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
		return -EISDIR;
	if (strlen(name) > NAME_MAX)
		return -ENAMETOOLONG;
	directory = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	output->name = strdup(name);
	if (!directory || !output->name) {
		error = -ENOMEM;
		goto out;
	}
	output->directory = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (output->directory < 0)
		error = -errno;
out:
	free(directory);
	return error;
}

/* Whether path is this very file. */
static bool is_same_file(const char *path, const struct stat *file)
{
	struct stat other;

	return !stat(path, &other) && other.st_dev == file->st_dev && other.st_ino == file->st_ino;
}

/*
 * The file that is there already: open for writing (so the kernel has checked permissions, and
 * links in world-writable directories), *ret_path where it really is. A device, a pipe and a
 * file without a name have no place to rename to: *ret_path is NULL.
 */
static int open_existing(const char *path, int *ret_fd, struct stat *ret_file, char **ret_path)
{
	char link[64], target[PATH_MAX];
	ssize_t length;
	int fd, error;

	fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -errno;
	if (fstat(fd, ret_file))
		goto failed;
	*ret_path = NULL;
	if (S_ISREG(ret_file->st_mode)) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		length = readlink(link, target, sizeof(target) - 1);
		target[length > 0 ? length : 0] = '\0';
		if (!is_same_file(target, ret_file)) {
			if (ftruncate(fd, 0))
				goto failed;
		} else {
			*ret_path = strdup(target);
			if (!*ret_path) {
				errno = ENOMEM;
				goto failed;
			}
		}
	}
	*ret_fd = fd;
	return 0;
failed:
	error = -errno;
	close(fd);
	return error;
}

static int open_path(struct output *output, const char *path)
{
	char *existing = NULL;
	struct stat file;
	int fd = -1;
	int error;

	error = open_existing(path, &fd, &file, &existing);
	if (!error && !existing) {
		output->fd = fd;
		return 0;
	}
	if (error && error != -ENOENT)
		return error;

	error = open_directory(output, existing ? existing : path);
	if (!error)
		error = create_temporary(output);
	if (!error && existing) {
		/* Only root may give a file away; who may not keeps it. */
		if (fchown(output->fd, file.st_uid, file.st_gid) && errno != EPERM)
			error = -errno;
		if (!error && fchmod(output->fd, file.st_mode & 0777))
			error = -errno;
	}
	free(existing);
	if (fd >= 0)
		close(fd);
	return error;
}

static int open_stdout(struct output *output)
{
	output->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	return output->fd < 0 ? -errno : 0;
}

int output__open(const char *path, struct output **ret_output)
{
	const cookie_io_functions_t functions = { .write = stream_write };
	struct output *output = calloc(1, sizeof(*output));
	int error;

	if (!output)
		return -ENOMEM;
	output->fd = -1;
	output->directory = -1;
	output->cancel_fd = -1;
	error = strcmp(path, "-") ? open_path(output, path) : open_stdout(output);
	if (error)
		goto failed;
	output->stream = fopencookie(output, "w", functions);
	if (!output->stream) {
		error = -ENOMEM;
		goto failed;
	}
	setvbuf(output->stream, output->buffer, _IOFBF, sizeof(output->buffer));
	*ret_output = output;
	return 0;
failed:
	output__abort(output);
	return error;
}

void output__cancel_on(struct output *output, int fd)
{
	if (output->directory < 0)
		output->cancel_fd = fd;
}

FILE *output__stream(struct output *output)
{
	return output->stream;
}

bool output__is_terminal(const struct output *output)
{
	return isatty(output->fd) == 1;
}

/* The new name itself must survive a crash, too; file systems that cannot say so are as they are.
 */
static void sync_directory(int directory)
{
	int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
}

/* Network file systems report a failed write only here. */
static int close_file(struct output *output)
{
	int error = close(output->fd) && errno != EINTR ? -errno : 0;

	output->fd = -1;
	return error;
}

static int put_in_place(struct output *output)
{
	int error;

	if (output->directory < 0)
		return close_file(output);
	if (fsync(output->fd))
		return -errno;
	error = close_file(output);
	if (error)
		return error;
	if (renameat(output->directory, output->temporary, output->directory, output->name))
		return -errno;
	output->temporary[0] = '\0';
	sync_directory(output->directory);
	return 0;
}

int output__commit(struct output *output)
{
	int error = 0;

	if (fclose(output->stream))
		error = -errno;
	output->stream = NULL;
	if (output->error)
		error = output->error;
	if (!error)
		error = put_in_place(output);
	output__abort(output);
	return error;
}

void output__abort(struct output *output)
{
	if (!output)
		return;
	if (output->stream) {
		/* What is still buffered goes nowhere. */
		output->error = output->error ? output->error : -ECANCELED;
		fclose(output->stream);
	}
	if (output->temporary[0])
		unlinkat(output->directory, output->temporary, 0);
	if (output->fd >= 0)
		close(output->fd);
	if (output->directory >= 0)
		close(output->directory);
	free(output->name);
	free(output);
}
