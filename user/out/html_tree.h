/* SPDX-License-Identifier: BSD-2-Clause */
/* The stacks of a profile as one tree, in which a caller that stacks share is there once. */
#ifndef RBPROF_HTML_TREE_H
#define RBPROF_HTML_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "../agg/profile.h"

/*
 * Nodes come parents first and each with all that is below it (preorder); those below one node
 * that are of one function come one after the other. Node 0 is the root.
 */
struct html_tree {
	uint32_t *depths; /* by node: 0 for the root, which alone has no frame */
	uint32_t *frames; /* by node: frame ids */
	size_t count;
	uint32_t *node_of_stack; /* by stack id */
};

/* 0 or -ENOMEM. Free it with html_tree__free(). */
int html_tree__init(struct html_tree *tree, const struct profile *profile);
void html_tree__free(struct html_tree *tree);

#endif
