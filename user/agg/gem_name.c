/* SPDX-License-Identifier: BSD-2-Clause */
#include "gem_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define MIN_REVISION 7 /* hex digits of a git revision in the name of a folder */

/* A part of a path. */
struct part {
	const char *at;
	size_t length;
};

static size_t name_of_constant(const char *name, const char **ret_name)
{
	*ret_name = name;
	return strlen(name);
}

static bool starts_with(struct part text, const char *start)
{
	return text.length >= strlen(start) && !memcmp(text.at, start, strlen(start));
}

static bool ends_with(struct part text, const char *end)
{
	size_t length = strlen(end);

	return text.length >= length && !memcmp(text.at + text.length - length, end, length);
}

/* What follows the last `folder` ("/gems/") in the path; at NULL: it is not there. */
static struct part after_last(struct part path, const char *folder)
{
	size_t length = strlen(folder);

	for (size_t i = path.length; i-- > 0;)
		if (path.length - i >= length && !memcmp(path.at + i, folder, length))
			return (struct part){ path.at + i + length, path.length - i - length };
	return (struct part){ NULL, 0 };
}

static struct part first_component(struct part path)
{
	const char *slash = memchr(path.at, '/', path.length);

	if (slash)
		path.length = (size_t)(slash - path.at);
	return path;
}

/* "1.15.0" of "1.15.0-x86_64-linux". */
static bool is_version_at(struct part name, size_t at, bool *ret_has_dot)
{
	*ret_has_dot = false;
	if (at >= name.length || !isdigit((unsigned char)name.at[at]))
		return false;
	for (; at < name.length && name.at[at] != '-'; at++) {
		*ret_has_dot |= name.at[at] == '.';
		if (!isalnum((unsigned char)name.at[at]) && name.at[at] != '.')
			return false;
	}
	return true;
}

/*
 * NAME of NAME-VERSION[-PLATFORM]. A name may end in a number of its own (http-2-0.11.0) and a
 * platform too (grpc-1.60.0-arm64-darwin-22): the last version with a dot, else the last.
 */
static size_t before_version(struct part name)
{
	size_t any = 0;

	for (size_t i = name.length; i-- > 1;) {
		bool has_dot;

		if (name.at[i] != '-' || !is_version_at(name, i + 1, &has_dot))
			continue;
		if (has_dot)
			return i;
		if (!any)
			any = i;
	}
	return any;
}

/* NAME of NAME-REVISION, as bundler calls a gem from git. */
static size_t before_revision(struct part name)
{
	size_t i = name.length;

	while (i > 0 && isxdigit((unsigned char)name.at[i - 1]))
		i--;
	return name.length - i >= MIN_REVISION && i > 1 && name.at[i - 1] == '-' ? i - 1 : 0;
}

/* Debian's packages of gems lie there by the names of their libraries: rack/utils.rb, json.rb. */
static struct part vendored(struct part path)
{
	struct part name = first_component(path);

	if (name.length > 3 && ends_with(name, ".rb"))
		name.length -= 3;
	return name;
}

/* .../ruby/3.1.0/set.rb, .../site_ruby/x.rb */
static bool is_stdlib(struct part path)
{
	struct part rest = after_last(path, "/ruby/");
	bool has_dot;

	if (after_last(path, "/site_ruby/").at)
		return true;
	return rest.at && is_version_at(first_component(rest), 0, &has_dot) && has_dot;
}

size_t gem_name__of(const char *path, size_t length, const char **ret_name)
{
	static const char internal[] = "<internal:";
	struct part whole = { path, length }, rest;
	size_t size;

	if (starts_with(whole, internal)) {
		/* Files that rubygems itself loads so are named by their path: <internal:/usr/...
		 */
		if (length == sizeof(internal) - 1 || path[sizeof(internal) - 1] != '/')
			return name_of_constant(GEM_NAME_CORE, ret_name);
	}
	rest = after_last(whole, "/bundler/gems/");
	if (rest.at && rest.length && *rest.at != '/') {
		rest = first_component(rest);
		size = before_revision(rest);
		*ret_name = rest.at;
		return size ? size : rest.length;
	}
	/* Inwards: gems/3.1.0/gems/rails-7.0/lib/gems/x.rb has one folder that counts. */
	rest = whole;
	while ((rest = after_last(whole, "/gems/")).at) {
		size = before_version(first_component(rest));
		if (size) {
			*ret_name = rest.at;
			return size;
		}
		whole.length = (size_t)(rest.at - path) - strlen("/gems/");
	}
	whole.length = length;
	/* Evaluated when gems are looked for; these lie in no gem. */
	if (after_last(whole, "/specifications/").at && ends_with(whole, ".gemspec"))
		return name_of_constant("rubygems", ret_name);
	rest = after_last(whole, "/vendor_ruby/");
	if (rest.at && rest.length && *rest.at != '/') {
		/* A folder a release of Ruby, for extensions. */
		if (isdigit((unsigned char)*rest.at))
			return name_of_constant(GEM_NAME_STDLIB, ret_name);
		rest = vendored(rest);
		*ret_name = rest.at;
		return rest.length;
	}
	return name_of_constant(is_stdlib(whole) ? GEM_NAME_STDLIB : GEM_NAME_APPLICATION,
				ret_name);
}
