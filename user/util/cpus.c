/* SPDX-License-Identifier: BSD-2-Clause */
#include "cpus.h"

#include <bpf/libbpf.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ONLINE_PATH "/sys/devices/system/cpu/online"

/* A number of CPUs that no host has is none either. */
static int parse_cpu(const char **at, long *ret_cpu)
{
	char *end;

	if (!isdigit((unsigned char)**at))
		return -EINVAL;
	errno = 0;
	*ret_cpu = strtol(*at, &end, 10);
	*at = end;
	return errno ? -EINVAL : 0;
}

int cpus__parse(const char *text, bool *is_in, int count)
{
	long first, last;

	memset(is_in, 0, (size_t)count * sizeof(*is_in));
	while (*text && *text != '\n') {
		if (parse_cpu(&text, &first))
			return -EINVAL;
		last = first;
		if (*text == '-') {
			text++;
			if (parse_cpu(&text, &last) || last < first)
				return -EINVAL;
		}
		for (; first <= last && first < count; first++)
			is_in[first] = true;
		if (*text == ',')
			text++;
		else if (*text && *text != '\n')
			return -EINVAL;
	}
	return 0;
}

int cpus__possible(void)
{
	return libbpf_num_possible_cpus();
}

int cpus__online(bool *is_in, int count)
{
	char text[4096];
	int fd = open(ONLINE_PATH, O_RDONLY | O_CLOEXEC);
	ssize_t length;

	if (fd < 0)
		return -errno;
	length = read(fd, text, sizeof(text) - 1);
	if (length < 0) {
		length = -errno;
		close(fd);
		return (int)length;
	}
	close(fd);
	text[length] = '\0';
	return cpus__parse(text, is_in, count);
}
