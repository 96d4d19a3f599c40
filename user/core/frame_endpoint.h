/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The `trace endpoint` of a process without a tracer: what its own frames say. The outermost frame
 * of a framework that is known to call an application's action, job or route names it by the frame
 * that it called: `UsersController#show`, `HardJob`, `GET /users/:id`. No id and no argument is in
 * any of them.
 *
 * A frame's name has the class that defines the method; the endpoint has that of the object it was
 * called on, which may be a subclass. Where that object's class is not known, it is told only of a
 * class that has no subclasses: a wrong name is worse than none.
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
	/* The name of the receiver's class, NULL: not known. */
	const char *(*receiver)(void *context, uint32_t frame);
	/* Whether it is the one in the name. */
	bool (*is_certain)(void *context, uint32_t frame);
	void *context;
	uint32_t count;
	uint32_t root_frames; /* how many at the end follow frames that were left out; 0: none were
			       */
};

/* Frames that an endpoint hangs on, or FRAME_ENDPOINT_NONE. */
struct frame_endpoint_frames {
	uint32_t certain; /* its class must have no subclass */
	uint32_t open;	  /* with its receiver's class there would be an endpoint */
};

/* The endpoint's text into `text`, which is empty if there is none. */
void frame_endpoint__text(const struct frame_endpoint_stack *stack, char *text, size_t size,
			  struct frame_endpoint_frames *ret_frames);

/* A sample: raw frames, and the ids of their names in the profile. Nothing is owned. */
struct frame_endpoint_sample {
	struct names *names;
	struct profile *profile;
	const struct rbprof_frame *raw;
	const uint32_t *frames;
	uint32_t count, root_frames;
	const struct rbprof_gc_state *gc;
	/* Of some frames the class that the receiver had; or of all the receiver itself, or NULL.
	 */
	const struct rbprof_receiver *receivers;
	uint32_t receiver_count;
	const uint64_t *objects;
};

/*
 * The endpoint of a sample as a string id, or PROFILE_NONE. Reads the process only where frames of
 * a framework are found.
 */
uint32_t frame_endpoint__find(const struct frame_endpoint_sample *sample,
			      struct frame_endpoint_frames *ret_frames);

#endif
