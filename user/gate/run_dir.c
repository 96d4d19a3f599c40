/* SPDX-License-Identifier: BSD-2-Clause */
#include "run_dir.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../cmd.h"
#include "../core/log.h"
#include "run_json.h"

/* 1: it has something in it; 0 or -errno. */
static int has_entries(const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	int found = 0;

	if (!folder)
		return -errno;
	while (!found && (entry = readdir(folder)))
		found = strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
	closedir(folder);
	return found;
}

static int make_side(const char *path, const char *side)
{
	int error = run_dir__make(path, side);

	if (error)
		log__error("cannot make %s/%s: %s", path, side, strerror(-error));
	return error ? CMD_FILE : CMD_DONE;
}

int run_dir__prepare(const char *path, bool is_interleaved)
{
	int found = 0, status;

	if (mkdir(path, 0777))
		found = errno == EEXIST ? has_entries(path) : -errno;
	if (found < 0) {
		log__error("cannot use %s as a folder for runs: %s", path, strerror(-found));
		return CMD_FILE;
	}
	if (found) {
		log__error("%s is not empty: give a new folder, so that runs of different times "
			   "are not mixed",
			   path);
		return CMD_USAGE;
	}
	if (access(path, W_OK)) {
		log__error("cannot write to %s: %s", path, strerror(errno));
		return CMD_FILE;
	}
	if (!is_interleaved)
		return CMD_DONE;
	status = make_side(path, GATE_RUN_BASE);
	return status ? status : make_side(path, GATE_RUN_HEAD);
}

void run_dir__name(const char *side, unsigned int number, char *name, size_t size)
{
	snprintf(name, size, "%s%s%03u", side ? side : "", side ? "/" : "", number);
}

char *run_dir__file(const char *path, const char *name, const char *file)
{
	char *whole;

	if (asprintf(&whole, "%s/%s%s%s", path, name, *file ? "/" : "", file) < 0)
		return NULL;
	return whole;
}

int run_dir__make(const char *path, const char *name)
{
	char *folder = run_dir__file(path, name, "");
	int error = 0;

	if (!folder)
		return -ENOMEM;
	if (mkdir(folder, 0777))
		error = -errno;
	free(folder);
	return error;
}

void run_dir__remove(const char *path, const char *name)
{
	static const char *const files[] = { GATE_RUN_FILE, GATE_RUN_PROFILE };
	char *folder = run_dir__file(path, name, "");
	size_t i;

	for (i = 0; i < 2; i++) {
		char *file = run_dir__file(path, name, files[i]);

		if (file)
			unlink(file);
		free(file);
	}
	if (folder && rmdir(folder) && errno != ENOENT)
		log__warn("cannot remove %s, which is of a run that did not end: %s", folder,
			  strerror(errno));
	free(folder);
}
