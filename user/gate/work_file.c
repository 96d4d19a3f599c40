/* SPDX-License-Identifier: BSD-2-Clause */
#include "work_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../core/launch.h"
#include "../core/options.h"

#define MAX_TEXT 64

struct work_file {
	char *folder, *path;
};

int work_file__new(struct work_file **ret_work)
{
	const char *parent = getenv("TMPDIR");
	struct work_file *work = calloc(1, sizeof(*work));
	int error = 0;
	uid_t uid;
	gid_t gid;

	if (!work)
		return -ENOMEM;
	if (asprintf(&work->folder, "%s/rbprof-gate-XXXXXX",
		     parent && *parent == '/' ? parent : "/tmp") < 0)
		work->folder = NULL;
	if (!work->folder)
		error = -ENOMEM;
	else if (!mkdtemp(work->folder))
		error = -errno;
	if (!error && asprintf(&work->path, "%s/work", work->folder) < 0) {
		work->path = NULL;
		error = -ENOMEM;
	}
	if (!error && launch__other_user(&uid, &gid) && chown(work->folder, uid, gid))
		error = -errno;
	if (!error && setenv(WORK_FILE_VARIABLE, work->path, 1))
		error = -errno;
	if (error)
		work_file__free(work);
	else
		*ret_work = work;
	return error;
}

void work_file__free(struct work_file *work)
{
	if (!work)
		return;
	if (work->path) {
		unlink(work->path);
		rmdir(work->folder);
	}
	free(work->path);
	free(work->folder);
	free(work);
}

/* It is what another process made of it: a link, a pipe, a gigabyte. 0 or -errno. */
static int read_start(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW), error = 0;
	struct stat stat;
	ssize_t length;

	if (fd < 0)
		return errno == ELOOP ? -EINVAL : -errno;
	if (fstat(fd, &stat))
		error = -errno;
	else if (!S_ISREG(stat.st_mode))
		error = -EINVAL;
	*text = '\0';
	if (!error) {
		length = read(fd, text, size - 1);
		if (length < 0)
			error = -errno;
		else
			text[length] = '\0';
	}
	close(fd);
	return error;
}

static void trim(char *text)
{
	static const char spaces[] = " \t\r\n";
	size_t length, skipped = strspn(text, spaces);

	memmove(text, text + skipped, strlen(text + skipped) + 1);
	length = strlen(text);
	while (length && strchr(spaces, text[length - 1]))
		text[--length] = '\0';
}

int work_file__take(struct work_file *work, int64_t *ret_units, char *text, size_t size)
{
	char start[MAX_TEXT] = "";
	uint64_t units;
	int error = read_start(work->path, start, sizeof(start));

	unlink(work->path);
	if (error && error != -EINVAL)
		return error;
	trim(start);
	if (!error && !options__number(start, 1, INT64_MAX, &units)) {
		*ret_units = (int64_t)units;
		return 0;
	}
	snprintf(text, size, "%s", start);
	return -EINVAL;
}
