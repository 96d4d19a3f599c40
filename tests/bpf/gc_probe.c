/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Puts probes on the entries and exits of the garbage collector of a Ruby process and holds what
 * they count against what the process says of itself:
 *
 *	gc_probe COMMAND ARGS...     the command runs tests/bpf/gc_probe.rb
 *
 * Exit status: 0, 1 (they disagree), 77 (cannot run here).
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The skeleton names structs of these. */
#include "rbprof_abi.h"
#include "gc_probe.h"

#include "gc_probe.skel.h"
#include "user/discover/runtime.h"

#define AROUND_STEP_NS	  30000.0 /* done by the VM in a step outside of its own clock */
#define CALIBRATION_CALLS 20000
#define LIMIT_PERCENT	  2
#define LIMIT_NS	  5e6
#define ENTRIES_MAX	  16
#define MAX_LINKS	  (2 * ENTRIES_MAX)
#define EXIT_CANNOT_RUN	  77

_Static_assert(MAX_LINKS <= GC_PROBE_SITES, "each site has a counter");

/* An instruction like those of the sites, for finding out what a probe on them costs. */
__asm__(".text\n.globl gc_probe_site\n.type gc_probe_site, @function\n"
	"gc_probe_site:\n\tnop\n\tret\n.size gc_probe_site, .-gc_probe_site\n");
void gc_probe_site(void);

struct child {
	pid_t pid; /* as it is seen from here: the command replaces itself by Ruby */
	FILE *in, *out;
	char version[16];
};

struct probes {
	struct gc_probe_bpf *skeleton;
	struct bpf_link *links[MAX_LINKS + 1];
	int count;
	struct runtime *runtime;
	double hit_ns; /* cost of one probe, as the CPU time of the thread shows it */
};

static int start_child(char **argv, struct child *ret_child)
{
	int to[2], from[2];
	char line[128];
	pid_t pid;

	if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		if (dup2(to[0], 0) < 0 || dup2(from[1], 1) < 0)
			_exit(126);
		execvp(argv[0], argv);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	ret_child->pid = pid;
	ret_child->in = fdopen(to[1], "w");
	ret_child->out = fdopen(from[0], "r");
	if (!ret_child->in || !ret_child->out || !fgets(line, sizeof(line), ret_child->out) ||
	    sscanf(line, "ready %*d %15s", ret_child->version) != 1)
		return -ECHILD;
	return 0;
}

/* The libruby of a process, or its executable, as a path that is good here. */
static int find_ruby(pid_t pid, char *path, size_t size, struct runtime **ret_runtime)
{
	char name[64], line[1024], mode[8];
	unsigned long start, end;
	int result = -ENOENT;
	FILE *maps;

	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	maps = fopen(name, "re");
	if (!maps)
		return -errno;
	while (result && fgets(line, sizeof(line), maps)) {
		int fd;

		if (sscanf(line, "%lx-%lx %7s", &start, &end, mode) != 3 || mode[2] != 'x')
			continue;
		/* The file itself, in whatever root it has a name. */
		snprintf(path, size, "/proc/%d/map_files/%lx-%lx", pid, start, end);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		result = runtime__open(fd, ret_runtime);
		close(fd);
	}
	fclose(maps);
	return result;
}

static int add_probe(struct probes *probes, const struct bpf_program *program, pid_t pid,
		     const char *path, uint64_t offset, uint64_t site)
{
	LIBBPF_OPTS(bpf_uprobe_opts, options, .bpf_cookie = site);
	struct bpf_link *link =
		bpf_program__attach_uprobe_opts(program, pid, path, offset, &options);

	if (!link)
		return -errno;
	probes->links[probes->count++] = link;
	return 0;
}

static double time_calls(void)
{
	struct timespec before, after;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
	for (int i = 0; i < CALIBRATION_CALLS; i++)
		gc_probe_site();
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
	return ((double)(after.tv_sec - before.tv_sec) * 1e9 +
		(double)(after.tv_nsec - before.tv_nsec)) /
	       CALIBRATION_CALLS;
}

