/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A socket on which a running recording tells its inner state, for `rbprof-bpf state`. Who
 * connects gets one JSON document. Only root and the user who records can connect.
 */
#ifndef RBPROF_CONTROL_H
#define RBPROF_CONTROL_H

#include <jansson.h>
#include <sys/types.h>

struct control;

/* Listens as the recording of this process. 0 or -errno; the caller frees *ret_control. */
int control__new(struct control **ret_control);
/* Removes the socket; NULL is allowed. */
void control__free(struct control *control);

/* Readable when somebody asks. */
int control__fd(const struct control *control);
/* Answers all who ask with what state() makes; never waits for them. */
void control__answer(struct control *control, json_t *(*state)(void *context), void *context);

/* The other side: asks the recording of pid. 0 and a new reference; -ENOENT: there is none. */
int control__ask(pid_t pid, json_t **ret_state);
/* Calls each for the pid of every recording that listens. 0 or -errno. */
int control__each(void (*each)(pid_t pid, void *context), void *context);

#endif
