/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Holds what the kernel side reads of waiting threads against what is read from outside, and both
 * against what each thread is named after:
 *
 *	wait_probe COMMAND ARGS...     the command runs tests/bpf/wait_probe.rb
 *
 * Exit status: 0, 1 (they disagree), 77 (cannot run here).
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The skeleton names structs of these. */
#include "rbprof_abi.h"
#include "wait_probe.h"

#include "wait_probe.skel.h"
#include "user/core/wait_read.h"
#include "user/core/wait_state.h"
#include "user/discover/ruby_process.h"
#include "user/discover/thread_states.h"
#include "user/ruby/threads.h"

#define EXIT_CANNOT_RUN 77
#define SETTLE_US	300000
#define TIMED_ROUNDS	20
#define BUSY		"/busy" /* in the names of threads that want the GVL, or keep it */

struct child {
	pid_t pid; /* as it is seen from here: the command replaces itself by Ruby */
	FILE *in, *out;
};

struct probe {
	struct wait_probe_bpf *skeleton;
	struct runtimes *runtimes;
	struct ruby_process process;
	struct wait_source source;
};

enum phase {
	WAITING,  /* all but those that want the GVL */
	FIGHTING, /* those that do, and who has it */
	STOPPED,  /* all, by a signal */
};

struct sums {
	int threads, bad;
	uint64_t reads, read_ns;
};

static int start_child(char **argv, struct child *ret_child)
{
	int to[2], from[2];
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
	return ret_child->in && ret_child->out ? 0 : -errno;
}

static int expect(const struct child *child, const char *word)
{
	char line[128];

	if (!fgets(line, sizeof(line), child->out) || strncmp(line, word, strlen(word)))
		return -EPROTO;
	fputs(line, stdout);
	return 0;
}

static int go_on(const struct child *child, const char *word)
{
	if (fputs("go\n", child->in) < 0 || fflush(child->in))
		return -EPIPE;
	return word ? expect(child, word) : 0;
}

static int open_process(struct probe *probe, pid_t pid)
{
	static const struct profile_type type = { "cpu-time", "nanoseconds" };
	struct names_roots roots;
	int err = runtimes__new(&probe->runtimes);

	if (!err)
		err = ruby_process__find(probe->runtimes, pid, &probe->process);
	for (int i = 0; !err && i < 100 && (err = ruby_process__prove(&probe->process)) == -EAGAIN;
	     i++)
		usleep(100000);
	if (!err)
		err = memory__open_process(pid, &probe->source.memory);
	if (!err)
		err = profile__new(&type, 1, &probe->source.profile);
	if (err)
		return err;
	roots.vm_ptr_address = ruby_process__vm_ptr(&probe->process);
	roots.symbols_address = ruby_process__symbols(&probe->process);
	probe->source.layout = &probe->process.runtime->layout;
	probe->source.vm_ptr_address = roots.vm_ptr_address;
	probe->source.pid = pid;
	probe->source.max_frames = RBPROF_DEFAULT_FRAMES;
	return names__new(probe->source.memory, probe->source.layout, &roots, probe->source.profile,
			  &probe->source.names);
}

/* Tells the kernel side which native thread is which Ruby thread. */
static int tell_threads(struct probe *probe, const struct thread_state *states, size_t count)
{
	struct wait_reader *reader;
	struct wait_reading reading;
	int err = wait_reader__open(&probe->source, &reader);

	for (size_t i = 0; !err && i < count; i++) {
		uint32_t tid = (uint32_t)states[i].tid;

		if (wait_reader__read(reader, states[i].tid, &reading) || !reading.thread)
			continue;
		err = bpf_map__update_elem(probe->skeleton->maps.ruby_threads, &tid, sizeof(tid),
					   &reading.thread, sizeof(reading.thread), BPF_ANY);
	}
	if (!err)
		wait_reader__close(reader);
	return err;
}

