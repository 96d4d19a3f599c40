/* SPDX-License-Identifier: BSD-2-Clause */
/* A C program that becomes Ruby when told to go: late_ruby LIBRUBY ARGS-OF-RUBY... */
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>

#define BURN_NS 100000000L

static long cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec * 1000000000L + now.tv_nsec;
}

int main(int argc, char **argv)
{
	void (*sysinit)(int *, char ***), (*init_stack)(void *), (*init)(void);
	void *(*options)(int, char **), *library;
	int (*run_node)(void *);
	char line[16], *here = line;
	long from;

	if (argc < 3)
		return 2;
	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	for (from = cpu_ns(); cpu_ns() < from + BURN_NS;)
		;
	library = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	*(void **)&sysinit = dlsym(library, "ruby_sysinit");
	*(void **)&init_stack = dlsym(library, "ruby_init_stack");
	*(void **)&init = dlsym(library, "ruby_init");
	*(void **)&options = dlsym(library, "ruby_options");
	*(void **)&run_node = dlsym(library, "ruby_run_node");
	if (!sysinit || !init_stack || !init || !options || !run_node)
		return 1;
	argc--;
	argv++;
	sysinit(&argc, &argv);
	init_stack(&here);
	init();
	return run_node(options(argc, argv));
}
