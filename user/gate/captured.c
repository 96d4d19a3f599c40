/* SPDX-License-Identifier: BSD-2-Clause */
#include "captured.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../core/launch.h"
#include "../core/log.h"

#define MAX_BYTES   (64 << 20)
#define SHOWN_BYTES (64 << 10)

struct captured {
	int fd;
	bool is_cut;
};

static int open_nameless(const char *folder)
{
	char path[4096];
	/* Appending: where it is cut, writers go on at its end. */
	int fd = open(folder, O_TMPFILE | O_RDWR | O_APPEND | O_CLOEXEC, 0600);

	if (fd >= 0)
		return fd;
	/* Not every file system has files without a name. */
	if (snprintf(path, sizeof(path), "%s/rbprof-gate-XXXXXX", folder) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = mkostemp(path, O_APPEND | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlink(path);
	return fd;
}

int captured__new(struct captured **ret_captured)
{
	const char *folder = getenv("TMPDIR");
	struct captured *captured = calloc(1, sizeof(*captured));
	uid_t uid;
	gid_t gid;

	if (!captured)
		return -ENOMEM;
	captured->fd = open_nameless(folder && *folder ? folder : "/tmp");
	if (captured->fd < 0) {
		int error = captured->fd;

		free(captured);
		return error;
	}
	/* Who opens /dev/stdout needs the right to. */
	if (launch__other_user(&uid, &gid) && fchown(captured->fd, uid, gid))
		log__debug("cannot give the file of the output to user %u", uid);
	*ret_captured = captured;
	return 0;
}

void captured__free(struct captured *captured)
{
	if (!captured)
		return;
	close(captured->fd);
	free(captured);
}

int captured__fd(const struct captured *captured)
{
	return captured->fd;
}

static void cut(const struct captured *captured)
{
	if (ftruncate(captured->fd, 0))
		log__debug("cannot cut the file of the output: %m");
}

void captured__limit(struct captured *captured)
{
	struct stat stat;

	if (fstat(captured->fd, &stat) || stat.st_size <= MAX_BYTES)
		return;
	captured->is_cut = true;
	cut(captured);
}

void captured__forget(struct captured *captured)
{
	captured->is_cut = false;
	cut(captured);
}

void captured__show(const struct captured *captured, const char *run)
{
	struct stat stat;
	char buffer[8192];
	off_t at = 0;
	ssize_t length;

	log__progress_clear();
	if (fstat(captured->fd, &stat) || (!stat.st_size && !captured->is_cut)) {
		log__error("run %s printed nothing", run);
		return;
	}
	if (stat.st_size > SHOWN_BYTES)
		at = stat.st_size - SHOWN_BYTES;
	log__error("what run %s printed%s:", run, at || captured->is_cut ? " at its end" : "");
	while ((length = pread(captured->fd, buffer, sizeof(buffer), at)) > 0) {
		fwrite(buffer, 1, (size_t)length, stderr);
		at += length;
	}
	if (at && pread(captured->fd, buffer, 1, at - 1) == 1 && *buffer != '\n')
		fputc('\n', stderr);
}
