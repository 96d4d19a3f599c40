/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of frames and threads, on the memory of a real Ruby 3.1.2 (tests/fixtures/names.rb)
 * whose threads said themselves where they stood.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>

#include "overlay_memory.h"
#include "user/ruby/layout.h"
#include "user/ruby/names.h"
#include "user/ruby/stack.h"
#include "user/util/memory_fixture.h"

#define FIXTURE	 "tests/fixtures/names-3.1.2.gz"
#define AGE_BITS 0x60			      /* FL_PROMOTED0 and 1: 0 in a new object */
#define COMMON	 "block (2 levels) in <main>" /* the root of each thread */

/* What each thread's stack is called, from the method that parks it to its root. */
static const struct {
	const char *thread;
	const char *stack;
} expected[] = {
	{ "inst", "Kl#inst|block in <main>|" COMMON },
	{ "alias", "Kl#inst|block in <main>|" COMMON },
	{ "sing", "Kl.sing|block in <main>|" COMMON },
	{ "operator", "Kl#<=>|block in <main>|" COMMON },
	{ "comparable", "Kl#<=>|Comparable#==|block in <main>|" COMMON },
	{ "setter", "Kl#v=|block in <main>|" COMMON },
	{ "modsing", "Mo.modsing|block in <main>|" COMMON },
	{ "mixed", "Mo#mixed|block in <main>|" COMMON },
	{ "refined", "#<refinement:String@Rf>#refined|block in <main>|" COMMON },
	{ "anon", "(anonymous Class)#anon_m|block in <main>|" COMMON },
	{ "anon_sing", "(anonymous Class).anon_s|block in <main>|" COMMON },
	{ "anon_module", "(anonymous Module)#from_anon_module|block in <main>|" COMMON },
	{ "only_me", "(singleton of Object).only_me|block in <main>|" COMMON },
	{ "only_string", "(singleton of SubString).only_string|block in <main>|" COMMON },
	{ "bm", "Kl#bm|block in <main>|" COMMON },
	{ "bm_nested", "block (2 levels) in Kl#bm_nested|Array#each|block in Kl#bm_nested|"
		       "Array#each|Kl#bm_nested|block in <main>|" COMMON },
	{ "bm_rescue", "block in Kl#bm_rescue|Array#each|rescue in Kl#bm_rescue|Kl#bm_rescue|"
		       "block in <main>|" COMMON },
	{ "bm_ensure", "Kl#bm_ensure|block in <main>|" COMMON },
	{ "made", "Kl#made|block in <main>|" COMMON },
	{ "odd", "Kl#a;b\nc \u00e9|block in <main>|" COMMON },
	{ "invalid", "Kl#\ufffd\ufffd|block in <main>|" COMMON },
	{ "evald", "Kl#evald|block in <main>|" COMMON },
	{ "from_block", "Kl#from_block|block in <main>|" COMMON },
	{ "with_eval", "block in Kl#with_eval|Array#each|Kl#with_eval|Kernel#eval|Kl#with_eval|"
		       "block in <main>|" COMMON },
	{ "rescuing", "rescue in Kl#rescuing|Kl#rescuing|block in <main>|" COMMON },
	{ "ensuring", "block in Kl#ensuring|Array#each|Kl#ensuring|block in <main>|" COMMON },
	{ "long", "block in Kl#long_method|Array#each|Kl#long_method|block in <main>|" COMMON },
	{ "missing", "Mm#method_missing|block in <main>|" COMMON },
	{ "block", "block (2 levels) in <main>|Array#each|block in <main>|" COMMON },
	{ "exec", "block (2 levels) in <main>|BasicObject#instance_exec|block in <main>|" COMMON },
	{ "deep", "block (2 levels) in <main>|Outer::Inner::Deep#go|block in <main>|" COMMON },
	{ "meta", "Outer::Inner::Deep.meta|block in <main>|" COMMON },
	{ "struct",
	  "block (2 levels) in <main>|Point#each|Enumerable#map|block in <main>|" COMMON },
	{ "inject", "block (2 levels) in <main>|Point#each|Enumerable#inject|"
		    "block in <main>|" COMMON },
	{ "sort", "block (2 levels) in <main>|Array#each|Enumerable#sort_by|"
		  "block in <main>|" COMMON },
	{ "loop", "block (2 levels) in <main>|Kernel#loop|block in <main>|" COMMON },
	{ "times", "block (3 levels) in <main>|Integer#upto|block (2 levels) in <main>|"
		   "Integer#times|block in <main>|" COMMON },
	{ "hash", "block (2 levels) in <main>|Hash#each_pair|block in <main>|" COMMON },
	{ "tap", "block (3 levels) in <main>|Kernel#then|block (2 levels) in <main>|Kernel#tap|"
		 "block in <main>|" COMMON },
	{ "send", "Kl#inst|Kernel#public_send|block in <main>|" COMMON },
	{ "method", "Kl#inst|Method#call|block in <main>|" COMMON },
	{ "proc", "block (2 levels) in <main>|block in <main>|" COMMON },
	{ "lambda", "block (2 levels) in <main>|block in <main>|" COMMON },
	{ "to_proc", "Kl#inst|Array#each|block in <main>|" COMMON },
	{ "eval", "block in <main>|Kernel#eval|block in <main>|" COMMON },
	{ "eval_at", "block in <main>|Kernel#eval|block in <main>|" COMMON },
	{ "class_body", "block in <class:InBody>|Array#each|<class:InBody>|block in <main>|"
			"Kernel#eval|block in <main>|" COMMON },
	{ "class_new", "block (2 levels) in <main>|Class#initialize|Class#new|"
		       "block in <main>|" COMMON },
	{ "keywords", "Object#keywords|block in <main>|" COMMON },
	{ "fiber", "block (2 levels) in <main>" },
	{ "enumerator", "block (2 levels) in <main>|Enumerator::Generator#each|Enumerator#each" },
	{ "catch", "block (2 levels) in <main>|Kernel#catch|block in <main>|" COMMON },
	{ "gsub", "block (2 levels) in <main>|String#gsub|block in <main>|" COMMON },
};

