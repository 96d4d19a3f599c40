/* SPDX-License-Identifier: BSD-2-Clause */
/* `top` where there is no terminal: one table after the other. */
#ifndef RBPROF_TOP_PLAIN_H
#define RBPROF_TOP_PLAIN_H

#include <stdio.h>

#include "model.h"

/* Prints the table of the newest slice. 0; -ENOMEM; -errno of writing: the stream takes no more. */
int plain__print(struct top_model *model, FILE *stream);

#endif
