/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The control-frame walker: from an execution context to raw frames.
 *
 * Compiled for BPF and natively alike. Whoever includes this defines
 *	walk_read(into, size, address)		0 or negative
 *	walk_loop(count, step, walk)		calls step(index, walk) until it returns 1
 *
 * Control frames are an array: the innermost at ec.cfp, the root-most at the end of the VM
 * stack, behind it one slot that is never a frame. (vm_core.h: rb_execution_context_t,
 * rb_control_frame_t, VM_ENV_DATA_INDEX_*; 2.7 to 4.0.)
 */
#ifndef RBPROF_BPF_WALK_H
#define RBPROF_BPF_WALK_H

#define WALK_WORDS 16

struct walk {
	const struct ruby_layout *layout;
	__u64 *words;		     /* WALK_WORDS of room for the structure being read */
	struct rbprof_frame *frames; /* room for max_frames */
	__u64 cfp;
	__u64 hash;
	__u32 max_frames; /* at most RBPROF_MAX_FRAMES */
	__u32 count;	  /* frames put out */
	__u32 inner;	  /* control frames before the omitted ones */
	__u32 omitted;
	__u32 root_at; /* count when the omitted frames were passed */
	__u32 error;   /* enum rbprof_error: why the walk ended early, or what is missing */
};

/* A word of the structure that lies in walk->words, by its offset in the structure. */
static __always_inline __u64 walk_word(const struct walk *walk, __u32 offset)
{
	return walk->words[(offset / 8) & (WALK_WORDS - 1)];
}

static __always_inline void walk_hash(struct walk *walk, __u64 word)
{
	__u64 h = (walk->hash ^ word) * 0x9e3779b97f4a7c15ULL;

	walk->hash = h ^ (h >> 29);
}

/*
 * The method entry that me_cref leads to: itself, or what the special variables of the frame
 * keep in its place; 0 if it is none. Negative if unreadable.
 */
static __always_inline int walk_me_cref(struct walk *walk, __u64 me_cref, __u64 *ret_me)
{
	const struct ruby_layout *layout = walk->layout;
	__u64 flags;
	int i;

	*ret_me = 0;
	for (i = 0; i < 2; i++) {
		if (!me_cref || (me_cref & 7))
			return 0;
		if (walk_read(&flags, sizeof(flags), me_cref + layout->rbasic__flags))
			return -1;
		if ((flags & RUBY_T_MASK) != RUBY_T_IMEMO)
			return 0;
		flags = (flags >> RUBY_FL_USHIFT) & RUBY_IMEMO_MASK;
		if (flags == RUBY_IMEMO_MENT) {
			*ret_me = me_cref;
			return 0;
		}
		if (flags != RUBY_IMEMO_SVAR)
			return 0;
		if (walk_read(&me_cref, sizeof(me_cref), me_cref + layout->svar__cref_or_me))
			return -1;
	}
	return 0;
}

/*
 * The method entry of the frame whose environment ep points to; env holds ep[-2] to ep[0].
 * Blocks reach their method's through the environments around them.
 */
static __always_inline __u64 walk_method_entry(struct walk *walk, __u64 *env)
{
	__u64 me = 0, ep;
	int i;

	for (i = 0; i < RBPROF_ENV_DEPTH; i++) {
		if (walk_me_cref(walk, env[0], &me))
			goto fault;
		if (me || (env[2] & RUBY_ENV_FLAG_LOCAL))
			return me;
		ep = env[1] & RUBY_ENV_POINTER_MASK;
		if (walk_read(env, 3 * sizeof(*env), ep + 8 * RUBY_ENV_INDEX_ME_CREF))
			goto fault;
	}
	walk->error = RBPROF_E_ENV_DEPTH;
	return RBPROF_METHOD_UNREADABLE;
fault:
	walk->error = RBPROF_E_ENV_FAULT;
	return RBPROF_METHOD_UNREADABLE;
}

/* Puts out the frame at walk->cfp, if it is one with a name. 0, or 1 to stop. */
static __always_inline int walk_frame(struct walk *walk)
{
	const struct ruby_layout *layout = walk->layout;
	__u64 env[3], pc, iseq, ep;
	struct rbprof_frame *frame;
	__u32 size = layout->cfp__sizeof;

	if (size > WALK_WORDS * sizeof(*walk->words))
		size = WALK_WORDS * sizeof(*walk->words);
	if (walk_read(walk->words, size, walk->cfp)) {
		walk->error = RBPROF_E_FRAME_FAULT;
		return 1;
	}
	pc = walk_word(walk, layout->cfp__pc);
	iseq = walk_word(walk, layout->cfp__iseq);
	ep = walk_word(walk, layout->cfp__ep);
	walk->cfp += layout->cfp__sizeof;
	if (walk_read(env, sizeof(env), ep + 8 * RUBY_ENV_INDEX_ME_CREF)) {
		walk->error = RBPROF_E_ENV_FAULT;
		return 1;
	}
	if (env[2] & RUBY_FRAME_FLAG_CFRAME) {
		if ((env[2] & RUBY_FRAME_MAGIC_MASK) != RUBY_FRAME_MAGIC_CFUNC)
			return 0;
		iseq = pc = 0;
	} else if (!pc || !iseq) {
		return 0; /* a file's dummy frame, or one not yet set up */
	}
	if (walk->count >= walk->max_frames || walk->count >= RBPROF_MAX_FRAMES)
		return 1;
	frame = &walk->frames[walk->count];
	frame->iseq = iseq;
	frame->pc = pc;
	frame->method_entry = walk_method_entry(walk, env);
	walk_hash(walk, frame->iseq);
	walk_hash(walk, frame->pc);
	walk_hash(walk, frame->method_entry);
	walk->count++;
	return 0;
}

static long walk_step(__u32 index, void *context)
{
	struct walk *walk = context;

	if (index == walk->inner && walk->omitted) {
		walk->cfp += (__u64)walk->omitted * walk->layout->cfp__sizeof;
		walk->root_at = walk->count;
	}
	return walk_frame(walk);
}

/*
 * Walks the stack whose bounds are given. walk->layout, words, frames, max_frames and hash are
 * set by the caller; the rest is set here. A stack deeper than max_frames keeps its innermost
 * and its root-most frames.
 */
static __always_inline void walk_stack(struct walk *walk, __u64 cfp, __u64 vm_stack,
				       __u64 vm_stack_words)
{
	__u64 end = vm_stack + 8 * vm_stack_words, total;
	__u32 size = walk->layout->cfp__sizeof, steps;

	walk->cfp = cfp;
	walk->count = 0;
	walk->omitted = 0;
	walk->root_at = 0;
	walk->inner = 0;
	walk->error = RBPROF_OK;
	if (!size || vm_stack_words > (1ULL << 32) || (cfp & 7) || cfp < vm_stack ||
	    cfp + size > end) {
		walk->error = RBPROF_E_STACK_BOUNDS;
		return;
	}
	total = (end - cfp) / size - 1;
	steps = total > walk->max_frames ? walk->max_frames : (__u32)total;
	if (total > walk->max_frames) {
		__u32 roots = walk->max_frames / 2;

		if (roots > RBPROF_ROOT_FRAMES)
			roots = RBPROF_ROOT_FRAMES;
		walk->inner = walk->max_frames - roots;
		walk->omitted = (__u32)(total - walk->max_frames);
	}
	walk_loop(steps, walk_step, walk);
	walk_hash(walk, ((__u64)walk->omitted << 32) | walk->error);
}

#endif