struct world {
	struct fixture *fixture;
	struct overlay overlay;
	struct ruby_layout layout;
	struct profile *profile;
	struct names *names;
	uint64_t objspace;
	struct rbprof_gc_state gc;
	uint32_t frames[RBPROF_MAX_FRAMES];
	bool without_serials; /* samples in which no method is told by its number */
	bool lasting;	      /* what the last names__frames() said */
};

static int setup(void **state)
{
	static const struct profile_type type = { "cpu-time", "nanoseconds" };
	static struct world world;
	struct names_roots roots;
	uint64_t vm;
	int exact;

	memset(&world, 0, sizeof(world));
	world.layout = layout__find("3.1.2", &exact)->layout;
	assert_int_equal(fixture__load(FIXTURE, &world.fixture), 0);
	overlay_init(&world.overlay, world.fixture->memory);
	roots.vm_ptr_address = world.fixture->vm_ptr_address;
	roots.symbols_address = world.fixture->symbols_address;
	assert_int_equal(profile__new(&type, 1, &world.profile), 0);
	assert_int_equal(names__new(&world.overlay.memory, &world.layout, &roots, world.profile,
				    &world.names),
			 0);
	assert_int_equal(names__gc_state(world.names, &world.gc), 0);
	memory__read_u64(world.fixture->memory, roots.vm_ptr_address, &vm);
	memory__read_u64(world.fixture->memory, vm + world.layout.vm__objspace, &world.objspace);
	*state = &world;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	names__free(w->names);
	profile__free(w->profile);
	fixture__free(w->fixture);
	return 0;
}

static const char *function_name(const struct world *w, uint32_t frame)
{
	uint32_t id = profile__frame_at(w->profile, frame)->function;

	return profile__text(w->profile, profile__function_at(w->profile, id)->name);
}

static const char *file_name(const struct world *w, uint32_t frame)
{
	uint32_t id = profile__frame_at(w->profile, frame)->function;

	return profile__text(w->profile, profile__function_at(w->profile, id)->file);
}

static const struct fixture_stack *find_stack(struct world *w, const char *thread)
{
	size_t i;

	for (i = 0; i < w->fixture->stack_count; i++) {
		const struct fixture_stack *stack = &w->fixture->stacks[i];
		uint32_t name =
			names__thread(w->names, stack->thread, stack->thread_name, 0, &w->gc);

		if (name != PROFILE_NONE && !strcmp(profile__text(w->profile, name), thread))
			return stack;
	}
	fail_msg("no thread %s", thread);
	return NULL;
}

