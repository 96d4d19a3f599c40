/* SPDX-License-Identifier: BSD-2-Clause */
#include "side.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../agg/profile_group.h"
#include "../agg/profile_import.h"
#include "../cmd.h"
#include "../core/log.h"
#include "../core/saved_profile.h"
#include "../out/totals.h"
#include "baseline.h"

#define WHY_BYTES 256

static int out_of_memory(void)
{
	log__error("out of memory");
	return CMD_FILE;
}

/* ---- the side itself ---- */

int gate_side__init(struct gate_side *side, const char *path, size_t run_count)
{
	const struct profile_type type = { "cpu-time", "nanoseconds" };

	*side = (struct gate_side){ .path = path, .has_cpu = true };
	side->runs = calloc(run_count + 1, sizeof(*side->runs));
	if (!side->runs)
		return -ENOMEM;
	for (size_t i = 0; i < run_count; i++)
		gate_run__init(&side->runs[i]);
	side->run_count = run_count;
	return profile__new(&type, 1, &side->profile);
}

void gate_side__free(struct gate_side *side)
{
	for (size_t i = 0; i < side->run_count; i++)
		gate_run__free(&side->runs[i]);
	for (size_t i = 0; i < side->function_count; i++) {
		free(side->functions[i].self);
		free(side->functions[i].total);
	}
	free(side->runs);
	free(side->functions);
	profile__free(side->profile);
	*side = (struct gate_side){ 0 };
}

/* Functions of the profile that have no figures yet get them. */
static int make_room(struct gate_side *side)
{
	size_t count = profile__function_count(side->profile);
	struct gate_function *functions = side->functions;

	if (count > side->function_count) {
		functions = reallocarray(functions, count + count / 2, sizeof(*functions));
		if (!functions)
			return -ENOMEM;
		side->functions = functions;
	}
	while (side->function_count < count) {
		struct gate_function *function = &functions[side->function_count];

		*function = (struct gate_function){
			.self = calloc(side->run_count + 1, sizeof(double)),
			.total = calloc(side->run_count + 1, sizeof(double)),
		};
		side->function_count++;
		if (!function->self || !function->total)
			return -ENOMEM;
	}
	return 0;
}

uint32_t gate_side__function(struct gate_side *side, const char *name, size_t name_length,
			     const char *file, size_t file_length)
{
	struct profile_function function = {
		.name = profile__string(side->profile, name, name_length),
		.system_name = profile__cstring(side->profile, ""),
		.file = profile__string(side->profile, file, file_length),
	};
	uint32_t id;

	if (profile__failed(side->profile))
		return PROFILE_NONE;
	id = profile__function(side->profile, &function);
	return id == PROFILE_NONE || make_room(side) ? PROFILE_NONE : id;
}

bool gate_side__is_special(const struct gate_side *side, uint32_t function)
{
	const struct profile_function *it = profile__function_at(side->profile, function);
	const char *name = profile__text(side->profile, it->name);

	if (strcmp(profile__text(side->profile, it->file), "<rbprof>"))
		return false;
	return *name == '(' || !strcmp(name, "Profiler Overhead");
}

/* ---- a run's profile ---- */

static uint32_t function_of(struct gate_side *side, const struct profile *from, uint32_t id)
{
	const struct profile_function *it = profile__function_at(from, id);

	return gate_side__function(
		side, profile__text(from, it->name), profile__text_length(from, it->name),
		profile__text(from, it->file), profile__text_length(from, it->file));
}

/* A method that was defined twice has the line of its first definition. */
static int add_lines(struct gate_side *side, const struct profile *profile)
{
	for (uint32_t i = 0; i < profile__function_count(profile); i++) {
		int64_t line = profile__function_at(profile, i)->start_line;
		uint32_t id = function_of(side, profile, i);

		if (id == PROFILE_NONE)
			return -ENOMEM;
		if (line > 0 && (!side->functions[id].line || line < side->functions[id].line))
			side->functions[id].line = line;
	}
	return 0;
}

/* named: a function a name and file. */
static int add_figures(struct gate_side *side, size_t run, const struct profile *named, size_t type)
{
	struct totals totals;
	int error = totals__init(&totals, named);

	for (uint32_t i = 0; !error && i < totals.function_count; i++) {
		uint32_t id = function_of(side, named, i);

		if (id == PROFILE_NONE) {
			error = -ENOMEM;
			break;
		}
		side->functions[id].self[run] += (double)totals.self[i].values[type];
		side->functions[id].total[run] += (double)totals.total[i].values[type];
	}
	totals__free(&totals);
	return error;
}

/* Its part of the mean. */
static int add_stacks(struct gate_side *side, const struct profile *named, size_t type)
{
	uint32_t labels = profile__label_set(side->profile, NULL, 0);
	struct profile_import *import;
	int error = profile_import__new(named, side->profile, &import);

	if (error)
		return error;
	for (size_t i = 0; !error && i < profile__row_count(named); i++) {
		const struct profile_row *row = profile__row(named, i);
		int64_t value = row->values[type] / (int64_t)side->run_count;

		if (!value)
			continue;
		error = profile__add(side->profile, profile_import__stack(import, row->stack),
				     labels, &value);
	}
	profile_import__free(import);
	return error;
}

