/* SPDX-License-Identifier: BSD-2-Clause */
/* Each thing that a host can lack is named, with what to do, and never taken for another. */
#include <errno.h>
#include <jansson.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "capture.h"
#include "user/cmd.h"
#include "user/core/doctor.h"
#include "user/core/privilege.h"

#define BIT(capability) (1ULL << (capability))
#define NEEDED		(BIT(CAP_BPF) | BIT(CAP_PERFMON) | BIT(CAP_SYS_PTRACE))

/* A host on which all is well. */
static struct doctor_facts good_facts(void)
{
	return (struct doctor_facts){
		.host = {
			.release = "6.1.0-18-amd64",
			.major = 6,
			.minor = 1,
			.btf_path = "/sys/kernel/btf/vmlinux",
			.paranoid = 2,
			.ptrace_scope = HOST_UNKNOWN,
			.lockdown = HOST_LOCKDOWN_NONE,
		},
		.capabilities = NEEDED,
		.is_root = true,
		.memlock_bytes = 64 * 1024,
		.has_loop = true,
		.pids = HOST_PIDS_ALL,
	};
}

static const struct doctor_check *find(const struct doctor_report *report, const char *name)
{
	for (size_t i = 0; i < report->count; i++)
		if (!strcmp(report->checks[i].name, name))
			return &report->checks[i];
	fail_msg("no check %s", name);
	return NULL;
}

/* Exactly these checks fail (names apart by spaces), each with one line on what to do. */
static void expect_failures(const struct doctor_facts *facts, const char *names)
{
	struct doctor_report report;
	char failed[512] = "";

	doctor__judge(facts, &report);
	for (size_t i = 0; i < report.count; i++) {
		const struct doctor_check *check = &report.checks[i];

		assert_true(*check->found);
		assert_null(strchr(check->found, '\n'));
		assert_null(strchr(check->remedy, '\n'));
		assert_int_equal(check->is_ok, !*check->remedy);
		if (check->is_ok)
			continue;
		strncat(failed, *failed ? "," : "", sizeof(failed) - strlen(failed) - 1);
		strncat(failed, check->name, sizeof(failed) - strlen(failed) - 1);
	}
	assert_string_equal(failed, names);
	assert_int_equal(report.is_ok, !*names);
}

static void test_all_is_well(void **state)
{
	struct doctor_facts facts = good_facts();

	(void)state;
	expect_failures(&facts, "");
	facts.capabilities = BIT(CAP_SYS_ADMIN) | BIT(CAP_SYS_PTRACE);
	expect_failures(&facts, "");
}

static void test_one_thing_missing(void **state)
{
	struct doctor_facts facts = good_facts();

	(void)state;
	facts.host.major = 5;
	facts.host.minor = 14;
	expect_failures(&facts, "kernel");
	facts.host.minor = 15;
	expect_failures(&facts, "");

	facts = good_facts();
	facts.has_loop = false;
	expect_failures(&facts, "bpf_loop");

	facts = good_facts();
	facts.pids = HOST_PIDS_OWN;
	expect_failures(&facts, "");
	facts.pids = HOST_PIDS_FOREIGN;
	expect_failures(&facts, "pid namespace");

	facts = good_facts();
	facts.host.btf_error = -ENOENT;
	facts.tracing = -ENOENT;
	expect_failures(&facts, "btf,tracing program");

	facts = good_facts();
	facts.capabilities &= ~BIT(CAP_SYS_PTRACE);
	expect_failures(&facts, "CAP_SYS_PTRACE");

	facts = good_facts();
	facts.host.lockdown = HOST_LOCKDOWN_INTEGRITY;
	expect_failures(&facts, "");
	facts.host.lockdown = HOST_LOCKDOWN_CONFIDENTIALITY;
	expect_failures(&facts, "lockdown");

	facts = good_facts();
	facts.clock = -EACCES;
	expect_failures(&facts, "perf clock");
}

