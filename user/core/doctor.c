/* SPDX-License-Identifier: BSD-2-Clause */
#include "doctor.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "privilege.h"

int doctor__collect(struct doctor_facts *ret_facts)
{
	struct doctor_facts facts = { .is_root = !geteuid() };
	struct rlimit limit = { 0 };
	int error = privilege__capabilities(&facts.capabilities);

	if (error)
		return error;
	if (getrlimit(RLIMIT_MEMLOCK, &limit))
		return -errno;
	facts.memlock_bytes = limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
	host__read("", NULL, &facts.host);
	facts.memory_read = host__try_memory_read();
	facts.memlock_raise = privilege__raise_memlock();
	facts.tracing = host__try_tracing();
	facts.perf_program = host__try_perf_program();
	facts.clock = host__try_clock();
	facts.counters = host__try_counters();
	facts.has_loop = host__has_loop();
	facts.pids = host__pids();
	*ret_facts = facts;
	return 0;
}

/* ---- one check ---- */

static struct doctor_check *check_add(struct doctor_report *report, const char *name)
{
	struct doctor_check *check = &report->checks[report->count];

	/* The number of checks is fixed; the last place is shared rather than overrun. */
	if (report->count < DOCTOR_MAX_CHECKS - 1)
		report->count++;
	check->name = name;
	check->is_ok = true;
	return check;
}

static void __attribute__((format(printf, 2, 3))) check_found(struct doctor_check *check,
							      const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(check->found, sizeof(check->found), format, arguments);
	va_end(arguments);
}

static void __attribute__((format(printf, 2, 3))) check_fail(struct doctor_check *check,
							     const char *format, ...)
{
	va_list arguments;

	check->is_ok = false;
	va_start(arguments, format);
	vsnprintf(check->remedy, sizeof(check->remedy), format, arguments);
	va_end(arguments);
}

static bool has(const struct doctor_facts *facts, int capability)
{
	return privilege__has(facts->capabilities, capability);
}

/* ---- the kernel ---- */

static void judge_pids(const struct doctor_facts *facts, struct doctor_report *report)
{
	struct doctor_check *check = check_add(report, "pid namespace");

	switch (facts->pids) {
	case HOST_PIDS_ALL:
		check_found(check, "the host's");
		break;
	case HOST_PIDS_OWN:
		check_found(check,
			    "one of its own: only its processes are seen, by the ids that it "
			    "gives");
		break;
	case HOST_PIDS_FOREIGN:
		check_found(check, "not that of /proc");
		check_fail(check,
			   "mount the /proc of this pid namespace (unshare --mount-proc), or "
			   "run in that of the host (--pid=host, hostPID: true)");
		break;
	}
}

static void judge_kernel(const struct doctor_facts *facts, struct doctor_report *report)
{
	const struct host *host = &facts->host;
	struct doctor_check *check = check_add(report, "kernel");

	check_found(check, "%s", host->release);
	if (!host__is_since(host, 5, 15))
		check_fail(check, "use kernel 5.15 or later");

	check = check_add(report, "bpf_loop");
	check_found(check, "%s", facts->has_loop ? "there" : "not there");
	if (!facts->has_loop)
		check_fail(check, "use kernel 5.17 or later, this version walks stacks with it");

	judge_pids(facts, report);

	check = check_add(report, "btf");
	check_found(check, "%s%s%s", host->btf_path, host->btf_error ? ": " : "",
		    host->btf_error ? host__btf_error_text(host->btf_error) : "");
	if (host->btf_error)
		check_fail(check, "use a kernel built with CONFIG_DEBUG_INFO_BTF=y");
}

static void judge_lockdown(const struct doctor_facts *facts, struct doctor_report *report)
{
	static const char *const found[] = {
		[HOST_LOCKDOWN_UNKNOWN] = "none that can be seen",
		[HOST_LOCKDOWN_NONE] = "none",
		[HOST_LOCKDOWN_INTEGRITY] = "integrity: does not matter",
		[HOST_LOCKDOWN_CONFIDENTIALITY] = "confidentiality: kernel memory must not be read",
	};
	struct doctor_check *check = check_add(report, "lockdown");

	check_found(check, "%s", found[facts->host.lockdown]);
	if (facts->host.lockdown == HOST_LOCKDOWN_CONFIDENTIALITY)
		check_fail(check, "boot with lockdown=integrity, or without lockdown");
}

