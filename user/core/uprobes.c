/* SPDX-License-Identifier: BSD-2-Clause */
#include "uprobes.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../discover/mappings.h"

/* include/uapi/linux/bpf.h, union bpf_attr: link_create with uprobe_multi */
struct link_create {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t count, uprobe_flags, pid;
	uint32_t reserved;
};

int uprobes__link(int program, int file, pid_t pid, const uint64_t *offsets,
		  const uint64_t *cookies, uint32_t count)
{
	char path[32];
	struct link_create attr = {
		.prog_fd = (uint32_t)program,
		.attach_type = UPROBES_ATTACH_TYPE,
		.path = (uint64_t)(uintptr_t)path,
		.offsets = (uint64_t)(uintptr_t)offsets,
		.cookies = (uint64_t)(uintptr_t)cookies,
		.count = count,
		.pid = (uint32_t)pid,
	};
	long fd;

	/* Whatever mount namespace the file is of, and also if it has been deleted. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	return fd < 0 ? -errno : (int)fd;
}

static int look_at(const struct mapping *mapping, void *context)
{
	struct uprobes_place *place = context;

	if (place->address < mapping->start || place->address >= mapping->end)
		return 0;
	place->offset = place->address - mapping->start + mapping->offset;
	place->file = mappings__open(place->pid, mapping);
	return 1;
}

int uprobes__find(pid_t pid, uint64_t address, struct uprobes_place *ret_place)
{
	struct uprobes_place place = { .pid = pid, .address = address, .file = -ESRCH };
	int found = mappings__each(pid, look_at, &place);

	if (found < 0)
		return found;
	if (place.file < 0)
		return place.file;
	*ret_place = place;
	return 0;
}