/* A missing capability is named as such, whatever the limit of locked memory is. */
static void test_capability_and_memlock(void **state)
{
	struct doctor_facts facts = good_facts();
	struct doctor_report report;

	(void)state;
	facts.capabilities = BIT(CAP_SYS_PTRACE);
	facts.tracing = facts.perf_program = -EPERM;
	facts.clock = -EACCES;
	facts.memlock_raise = -EPERM;
	expect_failures(&facts, "CAP_BPF,CAP_PERFMON,tracing program,perf event program,"
				"perf clock,perf_event_paranoid");
	doctor__judge(&facts, &report);
	assert_non_null(strstr(find(&report, "tracing program")->remedy, "capabilities"));
	assert_non_null(strstr(find(&report, "memlock")->found, "64 kB"));
}

/* Every value of Yama's setting has its own meaning and remedy. */
static void test_ptrace_scope(void **state)
{
	struct doctor_facts facts = good_facts();
	struct doctor_report report;
	char found[5][512], remedy[5][256];

	(void)state;
	for (int scope = -1; scope <= 3; scope++) {
		facts.host.ptrace_scope = scope < 0 ? HOST_UNKNOWN : scope;
		facts.capabilities = NEEDED;
		expect_failures(&facts, scope == 3 ? "ptrace_scope" : "");
		facts.capabilities &= ~BIT(CAP_SYS_PTRACE);
		expect_failures(&facts,
				scope >= 1 ? "CAP_SYS_PTRACE,ptrace_scope" : "CAP_SYS_PTRACE");
		doctor__judge(&facts, &report);
		snprintf(found[scope + 1], 512, "%s", find(&report, "ptrace_scope")->found);
		snprintf(remedy[scope + 1], 256, "%s", find(&report, "ptrace_scope")->remedy);
	}
	for (int i = 0; i < 5; i++)
		for (int j = i + 1; j < 5; j++) {
			assert_string_not_equal(found[i], found[j]);
			if (*remedy[i])
				assert_string_not_equal(remedy[i], remedy[j]);
		}
	assert_non_null(strstr(remedy[2], "ptrace_scope=0"));
	assert_non_null(strstr(remedy[4], "reboot"));
}

static void test_memory_read(void **state)
{
	struct doctor_facts facts = good_facts();
	struct doctor_report report;

	(void)state;
	facts.memory_read = -ENOSYS;
	expect_failures(&facts, "process_vm_readv");
	doctor__judge(&facts, &report);
	assert_non_null(
		strstr(find(&report, "process_vm_readv")->remedy, "CONFIG_CROSS_MEMORY_ATTACH"));
	facts.memory_read = -EPERM;
	doctor__judge(&facts, &report);
	assert_non_null(strstr(find(&report, "process_vm_readv")->remedy, "security policy"));
}

static void test_no_counters(void **state)
{
	struct doctor_facts facts = good_facts();
	struct doctor_report report;

	(void)state;
	facts.counters = -ENOENT;
	expect_failures(&facts, "");
	doctor__judge(&facts, &report);
	assert_non_null(
		strstr(find(&report, "hardware counters")->found, "falls back to cpu-clock"));
}

static void test_accounting(void **state)
{
	struct doctor_facts facts = good_facts();
	struct doctor_report report;

	(void)state;
	doctor__judge(&facts, &report);
	assert_non_null(strstr(find(&report, "interrupt time")->found, "unknown"));
	facts.host.irq_time_accounting = HOST_OPTION_NOT_SET;
	doctor__judge(&facts, &report);
	assert_non_null(strstr(find(&report, "interrupt time")->found, "interrupted thread"));
	facts.host.irq_time_accounting = HOST_OPTION_SET;
	doctor__judge(&facts, &report);
	assert_non_null(strstr(find(&report, "interrupt time")->found, "apart"));
}

/* ---- what record says before it starts ---- */

static void expect_why(uint64_t capabilities, const struct host *host, int memory_read, int error,
		       const char *words)
{
	char why[512] = "";

	assert_int_equal(privilege__judge(capabilities, false, host, memory_read, why, sizeof(why)),
			 error);
	if (!strstr(why, words))
		fail_msg("'%s' has no '%s'", why, words);
	assert_null(strchr(why, '\n'));
	assert_null(strcasestr(why, "memlock"));
}

