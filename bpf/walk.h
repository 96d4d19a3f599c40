/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The control-frame walker: from an execution context to raw frames.
 *
 * Compiled for BPF and natively alike. Whoever includes this defines
 *	walk_read(into, size, address)		0 or negative
 *	walk_loop(count, step, walk)		calls step(index, walk) until it returns 1
 *	walk_wants_receiver(process, serial)	whether it matters on what the method was called
 *
 * Control frames are an array: the innermost at ec.cfp, the root-most at the end of the VM
 * stack, behind it one slot that is never a frame. (vm_core.h: rb_execution_context_t,
 * rb_control_frame_t, VM_ENV_DATA_INDEX_*; 2.7 to 4.0.)
 */
#ifndef RBPROF_BPF_WALK_H
#define RBPROF_BPF_WALK_H

#define WALK_WORDS 16
#define WALK_OBJECT_WORDS \
	4 /* of an imemo: what a method entry's or special variables' fields need */

/*
 * What changes during a walk. It lies in a map, not on the stack: the verifier follows values on
 * the stack through every step of a loop, and takes those in a map as any number.
 */
struct walk_state {
	__u64 words[WALK_WORDS];	 /* the structure being read */
	__u64 object[WALK_OBJECT_WORDS]; /* the object being read */
	__u64 cfp;
	__u64 hash;
	__u64 process;	  /* with methods: serial of the process image, and the sample's epoch */
	__u64 epoch;	  /* RBPROF_GC_STATE_UNKNOWN: nothing is remembered */
	__u32 max_frames; /* at most RBPROF_MAX_FRAMES */
	__u32 count;	  /* frames put out */
	__u32 inner;	  /* control frames before the omitted ones */
	__u32 omitted;
	__u32 root_at;	      /* count when the omitted frames were passed */
	__u32 error;	      /* enum rbprof_error: why the walk ended early, or what is missing */
	__u32 unowned;	      /* frames without a method */
	__u32 generation;     /* how many methods there are whose receivers matter; 0: none */
	__u32 receiver_count; /* that were met; the last ones are kept */
	struct rbprof_receiver receivers[RBPROF_RECEIVERS];
};

/*
 * Serial numbers of method entries seen lately, so that most frames need two reads, not four.
 * What was on a stack in one epoch is the same object on a later stack of that epoch.
 */
#define WALK_METHODS 512 /* a power of two */

struct walk_methods {
	struct {
		__u64 entry;
		__u64 serial;
		__u64 process; /* serial of the process image */
		__u64 epoch;
		__u32 generation;     /* when the next was found out; 0: it was not */
		__u32 wants_receiver; /* see walk_wants_receiver() */
	} slots[WALK_METHODS];
};

struct walk {
	const struct ruby_layout *layout;
	struct rbprof_frame *frames; /* room for max_frames */
	struct walk_state *state;
	struct walk_methods *methods; /* NULL: none are remembered */
#ifndef __bpf__
	uint64_t *receivers; /* those of all frames, by index; NULL: they are not asked for */
#endif
};

/* A word of the structure that lies in walk->state->words, by its offset in the structure. */
static __always_inline __u64 walk_word(const struct walk *walk, __u32 offset)
{
	return walk->state->words[(offset / 8) & (WALK_WORDS - 1)];
}

static __always_inline void walk_hash(struct walk *walk, __u64 word)
{
	__u64 h = (walk->state->hash ^ word) * 0x9e3779b97f4a7c15ULL;

	walk->state->hash = h ^ (h >> 29);
}

/* A word of the object that lies in state->object, by its offset in the object. */
static __always_inline __u64 walk_object_word(const struct walk_state *state, __u32 offset)
{
	return state->object[(offset / 8) & (WALK_OBJECT_WORDS - 1)];
}

/* What is known of a frame's method. */
struct walk_method {
	__u64 entry;  /* 0: none */
	__u64 serial; /* of its definition */
};

static __always_inline __u32 walk_slot(__u64 entry)
{
	return ((entry >> 3) ^ (entry >> 12)) & (WALK_METHODS - 1);
}

/*
 * The method entry that me_cref leads to: itself, or what the special variables of the frame
 * keep in its place. Negative if unreadable.
 */
static __always_inline int walk_me_cref(const struct ruby_layout *layout, struct walk_state *state,
					struct walk_methods *methods, __u64 me_cref,
					struct walk_method *method)
{
	__u64 type;
	__u32 slot;
	int i;

