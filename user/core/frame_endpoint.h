/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The `trace endpoint` of a process without a tracer: what its own frames say. The outermost frame
 * of a framework that is known to call an application's action, job or route names it by the frame
 * that it called: `UsersController#show`, `HardJob`, `GET /users/:id`. No id and no argument is in
 * any of them.
 *
 * A frame's name has the class that defines the method. The receiver's may be a subclass, and a
 * wrong name is worse than none: it is told only of a class that has no subclasses.
 */
#ifndef RBPROF_FRAME_ENDPOINT_H
#define RBPROF_FRAME_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../agg/profile.h"
#include "../ruby/names.h"

#define FRAME_ENDPOINT_NONE UINT32_MAX

/* The names of a stack's frames, leaf first. */
struct frame_endpoint_stack {
	const char *(*name)(void *context, uint32_t frame);
	/* Whether the receiver's class is the one in the name. */
	bool (*is_certain)(void *context, uint32_t frame);
	void *context;
	uint32_t count;
	uint32_t root_frames; /* how many at the end follow frames that were left out; 0: none were
			       */
};

/*
 * The endpoint's text into `text`, which is empty if there is none; *ret_frame: the frame for which
 * is_certain was asked, or FRAME_ENDPOINT_NONE.
 */
void frame_endpoint__text(const struct frame_endpoint_stack *stack, char *text, size_t size,
			  uint32_t *ret_frame);

/*
 * The same for a sample: raw frames, and the ids of their names in the profile. Returns a string
 * id, or PROFILE_NONE. Reads the process only where an endpoint is found.
 */
uint32_t frame_endpoint__find(struct names *names, struct profile *profile,
			      const struct rbprof_frame *raw, const uint32_t *frames,
			      uint32_t count, uint32_t root_frames, uint32_t *ret_frame);

#endif
