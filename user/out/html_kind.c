/* SPDX-License-Identifier: BSD-2-Clause */
#include "html_kind.h"

#include <stdbool.h>
#include <string.h>

static bool begins_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* libc.so.6, json.so: the last part of the path is a shared object's name. */
static bool is_shared_object(const char *file)
{
	const char *name = strrchr(file, '/');
	const char *suffix;

	name = name ? name + 1 : file;
	suffix = strstr(name, ".so");
	return suffix && (!suffix[3] || suffix[3] == '.');
}

const char *html_kind__of(const struct profile *profile, uint32_t function)
{
	const struct profile_function *it = profile__function_at(profile, function);
	const char *name = profile__text(profile, it->name);
	const char *file = profile__text(profile, it->file);
	const char *system_name = profile__text(profile, it->system_name);

	if (!file)
		file = "";
	if (!strcmp(file, "<rbprof>"))
		return name && !strcmp(name, "Garbage Collection") ? "gc" : "special";
	if (!strcmp(file, "<cfunc>"))
		return "c";
	if (begins_with(file, "[kernel") || begins_with(file, "<kernel") ||
	    begins_with(file, "[guest.kernel"))
		return "kernel";
	/* Only symbols of native code have a mangled form. */
	if ((system_name && *system_name && name && strcmp(system_name, name) != 0) ||
	    begins_with(file, "<native") || begins_with(file, "[vdso") || is_shared_object(file))
		return "native";
	return "ruby";
}
