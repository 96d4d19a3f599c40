/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The subcommands. argv[0] is the subcommand's own name ("record"), argv[argc] is NULL.
 * Each prints its own errors and returns the exit status of the program.
 */
#ifndef RBPROF_CMD_H
#define RBPROF_CMD_H

enum cmd_status {
	CMD_DONE = 0,
	CMD_REGRESSION = 1,	  /* a gate found one */
	CMD_USAGE = 2,		  /* wrong usage */
	CMD_UNABLE = 3,		  /* this host, process or user cannot profile */
	CMD_INCOMPATIBLE = 4,	  /* what is compared does not go together */
	CMD_FILE = 5,		  /* a file cannot be read, is corrupt or cannot be written */
	CMD_NOT_EXECUTABLE = 126, /* COMMAND */
	CMD_NOT_FOUND = 127,	  /* COMMAND */
	CMD_ABORTED = 130,
};

int cmd_record(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_dump(int argc, char **argv);
int cmd_ps(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_state(int argc, char **argv);
int cmd_gate(int argc, char **argv);
int cmd_doctor(int argc, char **argv);

#endif
