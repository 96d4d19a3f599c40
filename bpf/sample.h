/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the timer takes of the current thread: its Ruby stack, its names' keys, the GC's state. */
#ifndef RBPROF_BPF_SAMPLE_H
#define RBPROF_BPF_SAMPLE_H

/* The objspace of the process's VM, 0 if it is not known (yet). */
static __always_inline u64 sample_objspace(const struct rbprof_process *process,
					   const struct ruby_layout *layout,
					   struct thread_state *state)
{
	u64 vm = 0;

	if (state->objspace || !process->vm_ptr_address)
		return state->objspace;
	/* What cannot be read is tried again, and counted where it is needed. */
	if (!bpf_probe_read_user(&vm, sizeof(vm), (void *)process->vm_ptr_address) && vm)
		bpf_probe_read_user(&state->objspace, sizeof(state->objspace),
				    (void *)(vm + layout->vm__objspace));
	return state->objspace;
}

/* State of the collector now: see struct rbprof_gc_state for what it proves. */
static __noinline void sample_gc(const struct rbprof_process *process,
				 const struct ruby_layout *layout, struct thread_state *state,
				 struct rbprof_gc_state *gc, struct rbprof_counters *c)
{
	u32 again;

	gc->count = RBPROF_GC_STATE_UNKNOWN;
	gc->flags = 0;
	gc->reserved = 0;
	if (!sample_objspace(process, layout, state))
		return;
	/* The collector may run on another CPU: what changed while it was read is not known. */
	if (bpf_probe_read_user(&gc->flags, sizeof(gc->flags),
				(void *)(state->objspace + layout->objspace__flags)) ||
	    bpf_probe_read_user(&gc->count, sizeof(gc->count),
				(void *)(state->objspace + layout->objspace__profile_count)) ||
	    bpf_probe_read_user(&again, sizeof(again),
				(void *)(state->objspace + layout->objspace__flags)))
		goto fault;
	if ((gc->flags ^ again) & RUBY_GC_STATE_MASK)
		gc->count = RBPROF_GC_STATE_UNKNOWN;
	return;
fault:
	gc->count = RBPROF_GC_STATE_UNKNOWN;
	count_error(c, RBPROF_E_GC_STATE_FAULT);
}

/*
 * What tells of the collector where no probe does: its record of the latest collection, the VM's
 * own clock of it, and whether this thread is the one that may be in it.
 */
static __noinline void sample_collector(const struct ruby_layout *layout,
					const struct thread_state *state,
					struct rbprof_sample *sample)
{
	const bool is_vms = layout->vm__gvl_owner != RUBY_NO_FIELD;
	u64 from = 0, owner = 0, sweeping = 0, objspace = state->objspace;

	if (!objspace || !config.flags)
		return;
	if (layout->objspace__latest_gc_info != RUBY_NO_FIELD)
		bpf_probe_read_user(&sample->gc_info, sizeof(sample->gc_info),
				    (void *)(objspace + layout->objspace__latest_gc_info));
	if (!bpf_probe_read_user(
		    &from, sizeof(from),
		    (void *)(sample->thread + (is_vms ? layout->th__vm : layout->th__ractor))) &&
	    !bpf_probe_read_user(&owner, sizeof(owner),
				 (void *)(from + (is_vms ? layout->vm__gvl_owner
							 : layout->ractor__gvl_owner))) &&
	    owner == sample->thread)
		sample->flags |= RBPROF_SAMPLE_HAS_GVL;
	if (layout->gc_measure_bit == RUBY_NO_FIELD ||
	    !(sample->gc.flags & (1U << (layout->gc_measure_bit & 31))))
		return;
	if (layout->objspace__total_time != RUBY_NO_FIELD) {
		bpf_probe_read_user(&sample->vm_gc_ns, sizeof(sample->vm_gc_ns),
				    (void *)(objspace + layout->objspace__total_time));
	} else if (layout->objspace__marking_time != RUBY_NO_FIELD &&
		   !bpf_probe_read_user(&sweeping, sizeof(sweeping),
					(void *)(objspace + layout->objspace__sweeping_time)) &&
		   !bpf_probe_read_user(&sample->vm_gc_ns, sizeof(sample->vm_gc_ns),
					(void *)(objspace + layout->objspace__marking_time))) {
		sample->vm_gc_ns += sweeping;
	}
}

/*
 * Reads what names the thread, and checks that the context is this native thread's own: a
 * native thread that Ruby keeps for later use still points to its last Ruby thread, whose
 * memory may be another's by now.
 */
static __noinline u32 sample_thread(const struct ruby_layout *layout, u64 thread_pointer,
				    struct rbprof_sample *sample)
{
	u64 from = sample->thread, pthread, at = layout->th__thread_id;