/* Half of the hits of a step are entries. */
static int calibrate(struct probes *probes)
{
	const struct bpf_program *programs[] = { probes->skeleton->progs.on_gc_enter,
						 probes->skeleton->progs.on_gc_exit };
	double plain = time_calls();

	probes->hit_ns = 0;
	for (int i = 0; i < 2; i++) {
		LIBBPF_OPTS(bpf_uprobe_opts, options, .func_name = "gc_probe_site");
		struct bpf_link *link = bpf_program__attach_uprobe_opts(
			programs[i], getpid(), "/proc/self/exe", 0, &options);

		if (!link)
			return -errno;
		probes->hit_ns += (time_calls() - plain) / 2;
		bpf_link__destroy(link);
	}
	memset(&probes->skeleton->bss->totals, 0, sizeof(probes->skeleton->bss->totals));
	printf("a hit costs %.2f us\n", probes->hit_ns / 1e3);
	return 0;
}

static int attach(struct probes *probes, pid_t pid)
{
	char path[1024];
	const struct runtime_gc_sites *gc;
	int error = find_ruby(pid, path, sizeof(path), &probes->runtime);

	if (error)
		return error;
	gc = &probes->runtime->gc;
	printf("%s: tier %s%s%s, %u entries, %u exits\n", path, runtime_tier__name(gc->tier),
	       gc->why ? ": " : "", gc->why ? gc->why : "", gc->entry_count, gc->exit_count);
	if (gc->tier == RUNTIME_TIER_NONE)
		return -ENOENT;
	probes->skeleton = gc_probe_bpf__open_and_load();
	if (!probes->skeleton)
		return -errno;
	probes->links[probes->count] = bpf_program__attach(probes->skeleton->progs.on_switch);
	if (!probes->links[probes->count++])
		return -errno;
	error = calibrate(probes);
	for (uint64_t i = 0; !error && i < gc->entry_count; i++)
		error = add_probe(probes, probes->skeleton->progs.on_gc_enter, pid, path,
				  gc->entries[i].file_offset, i);
	for (uint64_t i = 0; !error && i < gc->exit_count; i++)
		error = add_probe(probes, probes->skeleton->progs.on_gc_exit, pid, path,
				  gc->exits[i].file_offset, ENTRIES_MAX + i);
	return error;
}

static void detach(struct probes *probes)
{
	for (int i = 0; i < probes->count; i++)
		bpf_link__destroy(probes->links[i]);
	gc_probe_bpf__destroy(probes->skeleton);
	runtime__free(probes->runtime);
}

struct phase {
	char name[32];
	long long count, vm_ns, cpu_ns, hook_entries, hook_exits, hook_ns;
};

/*
 * What of the probes is in each figure: the second half of the entry's and the first half of the
 * exit's in ours; the exit's in that of the hooks; both in the VM's own of 3.0 to 3.2, which reads
 * its clock outside of the sites; none in the VM's later one, which measures marking and sweeping
 * but not what is done around them. So the VM's clock is the coarser truth, the hooks the finer.
 */
static double hits_in_vm_time(const char *version)
{
	return strncmp(version, "3.0", 3) == 0 || strncmp(version, "3.1", 3) == 0 ||
			       strncmp(version, "3.2", 3) == 0
		       ? 2
		       : 0;
}

static bool is_close(double seen, double truth, double tolerated)
{
	double difference = seen > truth ? seen - truth : truth - seen;

	return difference <= LIMIT_NS + tolerated ||
	       difference <= truth * LIMIT_PERCENT / 100 + tolerated;
}

