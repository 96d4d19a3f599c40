/* SPDX-License-Identifier: BSD-2-Clause */
#include "ruby_process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../core/error_names.h"
#include "../ruby/layout.h"
#include "../util/memory.h"
#include "../util/utf8.h"

#define STARTING_NS    2000000000ULL
#define PROOF_TRIES    3
#define PROOF_PAUSE_US 1000

int ruby_process__identity(pid_t pid, uint64_t *ret_start_ns, char *comm, size_t size)
{
	char path[32], text[1024], *open_paren, *close_paren;
	uint64_t ticks;
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -ESRCH;
	length = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (length <= 0)
		return -ESRCH;
	text[length] = '\0';
	/* The comm may hold parentheses of its own. */
	open_paren = strchr(text, '(');
	close_paren = strrchr(text, ')');
	if (!open_paren || !close_paren || close_paren < open_paren)
		return -ESRCH;
	/* Field 22 of proc_pid_stat(5); the comm is field 2. */
	if (sscanf(close_paren + 1,
		   " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
		   "%" SCNu64,
		   &ticks) != 1)
		return -ESRCH;
	*ret_start_ns = ticks * (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK));
	utf8__clean(open_paren + 1, (size_t)(close_paren - open_paren - 1), comm, size - 1);
	return 0;
}

