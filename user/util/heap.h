/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Large pages for programs that fill hundreds of megabytes at once and end: most of what the
 * kernel takes there is a fault for each page of 4 KiB.
 */
#ifndef RBPROF_HEAP_H
#define RBPROF_HEAP_H

#include <stddef.h>

/*
 * From now on what malloc() gives comes from large pages, if the kernel gives any, and freed memory
 * is kept. Not for a program that stays: it takes up to 2 MiB more than it needs, for good. Once is
 * enough; later calls do nothing. Of one thread only.
 */
void heap__use_large_pages(void);

/* The same for one block of malloc() that is too large for the heap, before it is filled. */
void heap__advise(void *block, size_t size);

#endif
