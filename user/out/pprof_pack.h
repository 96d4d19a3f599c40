/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One sample as it is in a pprof file. There are hundreds of thousands of a hundred locations
 * each, for which a library that first measures and then packs takes half as long as gzip does.
 */
#ifndef RBPROF_PPROF_PACK_H
#define RBPROF_PPROF_PACK_H

#include <stddef.h>
#include <stdint.h>

#define PPROF_PACK_HEAD_BYTES 16 /* before the body: field and length of the whole */

/* Indexes of strings; 0: none. */
struct pprof_pack_label {
	int64_t key, text, number, unit;
};

struct pprof_pack_sample {
	const uint32_t *locations; /* ids, leaf first */
	size_t location_count;
	const int64_t *values;
	size_t value_count;
	const struct pprof_pack_label *labels;
	size_t label_count;
};

/* Bytes that a sample of this size takes at most, the head included. */
size_t pprof_pack__room(size_t locations, size_t values, size_t labels);

/*
 * Packs the sample, as a field of the profile, into a buffer with that much room: from the address
 * that is returned on, *ret_size bytes.
 */
const uint8_t *pprof_pack__sample(const struct pprof_pack_sample *sample, uint8_t *buffer,
				  size_t *ret_size);

#endif
