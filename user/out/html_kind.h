/* SPDX-License-Identifier: BSD-2-Clause */
/* What kind of code a function is: what tells its colour. */
#ifndef RBPROF_HTML_KIND_H
#define RBPROF_HTML_KIND_H

#include <stdint.h>

#include "../agg/profile.h"

/* "ruby", "c" (a method written in C), "gc", "native", "kernel", or "special" (see samples). */
const char *html_kind__of(const struct profile *profile, uint32_t function);

#endif