/* Index of the frame behind that of Object#park. */
static size_t behind_park(const struct world *w, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (!strcmp(function_name(w, w->frames[i]), "Object#park"))
			return i + 1;
	fail_msg("not parked");
	return 0;
}

static void set_gc(struct world *w, uint64_t count, uint32_t flags)
{
	overlay_u64(&w->overlay, w->objspace + w->layout.objspace__profile_count, count);
	overlay_u32(&w->overlay, w->objspace + w->layout.objspace__flags, flags);
}

static size_t resolve(struct world *w, const struct fixture_stack *stack, uint64_t count,
		      uint32_t flags)
{
	const struct rbprof_gc_state gc = { .count = count, .flags = flags };
	static struct rbprof_frame frames[RBPROF_MAX_FRAMES];
	size_t i;

	memcpy(frames, stack->frames, stack->count * sizeof(*frames));
	for (i = 0; w->without_serials && i < stack->count; i++)
		frames[i].method_serial = 0;
	return names__frames(w->names, frames, stack->count, &gc, w->frames, &w->lasting);
}

static void full_names(void **state)
{
	struct world *w = *state;
	size_t i, k, at;

	for (i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		const struct fixture_stack *stack = find_stack(w, expected[i].thread);
		char text[2048] = "";

		assert_int_equal(resolve(w, stack, w->gc.count, w->gc.flags), stack->count);
		at = behind_park(w, stack->count);
		for (k = at; k < stack->count; k++) {
			if (k > at)
				strcat(text, "|");
			strcat(text, function_name(w, w->frames[k]));
		}
		assert_string_equal(text, expected[i].stack);
	}
	for (i = 0; i < RBPROF_E_COUNT; i++)
		assert_int_equal(names__errors(w->names)[i], 0);
}

/* A name of ours and Ruby's own label: the same but for the class. */
static int same_label(const char *ours, const char *label)
{
	const char *base = strstr(label, " in ");
	size_t prefix, length = strlen(ours), tail;

	if (!strcmp(ours, label))
		return 1;
	while (base && strstr(base + 4, " in "))
		base = strstr(base + 4, " in ");
	base = base ? base + 4 : label;
	prefix = (size_t)(base - label);
	tail = strlen(base);
	return length > prefix + tail + 1 && !strncmp(ours, label, prefix) &&
	       !strcmp(ours + length - tail, base) && strchr("#.", ours[length - tail - 1]);
}

static const char *escape(const char *text, char *room, size_t size)
{
	size_t n = 0;

	for (; *text && n + 3 < size; text++) {
		if (*text == '\n')
			room[n++] = '\\';
		room[n++] = *text == '\n' ? 'n' : *text;
	}
	room[n] = '\0';
	return room;
}

/* Label, path and line of each frame are those that the program says of itself. */
static void as_the_program_says(void **state)
{
	struct world *w = *state;
	char previous[64] = "", escaped[1024];
	const struct fixture_stack *stack = NULL;
	size_t i, at = 0, compared = 0, lines = 0;

	for (i = 0; i < w->fixture->truth_count; i++) {
		char thread[64], label[256], path[512];
		const char *ours, *file;
		long long line;
		int parts;

		parts = sscanf(w->fixture->truths[i], "%63[^|]|%255[^|]|%511[^|]|%lld", thread,
			       label, path, &line);
		if (parts != 4)
			continue; /* "ready", or a frame that Ruby knows no path of */
		if (strcmp(thread, previous)) {
			stack = find_stack(w, thread);
			resolve(w, stack, w->gc.count, w->gc.flags);
			at = behind_park(w, stack->count);
			strcpy(previous, thread);
			continue; /* park itself stands on another line by now */
		}
		assert_true(at < stack->count);
		ours = function_name(w, w->frames[at]);
		file = file_name(w, w->frames[at]);
		/* Blocks that are methods are blocks to Ruby. */
		if (strncmp(thread, "bm", 2) && strcmp(thread, "made") && strcmp(thread, "odd") &&
		    strcmp(thread, "invalid") && strcmp(thread, "from_block"))
			if (!same_label(ours, label))
				fail_msg("%s: %s is %s", thread, ours, label);
		compared++;
		if (strcmp(file, "<cfunc>")) {
			assert_string_equal(escape(file, escaped, sizeof(escaped)), path);
			assert_int_equal(profile__frame_at(w->profile, w->frames[at])->line, line);
			lines++;
		} else {
			assert_int_equal(profile__frame_at(w->profile, w->frames[at])->line, 0);
		}
		at++;
	}
	assert_true(compared > 200);
	assert_true(lines > 150);
}