static void judge_accounting(const struct doctor_facts *facts, struct doctor_report *report)
{
	const struct host *host = &facts->host;
	struct doctor_check *check = check_add(report, "interrupt time");

	if (host->irq_time_accounting == HOST_OPTION_SET)
		check_found(check, "counted apart from threads (CONFIG_IRQ_TIME_ACCOUNTING=y)");
	else if (host->irq_time_accounting == HOST_OPTION_NOT_SET)
		check_found(check, "counted as CPU of the interrupted thread "
				   "(CONFIG_IRQ_TIME_ACCOUNTING is not set)");
	else
		check_found(check, "unknown: the kernel's configuration was not found");

	check = check_add(report, "stolen time");
	if (host->steal_time_accounting == HOST_OPTION_SET)
		check_found(check, "taken off where the hypervisor tells it "
				   "(CONFIG_PARAVIRT_TIME_ACCOUNTING=y)");
	else if (host->steal_time_accounting == HOST_OPTION_NOT_SET)
		check_found(check, "counted as CPU of the thread that was running "
				   "(CONFIG_PARAVIRT_TIME_ACCOUNTING is not set)");
	else
		check_found(check, "unknown: the kernel's configuration was not found");
}

/* ---- privileges ---- */

static void judge_capability(const struct doctor_facts *facts, struct doctor_report *report,
			     int capability, const char *without)
{
	struct doctor_check *check = check_add(report, privilege__name(capability));

	if (facts->capabilities & 1ULL << capability) {
		check_found(check, "effective");
	} else if (has(facts, capability)) {
		check_found(check, "not set, but %s stands for it",
			    capability == CAP_DAC_READ_SEARCH ? "CAP_DAC_OVERRIDE"
							      : "CAP_SYS_ADMIN");
	} else if (without) {
		check_found(check, "missing, optional: %s", without);
	} else {
		check_found(check, "missing");
		check_fail(check, "%s",
			   facts->is_root ? "give it to this container or service"
					  : "run with sudo, or give it to this service");
	}
}

static void judge_capabilities(const struct doctor_facts *facts, struct doctor_report *report)
{
	judge_capability(facts, report, CAP_BPF, NULL);
	judge_capability(facts, report, CAP_PERFMON, NULL);
	judge_capability(facts, report, CAP_SYS_PTRACE, NULL);
	judge_capability(facts, report, CAP_DAC_READ_SEARCH,
			 "a ruby that only its owner may read is refused");
	judge_capability(facts, report, CAP_CHECKPOINT_RESTORE,
			 "a ruby whose file was deleted or replaced is refused");
	judge_capability(facts, report, CAP_SYS_RESOURCE,
			 "only kernels before 5.11 need a higher limit of locked memory");
}

static void judge_memlock(const struct doctor_facts *facts, struct doctor_report *report)
{
	struct doctor_check *check = check_add(report, "memlock");

	/* Never a failure: where a load fails, a capability is missing, and that is said. */
	if (facts->memlock_bytes == UINT64_MAX)
		check_found(check, "unlimited");
	else
		check_found(check, "%" PRIu64 " kB, %s; this kernel %s",
			    facts->memlock_bytes / 1024,
			    facts->memlock_raise ? "cannot be raised" : "can be raised",
			    host__is_since(&facts->host, 5, 11) ? "does not charge maps to it"
								: "charges maps to it");
}

static void judge_paranoid(const struct doctor_facts *facts, struct doctor_report *report)
{
	struct doctor_check *check = check_add(report, "perf_event_paranoid");
	int paranoid = facts->host.paranoid;

	if (paranoid == HOST_UNKNOWN) {
		check_found(check, "not there");
		check_fail(check, "use a kernel built with CONFIG_PERF_EVENTS=y");
	} else if (has(facts, CAP_PERFMON)) {
		check_found(check, "%d: does not matter with CAP_PERFMON", paranoid);
	} else {
		check_found(check, "%d: matters without CAP_PERFMON", paranoid);
		if (paranoid > 0)
			check_fail(check, "run with sudo, or give CAP_PERFMON to this service");
	}
}

