/* SPDX-License-Identifier: BSD-2-Clause */
#include "debug_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MIN_BUILD_ID 8 /* hex digits */

int debug_file__open(const char *folder, const char *build_id, struct elf_file **ret_file)
{
	struct elf_file *file = NULL;
	char path[PATH_MAX], found[41];
	int length, fd, error;

	if (strlen(build_id) < MIN_BUILD_ID ||
	    strspn(build_id, "0123456789abcdef") != strlen(build_id))
		return -ENOENT;
	length = snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s.debug", folder, build_id,
			  build_id + 2);
	if (length < 0 || (size_t)length >= sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	error = elf_file__open(fd, &file);
	if (!error)
		error = elf_file__build_id(file, found);
	if (!error && strcmp(found, build_id) != 0)
		error = -ENOENT;
	if (error) {
		elf_file__close(file);
		close(fd);
		return error;
	}
	*ret_file = file;
	return 0;
}

void debug_file__close(struct elf_file *file)
{
	if (!file)
		return;
	close(file->fd);
	elf_file__close(file);
}