	method->entry = 0;
	method->serial = 0;
	for (i = 0; i < 2; i++) {
		if (!me_cref || (me_cref & 7))
			return 0;
		slot = walk_slot(me_cref);
		if (methods && methods->slots[slot].entry == me_cref &&
		    methods->slots[slot].epoch == state->epoch &&
		    methods->slots[slot].process == state->process &&
		    state->epoch != RBPROF_GC_STATE_UNKNOWN) {
			method->entry = me_cref;
			method->serial = methods->slots[slot].serial;
			return 0;
		}
		if (walk_read(state->object, sizeof(state->object), me_cref))
			return -1;
		type = walk_object_word(state, layout->rbasic__flags);
		if ((type & RUBY_T_MASK) != RUBY_T_IMEMO)
			return 0;
		type = (type >> RUBY_FL_USHIFT) & RUBY_IMEMO_MASK;
		if (type == RUBY_IMEMO_MENT) {
			method->entry = me_cref;
			if (walk_read(&method->serial, sizeof(method->serial),
				      walk_object_word(state, layout->cme__def) +
					      layout->def__method_serial))
				return -1;
			if (methods) {
				methods->slots[slot].entry = me_cref;
				methods->slots[slot].serial = method->serial;
				methods->slots[slot].process = state->process;
				methods->slots[slot].epoch = state->epoch;
				methods->slots[slot].generation = 0;
			}
			return 0;
		}
		if (type != RUBY_IMEMO_SVAR)
			return 0;
		me_cref = walk_object_word(state, layout->svar__cref_or_me);
	}
	return 0;
}

/* From a block's environment outwards, to the one that has the method entry. */
struct walk_env {
	const struct ruby_layout *layout;
	struct walk_state *state;
	struct walk_methods *methods;
	__u64 env[3]; /* ep[-2] to ep[0] */
	struct walk_method method;
	__u32 is_done;
	__u32 error;
};

static long walk_env_step(__u32 index, void *context)
{
	struct walk_env *walk = context;
	__u64 ep;

	(void)index;
	if (walk_me_cref(walk->layout, walk->state, walk->methods, walk->env[0], &walk->method))
		goto fault;
	if (walk->method.entry || (walk->env[2] & RUBY_ENV_FLAG_LOCAL)) {
		walk->is_done = 1;
		return 1;
	}
	ep = walk->env[1] & RUBY_ENV_POINTER_MASK;
	if (walk_read(walk->env, sizeof(walk->env), ep + 8 * RUBY_ENV_INDEX_ME_CREF))
		goto fault;
	return 0;
fault:
	walk->error = RBPROF_E_ENV_FAULT;
	return 1;
}

/*
 * The method entry of the frame whose environment ep points to; env holds ep[-2] to ep[0].
 * Blocks reach their method's through the environments around them.
 */
static __always_inline void walk_method(struct walk *walk, const __u64 *env,
					struct walk_method *method)
{
	struct walk_env outer = {
		.layout = walk->layout,
		.state = walk->state,
		.methods = walk->methods,
	};

	if (walk_me_cref(walk->layout, walk->state, walk->methods, env[0], method)) {
		outer.error = RBPROF_E_ENV_FAULT;
		goto unreadable;
	}
	if (method->entry || (env[2] & RUBY_ENV_FLAG_LOCAL))
		return;
	outer.env[1] = env[1];
	outer.env[2] = env[2];
	walk_loop(RBPROF_ENV_DEPTH, walk_env_step, &outer);
	if (outer.is_done) {
		*method = outer.method;
		return;
	}
unreadable:
	walk->state->error = outer.error ? outer.error : RBPROF_E_ENV_DEPTH;
	method->entry = RBPROF_METHOD_UNREADABLE;
	method->serial = 0;
}

/* Whether the receiver of a method matters; asked once a method, epoch and generation. */
static __always_inline int walk_is_wanted(struct walk *walk, const struct walk_method *method)
{
	const __u64 entry = method->entry;
	const __u32 slot = walk_slot(entry), generation = walk->state->generation;
	int wanted;

	if (!walk->methods || walk->methods->slots[slot].entry != entry)
		return walk_wants_receiver(walk->state->process, method->serial);
	if (walk->methods->slots[slot].generation == generation)
		return walk->methods->slots[slot].wants_receiver;
	wanted = walk_wants_receiver(walk->state->process, method->serial);
	walk->methods->slots[slot].generation = generation;
	walk->methods->slots[slot].wants_receiver = wanted;
	return wanted;
}

/*
 * Notes the class of the frame's receiver, if that matters. It is part of what the stack is: with
 * another class it is another one.
 */
