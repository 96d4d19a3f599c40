/* SPDX-License-Identifier: BSD-2-Clause */
/* From the names of a stack's frames to an endpoint, or to none where it is not certain. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "user/core/frame_endpoint.h"

#define MAX 12

/*
 * Leaf first; a name that begins with '?' is of a class that has subclasses. What follows a '|' is
 * the class of the object that it was called on.
 */
struct example {
	const char *names[MAX];
	uint32_t root_frames;
	const char *endpoint;
};

static const char *name_of(void *context, uint32_t frame)
{
	const struct example *example = context;
	const char *name = example->names[frame];
	static char text[MAX][2048];

	snprintf(text[frame], sizeof(text[frame]), "%s", name + (name[0] == '?'));
	text[frame][strcspn(text[frame], "|")] = '\0';
	return text[frame];
}

static const char *receiver_of(void *context, uint32_t frame)
{
	const struct example *example = context;
	const char *klass = strchr(example->names[frame], '|');

	return klass ? klass + 1 : NULL;
}

static bool is_certain(void *context, uint32_t frame)
{
	const struct example *example = context;

	return example->names[frame][0] != '?';
}

static void check(const struct example *example)
{
	struct frame_endpoint_stack stack = {
		.name = name_of,
		.receiver = receiver_of,
		.is_certain = is_certain,
		.context = (void *)example,
		.root_frames = example->root_frames,
	};
	char text[256];
	struct frame_endpoint_frames frames;

	while (stack.count < MAX && example->names[stack.count])
		stack.count++;
	frame_endpoint__text(&stack, text, sizeof(text), &frames);
	assert_string_equal(text, example->endpoint);
	if (frames.certain != FRAME_ENDPOINT_NONE)
		assert_true(frames.certain < stack.count && text[0]);
	/* What there is no endpoint for though a class would give one. */
	if (frames.open != FRAME_ENDPOINT_NONE)
		assert_true(frames.open < stack.count && !text[0] &&
			    example->names[frames.open][0] == '?');
}

static void check_all(const struct example *examples, size_t count)
{
	for (size_t i = 0; i < count; i++)
		check(&examples[i]);
}

#define CHECK(...)                                                           \
	do {                                                                 \
		static const struct example examples[] = { __VA_ARGS__ };    \
		check_all(examples, sizeof(examples) / sizeof(examples[0])); \
	} while (0)

#define PROCESS "AbstractController::Base#process_action"
#define SEND	"ActionController::BasicImplicitRender#send_action"

static void test_actions(void **state)
{
	(void)state;
	CHECK({ { "Integer#+", "UsersController#show", SEND, PROCESS, "<main>" },
		0,
		"UsersController#show" },
	      { { "Admin::UsersController#show", PROCESS }, 0, "Admin::UsersController#show" },
	      /* The action has returned: its name is no longer there. */
	      { { "ActionController::ImplicitRender#default_render", SEND, PROCESS }, 0, "" },
	      { { SEND, PROCESS }, 0, "" }, { { PROCESS }, 0, "" },
	      /* Callbacks come before the action. */
	      { { "UsersController#authenticate", "ActiveSupport::Callbacks#run_callbacks",
		  "AbstractController::Callbacks#process_action" },
		0,
		"" },
	      { { "block in UsersController#show", SEND, PROCESS }, 0, "" },
	      { { "(anonymous Class)#show", SEND, PROCESS }, 0, "" },
	      { { "UsersController.show", SEND, PROCESS }, 0, "" });
}

static void test_inherited(void **state)
{
	(void)state;
	CHECK({ { "?ApplicationController#show", SEND, PROCESS }, 0, "" },
	      { { "?ApplicationController#show", "UsersController#show", SEND, PROCESS },
		0,
		"UsersController#show" },
	      /* Prepended modules pass on to the class's own method, and to no other. */
	      { { "UsersController#show", "?Tracing#show", "?Timing#show", SEND, PROCESS },
		0,
		"UsersController#show" },
	      { { "UsersController#helper", "?Tracing#show", SEND, PROCESS }, 0, "" });
}