static int attach(struct probe *probe)
{
	struct thread_state *states;
	uint32_t zero = 0;
	size_t count;
	int err = thread_states__list(probe->process.pid, &states, &count);

	if (err)
		return err;
	probe->skeleton = wait_probe_bpf__open_and_load();
	if (!probe->skeleton)
		return -errno;
	probe->skeleton->bss->target = (uint32_t)probe->process.pid;
	err = bpf_map__update_elem(probe->skeleton->maps.layouts, &zero, sizeof(zero),
				   probe->source.layout, sizeof(*probe->source.layout), BPF_ANY);
	if (!err)
		err = tell_threads(probe, states, count);
	free(states);
	return err ? err : wait_probe_bpf__attach(probe->skeleton);
}

static void read_from_outside(const struct probe *probe)
{
	int fd = bpf_iter_create(bpf_link__fd(probe->skeleton->links.read_all));
	char nothing[64];

	while (fd >= 0 && read(fd, nothing, sizeof(nothing)) > 0)
		;
	close(fd);
}

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/*
 * Whether the same thread's wait was read in two ways. Who has the GVL changes meanwhile; of a
 * stopped thread the call is not read from outside.
 */
static bool same(const struct rbprof_wait *a, const struct rbprof_wait *b)
{
	return a->vm == b->vm && a->vm_status == b->vm_status && a->switches == b->switches &&
	       (a->vm & RBPROF_WAIT_STOPPED || (a->call == b->call && a->fd_kind == b->fd_kind));
}

static void print_wait(const char *who, const struct rbprof_wait *wait, const char *state)
{
	printf("    %-7s vm %#x status %u owner %#llx call %d fd %u switches %llu: %s\n", who,
	       wait->vm, wait->vm_status, wait->gvl_owner, wait->call, wait->fd_kind,
	       wait->switches, state);
}

static void judge(const struct probe *probe, const struct wait_reading *reading, const char *name,
		  enum phase phase, double read_us, const struct wait_probe_seen *seen,
		  struct sums *sums)
{
	const char *names[WAIT_STATE_NAMES], *outside, *inside;
	size_t count = wait_state__names(probe->source.profile, reading->stack, names);
	uint32_t flags = seen->is_runnable ? RBPROF_SAMPLE_RUNNABLE : 0;
	const char *slash = strchr(name, '/');
	bool good;

	if (seen->wait.gvl_owner && seen->wait.gvl_owner == reading->thread)
		flags |= RBPROF_SAMPLE_HAS_GVL;
	outside = wait_state__of(&reading->wait, reading->flags, names, count);
	inside = wait_state__of(&seen->wait, flags, names, count);
	if (phase == STOPPED)
		good = !strcmp(outside, "waiting");
	else
		good = slash && !strncmp(outside, name, (size_t)(slash - name)) &&
		       outside[slash - name] == '\0';
	good = good && !strcmp(inside, outside) && same(&seen->wait, &reading->wait) &&
	       seen->call_from_outside == seen->wait.call && reading->is_proved;
	sums->threads++;
	sums->bad += !good;
	printf("%-5s %-32s %5.1f us, %u frames: %s < %s\n", good ? "ok" : "BAD", name, read_us,
	       profile__stack_at(probe->source.profile, reading->stack).count, names[0],
	       count > 1 ? names[1] : "-");
	if (good)
		return;
	print_wait("inside", &seen->wait, inside);
	print_wait("outside", &reading->wait, outside);
	printf("    call by iterator %d, proved %d\n", seen->call_from_outside, reading->is_proved);
}

/* CPU time that one read takes, the least of some, once all names are known. */
static double time_read(struct wait_reader *reader, pid_t tid)
{
	uint64_t least = UINT64_MAX, before, used;
	struct wait_reading reading;

	for (int i = 0; i < TIMED_ROUNDS; i++) {
		before = cpu_ns();
		if (wait_reader__read(reader, tid, &reading))
			return 0;
		used = cpu_ns() - before;
		least = used < least ? used : least;
	}
	return (double)least / 1e3;
}