static void test_privilege(void **state)
{
	struct host host = good_facts().host;

	(void)state;
	expect_why(NEEDED, &host, 0, 0, "");
	expect_why(BIT(CAP_SYS_ADMIN) | BIT(CAP_SYS_PTRACE), &host, 0, 0, "");
	expect_why(0, &host, 0, -EPERM, "CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE, run with sudo");
	expect_why(NEEDED & ~BIT(CAP_BPF), &host, 0, -EPERM, "privilege: CAP_BPF, run");
	expect_why(NEEDED & ~BIT(CAP_PERFMON), &host, 0, -EPERM, "privilege: CAP_PERFMON, run");
	expect_why(NEEDED & ~BIT(CAP_SYS_PTRACE), &host, 0, -EPERM,
		   "privilege: CAP_SYS_PTRACE, run");
	expect_why(NEEDED, &host, -ENOSYS, -ENOTSUP, "CONFIG_CROSS_MEMORY_ATTACH");
	expect_why(NEEDED, &host, -EPERM, -EPERM, "process_vm_readv");

	for (int scope = 1; scope <= 3; scope++) {
		char words[32];

		host.ptrace_scope = scope;
		snprintf(words, sizeof(words), "ptrace_scope is %d", scope);
		expect_why(NEEDED & ~BIT(CAP_SYS_PTRACE), &host, 0, -EPERM, words);
		expect_why(NEEDED, &host, 0, scope == 3 ? -EPERM : 0, scope == 3 ? words : "");
	}

	host = good_facts().host;
	host.btf_error = -ENOENT;
	expect_why(NEEDED, &host, 0, -ENOTSUP, "/sys/kernel/btf/vmlinux");
	host = good_facts().host;
	host.lockdown = HOST_LOCKDOWN_CONFIDENTIALITY;
	expect_why(NEEDED, &host, 0, -EPERM, "lockdown");
	host = good_facts().host;
	host.major = 4;
	expect_why(NEEDED, &host, 0, -ENOTSUP, "too old");
}

/* ---- reading the host ---- */

static char root[] = "/tmp/rbprof-host-XXXXXX";

static void put(const char *path, const char *text)
{
	char file[4096];
	FILE *stream;

	snprintf(file, sizeof(file), "%s%s", root, path);
	for (char *at = file + strlen(root) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		assert_true(!mkdir(file, 0755) || errno == EEXIST);
		*at = '/';
	}
	stream = fopen(file, "we");
	assert_non_null(stream);
	fputs(text, stream);
	assert_int_equal(fclose(stream), 0);
}

static void test_read_host(void **state)
{
	static const char *const nonsense[] = { "", "x", "-", "2x", "99999999999999999999", "\n" };
	struct host host;

	(void)state;
	/* A host that tells nothing. */
	host__read(root, "5.15.0", &host);
	assert_string_equal(host.release, "5.15.0");
	assert_true(host__is_since(&host, 5, 15));
	assert_false(host__is_since(&host, 5, 16));
	assert_int_equal(host.btf_error, -ENOENT);
	assert_int_equal(host.paranoid, HOST_UNKNOWN);
	assert_int_equal(host.ptrace_scope, HOST_UNKNOWN);
	assert_int_equal(host.lockdown, HOST_LOCKDOWN_UNKNOWN);
	assert_int_equal(host.irq_time_accounting, HOST_OPTION_UNKNOWN);

	put("/proc/sys/kernel/perf_event_paranoid", "-1\n");
	put("/proc/sys/kernel/yama/ptrace_scope", "1\n");
	put("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
	put("/sys/kernel/btf/vmlinux", "\x9f\xeb\x01");
	put("/boot/config-5.15.0", "CONFIG_IRQ_TIME_ACCOUNTING=y\n"
				   "# CONFIG_PARAVIRT_TIME_ACCOUNTING is not set\n");
	host__read(root, "5.15.0", &host);
	assert_int_equal(host.btf_error, 0);
	assert_int_equal(host.paranoid, -1);
	assert_int_equal(host.ptrace_scope, 1);
	assert_int_equal(host.lockdown, HOST_LOCKDOWN_INTEGRITY);
	assert_int_equal(host.irq_time_accounting, HOST_OPTION_SET);
	assert_int_equal(host.steal_time_accounting, HOST_OPTION_NOT_SET);
	host__read(root, "5.15.1", &host);
	assert_int_equal(host.irq_time_accounting, HOST_OPTION_UNKNOWN);

	for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++) {
		put("/proc/sys/kernel/yama/ptrace_scope", nonsense[i]);
		put("/sys/kernel/security/lockdown", nonsense[i]);
		put("/sys/kernel/btf/vmlinux", nonsense[i]);
		put("/boot/config-5.15.0", nonsense[i]);
		host__read(root, "5.15.0", &host);
		assert_int_equal(host.ptrace_scope, HOST_UNKNOWN);
		assert_int_equal(host.lockdown, HOST_LOCKDOWN_UNKNOWN);
		assert_int_equal(host.btf_error, -ENOEXEC);
		assert_int_equal(host.irq_time_accounting, HOST_OPTION_UNKNOWN);
	}
	host__read(root, "not a version", &host);
	assert_false(host__is_since(&host, 0, 1));
}

