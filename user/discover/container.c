/* SPDX-License-Identifier: BSD-2-Clause */
#include "container.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ID_HEX	    64 /* docker, containerd, cri-o, podman */
#define FARGATE_HEX 32
#define MAX_TEXT    65536

static bool is_hex(const char *text, size_t length)
{
	size_t i;

	for (i = 0; i < length; i++) {
		if (!isdigit((unsigned char)text[i]) && (text[i] < 'a' || text[i] > 'f'))
			return false;
	}
	return length > 0;
}

static bool is_uuid(const char *text, size_t length)
{
	size_t i;

	if (length != 36)
		return false;
	for (i = 0; i < length; i++) {
		bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (is_dash ? text[i] != '-' : !is_hex(text + i, 1))
			return false;
	}
	return true;
}

static bool ends_with(const char *text, size_t length, const char *suffix)
{
	size_t size = strlen(suffix);

	return length > size && !memcmp(text + length - size, suffix, size);
}

static bool starts_with(const char *text, size_t length, const char *prefix)
{
	return length >= strlen(prefix) && !strncmp(text, prefix, strlen(prefix));
}

/* Amazon's: 32 hex digits, a dash, digits. */
static bool is_fargate(const char *text, size_t length)
{
	size_t i;

	if (length < FARGATE_HEX + 2 || !is_hex(text, FARGATE_HEX) || text[FARGATE_HEX] != '-')
		return false;
	for (i = FARGATE_HEX + 1; i < length; i++) {
		if (!isdigit((unsigned char)text[i]))
			return false;
	}
	return true;
}

/*
 * The id in one part of the path: `<64 hex>`, `docker-<64 hex>.scope`,
 * `...slice:cri-containerd:<64 hex>`. The part's prefix may say that it is not the container
 * itself but what watches it.
 */
static bool id_in_part(const char *part, size_t length, const char *parent, size_t parent_length,
		       struct container *container)
{
	const char *id;

	if (ends_with(part, length, ".scope"))
		length -= strlen(".scope");
	if (starts_with(part, length, "lxc.payload.")) {
		part += strlen("lxc.payload.");
		length -= strlen("lxc.payload.");
	} else if (parent_length == 3 && !memcmp(parent, "lxc", 3)) {
		;
	} else if (is_fargate(part, length) ||
		   (is_uuid(part, length) && starts_with(parent, parent_length, "garden"))) {
		;
	} else if (length >= ID_HEX && is_hex(part + length - ID_HEX, ID_HEX)) {
		id = part + length - ID_HEX;
		if (id > part && id[-1] != '-' && id[-1] != ':' && id[-1] != '.')
			return false;
		if (memmem(part, (size_t)(id - part), "conmon", strlen("conmon")))
			return false;
		part = id;
		length = ID_HEX;
	} else {
		return false;
	}
	if (!length || length > CONTAINER_ID_MAX)
		return false;
	memcpy(container->id, part, length);
	container->id[length] = '\0';
	return true;
}

/* systemd writes what is not allowed in a name as \xHH. */
static void copy_unit(const char *part, size_t length, struct container *container)
{
	size_t i, size = 0;

	for (i = 0; i < length && size + 1 < sizeof(container->service); i++) {
		unsigned int byte;

		if (length - i >= 4 && part[i] == '\\' && part[i + 1] == 'x' &&
		    sscanf(part + i + 2, "%2x", &byte) == 1 && byte) {
			container->service[size++] = (char)byte;
			i += 3;
		} else {
			container->service[size++] = part[i];
		}
	}
	container->service[size] = '\0';
}

void container__parse_path(const char *path, struct container *container)
{
	const char *end = path + strlen(path);
	bool has_id = false, has_service = false;

	/* From the innermost part outwards: a container may run in another. */
	while (end > path && (!has_id || !has_service)) {
		const char *part = end, *parent, *parent_end;
		size_t length;

		while (part > path && part[-1] != '/')
			part--;
		length = (size_t)(end - part);
		parent_end = part > path ? part - 1 : part;
		parent = parent_end;
		while (parent > path && parent[-1] != '/')
			parent--;
		if (!has_id)
			has_id = id_in_part(part, length, parent, (size_t)(parent_end - parent),
					    container);
		if (!has_service && !has_id && ends_with(part, length, ".service")) {
			copy_unit(part, length - strlen(".service"), container);
			has_service = true;
		}
		end = parent_end;
	}
}

void container__parse(char *text, struct container *ret_container)
{
	struct container container = { 0 };
	char *line, *save = NULL;

	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		struct container found = { 0 };
		char *path = strchr(line, ':');

		path = path ? strchr(path + 1, ':') : NULL;
		if (!path)
			continue;
		container__parse_path(path + 1, &found);
		if (!container.id[0])
			memcpy(container.id, found.id, sizeof(found.id));
		if (!container.service[0])
			memcpy(container.service, found.service, sizeof(found.service));
	}
	/* The service that runs the containers is not the container's. */
	if (container.id[0])
		container.service[0] = '\0';
	*ret_container = container;
}

/* The whole of /proc/PID/cgroup, to be freed; NULL on failure. */
static char *read_cgroup(pid_t pid)
{
	char path[32], *text = NULL;
	size_t length = 0;
	ssize_t got = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	text = malloc(MAX_TEXT);
	while (text && length + 1 < MAX_TEXT &&
	       (got = read(fd, text + length, MAX_TEXT - 1 - length)) > 0)
		length += (size_t)got;
	close(fd);
	if (text)
		text[length] = '\0';
	return text;
}

int container__of(pid_t pid, struct container *ret_container)
{
	char *text = read_cgroup(pid);

	memset(ret_container, 0, sizeof(*ret_container));
	if (!text)
		return -ESRCH;
	container__parse(text, ret_container);
	free(text);
	return 0;
}

/* Whether part lies at or below the directory. */
static bool is_below(const char *path, const char *directory, size_t length)
{
	while (length && directory[length - 1] == '/')
		length--;
	return !strncmp(path, directory, length) && (!path[length] || path[length] == '/');
}

bool container__is_in_cgroup(pid_t pid, const char *path)
{
	char *text = read_cgroup(pid), *line, *save = NULL;
	bool is_in = false;

	for (line = text ? strtok_r(text, "\n", &save) : NULL; line && !is_in;
	     line = strtok_r(NULL, "\n", &save)) {
		char *of_process = strchr(line, ':');
		const char *below = path;

		of_process = of_process ? strchr(of_process + 1, ':') : NULL;
		if (!of_process)
			continue;
		of_process++;
		/* The path as given, or behind any mount point in front of it. */
		while (below && !is_in) {
			is_in = strlen(below) > 1 && is_below(of_process, below, strlen(below));
			below = strchr(below + 1, '/');
		}
	}
	free(text);
	return is_in;
}
