/* SPDX-License-Identifier: BSD-2-Clause */
#include "gc_probes.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>
#include <uthash.h>

#include "log.h"
#include "uprobes.h"

#define WINDOW_NS      100000000
#define BUDGET_SHARE   100  /* of a window: one part of this many */
#define PROGRAM_NS     4000 /* what our programs take at a hit, and what they push out of caches */
#define MEASURED_CALLS 51
#define OTHER_BYTES    (1024 * 1024)

/* Probes for everybody that maps one file. */
struct everybody {
	dev_t device;
	ino_t inode;
	bool is_overlay;
	size_t index;
	int links[2]; /* entries, exits */
	struct everybody *next;
};

struct probed_process {
	uint64_t serial; /* of the image */
	pid_t pid;
	size_t index;
	const struct runtime *runtime;
	uint64_t address; /* some code of the build, there */
	int links[2];	  /* of its own; -1: it has none */
	uint32_t removed_sites;
	UT_hash_handle hh;
};

struct gc_probes {
	int programs[2]; /* entries, exits */
	bool for_everybody;
	bool is_split[RBPROF_MAX_RUNTIMES]; /* each process of the build has links of its own */
	struct everybody *everybody;
	struct probed_process *processes;
};

/* An instruction that the kernel emulates, as those of the sites are. */
__asm__(".text\n.type gc_probes_own_site, @function\n"
	"gc_probes_own_site:\n\tnop\n\tret\n.size gc_probes_own_site, .-gc_probes_own_site\n");
void gc_probes_own_site(void);

/* ---- what a hit costs ---- */

static int compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * The median of single calls. Before each the caches are filled with something else, as by the
 * collector and what runs between its steps.
 */
static uint64_t time_call(volatile unsigned char *other)
{
	struct timespec before, after;
	uint64_t times[MEASURED_CALLS];
	size_t i, k;

	for (i = 0; i < MEASURED_CALLS; i++) {
		for (k = 0; k < OTHER_BYTES; k += 64)
			other[k]++;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
		gc_probes_own_site();
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
		times[i] = (uint64_t)((after.tv_sec - before.tv_sec) * 1000000000L +
				      (after.tv_nsec - before.tv_nsec));
	}
	qsort(times, MEASURED_CALLS, sizeof(times[0]), compare);
	return times[MEASURED_CALLS / 2];
}

static int measure(int program, const struct uprobes_place *place, uint32_t *ret_trap_ns)
{
	const uint64_t cookie = 0;
	unsigned char *other = calloc(1, OTHER_BYTES);
	uint64_t plain, probed;
	int link;

	if (!other)
		return -ENOMEM;
	plain = time_call(other);
	link = uprobes__link(program, place->file, getpid(), &place->offset, &cookie, 1);
	if (link >= 0) {
		probed = time_call(other);
		*ret_trap_ns = probed > plain ? (uint32_t)(probed - plain) : 0;
		close(link);
	}
	free(other);
	if (link < 0)
		return link == -EINVAL || link == -EOPNOTSUPP ? -ENOTSUP : link;
	return 0;
}

int gc_probes__measure(uint32_t *ret_trap_ns)
{
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = UPROBES_ATTACH_TYPE);
	/* r0 = 0; exit */
	const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	struct uprobes_place place;
	int program, error;

	error = uprobes__find(getpid(), (uint64_t)(uintptr_t)gc_probes_own_site, &place);
	if (error)
		return error;
	program = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "gc_measure", "GPL", code,
				sizeof(code) / sizeof(code[0]), &options);
	error = program == -EINVAL ? -ENOTSUP : program;
	if (program >= 0) {
		error = measure(program, &place, ret_trap_ns);
		close(program);
	}
	close(place.file);
	return error;
}

uint32_t gc_probes__window_hits(uint32_t trap_ns)
{
	return WINDOW_NS / BUDGET_SHARE / (trap_ns + PROGRAM_NS);
}

/* ---- links ---- */

int gc_probes__new(int enter_fd, int exit_fd, bool for_everybody, struct gc_probes **ret_probes)
{
	struct gc_probes *probes = calloc(1, sizeof(*probes));

	if (!probes)
		return -ENOMEM;
	probes->programs[0] = enter_fd;
	probes->programs[1] = exit_fd;
	probes->for_everybody = for_everybody;
	*ret_probes = probes;
	return 0;
}