static void test_other_btf(void **state)
{
	struct host host;

	(void)state;
	setenv("RBPROF_BTF", "/no/such/btf", 1);
	host__read("", NULL, &host);
	unsetenv("RBPROF_BTF");
	assert_int_equal(host.btf_error, -ENOENT);
	assert_string_equal(host.btf_path, "/no/such/btf");
}

/* This host: what the kernel grants anyone. */
static void test_tries(void **state)
{
	(void)state;
	assert_int_equal(host__try_memory_read(), 0);
	/* 0 with privileges, refused without; never anything else. */
	if (!geteuid())
		return;
	assert_int_equal(host__try_perf_program(), -EPERM);
}

/* ---- the command ---- */

static int run_doctor(void *context)
{
	char *argv[] = { "doctor", context, NULL };

	return cmd_doctor(2, argv);
}

static void test_json(void **state)
{
	static struct capture capture;
	json_error_t error;
	json_t *object, *check;
	size_t index;
	bool all_ok = true;
	int status;

	(void)state;
	status = capture__run(&capture, STDOUT_FILENO, run_doctor, "--json");
	object = json_loads(capture.text, 0, &error);
	if (!object)
		fail_msg("%s: %s", error.text, capture.text);
	assert_int_equal(json_integer_value(json_object_get(object, "schema")), 1);
	assert_true(json_array_size(json_object_get(object, "checks")) > 10);
	json_array_foreach (json_object_get(object, "checks"), index, check) {
		bool is_ok = json_is_true(json_object_get(check, "ok"));

		assert_true(json_is_boolean(json_object_get(check, "ok")));
		assert_true(json_is_string(json_object_get(check, "name")));
		assert_true(json_is_string(json_object_get(check, "found")));
		assert_int_equal(json_is_null(json_object_get(check, "remedy")), is_ok);
		all_ok &= is_ok;
	}
	assert_int_equal(json_is_true(json_object_get(object, "ok")), all_ok);
	assert_int_equal(status, all_ok ? CMD_DONE : CMD_UNABLE);
	json_decref(object);
}

static void test_text(void **state)
{
	static struct capture capture;
	int status;

	(void)state;
	status = capture__run(&capture, STDOUT_FILENO, run_doctor, "--color=never");
	assert_non_null(strstr(capture.text, "CAP_BPF"));
	assert_non_null(strstr(capture.text, status == CMD_DONE ? "this host can be profiled"
								: "this host cannot be profiled"));
	assert_null(strchr(capture.text, '\033'));
	assert_int_equal(capture__run(&capture, STDERR_FILENO, run_doctor, "--bad"), CMD_USAGE);
}

static int make_root(void **state)
{
	(void)state;
	unsetenv("RBPROF_BTF");
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_is_well),
		cmocka_unit_test(test_one_thing_missing),
		cmocka_unit_test(test_capability_and_memlock),
		cmocka_unit_test(test_ptrace_scope),
		cmocka_unit_test(test_memory_read),
		cmocka_unit_test(test_no_counters),
		cmocka_unit_test(test_accounting),
		cmocka_unit_test(test_privilege),
		cmocka_unit_test(test_read_host),
		cmocka_unit_test(test_other_btf),
		cmocka_unit_test(test_tries),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_text),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
