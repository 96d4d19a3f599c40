/* SPDX-License-Identifier: BSD-2-Clause */
#include "thread_states.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../util/utf8.h"

#define STATUS_BYTES 8192 /* more than the kernel writes, unless it has very many groups */

static int open_file(pid_t pid, pid_t tid, const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 ? fd : errno == ENOENT ? -ESRCH : -errno;
}

/* The kernel makes such a file anew for each read from its beginning, and gives all of it. */
static ssize_t read_text(int fd, char *text, size_t size)
{
	ssize_t length;

	do
		length = pread(fd, text, size - 1, 0);
	while (length < 0 && errno == EINTR);
	if (length < 0)
		return -errno;
	text[length] = '\0';
	return length;
}

/* A file of a thread, as text. Its length or -errno. */
static ssize_t read_file(pid_t pid, pid_t tid, const char *name, char *text, size_t size)
{
	int fd = open_file(pid, tid, name);
	ssize_t length;

	if (fd < 0)
		return fd;
	length = read_text(fd, text, size);
	close(fd);
	return length;
}

/* The value of a line of a `status` file, or NULL. */
static const char *status_value(const char *text, const char *key)
{
	const size_t length = strlen(key);
	const char *line = text;

	while (line) {
		if (!strncmp(line, key, length) && line[length] == ':') {
			line += length + 1;
			return line + strspn(line, " \t");
		}
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	return NULL;
}

static int status_number(const char *text, const char *key, uint64_t *ret_number)
{
	const char *value = status_value(text, key);

	if (!value || !isdigit((unsigned char)*value))
		return -EINVAL;
	errno = 0;
	*ret_number = strtoull(value, NULL, 10);
	return errno ? -EINVAL : 0;
}

int thread_state__parse(const char *text, struct thread_state *ret_state)
{
	const char *letter = status_value(text, "State"), *ids = status_value(text, "NSpid");
	uint64_t by_itself, by_force;
	long id = 0;
	char *end;

	if (!letter || !isalpha((unsigned char)*letter) ||
	    status_number(text, "voluntary_ctxt_switches", &by_itself) ||
	    status_number(text, "nonvoluntary_ctxt_switches", &by_force))
		return -EINVAL;
	/* One id for each namespace, the innermost last. */
	while (ids && isdigit((unsigned char)*ids)) {
		id = strtol(ids, &end, 10);
		ids = end + strspn(end, " \t");
	}
	if (id < 0 || id > INT_MAX)
		return -EINVAL;
	*ret_state = (struct thread_state){
		.tid_inside = (pid_t)id,
		.letter = *letter,
		.switches = by_itself + by_force,
	};
	return 0;
}

int thread_state__open(pid_t pid, pid_t tid)
{
	int fd = open_file(pid, tid, "status");

	return fd < 0 ? -ESRCH : fd;
}

int thread_state__read_open(int fd, pid_t tid, struct thread_state *ret_state)
{
	struct thread_state state;
	char text[STATUS_BYTES];

	if (read_text(fd, text, sizeof(text)) <= 0 || thread_state__parse(text, &state))
		return -ESRCH;
	state.tid = tid;
	if (!state.tid_inside)
		state.tid_inside = tid;
	*ret_state = state;
	return 0;
}

int thread_state__read(pid_t pid, pid_t tid, struct thread_state *ret_state)
{
	int fd = thread_state__open(pid, tid), err;

	if (fd < 0)
		return fd;
	err = thread_state__read_open(fd, tid, ret_state);
	close(fd);
	return err;
}

static int compare(const void *a, const void *b)
{
	const struct thread_state *first = a, *second = b;

	return (first->tid > second->tid) - (first->tid < second->tid);
}

static int list_add(struct thread_state **states, size_t *count, size_t *capacity,
		    const struct thread_state *state)
{
	struct thread_state *more;

	if (*count == THREAD_STATES_MAX)
		return -E2BIG;
	if (*count == *capacity) {
		*capacity = *capacity ? *capacity * 2 : 16;
		more = realloc(*states, *capacity * sizeof(*more));
		if (!more)
			return -ENOMEM;
		*states = more;
	}
	(*states)[(*count)++] = *state;
	return 0;
}

int thread_states__list(pid_t pid, struct thread_state **ret_states, size_t *ret_count)
{
	struct thread_state *states = NULL, state;
	size_t count = 0, capacity = 0;
	struct dirent *entry;
	char path[32];
	int err = 0;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	if (!tasks)
		return -ESRCH;
	while (!err && (entry = readdir(tasks))) {
		char *end;
		long tid = strtol(entry->d_name, &end, 10);

		/* One that ends meanwhile is no thread any more. */
		if (*end || tid <= 0 || thread_state__read(pid, (pid_t)tid, &state))
			continue;
		err = list_add(&states, &count, &capacity, &state);
	}
	closedir(tasks);
	if (!err && !count)
		err = -ESRCH;
	if (err) {
		free(states);
		return err;
	}
	qsort(states, count, sizeof(*states), compare);
	*ret_states = states;
	*ret_count = count;
	return 0;
}

bool thread_state__stood_still(const struct thread_state *before, const struct thread_state *after)
{
	return before->letter != 'R' && after->letter != 'R' && before->switches == after->switches;
}

void thread_state__comm(pid_t pid, pid_t tid, char *comm, size_t size)
{
	char text[64];
	ssize_t length = read_file(pid, tid, "comm", text, sizeof(text));

	if (length > 0 && text[length - 1] == '\n')
		length--;
	utf8__clean(text, length > 0 ? (size_t)length : 0, comm, size - 1);
}

int thread_call__parse(const char *text, struct thread_call *ret_call)
{
	struct thread_call call = { .number = -1 };
	int fields;

	if (!strncmp(text, "running", 7))
		return -EAGAIN;
	fields = sscanf(text,
			"%" SCNd64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
			" %" SCNx64,
			&call.number, &call.arguments[0], &call.arguments[1], &call.arguments[2],
			&call.arguments[3], &call.arguments[4], &call.arguments[5]);
	if (fields < 1)
		return -EINVAL;
	if (fields < 7)
		call = (struct thread_call){ .number = -1 };
	*ret_call = call;
	return 0;
}

int thread_call__read(pid_t pid, pid_t tid, struct thread_call *ret_call)
{
	char text[256];
	ssize_t length = read_file(pid, tid, "syscall", text, sizeof(text));

	if (length < 0)
		return length == -EACCES ? -EPERM : (int)length;
	return thread_call__parse(text, ret_call);
}

void thread_call__function(pid_t pid, pid_t tid, char *name, size_t size)
{
	ssize_t length = read_file(pid, tid, "wchan", name, size);

	/* The kernel says 0 where it does not know, or does not tell. */
	if (length <= 0 || !strcmp(name, "0"))
		*name = '\0';
}
