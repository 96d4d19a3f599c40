/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The VM's hash tables keyed by a number or an address (st.c, 2.7 to 4.0: the same), found in as
 * the VM finds in them: by the bins, so that a table of millions costs a few reads.
 */
#ifndef RBPROF_ST_TABLE_H
#define RBPROF_ST_TABLE_H

#include <stdint.h>

#include "../../include/rbprof_abi.h"
#include "../util/memory.h"

/*
 * The value under a key in the st_table at an address, one made by st_init_numtable(). The
 * process may change the table meanwhile: a value that is returned belongs to the key. 0;
 * -ENOENT: not found, or not at this moment; -EAGAIN: it is being changed; -EINVAL: no table;
 * -errno of the memory.
 */
int st_table__find(struct memory *memory, const struct ruby_layout *layout, uint64_t table,
		   uint64_t key, uint64_t *ret_value);

#endif
