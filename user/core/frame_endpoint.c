/* SPDX-License-Identifier: BSD-2-Clause */
#include "frame_endpoint.h"

#include <string.h>

#include "../util/utf8.h"

#define MAX_PASSED 8 /* frames between a framework's and the application's */

enum caller {
	CALLER_NONE = 0,
	CALLER_ACTION, /* of a controller */
	CALLER_JOB,
	CALLER_ROUTE,
	CALLER_MAILER, /* its actions look like a controller's */
};

/* As of actionpack 5 to 8, sidekiq 5 to 8, activejob 5 to 8, sinatra 2 to 4. */
static const struct {
	const char *name;
	enum caller caller;
} callers[] = {
	{ "AbstractController::Base#process_action", CALLER_ACTION },
	{ "ActionController::BasicImplicitRender#send_action", CALLER_ACTION },
	{ "ActionMailer::Base#process", CALLER_MAILER },
	{ "ActiveJob::Execution#_perform_job", CALLER_JOB },
	{ "ActiveJob::Execution#perform_now", CALLER_JOB },
	{ "Sidekiq::Processor#execute_job", CALLER_JOB },
	{ "Sidekiq::Job::Setter#perform_inline", CALLER_JOB },
	{ "Sidekiq::Worker::Setter#perform_inline", CALLER_JOB },
	{ "Sidekiq::Job::ClassMethods#execute_job", CALLER_JOB },
	{ "Sidekiq::Worker::ClassMethods#execute_job", CALLER_JOB },
	{ "Sinatra::Base.compile!", CALLER_ROUTE },
};

/* Steps on the way from there to the application. */
static const char *const passages[] = {
	"ActionController::BasicImplicitRender#send_action",
	"BasicObject#__send__",
	"Kernel#public_send",
	"Kernel#send",
	"Method#call",
	"UnboundMethod#bind_call",
};

/* The frameworks' own: wrappers of jobs, actions that only render. */
static const char *const frameworks[] = {
	"AbstractController::", "ActionController::", "ActiveJob::", "Sidekiq::", "Sinatra::",
};

static const char *const verbs[] = {
	"GET ", "POST ", "PUT ", "PATCH ", "DELETE ", "HEAD ", "OPTIONS ", "LINK ", "UNLINK ",
};

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static bool begins_with_any(const char *text, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (begins(text, list[i]))
			return true;
	return false;
}

#define BEGINS_WITH_ANY(text, list) begins_with_any(text, list, sizeof(list) / sizeof((list)[0]))

static enum caller caller_of(const char *name)
{
	static const char block[] = "block in ";

	/* Most frames are none of a framework. */
	if (begins(name, block))
		name += sizeof(block) - 1;
	if (name[0] != 'A' && name[0] != 'S')
		return CALLER_NONE;
	for (size_t i = 0; i < sizeof(callers) / sizeof(callers[0]); i++)
		if (!strcmp(name, callers[i].name))
			return callers[i].caller;
	return CALLER_NONE;
}

static bool is_passage(const char *name)
{
	for (size_t i = 0; i < sizeof(passages) / sizeof(passages[0]); i++)
		if (!strcmp(name, passages[i]))
			return true;
	return false;
}

/* A class that has a name: `A::B` before the '#' of a method. Where its method begins, or NULL. */
static const char *method_of(const char *name)
{
	const char *separator = strchr(name, '#');
	const bool is_constant = (name[0] >= 'A' && name[0] <= 'Z') || (name[0] & 0x80);

	/* `block in A#b`, `(anonymous Class)#b`, `#<Class:A>#b` begin otherwise. */
	return is_constant && separator && separator[1] ? separator + 1 : NULL;
}

static void take(char *text, size_t size, const char *from, size_t length)
{
	size_t limit = size - 1 < UTF8_LIMIT_NAME ? size - 1 : UTF8_LIMIT_NAME;

	utf8__clean(from, length, text, limit);
}

static bool take_route(const char *name, char *text, size_t size)
{
	/* Whatever class it is in: `App#GET /users/:id`. */
	const char *route = strchr(name, '#');

	if (!route || !BEGINS_WITH_ANY(route + 1, verbs))
		return false;
	take(text, size, route + 1, strlen(route + 1));
	return true;
}

/* What the framework's frame called. False: that is not the application, or not known. */
static bool take_callee(const struct frame_endpoint_stack *stack, enum caller caller, uint32_t from,
			uint32_t gap, char *text, size_t size, uint32_t *ret_frame)
{
	const char *method = NULL, *own;
	uint32_t frame, passed;

	for (frame = from, passed = 0; frame && frame != gap && passed < MAX_PASSED; passed++) {
		const char *name = stack->name(stack->context, --frame);

		if (is_passage(name))
			continue;
		if (caller == CALLER_ROUTE)
			return take_route(name, text, size);
		own = method_of(name);
		if (!own || BEGINS_WITH_ANY(name, frameworks) ||
		    (caller == CALLER_JOB && strcmp(own, "perform")) ||
		    (method && strcmp(own, method)))
			return false;
		if (stack->is_certain(stack->context, frame)) {
			*ret_frame = frame;
			take(text, size, name,
			     caller == CALLER_JOB ? (size_t)(own - 1 - name) : strlen(name));
			return true;
		}
		/* A module that was put before the class passes on to the class's own method. */
		method = own;
	}
	return false;
}

void frame_endpoint__text(const struct frame_endpoint_stack *stack, char *text, size_t size,
			  uint32_t *ret_frame)
{
	/* The first of the root-most frames did not call the one before it. */
	const uint32_t gap = stack->root_frames ? stack->count - stack->root_frames : 0;
	bool is_mail = false;
	uint32_t frame;

	text[0] = '\0';
	*ret_frame = FRAME_ENDPOINT_NONE;
	for (frame = stack->count; frame-- > 1;) {
		const enum caller caller = caller_of(stack->name(stack->context, frame));

		is_mail |= caller == CALLER_MAILER;
		if (caller == CALLER_NONE || caller == CALLER_MAILER ||
		    (caller == CALLER_ACTION && is_mail))
			continue;
		if (take_callee(stack, caller, frame, gap, text, size, ret_frame))
			return;
	}
}

struct sample_stack {
	struct names *names;
	const struct profile *profile;
	const struct rbprof_frame *raw;
	const uint32_t *frames;
};

static const char *sample_name(void *context, uint32_t frame)
{
	const struct sample_stack *sample = context;
	const struct profile_frame *found =
		profile__frame_at(sample->profile, sample->frames[frame]);
	const struct profile_function *function =
		found ? profile__function_at(sample->profile, found->function) : NULL;

	return function ? profile__text(sample->profile, function->name) : "";
}

static bool sample_is_certain(void *context, uint32_t frame)
{
	const struct sample_stack *sample = context;

	return names__is_final(sample->names, &sample->raw[frame]);
}

uint32_t frame_endpoint__find(struct names *names, struct profile *profile,
			      const struct rbprof_frame *raw, const uint32_t *frames,
			      uint32_t count, uint32_t root_frames, uint32_t *ret_frame)
{
	struct sample_stack sample = { names, profile, raw, frames };
	const struct frame_endpoint_stack stack = {
		.name = sample_name,
		.is_certain = sample_is_certain,
		.context = &sample,
		.count = count,
		.root_frames = root_frames,
	};
	char text[UTF8_LIMIT_NAME + 1];

	frame_endpoint__text(&stack, text, sizeof(text), ret_frame);
	return text[0] ? profile__cstring(profile, text) : PROFILE_NONE;
}