/* Whether the probes and the process agree about a phase. */
static bool judge(const struct phase *phase, const struct gc_probe_totals *seen,
		  const struct probes *probes, const char *version)
{
	double steps = (double)seen->entries, probed = (double)seen->cpu_ns;
	double own = probed - steps * probes->hit_ns;
	double vm = (double)phase->vm_ns - steps * probes->hit_ns * hits_in_vm_time(version);
	/* GC::Profiler of 2.7 leaves out steps of marking and some sweeping. */
	bool has_hooks = phase->hook_entries, has_vm = strncmp(version, "2.7", 3) != 0;
	bool pairs =
		seen->entries == seen->exits && !seen->nested && !seen->unmatched && !seen->lost;
	bool counts = !has_hooks || (phase->hook_entries == (long long)seen->entries &&
				     phase->hook_exits == (long long)seen->exits);
	bool hook_times = !has_hooks || is_close(probed, (double)phase->hook_ns, 0);
	/* The hooks take time of their own where the VM's clock sees it. */
	bool vm_times = has_hooks || !has_vm || is_close(own, vm, steps * AROUND_STEP_NS);

	printf("%-12s count %6lld steps %6.0f of %7.1f ms cpu, probes %4.1f %%: gc %7.1f (%7.1f "
	       "without probes) ",
	       phase->name, phase->count, steps, (double)phase->cpu_ns / 1e6,
	       100 * 2 * steps * probes->hit_ns / (double)phase->cpu_ns, probed / 1e6, own / 1e6);
	if (has_hooks)
		printf("hooks %lld %lld %7.1f %+.2f %%", phase->hook_entries, phase->hook_exits,
		       (double)phase->hook_ns / 1e6,
		       100 * (probed - (double)phase->hook_ns) / (double)phase->hook_ns);
	else
		printf("vm %7.1f (%7.1f) %+.2f ms %+.2f %%", (double)phase->vm_ns / 1e6, vm / 1e6,
		       (own - vm) / 1e6, vm > 0 ? 100 * (own - vm) / vm : 0);
	printf("%s%s%s%s\n", pairs ? "" : " NOT PAIRED", counts ? "" : " NOT ALL STEPS",
	       hook_times ? "" : " NOT THE TIME OF THE HOOKS",
	       vm_times ? "" : " NOT THE TIME OF THE VM");
	return pairs && counts && hook_times && vm_times;
}

static void subtract(struct gc_probe_totals *totals, const struct gc_probe_totals *before)
{
	totals->entries -= before->entries;
	totals->exits -= before->exits;
	totals->nested -= before->nested;
	totals->unmatched -= before->unmatched;
	totals->lost -= before->lost;
	totals->cpu_ns -= before->cpu_ns;
}

static int run_phases(const struct child *child, const struct probes *probes)
{
	int bad = 0, phases = 0;
	char line[256];

	for (;; phases++) {
		struct gc_probe_totals before = probes->skeleton->bss->totals, seen;
		struct phase phase;

		if (fputs("go\n", child->in) < 0 || fflush(child->in) ||
		    !fgets(line, sizeof(line), child->out))
			break;
		if (sscanf(line, "%31s %lld %lld %lld %lld %lld %lld", phase.name, &phase.count,
			   &phase.vm_ns, &phase.cpu_ns, &phase.hook_entries, &phase.hook_exits,
			   &phase.hook_ns) != 7)
			return -EPROTO;
		seen = probes->skeleton->bss->totals;
		subtract(&seen, &before);
		bad += !judge(&phase, &seen, probes, child->version);
	}
	for (int i = 0; i < GC_PROBE_SITES; i++)
		if (probes->skeleton->bss->totals.hits[i])
			printf("  %s %d: %llu hits\n", i < ENTRIES_MAX ? "entry" : "exit",
			       i % ENTRIES_MAX, probes->skeleton->bss->totals.hits[i]);
	return phases ? bad : -EPROTO;
}

int main(int argc, char **argv)
{
	struct probes probes = { .count = 0 };
	struct child child = { .pid = -1 };
	int result;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 2 || geteuid() != 0) {
		puts(argc < 2 ? "usage: gc_probe COMMAND ARGS..." : "probes need root");
		return EXIT_CANNOT_RUN;
	}
	result = start_child(argv + 1, &child);
	if (result) {
		puts("the command does not start");
		result = EXIT_CANNOT_RUN;
		goto out;
	}
	result = attach(&probes, child.pid);
	if (result) {
		printf("no probes: %d\n", result);
		result = 1;
		goto out;
	}
	printf("ruby %s\n", child.version);
	result = run_phases(&child, &probes) ? 1 : 0;
out:
	detach(&probes);
	if (child.in)
		fclose(child.in);
	if (child.out)
		fclose(child.out);
	if (child.pid > 0)
		waitpid(child.pid, NULL, 0);
	return result;
}