static void judge_ptrace_scope(const struct doctor_facts *facts, struct doctor_report *report)
{
	struct doctor_check *check = check_add(report, "ptrace_scope");
	bool may_trace = has(facts, CAP_SYS_PTRACE);

	switch (facts->host.ptrace_scope) {
	case HOST_UNKNOWN:
		check_found(check, "no Yama in this kernel");
		break;
	case 0:
		check_found(check, "0: own processes, and all with CAP_SYS_PTRACE");
		break;
	case 1:
		check_found(check, "1: own descendants, and all with CAP_SYS_PTRACE");
		if (!may_trace)
			check_fail(check, "run with sudo, give CAP_SYS_PTRACE, or: sysctl "
					  "kernel.yama.ptrace_scope=0");
		break;
	case 2:
		check_found(check, "2: only with CAP_SYS_PTRACE");
		if (!may_trace)
			check_fail(check, "run with sudo, or give CAP_SYS_PTRACE to this service");
		break;
	default:
		check_found(check, "%d: nobody may read another process, until the next boot",
			    facts->host.ptrace_scope);
		check_fail(check, "set kernel.yama.ptrace_scope to 2 or less in /etc/sysctl.d and "
				  "reboot");
	}
}

/* ---- tries ---- */

static void judge_memory_read(const struct doctor_facts *facts, struct doctor_report *report)
{
	struct doctor_check *check = check_add(report, "process_vm_readv");

	if (!facts->memory_read) {
		check_found(check, "works");
		return;
	}
	check_found(check, "fails: %s", strerror(-facts->memory_read));
	if (facts->memory_read == -ENOSYS)
		check_fail(check, "use a kernel built with CONFIG_CROSS_MEMORY_ATTACH=y");
	else
		check_fail(check,
			   "allow process_vm_readv() in the security policy (seccomp, Yama) of "
			   "this container or service");
}

static void judge_load(const struct doctor_facts *facts, struct doctor_report *report,
		       const char *name, int error)
{
	struct doctor_check *check = check_add(report, name);

	if (!error) {
		check_found(check, "loads");
		return;
	}
	if (facts->host.btf_error && error != -EPERM) {
		check_found(check, "does not load without btf");
		check_fail(check, "see btf above");
		return;
	}
	check_found(check, "does not load: %s", strerror(-error));
	if (!has(facts, CAP_BPF) || !has(facts, CAP_PERFMON))
		check_fail(check, "get the missing capabilities above");
	else if (error == -EPERM || error == -EACCES)
		check_fail(check,
			   "allow bpf() in the security policy (seccomp, LSM) and run outside of "
			   "a user namespace");
	else
		check_fail(check,
			   "use a kernel built with CONFIG_BPF_SYSCALL=y, CONFIG_BPF_EVENTS=y "
			   "and CONFIG_DEBUG_INFO_BTF=y");
}

static void judge_clock(const struct doctor_facts *facts, struct doctor_report *report)
{
	struct doctor_check *check = check_add(report, "perf clock");

	if (!facts->clock) {
		check_found(check, "cpu-clock works");
	} else {
		check_found(check, "cpu-clock cannot be opened: %s", strerror(-facts->clock));
		if (!has(facts, CAP_PERFMON))
			check_fail(check, "run with sudo, or give CAP_PERFMON to this service");
		else if (facts->host.paranoid > 2)
			check_fail(check,
				   "sysctl kernel.perf_event_paranoid=2, or give CAP_SYS_ADMIN");
		else
			check_fail(check,
				   "allow perf_event_open() in the security policy (seccomp, "
				   "LSM) of this container or service");
	}

	check = check_add(report, "hardware counters");
	if (!facts->counters)
		check_found(check, "there; not needed, cpu-clock is the sampling clock");
	else if (facts->counters == -EPERM || facts->counters == -EACCES)
		check_found(check, "not told (%s); not needed, cpu-clock is the sampling clock",
			    strerror(-facts->counters));
	else
		check_found(check, "none (%s): falls back to cpu-clock, nothing is lost",
			    strerror(-facts->counters));
}

void doctor__judge(const struct doctor_facts *facts, struct doctor_report *ret_report)
{
	struct doctor_report report = { .is_ok = true };

	judge_kernel(facts, &report);
	judge_capabilities(facts, &report);
	judge_lockdown(facts, &report);
	judge_ptrace_scope(facts, &report);
	judge_memory_read(facts, &report);
	judge_load(facts, &report, "tracing program", facts->tracing);
	judge_load(facts, &report, "perf event program", facts->perf_program);
	judge_clock(facts, &report);
	judge_paranoid(facts, &report);
	judge_memlock(facts, &report);
	judge_accounting(facts, &report);
	for (size_t i = 0; i < report.count; i++)
		report.is_ok &= report.checks[i].is_ok;
	*ret_report = report;
}