static void test_receivers(void **state)
{
	(void)state;
	CHECK({ { "?ApplicationController#show|UsersController", SEND, PROCESS },
		0,
		"UsersController#show" },
	      { { "Mixed#show|UsersController", PROCESS }, 0, "UsersController#show" },
	      { { "UsersController#show", "?Tracing#show|AdminController", SEND, PROCESS },
		0,
		"AdminController#show" },
	      { { "?ParentJob#perform|ChildJob", "Sidekiq::Processor#execute_job" },
		0,
		"ChildJob" },
	      { { "?ParentJob#perform|Sidekiq::Thing", "Sidekiq::Processor#execute_job" }, 0, "" },
	      /* What the outermost one calls is not known: what is inside of it is part of that. */
	      { { "HardJob#perform", "Sidekiq::Processor#execute_job",
		  "?ApplicationController#show", SEND, PROCESS },
		0,
		"" });
}

static void test_jobs(void **state)
{
	(void)state;
	CHECK({ { "HardJob#perform", "Sidekiq::Processor#execute_job" }, 0, "HardJob" },
	      { { "A::B#perform", "block in Sidekiq::Job::Setter#perform_inline" }, 0, "A::B" },
	      { { "HardJob#perform", "block in ActiveJob::Execution#_perform_job" }, 0, "HardJob" },
	      { { "HardJob#perform", "block in ActiveJob::Execution#_perform_job",
		  "ActiveJob::Base.execute",
		  "ActiveJob::QueueAdapters::SidekiqAdapter::JobWrapper#perform",
		  "Sidekiq::Processor#execute_job" },
		0,
		"HardJob" },
	      { { "?ParentJob#perform", "Sidekiq::Processor#execute_job" }, 0, "" },
	      { { "HardJob#prepare", "Sidekiq::Processor#execute_job" }, 0, "" });
}

static void test_outermost(void **state)
{
	(void)state;
	CHECK({ { "HardJob#perform", "Sidekiq::Processor#execute_job", "UsersController#show", SEND,
		  PROCESS },
		0,
		"UsersController#show" },
	      { { "UserMailer#welcome", PROCESS, "block in ActionMailer::Base#process",
		  "MailJob#perform", "Sidekiq::Processor#execute_job" },
		0,
		"MailJob" },
	      { { "UserMailer#welcome", PROCESS, "ActionMailer::Base#process" }, 0, "" });
}

static void test_routes(void **state)
{
	(void)state;
	CHECK({ { "App#GET /users/:id", "Method#call", "block in Sinatra::Base.compile!" },
		0,
		"GET /users/:id" },
	      { { "(anonymous Class)#POST /", "UnboundMethod#bind_call",
		  "block in Sinatra::Base.compile!" },
		0,
		"POST /" },
	      { { "App#show", "Method#call", "block in Sinatra::Base.compile!" }, 0, "" });
}

/* What was left out between two frames may be anything. */
static void test_omitted(void **state)
{
	(void)state;
	CHECK({ { "A#x", "UsersController#show", SEND, PROCESS, "<main>" },
		1,
		"UsersController#show" },
	      { { "A#x", "UsersController#show", SEND, PROCESS, "<main>" },
		2,
		"UsersController#show" },
	      { { "UsersController#show", SEND, "<main>" }, 2, "" },
	      { { "UsersController#show", "Kernel#send", PROCESS, "<main>" }, 3, "" });
}

static void test_long(void **state)
{
	struct example example = { { NULL, PROCESS }, 0, NULL };
	char name[1100], expected[256];

	(void)state;
	memset(name, 'A', sizeof(name));
	memcpy(name + sizeof(name) - 6, "#show", 6);
	example.names[0] = name;
	memset(expected, 'A', 252);
	memcpy(expected + 252, "\xe2\x80\xa6", 4);
	example.endpoint = expected;
	check(&example);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_actions),	  cmocka_unit_test(test_inherited),
		cmocka_unit_test(test_receivers), cmocka_unit_test(test_jobs),
		cmocka_unit_test(test_outermost), cmocka_unit_test(test_routes),
		cmocka_unit_test(test_omitted),	  cmocka_unit_test(test_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