	if (layout->th__nt != RUBY_NO_FIELD) {
		if (bpf_probe_read_user(&from, sizeof(from),
					(void *)(sample->thread + layout->th__nt)))
			return RBPROF_E_THREAD_FAULT;
		if (!from)
			return RBPROF_E_EC_OF_OTHER_THREAD; /* it runs on no native thread */
		at = layout->nt__thread_id;
	}
	if (bpf_probe_read_user(&pthread, sizeof(pthread), (void *)(from + at)) ||
	    bpf_probe_read_user(&sample->thread_name, sizeof(sample->thread_name),
				(void *)(sample->thread + layout->th__name)) ||
	    bpf_probe_read_user(&sample->thread_object, sizeof(sample->thread_object),
				(void *)(sample->thread + layout->th__self)))
		return RBPROF_E_THREAD_FAULT;
	return pthread == thread_pointer ? RBPROF_OK : RBPROF_E_EC_OF_OTHER_THREAD;
}

/*
 * Fills everything of the sample but its event and clock. A function that the verifier looks at
 * on its own: looked at in its place, each way out of it is followed through all that comes after.
 */
__noinline int sample_stack(const struct rbprof_process *process, struct thread_state *state,
			    struct scratch *scratch, struct rbprof_counters *c, u64 thread_pointer)
{
	struct rbprof_sample *sample;
	struct rbprof_runtime *runtime;
	const struct ruby_layout *layout;
	struct walk walk = {};
	u32 index, error = RBPROF_OK;
	u64 ec;

	if (!process || !state || !scratch)
		return 0;
	index = process->runtime;
	sample = &scratch->sample;
	sample->ec = 0;
	sample->thread = 0;
	sample->thread_name = 0;
	sample->thread_object = 0;
	sample->error = RBPROF_OK;
	sample->frame_count = 0;
	sample->omitted = 0;
	sample->root_frames = 0;
	sample->gc.count = RBPROF_GC_STATE_UNKNOWN;
	sample->gc.flags = 0;
	sample->gc_info = 0;
	sample->gc_steps = 0;
	sample->vm_gc_ns = 0;
	sample->stack_hash = 0;
	sample->receiver_count = 0;
	sample->trace.kind = RBPROF_TRACE_NONE;
	sample->trace.error = RBPROF_OK;
	scratch->trace.has_ec = 0;
	runtime = bpf_map_lookup_elem(&runtimes, &index);
	if (!runtime || process->ec_source == RBPROF_EC_NONE)
		goto no_ec;
	layout = &runtime->layout;
	if (thread_ec(process, layout, state, thread_pointer, &ec)) {
		error = RBPROF_E_THREAD_POINTER;
		goto no_ec;
	}
	if (!ec)
		goto no_ec;
	if (bpf_probe_read_user(scratch->walk.words, sizeof(scratch->walk.words), (void *)ec)) {
		error = RBPROF_E_EC_FAULT;
		goto cut;
	}
	walk.layout = layout;
	walk.frames = scratch->frames;
	walk.state = &scratch->walk;
	walk.methods = &scratch->methods;
	scratch->walk.max_frames = config.max_frames;
	scratch->walk.hash = process->serial;
	sample->ec = ec;
	sample->thread = walk_word(&walk, layout->ec__thread_ptr);
	error = sample_thread(layout, thread_pointer, sample);
	if (error == RBPROF_E_EC_OF_OTHER_THREAD)
		goto no_ec;
	if (error)
		goto cut;
	/* A thread gets its vm stack before its first frame, and gives it back after its last. */
	if (!walk_word(&walk, layout->ec__vm_stack))
		goto no_ec;
	sample_gc(process, layout, state, &sample->gc, c);
	sample_collector(layout, state, sample);
	scratch->trace.local_storage = walk_word(&walk, layout->ec__local_storage);
	scratch->trace.fiber = walk_word(&walk, layout->ec__fiber_ptr);
	scratch->trace.thread = sample->thread;
	scratch->trace.has_ec = 1;
	scratch->walk.process = process->serial;
	scratch->walk.generation = process->receivers;
	scratch->walk.epoch = rbprof_gc_epoch(&sample->gc);
	if (!scratch->walk.max_frames)
		return 0;
	walk_stack(&walk, walk_word(&walk, layout->ec__cfp), walk_word(&walk, layout->ec__vm_stack),
		   walk_word(&walk, layout->ec__vm_stack_size));
	sample->stack_hash = scratch->walk.hash;
	sample->frame_count = scratch->walk.count;
	sample->omitted = scratch->walk.omitted;
	sample->root_frames =
		scratch->walk.omitted ? scratch->walk.count - scratch->walk.root_at : 0;
	sample->receiver_count = scratch->walk.receiver_count;
	__builtin_memcpy(sample->receivers, scratch->walk.receivers, sizeof(sample->receivers));
	error = scratch->walk.error;
	if (!error)
		return 0;
cut:
	sample->flags |= RBPROF_SAMPLE_CUT;
	sample->error = error;
	count_error(c, error);
	return 0;
no_ec:
	sample->flags |= RBPROF_SAMPLE_NO_EC;
	sample->thread = 0;
	sample->thread_name = 0;
	sample->thread_object = 0;
	sample->error = error;
	count_error(c, error);
	return 0;
}

#endif