static void close_links(int *links)
{
	int i;

	for (i = 0; i < 2; i++) {
		if (links[i] >= 0)
			close(links[i]);
		links[i] = -1;
	}
}

/* The sites that a runtime has, as bits. */
static uint32_t all_sites(const struct runtime_gc_sites *sites)
{
	return ((1U << sites->entry_count) - 1) | ((1U << sites->exit_count) - 1)
							  << RBPROF_GC_EXITS;
}

static uint32_t pick(const struct runtime_gc_site *sites, uint32_t count, uint32_t first,
		     uint32_t removed, uint64_t *offsets, uint64_t *cookies)
{
	uint32_t i, picked = 0;

	for (i = 0; i < count; i++) {
		if (removed & 1U << (first + i))
			continue;
		offsets[picked] = sites[i].file_offset;
		cookies[picked++] = first + i;
	}
	return picked;
}

/* Exits first: a step whose entry was seen has its exit probed. */
static int create_links(const struct gc_probes *probes, const struct runtime_gc_sites *sites,
			int file, pid_t pid, uint32_t removed, int *ret_links)
{
	uint64_t offsets[RUNTIME_GC_SITES_MAX], cookies[RUNTIME_GC_SITES_MAX];
	int links[2] = { -1, -1 };
	uint32_t count;

	count = pick(sites->exits, sites->exit_count, RBPROF_GC_EXITS, removed, offsets, cookies);
	if (count)
		links[1] = uprobes__link(probes->programs[1], file, pid, offsets, cookies, count);
	if (count && links[1] < 0)
		return links[1] == -EINVAL ? -ENOTSUP : links[1];
	count = pick(sites->entries, sites->entry_count, 0, removed, offsets, cookies);
	if (count)
		links[0] = uprobes__link(probes->programs[0], file, pid, offsets, cookies, count);
	if (count && links[0] < 0) {
		int error = links[0];

		close_links(links);
		return error;
	}
	memcpy(ret_links, links, sizeof(links));
	return 0;
}

/* ---- for everybody ---- */

static bool is_overlay(int file)
{
	struct statfs statfs;

	return !fstatfs(file, &statfs) && statfs.f_type == OVERLAYFS_SUPER_MAGIC;
}

/*
 * Whether the file has probes already. An overlay shows a file of a lower layer under a device of
 * its own, with the same inode number: one build that has one number is taken for one file.
 * (Were it two, the kernel side would see hits twice, or a process would have none.)
 */
static bool has_probes(const struct gc_probes *probes, size_t index, const struct stat *stat,
		       bool overlay)
{
	const struct everybody *one;

	for (one = probes->everybody; one; one = one->next)
		if (one->index == index && one->inode == stat->st_ino &&
		    (one->device == stat->st_dev || one->is_overlay || overlay))
			return true;
	return false;
}

static int add_everybody(struct gc_probes *probes, const struct probed_process *process, int file)
{
	struct everybody *one;
	struct stat stat;
	bool overlay;
	int error;

	if (fstat(file, &stat))
		return -errno;
	overlay = is_overlay(file);
	if (has_probes(probes, process->index, &stat, overlay))
		return 0;
	one = calloc(1, sizeof(*one));
	if (!one)
		return -ENOMEM;
	one->device = stat.st_dev;
	one->inode = stat.st_ino;
	one->is_overlay = overlay;
	one->index = process->index;
	error = create_links(probes, &process->runtime->gc, file, 0, 0, one->links);
	if (error) {
		free(one);
		return error;
	}
	one->next = probes->everybody;
	probes->everybody = one;
	return 0;
}

static void remove_everybody(struct gc_probes *probes, size_t index)
{
	struct everybody **at = &probes->everybody, *one;

	while (*at) {
		one = *at;
		if (one->index != index) {
			at = &one->next;
			continue;
		}
		*at = one->next;
		close_links(one->links);
		free(one);
	}
}

/* ---- in one process ---- */

