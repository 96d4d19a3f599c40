/* SPDX-License-Identifier: BSD-2-Clause */
#include "control.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "host.h"

#define DIRECTORY  "/run/rbprof-bpf"
#define MAX_SUFFIX 32
#define ANSWER_MS  1000 /* how long a reader may take */
#define MAX_ANSWER (64 << 20)

struct control {
	int fd;
	struct sockaddr_un address;
};

/*
 * ".sock"; with the number of our pid namespace before it if that is not the first: /run may be
 * one for several, and the same pid in each.
 */
static void suffix_of_us(char suffix[MAX_SUFFIX])
{
	struct stat file;

	if (host__pids() == HOST_PIDS_ALL || stat("/proc/self/ns/pid", &file))
		snprintf(suffix, MAX_SUFFIX, ".sock");
	else
		snprintf(suffix, MAX_SUFFIX, ".%ju.sock", (uintmax_t)file.st_ino);
}

static int address_of(pid_t pid, struct sockaddr_un *ret_address)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char suffix[MAX_SUFFIX];

	suffix_of_us(suffix);
	snprintf(address.sun_path, sizeof(address.sun_path), DIRECTORY "/%d%s", pid, suffix);
	*ret_address = address;
	return 0;
}

int control__new(struct control **ret_control)
{
	struct control *control = calloc(1, sizeof(*control));
	mode_t mask;
	int error = 0;

	if (!control)
		return -ENOMEM;
	address_of(getpid(), &control->address);
	if (mkdir(DIRECTORY, 0700) && errno != EEXIST) {
		error = -errno;
		free(control);
		return error;
	}
	control->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* A recording that had our pid may have left its socket behind. */
	unlink(control->address.sun_path);
	mask = umask(0177);
	if (control->fd < 0 ||
	    bind(control->fd, (const struct sockaddr *)&control->address,
		 sizeof(control->address)) ||
	    listen(control->fd, 4))
		error = -errno;
	umask(mask);
	if (error)
		control__free(control);
	else
		*ret_control = control;
	return error;
}

void control__free(struct control *control)
{
	if (!control)
		return;
	if (control->fd >= 0) {
		unlink(control->address.sun_path);
		close(control->fd);
	}
	rmdir(DIRECTORY);
	free(control);
}

int control__fd(const struct control *control)
{
	return control->fd;
}

static void send_all(int fd, const char *text, size_t length)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLOUT };

	while (length) {
		ssize_t sent = send(fd, text, length, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent < 0 && errno == EAGAIN && poll(&poll_fd, 1, ANSWER_MS) > 0)
			continue;
		if (sent <= 0)
			return;
		text += sent;
		length -= (size_t)sent;
	}
}

void control__answer(struct control *control, json_t *(*state)(void *context), void *context)
{
	int fd;

	while ((fd = accept4(control->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		json_t *object = state(context);
		char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;

		if (text)
			send_all(fd, text, strlen(text));
		free(text);
		json_decref(object);
		close(fd);
	}
}

static json_t *read_answer(int fd)
{
	size_t length = 0, size = 0;
	char *text = NULL;
	json_t *state = NULL;
	ssize_t got;

	do {
		if (length == size) {
			char *larger = size < MAX_ANSWER ? realloc(text, size + 65536) : NULL;

			if (!larger)
				goto out;
			text = larger;
			size += 65536;
		}
		got = read(fd, text + length, size - length);
		if (got > 0)
			length += (size_t)got;
	} while (got > 0);
	state = json_loadb(text, length, 0, NULL);
out:
	free(text);
	return state;
}

int control__ask(pid_t pid, json_t **ret_state)
{
	struct sockaddr_un address;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), error = 0;
	json_t *state;

	if (fd < 0)
		return -errno;
	address_of(pid, &address);
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address))) {
		error = errno == ECONNREFUSED ? -ENOENT : -errno;
	} else {
		state = read_answer(fd);
		if (state)
			*ret_state = state;
		else
			error = -EPROTO;
	}
	close(fd);
	return error;
}

int control__each(void (*each)(pid_t pid, void *context), void *context)
{
	DIR *directory = opendir(DIRECTORY);
	char suffix[MAX_SUFFIX];
	struct dirent *entry;

	if (!directory)
		return errno == ENOENT ? 0 : -errno;
	suffix_of_us(suffix);
	while ((entry = readdir(directory))) {
		char *end;
		long pid = strtol(entry->d_name, &end, 10);

		if (pid > 0 && !strcmp(end, suffix))
			each((pid_t)pid, context);
	}
	closedir(directory);
	return 0;
}