static int add_profile(struct gate_side *side, size_t run, struct profile *profile)
{
	int type = profile__type_index(profile, "cpu-time");
	struct profile *named;
	int error;

	if (type < 0) {
		side->has_cpu = false;
		return CMD_DONE;
	}
	error = profile_group__by_name(profile, &named);
	if (error)
		return out_of_memory();
	error = add_figures(side, run, named, (size_t)type);
	if (!error)
		error = add_lines(side, profile);
	if (!error)
		error = add_stacks(side, named, (size_t)type);
	if (!error && (profile__failed(side->profile) || make_room(side)))
		error = -ENOMEM;
	profile__free(named);
	return error ? out_of_memory() : CMD_DONE;
}

/* ---- a directory of runs ---- */

static int is_run(const struct dirent *entry)
{
	const char *at = entry->d_name;

	while (isdigit((unsigned char)*at))
		at++;
	return !*at;
}

static int by_number(const struct dirent **left, const struct dirent **right)
{
	return strverscmp((*left)->d_name, (*right)->d_name);
}

static bool is_there(const char *directory, const char *name, const char *file)
{
	char *path;
	bool found;

	if (asprintf(&path, "%s/%s/%s", directory, name, file) < 0)
		return false;
	found = !access(path, F_OK);
	free(path);
	return found;
}

static int read_run_json(const char *path, struct gate_run *run)
{
	char why[WHY_BYTES] = "";
	int error = gate_run__read(path, run, why, sizeof(why));

	if (!error)
		return CMD_DONE;
	log__error("cannot read '%s': %s", path, *why ? why : strerror(-error));
	return error == -EPROTONOSUPPORT ? CMD_INCOMPATIBLE : CMD_FILE;
}

static int read_run(struct gate_side *side, size_t index, const char *name)
{
	struct profile *profile = NULL;
	char *json = NULL, *pprof = NULL;
	int status;

	if (asprintf(&json, "%s/%s/" GATE_RUN_FILE, side->path, name) < 0)
		json = NULL;
	if (asprintf(&pprof, "%s/%s/" GATE_RUN_PROFILE, side->path, name) < 0)
		pprof = NULL;
	status = json && pprof ? read_run_json(json, &side->runs[index]) : out_of_memory();
	if (!status)
		status = saved_profile__read(pprof, &profile);
	if (!status)
		status = add_profile(side, index, profile);
	profile__free(profile);
	free(json);
	free(pprof);
	return status;
}

/* Leaves those out that did not end: moves the others to the front. */
static size_t keep_complete(const char *path, struct dirent **entries, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (is_there(path, entries[i]->d_name, GATE_RUN_FILE)) {
			struct dirent *held = entries[kept];

			entries[kept++] = entries[i];
			entries[i] = held;
		} else {
			log__warn("run '%s/%s' did not end (it has no " GATE_RUN_FILE "): left out",
				  path, entries[i]->d_name);
		}
	}
	return kept;
}

static int refuse_empty(const char *path)
{
	if (gate_side__is_interleaved(path))
		log__error("'%s' holds interleaved runs: give it alone, or its " GATE_RUN_BASE
			   " and " GATE_RUN_HEAD,
			   path);
	else
		log__error("no runs in '%s': make some with rbprof-bpf gate run -o %s", path, path);
	return CMD_FILE;
}

static int read_directory(const char *path, struct gate_side *side)
{
	struct dirent **entries;
	int status, found = scandir(path, &entries, is_run, by_number);
	size_t count;

	if (found < 0) {
		log__error("cannot read '%s': %m", path);
		return CMD_FILE;
	}
	count = keep_complete(path, entries, (size_t)found);
	status = count ? CMD_DONE : refuse_empty(path);
	if (!status && gate_side__init(side, path, count))
		status = out_of_memory();
	for (size_t i = 0; !status && i < count; i++)
		status = read_run(side, i, entries[i]->d_name);
	for (size_t i = 0; i < (size_t)found; i++)
		free(entries[i]);
	free(entries);
	return status;
}

/* ---- either ---- */

bool gate_side__is_interleaved(const char *path)
{
	return is_there(path, GATE_RUN_BASE, ".") && is_there(path, GATE_RUN_HEAD, ".");
}

int gate_side__read(const char *path, struct gate_side *ret_side)
{
	struct gate_side side = { 0 };
	struct stat about;
	int status;

	if (stat(path, &about)) {
		log__error("cannot open '%s': %m", path);
		return CMD_FILE;
	}
	status = S_ISDIR(about.st_mode) ? read_directory(path, &side)
					: gate_baseline__read(path, &side);
	if (status)
		gate_side__free(&side);
	else
		*ret_side = side;
	return status;
}
