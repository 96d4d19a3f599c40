/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A library for a Ruby process to load: counts the VM's own events of entry and exit of the
 * garbage collector and the CPU of the thread between them. Needs no header of any Ruby.
 */
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define RUBY_INTERNAL_EVENT_GC_ENTER 0x2000000U /* include/ruby/internal/event.h */
#define RUBY_INTERNAL_EVENT_GC_EXIT  0x4000000U

typedef uintptr_t VALUE;
VALUE rb_tracepoint_new(VALUE thread, uint32_t events, void (*run)(VALUE, void *), void *data);
VALUE rb_tracepoint_enable(VALUE tracepoint);
void *rb_tracearg_from_tracepoint(VALUE tracepoint);
uint32_t rb_tracearg_event_flag(void *argument);
void rb_gc_register_mark_object(VALUE object);

struct {
	uint64_t entries, exits, cpu_ns;
} gc_probe_hooks;

static uint64_t entered_ns;

static uint64_t cpu_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static void on_event(VALUE tracepoint, void *data)
{
	uint32_t event = rb_tracearg_event_flag(rb_tracearg_from_tracepoint(tracepoint));

	(void)data;
	if (event == RUBY_INTERNAL_EVENT_GC_ENTER) {
		gc_probe_hooks.entries++;
		entered_ns = cpu_now();
	} else {
		gc_probe_hooks.exits++;
		gc_probe_hooks.cpu_ns += cpu_now() - entered_ns;
	}
}

void gc_probe_hooks_start(void)
{
	VALUE tracepoint = rb_tracepoint_new(
		0, RUBY_INTERNAL_EVENT_GC_ENTER | RUBY_INTERNAL_EVENT_GC_EXIT, on_event, NULL);

	rb_gc_register_mark_object(tracepoint);
	rb_tracepoint_enable(tracepoint);
}
