/* SPDX-License-Identifier: BSD-2-Clause */
#include "wait_state.h"

#include <string.h>
#include <sys/syscall.h>

/*
 * Methods that may ask a name server: the C library's resolver polls a socket, but from 3.3 on
 * it does so in a thread of its own, for which the caller waits.
 */
static const char *const network_methods[] = {
	"Addrinfo#getnameinfo", "Addrinfo#initialize",
	"Addrinfo.getaddrinfo", "Addrinfo.ip",
	"Addrinfo.tcp",		"Addrinfo.udp",
	"IPSocket.getaddress",	"Socket.getaddrinfo",
	"Socket.gethostbyaddr", "Socket.gethostbyname",
	"Socket.getnameinfo",	"Socket.pack_sockaddr_in",
	"Socket.sockaddr_in",	"TCPServer#initialize",
	"TCPSocket#initialize", "TCPSocket.gethostbyname",
	"UDPSocket#bind",	"UDPSocket#connect",
	"UDPSocket#send",
};

/* Callers that wait for sockets by select(), which says nothing of its own. */
static const char *const network_callers[] = { "Resolv::DNS", "Socket.tcp" };

static bool is_network_method(const char *name)
{
	for (size_t i = 0; i < sizeof(network_methods) / sizeof(network_methods[0]); i++)
		if (!strcmp(name, network_methods[i]))
			return true;
	return false;
}

static bool is_network_caller(const char *name)
{
	for (size_t i = 0; i < sizeof(network_callers) / sizeof(network_callers[0]); i++)
		if (!strncmp(name, network_callers[i], strlen(network_callers[i])))
			return true;
	return false;
}

bool wait_state__is_network(enum kernel_wait_kind kernel, const char *const *names, size_t count)
{
	if (kernel != KERNEL_WAIT_FUTEX && kernel != KERNEL_WAIT_FDS_ANY &&
	    kernel != KERNEL_WAIT_FD && kernel != KERNEL_WAIT_UNKNOWN)
		return false;
	if (!count || !names[0])
		return false;
	if (is_network_method(names[0]))
		return true;
	for (size_t i = 1; kernel == KERNEL_WAIT_FDS_ANY && i < count; i++)
		if (names[i] && is_network_caller(names[i]))
			return true;
	return false;
}

/*
 * Native code that gave up the GVL and named no way to wake it looks to the VM like a thread that
 * waits for the GVL. But one that does stands in a futex.
 */
enum wait_kind wait_state__kind(enum wait_kind vm, enum kernel_wait_kind kernel, int64_t call)
{
	const bool is_unknown =
		kernel == KERNEL_WAIT_UNKNOWN && (call < 0 || call == SYS_restart_syscall);

	if (vm != WAIT_GVL || kernel == KERNEL_WAIT_FUTEX || kernel == KERNEL_WAIT_STOPPED ||
	    is_unknown)
		return vm;
	return WAIT_OUTSIDE;
}

static const char *kernel_text(enum kernel_wait_kind kernel, bool is_network)
{
	switch (kernel) {
	case KERNEL_WAIT_SLEEP:
		return "sleeping";
	case KERNEL_WAIT_FD:
	case KERNEL_WAIT_FDS_ANY:
		return is_network ? "network" : "waiting";
	case KERNEL_WAIT_FILE_LOCK:
	case KERNEL_WAIT_DISK:
	case KERNEL_WAIT_CHILD:
	case KERNEL_WAIT_SIGNAL:
	case KERNEL_WAIT_STOPPED:
		return "waiting";
	case KERNEL_WAIT_FUTEX:
	case KERNEL_WAIT_UNKNOWN:
		break;
	}
	return is_network ? "network" : "unknown";
}

const char *wait_state__text(enum wait_kind vm, enum kernel_wait_kind kernel, bool is_network)
{
	if (kernel == KERNEL_WAIT_STOPPED)
		return "waiting";
	switch (vm) {
	case WAIT_GVL:
		return "waiting for gvl";
	case WAIT_MUTEX:
	case WAIT_MONITOR:
	case WAIT_JOIN:
		return "blocked";
	case WAIT_SLEEP:
		return "sleeping";
	case WAIT_CONDITION:
	case WAIT_QUEUE:
	case WAIT_QUEUE_ROOM:
	case WAIT_CHILD:
	case WAIT_RACTOR:
		return "waiting";
	case WAIT_NOTHING:
	case WAIT_OUTSIDE:
	case WAIT_UNKNOWN:
		break;
	}
	/* What the VM does not know, or what happens while the thread has the GVL. */
	return kernel_text(kernel, is_network);
}

static enum kernel_wait_kind kernel_kind(const struct rbprof_wait *wait)
{
	enum kernel_wait_kind kind = kernel_wait__kind(wait->call);

	if (wait->vm & RBPROF_WAIT_STOPPED)
		return KERNEL_WAIT_STOPPED;
	/* A poll or select for nothing at all. */
	if (kind == KERNEL_WAIT_FDS_ANY && wait->fd_kind == RBPROF_FD_NONE)
		return KERNEL_WAIT_SLEEP;
	if (kind == KERNEL_WAIT_UNKNOWN && wait->vm & RBPROF_WAIT_UNINTERRUPTIBLE)
		return KERNEL_WAIT_DISK;
	return kind;
}

const char *wait_state__of(const struct rbprof_wait *wait, uint32_t flags, const char *const *names,
			   size_t count)
{
	const enum kernel_wait_kind kernel = kernel_kind(wait);
	enum wait_kind kind = waits__kind(wait, flags & RBPROF_SAMPLE_HAS_GVL);
	bool is_network = wait->fd_kind == RBPROF_FD_SOCKET;

	if (flags & RBPROF_SAMPLE_THROTTLED)
		return "throttled";
	if (flags & RBPROF_SAMPLE_RUNNABLE)
		return "waiting for cpu";
	kind = wait_state__kind(kind, kernel, wait->call);
	kind = waits__kind_by_names(kind, names, count, NULL);
	is_network = is_network || wait_state__is_network(kernel, names, count);
	return wait_state__text(kind, kernel, is_network);
}

size_t wait_state__names(const struct profile *profile, uint32_t stack, const char **ret_names)
{
	const struct profile_stack found = profile__stack_at(profile, stack);
	size_t count = found.count < WAIT_STATE_NAMES ? found.count : WAIT_STATE_NAMES;

	for (size_t i = 0; i < count; i++) {
		const struct profile_frame *frame = profile__frame_at(profile, found.frames[i]);

		ret_names[i] = profile__text(profile,
					     profile__function_at(profile, frame->function)->name);
	}
	return count;
}
