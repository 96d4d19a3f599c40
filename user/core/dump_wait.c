/* SPDX-License-Identifier: BSD-2-Clause */
#include "dump.h"

#include <stdarg.h>
#include <string.h>

#include "wait_state.h"

static bool is_running(const struct dump_thread *thread)
{
	return thread->state.letter == 'R';
}

/* What the VM does not know, or what happens while the thread has the GVL, the kernel says. */
static bool kernel_says(const struct dump_thread *thread)
{
	const enum wait_kind kind = thread->wait.kind;

	return kind == WAIT_NOTHING || kind == WAIT_OUTSIDE || kind == WAIT_UNKNOWN;
}

const char *dump_thread__state(const struct dump_thread *thread)
{
	if (is_running(thread))
		return "had cpu";
	return wait_state__text(thread->wait.kind, thread->kernel.kind, thread->kernel.is_network);
}

const char *dump_thread__kind(const struct dump_thread *thread)
{
	static const char *const by_vm[] = {
		[WAIT_NOTHING] = NULL,	  [WAIT_GVL] = "gvl",
		[WAIT_MUTEX] = "mutex",	  [WAIT_MONITOR] = "monitor",
		[WAIT_JOIN] = "join",	  [WAIT_CONDITION] = "condition variable",
		[WAIT_QUEUE] = "queue",	  [WAIT_QUEUE_ROOM] = "queue room",
		[WAIT_SLEEP] = "sleep",	  [WAIT_CHILD] = "child process",
		[WAIT_RACTOR] = "ractor", [WAIT_OUTSIDE] = NULL,
		[WAIT_UNKNOWN] = NULL,
	};
	static const char *const by_kernel[] = {
		[KERNEL_WAIT_UNKNOWN] = "unknown",
		[KERNEL_WAIT_SLEEP] = "sleep",
		[KERNEL_WAIT_FD] = "fd",
		[KERNEL_WAIT_FDS_ANY] = "fds",
		[KERNEL_WAIT_FILE_LOCK] = "file lock",
		[KERNEL_WAIT_DISK] = "disk",
		[KERNEL_WAIT_CHILD] = "child process",
		[KERNEL_WAIT_FUTEX] = "futex",
		[KERNEL_WAIT_SIGNAL] = "signal",
		[KERNEL_WAIT_STOPPED] = "stopped",
	};

	if (is_running(thread))
		return NULL;
	if (!kernel_says(thread))
		return by_vm[thread->wait.kind];
	return by_kernel[thread->kernel.kind];
}

const char *dump_thread__name(const struct dump *dump, const struct dump_thread *thread)
{
	return thread->name == PROFILE_NONE ? "(unreadable)"
					    : profile__text(dump->profile, thread->name);
}

struct words {
	char *text;
	size_t size, used;
};

static void add(struct words *words, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct words *words, const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(words->text + words->used, words->size - words->used, format, arguments);
	va_end(arguments);
	if (length > 0)
		words->used += (size_t)length;
	if (words->used >= words->size)
		words->used = words->size - 1;
}

/* ` that "worker" (tid 12) has` */
static void add_owner(struct words *words, const struct dump *dump,
		      const struct dump_thread *thread)
{
	const struct dump_thread *owner;

	if (thread->owner == DUMP_NONE) {
		if (thread->wait.owner)
			add(words, " that a thread has which is not known");
		else
			add(words, " that nobody has any more");
		return;
	}
	owner = &dump->threads[thread->owner];
	if (owner == thread)
		add(words, " that another fiber of this thread has");
	else
		add(words, " that \"%s\" (tid %d) has", dump_thread__name(dump, owner),
		    owner->state.tid);
}