static int link_process(const struct gc_probes *probes, struct probed_process *process)
{
	const struct runtime_gc_sites *sites = &process->runtime->gc;
	uint32_t all = all_sites(sites);
	int links[2] = { -1, -1 }, error = 0;
	struct uprobes_place place;

	if ((process->removed_sites & all) != all) {
		error = uprobes__find(process->pid, process->address, &place);
		if (error)
			return error;
		error = create_links(probes, sites, place.file, process->pid,
				     process->removed_sites, links);
		close(place.file);
	}
	if (error)
		return error;
	/* The new ones are there: what remains is never without probes. */
	close_links(process->links);
	memcpy(process->links, links, sizeof(links));
	return 0;
}

/* From probes for everybody to probes in each process that is known. */
static void split(struct gc_probes *probes, size_t index)
{
	struct probed_process *process;

	for (process = probes->processes; process; process = process->hh.next) {
		int error = process->index == index ? link_process(probes, process) : 0;

		if (error)
			log__debug("process %d: no gc probes of its own: %s", process->pid,
				   strerror(-error));
	}
	probes->is_split[index] = true;
	remove_everybody(probes, index);
}

static void free_process(struct gc_probes *probes, struct probed_process *process)
{
	HASH_DEL(probes->processes, process);
	close_links(process->links);
	free(process);
}

/* For everybody: through this process's file. */
static int link_everybody(struct gc_probes *probes, const struct probed_process *process)
{
	struct uprobes_place place;
	int error = uprobes__find(process->pid, process->address, &place);

	if (error)
		return error;
	error = add_everybody(probes, process, place.file);
	close(place.file);
	return error;
}

static struct probed_process *find_process(const struct gc_probes *probes, uint64_t serial)
{
	struct probed_process *process;

	HASH_FIND(hh, probes->processes, &serial, sizeof(serial), process);
	return process;
}

int gc_probes__add(struct gc_probes *probes, uint64_t serial, const struct ruby_process *found,
		   uint32_t removed_sites)
{
	const struct runtime *runtime = found->runtime;
	const size_t index = found->runtime_index;
	struct probed_process *process;
	int error;

	if (!runtime || runtime->gc.tier == RUNTIME_TIER_NONE || index >= RBPROF_MAX_RUNTIMES)
		return -ENOTSUP;
	process = calloc(1, sizeof(*process));
	if (!process)
		return -ENOMEM;
	process->serial = serial;
	process->pid = found->pid;
	process->index = index;
	process->runtime = runtime;
	process->address = found->bias + runtime->gc.entries[0].address;
	process->links[0] = process->links[1] = -1;
	process->removed_sites = removed_sites;
	HASH_ADD(hh, probes->processes, serial, sizeof(process->serial), process);
	if (probes->for_everybody && !probes->is_split[index] && !removed_sites)
		error = link_everybody(probes, process);
	else
		error = link_process(probes, process);
	if (error)
		free_process(probes, process);
	return error;
}

int gc_probes__take_out(struct gc_probes *probes, uint64_t serial, uint32_t removed_sites)
{
	struct probed_process *process = find_process(probes, serial);

	if (!process)
		return -ESRCH;
	if (process->removed_sites == removed_sites)
		return 0;
	process->removed_sites = removed_sites;
	if (!probes->for_everybody || probes->is_split[process->index])
		return link_process(probes, process);
	split(probes, process->index);
	return 0;
}

void gc_probes__forget(struct gc_probes *probes, uint64_t serial)
{
	struct probed_process *process = find_process(probes, serial);

	if (process)
		free_process(probes, process);
}

void gc_probes__free(struct gc_probes *probes)
{
	struct probed_process *process, *next;
	size_t i;

	if (!probes)
		return;
	HASH_ITER (hh, probes->processes, process, next)
		free_process(probes, process);
	for (i = 0; i < RBPROF_MAX_RUNTIMES; i++)
		remove_everybody(probes, i);
	free(probes);
}

size_t gc_probes__links(const struct gc_probes *probes)
{
	const struct probed_process *process;
	const struct everybody *one;
	size_t links = 0;

	for (one = probes->everybody; one; one = one->next)
		links += 2;
	for (process = probes->processes; process; process = process->hh.next)
		links += (process->links[0] >= 0) + (process->links[1] >= 0);
	return links;
}
