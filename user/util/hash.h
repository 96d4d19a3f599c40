/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A keyed hash for hash tables whose keys come from other processes or from files: without the
 * key, which differs in every run, nobody can prepare keys that all fall into one bucket.
 * With uthash: #define HASH_FUNCTION(key, length, value) ((value) = hash__bytes(key, length))
 */
#ifndef RBPROF_HASH_H
#define RBPROF_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Differs from run to run: never to be stored or to decide the order of an output. */
uint32_t hash__bytes(const void *bytes, size_t length);

#endif
