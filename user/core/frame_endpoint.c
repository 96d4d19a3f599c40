/* SPDX-License-Identifier: BSD-2-Clause */
#include "frame_endpoint.h"

#include <stdio.h>
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

/* The class of an action's or a job's object, and the action. False: the class is a framework's. */
static bool take_receiver(const char *klass, const char *method, enum caller caller, char *text,
			  size_t size)
{
	char name[2 * UTF8_LIMIT_NAME];

	if (BEGINS_WITH_ANY(klass, frameworks))
		return false;
	if (caller == CALLER_JOB)
		snprintf(name, sizeof(name), "%s", klass);
	else
		snprintf(name, sizeof(name), "%s#%s", klass, method);
	take(text, size, name, strlen(name));
	return true;
}

/* Whether the name is that of what a framework's frame called: an action, a job. */
static bool is_application(const char *name, const char *method, enum caller caller)
{
	return method && !BEGINS_WITH_ANY(name, frameworks) &&
	       (caller != CALLER_JOB || !strcmp(method, "perform"));
}

/* What the framework's frame called. False: that is not the application, or not known. */
static bool take_callee(const struct frame_endpoint_stack *stack, enum caller caller, uint32_t from,
			uint32_t gap, char *text, size_t size,
			struct frame_endpoint_frames *ret_frames)
{
	const char *method = NULL, *own, *klass;
	uint32_t frame, passed;

	for (frame = from, passed = 0; frame && frame != gap && passed < MAX_PASSED; passed++) {
		const char *name = stack->name(stack->context, --frame);

		if (is_passage(name))
			continue;
		if (caller == CALLER_ROUTE)
			return take_route(name, text, size);
		own = method_of(name);
		if (!is_application(name, own, caller) || (method && strcmp(own, method)))
			return false;
		klass = stack->receiver(stack->context, frame);
		if (klass)
			return take_receiver(klass, own, caller, text, size);
		if (stack->is_certain(stack->context, frame)) {
			ret_frames->certain = frame;
			take(text, size, name,
			     caller == CALLER_JOB ? (size_t)(own - 1 - name) : strlen(name));
			return true;
		}
		if (ret_frames->open == FRAME_ENDPOINT_NONE)
			ret_frames->open = frame;
		/* A module that was put before the class passes on to the class's own method. */
		method = own;
	}
	return false;
}

void frame_endpoint__text(const struct frame_endpoint_stack *stack, char *text, size_t size,
			  struct frame_endpoint_frames *ret_frames)
{
	/* The first of the root-most frames did not call the one before it. */
	const uint32_t gap = stack->root_frames ? stack->count - stack->root_frames : 0;
	bool is_mail = false;
	uint32_t frame;

	text[0] = '\0';
	ret_frames->certain = ret_frames->open = FRAME_ENDPOINT_NONE;
	for (frame = stack->count; frame-- > 1;) {
		const enum caller caller = caller_of(stack->name(stack->context, frame));

		is_mail |= caller == CALLER_MAILER;
		if (caller == CALLER_NONE || caller == CALLER_MAILER ||
		    (caller == CALLER_ACTION && is_mail))
			continue;
		if (take_callee(stack, caller, frame, gap, text, size, ret_frames))
			break;
		/* The outermost known one: what is inside of it is part of its work. */
		if (ret_frames->open != FRAME_ENDPOINT_NONE)
			break;
	}
	if (text[0])
		ret_frames->open = FRAME_ENDPOINT_NONE;
}

static const char *sample_name(void *context, uint32_t frame)
{
	const struct frame_endpoint_sample *sample = context;
	const struct profile_frame *found =
		profile__frame_at(sample->profile, sample->frames[frame]);
	const struct profile_function *function =
		found ? profile__function_at(sample->profile, found->function) : NULL;

	return function ? profile__text(sample->profile, function->name) : "";
}

static const char *sample_receiver(void *context, uint32_t frame)
{
	const struct frame_endpoint_sample *sample = context;
	uint32_t i, name = PROFILE_NONE;

	if (sample->objects)
		name = names__class_of(sample->names, sample->objects[frame], sample->gc);
	for (i = 0; i < sample->receiver_count; i++) {
		if (sample->receivers[i].frame == frame && sample->receivers[i].klass)
			name = names__class(sample->names, sample->receivers[i].klass, sample->gc);
	}
	return name == PROFILE_NONE ? NULL : profile__text(sample->profile, name);
}

static bool sample_is_certain(void *context, uint32_t frame)
{
	const struct frame_endpoint_sample *sample = context;

	return names__is_final(sample->names, &sample->raw[frame]);
}

uint32_t frame_endpoint__find(const struct frame_endpoint_sample *sample,
			      struct frame_endpoint_frames *ret_frames)
{
	const struct frame_endpoint_stack stack = {
		.name = sample_name,
		.receiver = sample_receiver,
		.is_certain = sample_is_certain,
		.context = (void *)sample,
		.count = sample->count,
		.root_frames = sample->root_frames,
	};
	char text[UTF8_LIMIT_NAME + 1];

	frame_endpoint__text(&stack, text, sizeof(text), ret_frames);
	return text[0] ? profile__cstring(sample->profile, text) : PROFILE_NONE;
}
