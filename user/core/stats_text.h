/* SPDX-License-Identifier: BSD-2-Clause */
/* The balance sheet for people. */
#ifndef RBPROF_STATS_TEXT_H
#define RBPROF_STATS_TEXT_H

#include <jansson.h>
#include <stdio.h>

/* Prints what session__stats() or session__state() returned, as aligned text. */
void stats_text__print(const json_t *stats, FILE *stream);

#endif