static void first_lines(void **state)
{
	struct world *w = *state;
	const struct fixture_stack *stack = find_stack(w, "long");
	const struct profile_frame *frame;
	size_t at;

	resolve(w, stack, w->gc.count, w->gc.flags);
	at = behind_park(w, stack->count);
	frame = profile__frame_at(w->profile, w->frames[at + 2]);
	assert_int_equal(profile__function_at(w->profile, frame->function)->start_line, 105);
	/* A position far into the code, behind the short form of the table. */
	assert_int_equal(frame->line, 117);
	frame = profile__frame_at(w->profile, w->frames[at + 1]);
	assert_int_equal(profile__function_at(w->profile, frame->function)->start_line, 0);
}

static void thread_names(void **state)
{
	struct world *w = *state;
	const struct fixture_stack *stacks = w->fixture->stacks;
	const size_t last = w->fixture->stack_count - 1;
	uint32_t name;

	name = names__thread(w->names, stacks[0].thread, stacks[0].thread_name, 0, &w->gc);
	assert_string_equal(profile__text(w->profile, name), "main");
	name = names__thread(w->names, stacks[last - 2].thread, stacks[last - 2].thread_name, 0,
			     &w->gc);
	assert_string_equal(profile__text(w->profile, name), "/tmp/fixture/names.rb:204");
	/* Empty is a name. */
	name = names__thread(w->names, stacks[last - 1].thread, stacks[last - 1].thread_name, 0,
			     &w->gc);
	assert_string_equal(profile__text(w->profile, name), "");
	/* Cut at a character: 126 letters of two bytes and the mark of three. */
	name = names__thread(w->names, stacks[last].thread, stacks[last].thread_name, 0, &w->gc);
	assert_int_equal(profile__text_length(w->profile, name), 255);
	assert_string_equal(profile__text(w->profile, name) + 252, "\u2026");
	/* The thread that forked is the main one of its process, but keeps a name of its own. */
	name = names__thread(w->names, stacks[last - 2].thread, stacks[last - 2].thread_name, 1,
			     &w->gc);
	assert_string_equal(profile__text(w->profile, name), "main");
	name = names__thread(w->names, stacks[1].thread, stacks[1].thread_name, 1, &w->gc);
	assert_string_equal(profile__text(w->profile, name), "inst");
	assert_int_equal(names__thread(w->names, 0x1000, w->layout.qnil, 0, &w->gc), PROFILE_NONE);
}

static void special_frames(void **state)
{
	struct world *w = *state;
	const struct fixture_stack *stack = find_stack(w, "inst");
	struct rbprof_frame frames[5];
	uint32_t truncated = names__special(w->profile, "(truncated)");

	assert_string_equal(function_name(w, truncated), "(truncated)");
	assert_string_equal(file_name(w, truncated), "<rbprof>");
	assert_int_equal(profile__frame_at(w->profile, truncated)->line, 0);
	frames[0] = frames[1] = frames[2] = frames[3] = frames[4] = stack->frames[2];
	frames[0].method_entry = RBPROF_METHOD_UNREADABLE;
	frames[1].pc += 8 << 20;			/* another's */
	frames[2].iseq = stack->frames[2].method_entry; /* an object of another kind */
	frames[3].iseq = 0x7000;			/* nothing there */
	frames[4].method_entry = stack->frames[2].iseq;
	assert_int_equal(names__frames(w->names, frames, 5, &w->gc, w->frames, NULL), 0);
	assert_string_equal(function_name(w, w->frames[0]), "(unreadable)");
	assert_string_equal(function_name(w, w->frames[1]), "(unreadable)");
	assert_string_equal(function_name(w, w->frames[2]), "(unreadable)");
	assert_string_equal(function_name(w, w->frames[3]), "(unreadable)");
	assert_string_equal(function_name(w, w->frames[4]), "(unreadable)");
	assert_int_equal(names__errors(w->names)[RBPROF_E_METHOD_INVALID], 2);
	assert_int_equal(names__errors(w->names)[RBPROF_E_PC_OUTSIDE], 1);
	assert_int_equal(names__errors(w->names)[RBPROF_E_ISEQ_INVALID], 1);
	assert_int_equal(names__errors(w->names)[RBPROF_E_NAME_FAULT], 1);
}