static int judge_all(const struct probe *probe, enum phase phase, struct sums *sums)
{
	struct thread_state *states;
	struct wait_reader *reader;
	uint64_t before = cpu_ns();
	size_t count, i;
	int err = thread_states__list(probe->process.pid, &states, &count);

	read_from_outside(probe);
	if (!err)
		err = wait_reader__open(&probe->source, &reader);
	if (err)
		return err;
	printf("opened in %.0f us\n", (double)(cpu_ns() - before) / 1e3);
	for (i = 0; i < count; i++) {
		struct wait_probe_seen seen = { .reads = 0 };
		uint32_t tid = (uint32_t)states[i].tid, name;
		struct wait_reading reading;
		const char *text;

		err = wait_reader__read(reader, states[i].tid, &reading);
		bpf_map__lookup_elem(probe->skeleton->maps.seen, &tid, sizeof(tid), &seen,
				     sizeof(seen), 0);
		sums->reads += seen.reads;
		sums->read_ns += seen.read_ns;
		if (err || !reading.thread) {
			printf("      tid %u: %s\n", tid,
			       err ? strerror(-err)
				   : wait_state__of(&seen.wait, RBPROF_SAMPLE_NO_EC, NULL, 0));
			continue;
		}
		name = names__thread(probe->source.names, reading.thread, reading.thread_name, 0,
				     &reading.gc);
		text = name == PROFILE_NONE ? "?" : profile__text(probe->source.profile, name);
		if (phase == STOPPED || !!strstr(text, BUSY) == (phase == FIGHTING))
			judge(probe, &reading, text, phase, time_read(reader, states[i].tid), &seen,
			      sums);
	}
	printf("%d threads, %d bad; a read inside takes %.2f us\n", sums->threads, sums->bad,
	       sums->reads ? (double)sums->read_ns / 1e3 / (double)sums->reads : 0.0);
	wait_reader__close(reader);
	free(states);
	return 0;
}

/* The child is ours: nobody else is stopped. */
static int stop(const struct probe *probe, struct sums *sums)
{
	int err;

	if (kill(probe->process.pid, SIGSTOP))
		return -errno;
	usleep(SETTLE_US);
	err = judge_all(probe, STOPPED, sums);
	kill(probe->process.pid, SIGCONT);
	return err;
}

static int run(struct probe *probe, const struct child *child)
{
	struct sums waiting = { .threads = 0 }, busy = waiting, stopped = waiting;
	int err = expect(child, "ready");

	if (!err)
		err = open_process(probe, child->pid);
	if (!err)
		err = attach(probe);
	if (!err)
		err = go_on(child, "waiting");
	if (err)
		return err;
	usleep(SETTLE_US);
	err = judge_all(probe, WAITING, &waiting);
	if (!err)
		err = stop(probe, &stopped);
	if (!err)
		err = go_on(child, "busy");
	if (err)
		return err;
	usleep(SETTLE_US);
	err = judge_all(probe, FIGHTING, &busy);
	if (!err)
		err = go_on(child, "done");
	return err ? err : waiting.bad || stopped.bad || busy.bad || busy.threads < 3;
}

static void close_probe(struct probe *probe)
{
	wait_probe_bpf__destroy(probe->skeleton);
	names__free(probe->source.names);
	profile__free(probe->source.profile);
	memory__close(probe->source.memory);
	runtimes__free(probe->runtimes);
}

int main(int argc, char **argv)
{
	struct child child = { .pid = -1 };
	struct probe probe = { .skeleton = NULL };
	int result;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 2 || geteuid() != 0) {
		puts(argc < 2 ? "usage: wait_probe COMMAND ARGS..." : "programs need root");
		return EXIT_CANNOT_RUN;
	}
	result = start_child(argv + 1, &child);
	if (result) {
		puts("the command does not start");
		result = EXIT_CANNOT_RUN;
	} else {
		result = run(&probe, &child);
		if (result < 0)
			printf("failed: %s\n", strerror(-result));
		result = result ? 1 : 0;
	}
	close_probe(&probe);
	if (child.in)
		fclose(child.in);
	if (child.out)
		fclose(child.out);
	if (child.pid > 0)
		waitpid(child.pid, NULL, 0);
	return result;
}
