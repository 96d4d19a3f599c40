/* SPDX-License-Identifier: BSD-2-Clause */
/* `ps`: the Ruby processes of the host, how each is read, or why not. */
#include "cmd.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "core/log.h"
#include "core/options.h"
#include "core/privilege.h"
#include "core/process_tracer.h"
#include "discover/container.h"
#include "discover/ruby_process.h"

static json_t *build_json(const struct runtime *runtime)
{
	json_t *build = json_array();

	if (!runtime)
		return build;
	json_array_append_new(build, json_string(runtime->is_static ? "static" : "shared"));
	if (runtime->is_stripped)
		json_array_append_new(build, json_string("stripped"));
	if (runtime->has_yjit)
		json_array_append_new(build, json_string("yjit"));
	return build;
}

static json_t *process_json(const struct ruby_process *process, int proof)
{
	const struct runtime *runtime = process->runtime;
	struct container container;
	json_t *object, *tier;
	char reason[256] = "";

	if (process->error)
		ruby_process__reason(process, process->error, reason, sizeof(reason));
	tier = json_pack("{s:s, s:s, s:s}", "ec",
			 runtime_tier__name(runtime ? runtime->ec.tier : RUNTIME_TIER_NONE), "vm",
			 runtime_tier__name(runtime ? runtime->vm.tier : RUNTIME_TIER_NONE), "gc",
			 runtime_tier__name(runtime ? runtime->gc.tier : RUNTIME_TIER_NONE));
	object = json_pack("{s:i, s:I, s:s, s:s, s:s*, s:o, s:o, s:b, s:s}", "pid", process->pid,
			   "start_ns", (json_int_t)process->start_ns, "comm", process->comm, "path",
			   process->path, "ruby", process->version[0] ? process->version : NULL,
			   "build", build_json(runtime), "tier", tier, "ok", !process->error,
			   "proof",
			   proof ? (process->error ? "failed" : "vm not up yet") : "proved");
	if (!object)
		return NULL;
	container__of(process->pid, &container);
	if (container.id[0])
		json_object_set_new(object, "container_id", json_string(container.id));
	if (container.service[0])
		json_object_set_new(object, "service", json_string(container.service));
	if (process->error)
		json_object_set_new(object, "reason", json_string(reason));
	process_tracer__describe_process(object, process, proof);
	if (runtime) {
		json_object_set_new(object, "build_id", json_string(runtime->build_id));
		json_object_set_new(object, "layout", json_string(runtime->layout_version));
		if (runtime->gc.why)
			json_object_set_new(object, "gc_reason", json_string(runtime->gc.why));
	}
	return object;
}

static int add_process(const struct ruby_process *found, void *context)
{
	struct ruby_process process = *found;
	json_t *processes = context, *object;
	int proof;

	proof = process.error ? process.error : ruby_process__prove(&process);
	if (proof == -ESRCH)
		return 0; /* gone meanwhile */
	object = process_json(&process, proof);
	if (object)
		json_array_append_new(processes, object);
	return 0;
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "-";
}

static void print_text(const json_t *processes)
{
	const json_t *process;
	size_t index;

	printf("%7s  %-16s %-8s %-22s %-34s %-14s %-24s %s\n", "PID", "COMM", "RUBY", "BUILD",
	       "READ BY", "CONTAINER", "TRACER", "STATUS");
	json_array_foreach (processes, index, process) {
		const json_t *build = json_object_get(process, "build"), *part;
		const json_t *tier = json_object_get(process, "tier");
		char builds[64] = "", tiers[64];
		size_t i, length = 0;

		json_array_foreach (build, i, part)
			length += (size_t)snprintf(builds + length, sizeof(builds) - length, "%s%s",
						   i ? "," : "", json_string_value(part));
		snprintf(tiers, sizeof(tiers), "ec %s, vm %s, gc %s", text_of(tier, "ec"),
			 text_of(tier, "vm"), text_of(tier, "gc"));
		printf("%7lld  %-16s %-8s %-22s %-34s %-14.12s %-24s %s\n",
		       json_integer_value(json_object_get(process, "pid")),
		       text_of(process, "comm"), text_of(process, "ruby"), builds, tiers,
		       text_of(process, "container_id"), text_of(process, "tracer"),
		       json_is_true(json_object_get(process, "ok")) ? text_of(process, "proof")
								    : text_of(process, "reason"));
	}
}

int cmd_ps(int argc, char **argv)
{
	json_t *processes = json_array(), *document;
	struct runtimes *runtimes = NULL;
	struct options options;
	int status = CMD_DONE, error;
	char why[256];

	if (options__parse(OPTIONS_PS, argc, argv, &options)) {
		json_decref(processes);
		return CMD_USAGE;
	}
	if (privilege__check_pids(why, sizeof(why))) {
		log__error("%s", why);
		status = CMD_UNABLE;
		goto out;
	}
	error = runtimes__new(&runtimes);
	if (!error)
		error = ruby_process__scan(runtimes, add_process, processes);
	if (error) {
		log__error("cannot read the process list: %s", strerror(-error));
		status = CMD_UNABLE;
	} else if (options.json) {
		document = json_pack("{s:i, s:O}", "schema", 1, "processes", processes);
		json_dumpf(document, stdout, JSON_INDENT(2));
		putchar('\n');
		json_decref(document);
	} else if (json_array_size(processes)) {
		print_text(processes);
	} else {
		log__info("no ruby process is running");
	}
out:
	json_decref(processes);
	runtimes__free(runtimes);
	options__free(&options);
	return fflush(stdout) ? CMD_FILE : status;
}
