/* SPDX-License-Identifier: BSD-2-Clause */
/* One run: the command is started and recorded, its figures are taken. */
#ifndef RBPROF_GATE_RUN_RECORD_H
#define RBPROF_GATE_RUN_RECORD_H

#include <stdbool.h>

#include "../core/options.h"
#include "captured.h"
#include "run_json.h"

struct run_record {
	const struct options *options; /* of the command line; COMMAND is not taken from it */
	char **command;		       /* ends in NULL */
	const char *name;	       /* for messages: "head/001", "warm-up 1" */
	const char *profile;	       /* where to write it; NULL: not */
	struct captured *captured;     /* NULL: the command has our own streams */
	int signal_fd;		       /* of SIGINT and SIGTERM */
	int priority;		       /* that the command starts with */
};

/*
 * CMD_DONE: the command ended, with ret_run->status; of ret_run all is set that this run alone
 * tells (to be freed). CMD_ABORTED: there was a signal; the command was waited for, unless there
 * was another one. Else an exit status, after a message.
 */
int run_record__go(const struct run_record *record, struct gate_run *ret_run);

#endif