static void vm_words(struct words *words, const struct dump *dump, const struct dump_thread *thread)
{
	const struct dump_thread *owner;

	switch (thread->wait.kind) {
	case WAIT_GVL:
		add(words, "the gvl");
		add_owner(words, dump, thread);
		break;
	case WAIT_MUTEX:
		add(words, "a mutex");
		add_owner(words, dump, thread);
		break;
	case WAIT_MONITOR:
		add(words, "a monitor");
		add_owner(words, dump, thread);
		break;
	case WAIT_JOIN:
		add(words, "the end of ");
		if (thread->owner == DUMP_NONE) {
			add(words, "a thread that is not known");
			break;
		}
		owner = &dump->threads[thread->owner];
		add(words, "\"%s\" (tid %d)", dump_thread__name(dump, owner), owner->state.tid);
		break;
	case WAIT_CONDITION:
		add(words, "a condition variable");
		break;
	case WAIT_QUEUE:
		add(words, "something in a queue");
		break;
	case WAIT_QUEUE_ROOM:
		add(words, "room in a queue");
		break;
	case WAIT_SLEEP:
		add(words, thread->wait.is_endless ? "being woken" : "the end of a sleep");
		break;
	case WAIT_CHILD:
		add(words, "a child process");
		break;
	case WAIT_RACTOR:
		add(words, "a ractor");
		break;
	case WAIT_NOTHING:
	case WAIT_OUTSIDE:
	case WAIT_UNKNOWN:
		break;
	}
}

static void add_fds(struct words *words, const struct kernel_wait *kernel)
{
	uint32_t shown = kernel->fd_count < KERNEL_WAIT_FDS ? kernel->fd_count : KERNEL_WAIT_FDS;

	for (uint32_t i = 0; i < shown; i++)
		add(words, "%s%d%s%s%s", i ? ", " : "", kernel->fds[i].number,
		    *kernel->fds[i].name ? " (" : "", kernel->fds[i].name,
		    *kernel->fds[i].name ? ")" : "");
	if (kernel->fd_count > shown)
		add(words, " and %u more", kernel->fd_count - shown);
}

static void kernel_words(struct words *words, const struct kernel_wait *kernel)
{
	switch (kernel->kind) {
	case KERNEL_WAIT_SLEEP:
		add(words, "the end of a sleep");
		break;
	case KERNEL_WAIT_FD:
		add(words, "fd ");
		add_fds(words, kernel);
		break;
	case KERNEL_WAIT_FDS_ANY:
		add(words, kernel->fd_count ? "any of fds " : "fds that cannot be read");
		add_fds(words, kernel);
		break;
	case KERNEL_WAIT_FILE_LOCK:
		add(words, "a lock on fd ");
		add_fds(words, kernel);
		break;
	case KERNEL_WAIT_DISK:
		add(words, "a disk or a page of memory");
		break;
	case KERNEL_WAIT_CHILD:
		add(words, "a child process");
		if (kernel->child)
			add(words, ", pid %d", kernel->child);
		break;
	case KERNEL_WAIT_FUTEX:
		add(words, "a lock or condition of native code (futex)");
		break;
	case KERNEL_WAIT_SIGNAL:
		add(words, "a signal");
		break;
	case KERNEL_WAIT_STOPPED:
		add(words, "being continued: it is stopped by a signal or a debugger");
		break;
	case KERNEL_WAIT_UNKNOWN:
		add(words, "something unknown");
		break;
	}
	if (kernel->call && kernel->kind != KERNEL_WAIT_FUTEX && kernel->kind != KERNEL_WAIT_SLEEP)
		add(words, ", in %s", kernel->call);
	else if (!kernel->call && kernel->number >= 0)
		add(words, ", in system call %lld", (long long)kernel->number);
}

void dump_thread__words(const struct dump *dump, const struct dump_thread *thread, char *text,
			size_t size)
{
	struct words words = { .text = text, .size = size };

	*text = '\0';
	if (is_running(thread))
		return;
	if (kernel_says(thread))
		kernel_words(&words, &thread->kernel);
	else
		vm_words(&words, dump, thread);
}
