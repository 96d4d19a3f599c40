/* SPDX-License-Identifier: BSD-2-Clause */
/* Any bytes as a file that a process maps: analysed, or refused. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "user/discover/runtime.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct runtime *runtime = NULL;
	uint64_t bias;
	int result;

	if (fd < 0)
		fd = memfd_create("fuzz_elf", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	result = runtime__open(fd, &runtime);
	/* A build if and only if it says so; and one that all of its users can rely on. */
	if ((result == 0) != (runtime != NULL))
		abort();
	if (runtime && (!runtime->vm.address || runtime->ec_source == RBPROF_EC_NONE ||
			!runtime->layout_version || !*runtime->version || !*runtime->build_id))
		abort();
	runtime__free(runtime);
	runtime__load_bias(fd, 0x7f0000000000, 0x1000, &bias);
	return 0;
}
