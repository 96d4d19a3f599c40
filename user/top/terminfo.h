/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Descriptions of the usual terminals, built in: a container or a small host may have no terminfo
 * database.
 */
#ifndef RBPROF_TOP_TERMINFO_H
#define RBPROF_TOP_TERMINFO_H

/* Has curses find the one of TERM, or of its kin. 0; -ENOENT: there is none for it. */
int terminfo__use_built_in(void);

#endif
