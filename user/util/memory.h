/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bytes at an address of a Ruby process: of a live one, of a recorded fixture, or whatever a
 * test makes up. All knowledge of the VM (user/ruby/) reads through this, so it can be tested
 * and fuzzed without root, BPF or a process.
 */
#ifndef RBPROF_MEMORY_H
#define RBPROF_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct memory_range {
	uint64_t address;
	void *into;
	size_t size;
};

struct memory;

struct memory_ops {
	/*
	 * Fills all ranges, in the order given, or fails as a whole (then their content is
	 * undefined). 0, -EFAULT (an address is not mapped), -ESRCH (the process is gone),
	 * -EPERM.
	 */
	int (*read)(struct memory *memory, const struct memory_range *ranges, size_t count);
	void (*close)(struct memory *memory);
};

/* Embedded as the first member of an implementation. */
struct memory {
	const struct memory_ops *ops;
};

/* Reads size bytes at address. 0 or -errno, see memory_ops. */
int memory__read(struct memory *memory, uint64_t address, void *into, size_t size);

/*
 * Reads several ranges, in the order given; any number of them. For a live process each batch
 * of up to 1,024 ranges is one system call. 0 or -errno, see memory_ops.
 */
int memory__read_ranges(struct memory *memory, const struct memory_range *ranges, size_t count);

/* Reads one machine word. 0 or -errno; *ret_value is untouched on failure. */
int memory__read_u64(struct memory *memory, uint64_t address, uint64_t *ret_value);
int memory__read_u32(struct memory *memory, uint64_t address, uint32_t *ret_value);

/* Frees the memory; NULL is allowed. */
void memory__close(struct memory *memory);

/*
 * Memory of a live process, read by process_vm_readv: never stops, attaches to or changes it.
 * Fails with -ESRCH when the pid belongs to another process by now (pid reuse), and with
 * -EPERM where reading is not allowed. 0 or -errno; the caller closes *ret_memory.
 */
int memory__open_process(pid_t pid, struct memory **ret_memory);

/*
 * Memory out of a fixture file (see memory_fixture.h). 0 or -errno (-EINVAL: not a fixture).
 */
int memory__open_fixture(const char *path, struct memory **ret_memory);

#endif