int ruby_process__cpu_ns(pid_t pid, uint64_t *ret_ns)
{
	struct timespec time;
	clockid_t clock;
	int error = clock_getcpuclockid(pid, &clock);

	if (error)
		return -error;
	if (clock_gettime(clock, &time))
		return -errno;
	*ret_ns = (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
	return 0;
}

struct search {
	struct runtimes *runtimes;
	struct ruby_process *process;
	bool found;
};

static int find_in_mapping(const struct mapping *mapping, void *context)
{
	struct search *search = context;
	struct ruby_process *process = search->process;
	const struct runtime *runtime = NULL;
	int result, fd;

	result = runtimes__find(search->runtimes, process->pid, mapping, &runtime,
				&process->runtime_index);
	/* A file that cannot be opened now may be anything; one named like Ruby is told. */
	if (result < 0 && strstr(mapping->path, "libruby"))
		result = result == -ENOENT || result == -ESRCH ? RBPROF_E_NO_SUCH_PROCESS
							       : RBPROF_E_NO_PERMISSION;
	if (result < 0 || result == RBPROF_E_NOT_RUBY || result == RBPROF_E_ELF_INVALID)
		return 0;
	search->found = true;
	process->error = result;
	utf8__clean(mapping->path, strlen(mapping->path), process->path, sizeof(process->path) - 1);
	if (result) {
		snprintf(process->version, sizeof(process->version), "%s",
			 runtimes__refused_version(search->runtimes, mapping));
		return 1;
	}
	snprintf(process->version, sizeof(process->version), "%s", runtime->version);
	fd = mappings__open(process->pid, mapping);
	if (fd < 0 || runtime__load_bias(fd, mapping->start, mapping->offset, &process->bias))
		process->error = RBPROF_E_ELF_INVALID;
	else
		process->runtime = runtime;
	if (fd >= 0)
		close(fd);
	return 1;
}

int ruby_process__find(struct runtimes *runtimes, pid_t pid, struct ruby_process *ret_process)
{
	struct ruby_process process = { .pid = pid };
	struct search search = { runtimes, &process, false };
	int result;

	if (ruby_process__identity(pid, &process.start_ns, process.comm, sizeof(process.comm)))
		return RBPROF_E_NO_SUCH_PROCESS;
	result = mappings__each(pid, find_in_mapping, &search);
	if (result == -EACCES || result == -EPERM)
		return RBPROF_E_NO_PERMISSION;
	if (result < 0)
		return RBPROF_E_NO_SUCH_PROCESS;
	if (!search.found)
		return RBPROF_E_NOT_RUBY;
	*ret_process = process;
	return 0;
}

int ruby_process__scan(struct runtimes *runtimes,
		       int (*each)(const struct ruby_process *process, void *context),
		       void *context)
{
	struct ruby_process process;
	struct dirent *entry;
	DIR *proc = opendir("/proc");
	int result = 0;

	if (!proc)
		return -errno;
	while (!result && (entry = readdir(proc))) {
		char *end;
		long pid = strtol(entry->d_name, &end, 10);

		if (*end || pid <= 0 || pid == getpid())
			continue;
		if (!ruby_process__find(runtimes, (pid_t)pid, &process))
			result = each(&process, context);
	}
	closedir(proc);
	return result;
}

void ruby_process__reason(const struct ruby_process *process, int error, char *text, size_t size)
{
	const char *what = error > 0 ? rbprof_error__text(error) : strerror(-error);

	if (error == RBPROF_E_VERSION_UNSUPPORTED && layout_table_count)
		snprintf(
			text, size,
			"%s: %s; this version of rbprof-bpf reads 2.7 to %s, a newer one may read it",
			what, process->version, layout_table[layout_table_count - 1].to);
	else
		snprintf(text, size, "%s%s%s", what, process->why ? ": " : "",
			 process->why ? process->why : "");
}

static uint64_t in_process(const struct ruby_process *process,
			   const struct runtime_address *address)
{
	return address->tier == RUNTIME_TIER_NONE ? 0 : address->address + process->bias;
}

uint64_t ruby_process__vm_ptr(const struct ruby_process *process)
{
	return process->runtime ? in_process(process, &process->runtime->vm) : 0;
}

uint64_t ruby_process__symbols(const struct ruby_process *process)
{
	return process->runtime ? in_process(process, &process->runtime->symbols) : 0;
}

uint64_t ruby_process__shape_tree(const struct ruby_process *process)
{
	return process->runtime ? in_process(process, &process->runtime->shape_tree) : 0;
}

uint64_t ruby_process__shapes(const struct ruby_process *process)
{
	return process->runtime ? in_process(process, &process->runtime->shapes) : 0;
}

uint64_t ruby_process__generic_ivars(const struct ruby_process *process, size_t index)
{
	const struct runtime *runtime = process->runtime;

	return runtime && runtime->generic_ivars[index]
		       ? runtime->generic_ivars[index] + process->bias
		       : 0;
}

void ruby_process__describe(const struct ruby_process *process, struct rbprof_process *ret)
{
	const struct runtime *runtime = process->runtime;

	memset(ret, 0, sizeof(*ret));
	if (!runtime || process->error) {
		ret->flags = RBPROF_PROCESS_REFUSED;
		return;
	}
	ret->ec_source = runtime->ec_source;
	ret->ec_address = in_process(process, &runtime->ec);
	ret->ec_tp_offset = runtime->ec_tp_offset;
	ret->vm_ptr_address = in_process(process, &runtime->vm);
	ret->runtime = (uint32_t)process->runtime_index;
}

void ruby_process__note_mapped(struct ruby_process *process)
{
	struct timespec now;

	if (!clock_gettime(CLOCK_BOOTTIME, &now))
		process->mapped_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/*
 * Whether the process may still be loading its libraries or setting up its VM. One that runs
 * another program in its place, or loads Ruby late, is as old as it was before.
 */
static bool is_starting(const struct ruby_process *process)
{
	uint64_t since = process->mapped_ns ? process->mapped_ns : process->start_ns;
	struct timespec now;

	if (clock_gettime(CLOCK_BOOTTIME, &now))
		return false;
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec < since + STARTING_NS;
}

int ruby_process__prove(struct ruby_process *process)
{
	/* One that is being set up is asked again anyway. */
	int result, tries, most = is_starting(process) ? 1 : PROOF_TRIES;
	struct memory *memory;

	if (process->error || !process->runtime)
		return process->error ? process->error : RBPROF_E_NOT_RUBY;
	result = memory__open_process(process->pid, &memory);
	if (!result) {
		for (tries = 0; tries < most; tries++) {
			if (tries)
				usleep(PROOF_PAUSE_US);
			result = layout__prove(memory, &process->runtime->layout,
					       ruby_process__vm_ptr(process),
					       ruby_process__symbols(process), &process->why);
			if (result <= 0)
				break;
		}
		memory__close(memory);
	}
	if (result > 0 && is_starting(process))
		return -EAGAIN;
	if (result == -EPERM || result == -EACCES)
		result = RBPROF_E_NO_PERMISSION;
	if (result > 0)
		process->error = result;
	return result;
}
