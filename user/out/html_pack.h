/* SPDX-License-Identifier: BSD-2-Clause */
/* The tree of stacks, which is most of a large page, in a form that browsers read fast. */
#ifndef RBPROF_HTML_PACK_H
#define RBPROF_HTML_PACK_H

#include <stdio.h>

#include "html_tree.h"

/*
 * Writes `"nodes":{"count":N,"packed":"..."},`: base64 of zlib's format of two columns, one after
 * the other, of N - 1 LEB128 numbers each: for every node but the root how many levels it is less
 * deep than a child of the node before it, then its frame. 0 or -ENOMEM.
 */
int html_pack__tree(const struct html_tree *tree, FILE *stream);

#endif
