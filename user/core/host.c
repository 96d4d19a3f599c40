/* SPDX-License-Identifier: BSD-2-Clause */
#include "host.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <zlib.h>

#include "options.h"

#define BTF_DEFAULT "/sys/kernel/btf/vmlinux"
#define BTF_MAGIC   0xeb9f

/* ---- settings: small files in /proc and /sys ---- */

/* The first line of a file, without its end. 0 or -errno. */
static int read_line(const char *root, const char *path, char *text, size_t size)
{
	char file[PATH_MAX];
	ssize_t length;
	int fd, error = 0;

	if (snprintf(file, sizeof(file), "%s%s", root, path) >= (int)sizeof(file))
		return -ENAMETOOLONG;
	fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	length = read(fd, text, size - 1);
	if (length < 0) {
		error = -errno;
	} else {
		text[length] = '\0';
		text[strcspn(text, "\n")] = '\0';
	}
	close(fd);
	return error;
}

static int read_setting(const char *root, const char *path)
{
	uint64_t value;
	char text[32];
	bool is_negative;

	if (read_line(root, path, text, sizeof(text)))
		return HOST_UNKNOWN;
	is_negative = *text == '-';
	if (options__number(text + is_negative, 0, 99, &value))
		return HOST_UNKNOWN;
	return is_negative ? -(int)value : (int)value;
}

/* "none [integrity] confidentiality" */
static enum host_lockdown read_lockdown(const char *root)
{
	char text[128];

	if (read_line(root, "/sys/kernel/security/lockdown", text, sizeof(text)))
		return HOST_LOCKDOWN_UNKNOWN;
	if (strstr(text, "[none]"))
		return HOST_LOCKDOWN_NONE;
	if (strstr(text, "[integrity]"))
		return HOST_LOCKDOWN_INTEGRITY;
	if (strstr(text, "[confidentiality]"))
		return HOST_LOCKDOWN_CONFIDENTIALITY;
	return HOST_LOCKDOWN_UNKNOWN;
}

/* ---- kernel version and type information ---- */

static void read_release(const char *release, struct host *host)
{
	struct utsname name;

	if (!release && !uname(&name))
		release = name.release;
	snprintf(host->release, sizeof(host->release), "%s", release ? release : "unknown");
	if (sscanf(host->release, "%u.%u", &host->major, &host->minor) != 2)
		host->major = host->minor = 0;
}

bool host__is_since(const struct host *host, unsigned int major, unsigned int minor)
{
	return host->major > major || (host->major == major && host->minor >= minor);
}

const char *host__btf_path(bool *ret_is_default)
{
	const char *path = getenv("RBPROF_BTF");

	*ret_is_default = !path || !*path;
	return *ret_is_default ? BTF_DEFAULT : path;
}

static int check_btf(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	uint16_t magic = 0;
	ssize_t length;
	int error = 0;

	if (fd < 0)
		return -errno;
	length = read(fd, &magic, sizeof(magic));
	if (length < 0)
		error = -errno;
	else if (length != sizeof(magic) || magic != BTF_MAGIC)
		error = -ENOEXEC;
	close(fd);
	return error;
}

const char *host__btf_error_text(int error)
{
	return error == -ENOEXEC ? "not type information" : strerror(-error);
}

static void read_btf(const char *root, struct host *host)
{
	bool is_default;
	const char *path = host__btf_path(&is_default);

	if (snprintf(host->btf_path, sizeof(host->btf_path), "%s%s", is_default ? root : "",
		     path) >= (int)sizeof(host->btf_path))
		host->btf_error = -ENAMETOOLONG;
	else
		host->btf_error = check_btf(host->btf_path);
}

/* ---- the kernel's configuration ---- */

static enum host_option option_of(const char *line, const char *name)
{
	size_t length = strlen(name);

	if (!strncmp(line, name, length) && !strncmp(line + length, "=y", 2))
		return HOST_OPTION_SET;
	if (!strncmp(line, "# ", 2) && !strncmp(line + 2, name, length) &&
	    !strncmp(line + 2 + length, " is not set", 11))
		return HOST_OPTION_NOT_SET;
	return HOST_OPTION_UNKNOWN;
}

static bool read_config_file(const char *path, struct host *host)
{
	enum host_option irq = HOST_OPTION_UNKNOWN, steal = HOST_OPTION_UNKNOWN;
	gzFile file = gzopen(path, "re");
	bool is_config = false;
	char line[256];

	if (!file)
		return false;
	/* gzip or plain, both are read alike. A configuration has some 10,000 lines. */
	for (int lines = 0; lines < 100000 && gzgets(file, line, sizeof(line)); lines++) {
		is_config |= !strncmp(line, "CONFIG_", 7);
		if (irq == HOST_OPTION_UNKNOWN)
			irq = option_of(line, "CONFIG_IRQ_TIME_ACCOUNTING");
		if (steal == HOST_OPTION_UNKNOWN)
			steal = option_of(line, "CONFIG_PARAVIRT_TIME_ACCOUNTING");
	}
	gzclose(file);
	if (!is_config)
		return false;
	/* An option whose terms are not met is not even named. */
	host->irq_time_accounting = irq == HOST_OPTION_UNKNOWN ? HOST_OPTION_NOT_SET : irq;
	host->steal_time_accounting = steal == HOST_OPTION_UNKNOWN ? HOST_OPTION_NOT_SET : steal;
	snprintf(host->config_path, sizeof(host->config_path), "%s", path);
	return true;
}

static void read_config(const char *root, struct host *host)
{
	static const char *const places[] = { "/proc/config.gz", "/boot/config-%s",
					      "/usr/lib/modules/%s/config" };
	char release[sizeof(host->release)], path[PATH_MAX];

	snprintf(release, sizeof(release), "%s", host->release);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		const char *mark = strstr(places[i], "%s");
		int length = mark ? (int)(mark - places[i]) : (int)strlen(places[i]);

		if (snprintf(path, sizeof(path), "%s%.*s%s%s", root, length, places[i],
			     mark ? release : "", mark ? mark + 2 : "") >= (int)sizeof(path))
			continue;
		if (read_config_file(path, host))
			return;
	}
}

void host__read(const char *root, const char *release, struct host *ret_host)
{
	struct host host = { 0 };

	read_release(release, &host);
	read_btf(root, &host);
	host.paranoid = read_setting(root, "/proc/sys/kernel/perf_event_paranoid");
	host.ptrace_scope = read_setting(root, "/proc/sys/kernel/yama/ptrace_scope");
	host.lockdown = read_lockdown(root);
	read_config(root, &host);
	*ret_host = host;
}