static __always_inline void walk_receiver(struct walk *walk, __u64 frame_flags, __u32 at,
					  const struct walk_method *method)
{
	const __u64 self = walk_word(walk, walk->layout->cfp__self);
	struct walk_state *state = walk->state;
	__u32 place = state->receiver_count & (RBPROF_RECEIVERS - 1);
	__u64 *klass = &state->receivers[place].klass;

#ifndef __bpf__
	if (walk->receivers)
		walk->receivers[at] = self;
#endif
	if (!state->generation || !method->serial ||
	    !((frame_flags & RUBY_FRAME_MAGIC_MASK) == RUBY_FRAME_MAGIC_METHOD ||
	      frame_flags & RUBY_FRAME_FLAG_BMETHOD) ||
	    !walk_is_wanted(walk, method))
		return;
	*klass = 0;
	if (!(self & 7) && self > 0x100 &&
	    walk_read(klass, sizeof(*klass), self + walk->layout->rbasic__klass))
		*klass = 0;
	state->receivers[place].frame = at;
	state->receivers[place].reserved = 0;
	state->receiver_count++;
	/* A class may be freed: the stack's names have to be proved again, and soon. */
	state->unowned += 2;
	walk_hash(walk, *klass);
}

/* Puts out the frame at walk->state->cfp, if it is one with a name. 0, or 1 to stop. */
static __always_inline int walk_frame(struct walk *walk)
{
	const struct ruby_layout *layout = walk->layout;
	__u64 env[3], pc, iseq, ep;
	struct walk_method method;
	struct rbprof_frame *frame;
	__u32 size = layout->cfp__sizeof, at;

	if (size > WALK_WORDS * sizeof(__u64))
		size = WALK_WORDS * sizeof(__u64);
	if (walk_read(walk->state->words, size, walk->state->cfp)) {
		walk->state->error = RBPROF_E_FRAME_FAULT;
		return 1;
	}
	pc = walk_word(walk, layout->cfp__pc);
	iseq = walk_word(walk, layout->cfp__iseq);
	ep = walk_word(walk, layout->cfp__ep);
	walk->state->cfp += layout->cfp__sizeof;
	if (walk_read(env, sizeof(env), ep + 8 * RUBY_ENV_INDEX_ME_CREF)) {
		walk->state->error = RBPROF_E_ENV_FAULT;
		return 1;
	}
	if (env[2] & RUBY_FRAME_FLAG_CFRAME) {
		if ((env[2] & RUBY_FRAME_MAGIC_MASK) != RUBY_FRAME_MAGIC_CFUNC)
			return 0;
		iseq = pc = 0;
	} else if (!pc || !iseq) {
		return 0; /* a file's dummy frame, or one not yet set up */
	}
	at = walk->state->count;
	if (at >= walk->state->max_frames || at >= RBPROF_MAX_FRAMES)
		return 1;
	frame = &walk->frames[at];
	frame->iseq = iseq;
	frame->pc = pc;
	walk_method(walk, env, &method);
	frame->method_entry = method.entry;
	frame->method_serial = method.serial;
	walk_hash(walk, frame->iseq);
	walk_hash(walk, frame->pc);
	walk_hash(walk, method.entry);
	walk_hash(walk, method.serial);
	walk->state->unowned += !method.serial;
	walk_receiver(walk, env[2], at, &method);
	walk->state->count = at + 1;
	return 0;
}

static long walk_step(__u32 index, void *context)
{
	struct walk *walk = context;

	if (index == walk->state->inner && walk->state->omitted) {
		walk->state->cfp += (__u64)walk->state->omitted * walk->layout->cfp__sizeof;
		walk->state->root_at = walk->state->count;
	}
	return walk_frame(walk);
}

/*
 * Walks the stack whose bounds are given. The pointers in walk, state->max_frames and state->hash
 * are set by the caller; the rest is set here. A stack deeper than max_frames keeps its innermost
 * and its root-most frames.
 */
static __always_inline void walk_stack(struct walk *walk, __u64 cfp, __u64 vm_stack,
				       __u64 vm_stack_words)
{
	__u64 end = vm_stack + 8 * vm_stack_words, total;
	__u32 size = walk->layout->cfp__sizeof, steps;

	walk->state->cfp = cfp;
	walk->state->count = 0;
	walk->state->omitted = 0;
	walk->state->root_at = 0;
	walk->state->inner = 0;
	walk->state->error = RBPROF_OK;
	walk->state->unowned = 0;
	walk->state->receiver_count = 0;
	if (!size || vm_stack_words > (1ULL << 32) || (cfp & 7) || cfp < vm_stack ||
	    cfp + size > end) {
		walk->state->error = RBPROF_E_STACK_BOUNDS;
		return;
	}
	total = (end - cfp) / size - 1;
	steps = total > walk->state->max_frames ? walk->state->max_frames : (__u32)total;
	if (total > walk->state->max_frames) {
		__u32 roots = walk->state->max_frames / 2;

		if (roots > RBPROF_ROOT_FRAMES)
			roots = RBPROF_ROOT_FRAMES;
		walk->state->inner = walk->state->max_frames - roots;
		walk->state->omitted = (__u32)(total - walk->state->max_frames);
	}
	walk_loop(steps, walk_step, walk);
	walk_hash(walk, ((__u64)walk->state->omitted << 32) | walk->state->error);
}

#endif
