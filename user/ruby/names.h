/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of frames and threads of one Ruby process, read from its memory when first seen and
 * proved right each time they are used.
 *
 * The proof. The VM frees and moves objects only in a garbage collection. So an object that was
 * on a stack at a sample is still the same object as long as the GC state (struct
 * rbprof_gc_state) has not moved on from the sample's. What is read is kept together with its
 * raw bytes and the span of GC states over which it is known to have stood there unchanged; a
 * later sample re-reads those bytes in one system call. A frame whose name cannot be proved is
 * `(gone)`: never a guess.
 */
#ifndef RBPROF_NAMES_H
#define RBPROF_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../include/rbprof_abi.h"
#include "../agg/profile.h"
#include "../agg/profile_import.h"
#include "../util/memory.h"

struct names;

/* Where the VM of a process keeps what names need. Addresses in the process, 0: unknown. */
struct names_roots {
	uint64_t vm_ptr_address;  /* of ruby_current_vm_ptr */
	uint64_t symbols_address; /* of ruby_global_symbols; 0: C functions stay unnamed */
};

/*
 * Names of one process, read through memory, interned into profile. Neither is owned; both must
 * outlive the names. The layout is copied. 0 or -ENOMEM; the caller frees *ret_names.
 */
int names__new(struct memory *memory, const struct ruby_layout *layout,
	       const struct names_roots *roots, struct profile *profile, struct names **ret_names);
void names__free(struct names *names);

/* From now on names go into `profile`, to which import leads from the one so far. */
void names__move(struct names *names, struct profile *profile, struct profile_import *import);

/* Counts by enum rbprof_error since names__new(); RBPROF_E_COUNT entries. */
const uint64_t *names__errors(const struct names *names);

/*
 * Turns the raw frames of one sample into frame ids of the profile, leaf first, one for each raw
 * frame and in the same order (special frames where no name can be proved). gc is the state at
 * the sample. ret_frames has room for count ids.
 * *ret_lasting (may be NULL): all names hold for every later sample that has the same raw frames,
 * whatever was collected in between.
 * Returns the number of frames that got a real name; failures are counted in names__errors().
 */
size_t names__frames(struct names *names, const struct rbprof_frame *frames, size_t count,
		     const struct rbprof_gc_state *gc, uint32_t *ret_frames, bool *ret_lasting);

/*
 * The thread name of spec/samples.md section 4, as a string id of the profile: the name that
 * `thread` (rb_thread_t) had at the sample, whose th.name was the VALUE thread_name.
 * PROFILE_NONE if it cannot be read or proved.
 * forked_main: the thread made this process by fork, so it is its main thread whatever the VM
 * says at this instant.
 */
uint32_t names__thread(struct names *names, uint64_t thread, uint64_t thread_name, int forked_main,
		       const struct rbprof_gc_state *gc);

/*
 * Whether the receiver of this frame is certainly of the very class that defines its method: one
 * without subclasses. False where it cannot be told.
 */
bool names__is_final(struct names *names, const struct rbprof_frame *frame);

/*
 * The name of the class of an object, as a string id of the profile: of one that was on a stack at
 * the sample and whose RBasic.klass was klass then. PROFILE_NONE if it has none, or cannot be read
 * or proved.
 */
uint32_t names__class(struct names *names, uint64_t klass, const struct rbprof_gc_state *gc);

/*
 * The same by the object itself, where it cannot have been freed since the sample.
 */
uint32_t names__class_of(struct names *names, uint64_t object, const struct rbprof_gc_state *gc);

/* The frame id of a special frame, e.g. "(truncated)": file `<rbprof>`, line 0. */
uint32_t names__special(struct profile *profile, const char *name);

/* The GC state of the process right now. 0 or -errno. */
int names__gc_state(struct names *names, struct rbprof_gc_state *ret_state);

#endif
