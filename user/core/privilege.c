/* SPDX-License-Identifier: BSD-2-Clause */
#include "privilege.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host.h"

#define BIT(capability) (1ULL << (capability))

static const struct {
	int capability;
	const char *name;
} names[] = {
	{ CAP_BPF, "CAP_BPF" },
	{ CAP_PERFMON, "CAP_PERFMON" },
	{ CAP_SYS_PTRACE, "CAP_SYS_PTRACE" },
	{ CAP_SYS_ADMIN, "CAP_SYS_ADMIN" },
	{ CAP_SYS_RESOURCE, "CAP_SYS_RESOURCE" },
	{ CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH" },
	{ CAP_CHECKPOINT_RESTORE, "CAP_CHECKPOINT_RESTORE" },
};

/* Without one of these nothing can be profiled. */
static const int required[] = { CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE };

int privilege__capabilities(uint64_t *ret_set)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (syscall(SYS_capget, &header, data))
		return -errno;
	*ret_set = (uint64_t)data[1].effective << 32 | data[0].effective;
	return 0;
}

bool privilege__has(uint64_t set, int capability)
{
	switch (capability) {
	case CAP_BPF:
	case CAP_PERFMON:
	case CAP_CHECKPOINT_RESTORE:
		set |= set & BIT(CAP_SYS_ADMIN) ? BIT(capability) : 0;
		break;
	case CAP_DAC_READ_SEARCH:
		set |= set & BIT(CAP_DAC_OVERRIDE) ? BIT(capability) : 0;
		break;
	}
	return set & BIT(capability);
}

const char *privilege__name(int capability)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].capability == capability)
			return names[i].name;
	return NULL;
}

static int judge_capabilities(uint64_t set, bool is_root, const struct host *host, char *why,
			      size_t size)
{
	char missing[128] = "", scope[64] = "";
	size_t used = 0;

	for (size_t i = 0; i < sizeof(required) / sizeof(required[0]); i++) {
		if (privilege__has(set, required[i]))
			continue;
		used += (size_t)snprintf(missing + used, sizeof(missing) - used, "%s%s",
					 used ? ", " : "", privilege__name(required[i]));
	}
	if (!used)
		return 0;
	if (!privilege__has(set, CAP_SYS_PTRACE) && host->ptrace_scope > 0)
		snprintf(scope, sizeof(scope), " (kernel.yama.ptrace_scope is %d)",
			 host->ptrace_scope);
	snprintf(why, size, "missing privilege: %s%s, %s", missing, scope,
		 is_root ? "give it to this container or service"
			 : "run with sudo, or give it to this service");
	return -EPERM;
}

static int judge_host(const struct host *host, char *why, size_t size)
{
	if (!host__is_since(host, 5, 15)) {
		snprintf(why, size, "kernel %s is too old, use 5.15 or later", host->release);
		return -ENOTSUP;
	}
	if (host->btf_error) {
		snprintf(why, size,
			 "no kernel type information (BTF) at %s: %s, use a kernel built with "
			 "CONFIG_DEBUG_INFO_BTF=y",
			 host->btf_path, host__btf_error_text(host->btf_error));
		return -ENOTSUP;
	}
	if (host->lockdown == HOST_LOCKDOWN_CONFIDENTIALITY) {
		snprintf(why, size,
			 "kernel lockdown is in confidentiality mode, so kernel memory must not be "
			 "read: boot with lockdown=integrity");
		return -EPERM;
	}
	if (host->ptrace_scope >= 3) {
		snprintf(why, size,
			 "kernel.yama.ptrace_scope is %d, so nobody may read another process until "
			 "the next boot: set it to 2 or less in /etc/sysctl.d and reboot",
			 host->ptrace_scope);
		return -EPERM;
	}
	return 0;
}

int privilege__judge(uint64_t set, bool is_root, const struct host *host, int memory_read,
		     char *why, size_t size)
{
	int error = judge_capabilities(set, is_root, host, why, size);

	if (!error)
		error = judge_host(host, why, size);
	if (error || !memory_read)
		return error;
	if (memory_read == -ENOSYS) {
		snprintf(why, size,
			 "this kernel has no process_vm_readv(): use one built with "
			 "CONFIG_CROSS_MEMORY_ATTACH=y");
		return -ENOTSUP;
	}
	snprintf(why, size,
		 "memory of a process cannot be read by process_vm_readv(): %s, allow it in the "
		 "security policy (seccomp, LSM) of this container or service",
		 strerror(-memory_read));
	return -EPERM;
}

int privilege__check_pids(char *why, size_t size)
{
	if (host__pids() != HOST_PIDS_FOREIGN)
		return 0;
	snprintf(why, size,
		 "/proc shows the processes of another pid namespace than ours: mount ours there "
		 "(unshare --mount-proc), or run in the host's pid namespace (--pid=host, "
		 "hostPID: true)");
	return -ENOTSUP;
}

int privilege__check(char *why, size_t size)
{
	struct host host;
	uint64_t set;
	int error = privilege__capabilities(&set);

	if (error) {
		snprintf(why, size, "cannot tell our own capabilities: %s, run with sudo",
			 strerror(-error));
		return -EPERM;
	}
	host__read("", NULL, &host);
	error = privilege__judge(set, !geteuid(), &host, host__try_memory_read(), why, size);
	/* Only now: without privileges the kernel does not tell. */
	if (!error && !host__has_loop()) {
		snprintf(why, size,
			 "kernel %s has no bpf_loop(), which this version needs: use 5.17 or later",
			 host.release);
		error = -ENOTSUP;
	}
	if (!error)
		error = privilege__check_pids(why, size);
	return error;
}

int privilege__raise_memlock(void)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };

	return setrlimit(RLIMIT_MEMLOCK, &limit) ? -errno : 0;
}