static size_t count_gone(const struct world *w, const struct fixture_stack *stack)
{
	size_t i, gone = 0;

	for (i = 0; i < stack->count; i++)
		gone += !strcmp(function_name(w, w->frames[i]), "(gone)");
	return gone;
}

/* First seen when two collections have passed: nothing is guessed. */
static void seen_too_late(void **state)
{
	struct world *w = *state;
	const struct fixture_stack *stack = find_stack(w, "inst");
	const uint64_t now = w->gc.count;

	w->without_serials = true;
	set_gc(w, now + 2, 0);
	assert_int_equal(resolve(w, stack, now, 0), 0);
	assert_int_equal(count_gone(w, stack), stack->count);
	assert_int_equal(names__errors(w->names)[RBPROF_E_NAME_GONE], stack->count);
	/* The same frames of a sample of now are known. */
	assert_int_equal(resolve(w, stack, now + 2, 0), stack->count);
}

/* Known methods and the main script keep their names; an eval's code may be another's. */
static void known_but_late(void **state)
{
	struct world *w = *state;
	const struct fixture_stack *stack = find_stack(w, "inst");
	const struct fixture_stack *eval = find_stack(w, "with_eval");
	const uint64_t now = w->gc.count;

	w->without_serials = true;
	assert_int_equal(resolve(w, stack, now, 0), stack->count);
	assert_int_equal(resolve(w, eval, now, 0), eval->count);
	assert_false(w->lasting);
	set_gc(w, now + 9, 0);
	/* All but Kernel#sleep: Ruby may make its entry anew for each class. */
	assert_int_equal(resolve(w, stack, now + 5, 0), stack->count - 1);
	assert_string_equal(function_name(w, w->frames[0]), "(gone)");
	assert_string_equal(function_name(w, w->frames[2]), "Kl#inst");
	resolve(w, eval, now + 5, 0);
	assert_string_equal(function_name(w, w->frames[2]), "(gone)");
	assert_string_equal(function_name(w, w->frames[3]), "Array#each");
	assert_string_equal(function_name(w, w->frames[4]), "(gone)");
	assert_string_equal(function_name(w, w->frames[6]), "Kl#with_eval");
}

/* A serial number is never given twice: what has the same one is the same for ever. */
static void same_serial(void **state)
{
	struct world *w = *state;
	const struct fixture_stack *stack = find_stack(w, "inst");
	const struct fixture_stack *eval = find_stack(w, "with_eval");
	const struct fixture_stack *anon = find_stack(w, "anon");
	const uint64_t now = w->gc.count;
	struct rbprof_frame other = stack->frames[2];
	size_t before;

	assert_int_equal(resolve(w, stack, now, 0), stack->count);
	assert_true(w->lasting);
	set_gc(w, now + 9, 0);
	before = w->overlay.reads;
	assert_int_equal(resolve(w, stack, now + 5, 0), stack->count);
	assert_true(w->lasting);
	assert_int_equal(w->overlay.reads, before);
	/* Another method in the same places. */
	other.method_serial++;
	assert_int_equal(names__frames(w->names, &other, 1,
				       &(struct rbprof_gc_state){ .count = now + 5 }, w->frames,
				       NULL),
			 0);
	assert_string_equal(function_name(w, w->frames[0]), "(gone)");
	/* Code that no method owns, and a class that may get a name, last for a period. */
	set_gc(w, now, 0);
	assert_int_equal(resolve(w, eval, now, 0), eval->count);
	assert_false(w->lasting);
	assert_int_equal(resolve(w, anon, now, 0), anon->count);
	assert_false(w->lasting);
	/* A process that is gone keeps what lasts. */
	w->overlay.error = -ESRCH;
	assert_int_equal(resolve(w, stack, now + 7, 0), stack->count);
}

