/* SPDX-License-Identifier: BSD-2-Clause */
/* Preloaded: on SIGUSR2 the process gives up all its capabilities, as if they were taken away. */
#include <linux/capability.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

static void drop(int signal)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { 0 } };

	(void)signal;
	syscall(SYS_capset, &header, data);
}

__attribute__((constructor)) static void prepare(void)
{
	struct sigaction action = { .sa_handler = drop, .sa_flags = SA_RESTART };

	sigaction(SIGUSR2, &action, NULL);
}
