/* SPDX-License-Identifier: BSD-2-Clause */
/* `gate run`: a command is run several times, each run recorded (run_json.h tells the folder). */
#ifndef RBPROF_GATE_RUN_H
#define RBPROF_GATE_RUN_H

/* argv[0] is "run". Prints its own errors and returns the exit status of the program. */
int gate_run__main(int argc, char **argv);

#endif