/* A known stack costs no read until a marking is complete, and then one. */
static void reads(void **state)
{
	struct world *w = *state;
	const struct fixture_stack *stack = find_stack(w, "recurse");
	const uint64_t now = w->gc.count;
	size_t before;

	resolve(w, stack, now, 0);
	before = w->overlay.reads;
	w->without_serials = true;
	assert_int_equal(resolve(w, stack, now, 0), stack->count);
	assert_int_equal(resolve(w, stack, now + 1, RUBY_GC_MODE_MARKING), stack->count);
	assert_int_equal(w->overlay.reads, before);
	set_gc(w, now + 1, 0);
	assert_int_equal(resolve(w, stack, now + 1, 0), stack->count);
	assert_int_equal(w->overlay.reads, before + 1);
	assert_int_equal(resolve(w, stack, now + 1, 0), stack->count);
	assert_int_equal(w->overlay.reads, before + 1);
}

static void process_gone(void **state)
{
	struct world *w = *state;
	const struct fixture_stack *known = find_stack(w, "inst");
	const struct fixture_stack *unknown = find_stack(w, "recurse");
	const uint64_t now = w->gc.count;

	w->without_serials = true;
	resolve(w, known, now, 0);
	w->overlay.error = -ESRCH;
	assert_int_equal(resolve(w, known, now, 0), known->count);
	/* Only the main script is known to be there still. */
	assert_int_equal(resolve(w, known, now + 1, 0), 2);
	assert_int_equal(count_gone(w, known), known->count - 2);
	/* Kernel#sleep, Object#park and the root are known from the other stack. */
	assert_int_equal(resolve(w, unknown, now, 0), 3);
}

/* The label's bytes are another's: the code was freed, and its place is used again. */
static void reused(void **state)
{
	struct world *w = *state;
	const struct fixture_stack *stack = find_stack(w, "class_body");
	const uint64_t now = w->gc.count;
	uint64_t body, label, flags;
	size_t at;

	resolve(w, stack, now, 0);
	at = behind_park(w, stack->count);
	assert_string_equal(function_name(w, w->frames[at]), "block in <class:InBody>");
	memory__read_u64(w->fixture->memory, stack->frames[at].iseq + w->layout.iseq__body, &body);
	memory__read_u64(w->fixture->memory, body + w->layout.body__label, &label);
	memory__read_u64(w->fixture->memory, label, &flags);
	assert_false(flags & RUBY_STRING_NOEMBED);
	/* All of it is new. */
	set_gc(w, now + 1, 0);
	overlay_u64(&w->overlay, label, flags & ~(uint64_t)AGE_BITS);
	overlay_bytes(&w->overlay, label + w->layout.rstring__embed, "block in <class:Other", 21);
	resolve(w, stack, now + 1, 0);
	assert_string_equal(function_name(w, w->frames[at]), "block in <class:Othery>");
	/* A sample of before that comes late still has its name of then, or none. */
	resolve(w, stack, now, 0);
	assert_string_equal(function_name(w, w->frames[at]), "(gone)");
	/* Back again, as code that is loaded in turns: in between it was the other. */
	set_gc(w, now + 3, 0);
	overlay_bytes(&w->overlay, label + w->layout.rstring__embed, "block in <class:InBod", 21);
	resolve(w, stack, now + 2, 0);
	assert_string_equal(function_name(w, w->frames[at]), "(gone)");
	resolve(w, stack, now + 3, 0);
	assert_string_equal(function_name(w, w->frames[at]), "block in <class:InBody>");
}

/* The walker finds in the memory the frames that the recorder found in the process. */
static void walk(void **state)
{
	struct world *w = *state;
	struct stack stack;
	size_t i;

	for (i = 0; i < w->fixture->stack_count; i++) {
		const struct fixture_stack *known = &w->fixture->stacks[i];

		assert_int_equal(stack__read(w->fixture->memory, &w->layout, known->ec,
					     RBPROF_MAX_FRAMES, &stack),
				 0);
		assert_int_equal(stack.error, 0);
		assert_int_equal(stack.count, known->count);
		assert_memory_equal(stack.frames, known->frames,
				    known->count * sizeof(*known->frames));
		free(stack.frames);
	}
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(full_names),     TEST(as_the_program_says),
		TEST(first_lines),    TEST(thread_names),
		TEST(special_frames), TEST(seen_too_late),
		TEST(known_but_late), TEST(same_serial),
		TEST(reads),	      TEST(process_gone),
		TEST(reused),	      TEST(walk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
