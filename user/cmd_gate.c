/* SPDX-License-Identifier: BSD-2-Clause */
/* `gate`: which of its commands. */
#include "cmd.h"

#include <string.h>

#include "core/log.h"
#include "core/options.h"
#include "gate/gate_run.h"

int cmd_gate(int argc, char **argv)
{
	struct options options;

	if (argc > 1 && !strcmp(argv[1], "run"))
		return gate_run__main(argc - 1, argv + 1);
	/* --help and the like end here. */
	if (argc > 1 && *argv[1] == '-' && options__parse(OPTIONS_GATE, argc, argv, &options))
		return CMD_USAGE;
	log__error("give a command: rbprof-bpf gate run -o DIR -- COMMAND; see rbprof-bpf gate "
		   "--help");
	return CMD_USAGE;
}
