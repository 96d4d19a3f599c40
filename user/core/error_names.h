/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of the reasons in include/errors.def. */
#ifndef RBPROF_ERROR_NAMES_H
#define RBPROF_ERROR_NAMES_H

/* "control frame not readable"; "unknown" for what is no enum rbprof_error. */
const char *rbprof_error__text(int error);
/* "frame_fault" */
const char *rbprof_error__label(int error);

#endif
