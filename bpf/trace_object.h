/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ruby's objects as far as tracers use them: fiber-locals, instance variables, numbers and strings
 * (arrays and hashes: trace_table.h). Included by trace.h, which see.
 */
#ifndef RBPROF_BPF_TRACE_OBJECT_H
#define RBPROF_BPF_TRACE_OBJECT_H

#define TRACE_LOCALS	    64	   /* fiber-locals of 2.7 that are looked at */
#define TRACE_PROBES	    32	   /* tries in a table of ids */
#define TRACE_INLINE_IVARS  3	   /* in an object itself, up to 3.1 (ROBJECT_EMBED_LEN_MAX) */
#define TRACE_BIGNUM_SIGN   0x2000 /* internal/bignum.h: positive */
#define TRACE_BIGNUM_EMBED  0x4000
#define TRACE_BIGNUM_LENGTH 15
#define TRACE_STRING_LENGTH 14 /* embedded, up to 3.1: bits of the flags */

struct trace {
	const struct ruby_layout *layout;
	const struct rbprof_tracer *tracer;
	struct trace_state *state;
	const struct rbprof_ivars *roles[TRACE_ROLE_COUNT]; /* of this search; NULL: not yet met */
};

/* The object that was opened last: what else is known of it lies in the state. */
struct trace_object {
	const struct rbprof_ivars *ivars;
};

static __always_inline __u64 trace_word(const struct trace *trace, __u32 offset)
{
	__u32 at = offset / 8;

	return at < TRACE_WORDS ? trace->state->words[at] : 0;
}

static __always_inline int trace_fail(struct trace *trace, __u32 error)
{
	trace->state->trace.error = error;
	return -1;
}

/* Whether a VALUE is an object on the heap (special_consts.h). */
static __always_inline int trace_is_heap(const struct trace *trace, __u64 value)
{
	return !(value & 7) && value > 0x100 && value != trace->layout->qnil;
}

/* ---- fiber-locals ---- */

/* 3.0 and later (id_table.c: hash_table_index): an open table of 2^n places. */
static long trace_id_step(__u32 index, void *context)
{
	struct trace *trace = context;
	const struct ruby_layout *layout = trace->layout;
	__u64 *item = trace->state->pair;

	/* id_item: key and whether others follow, then the value. */
	if (walk_read(item, 16,
		      trace->state->words[2] + trace->state->at * layout->id_item__sizeof)) {
		trace_fail(trace, RBPROF_E_TRACE_FAULT);
		return 1;
	}
	if ((__u32)item[0] == (__u32)trace->state->key) {
		trace->state->probe = item[1];
		return 1;
	}
	if (!(item[0] >> 32))
		return 1;
	trace->state->at = (trace->state->at + index + 1) & ((__u32)trace->state->words[0] - 1);
	return 0;
}

/* 2.7 (st.c): entries in the order in which they came. */
static long trace_st_step(__u32 index, void *context)
{
	struct trace *trace = context;
	const struct ruby_layout *layout = trace->layout;
	__u64 *entry = trace->state->pair;

	(void)index;
	if (trace->state->at >= trace->state->words[1])
		return 1;
	/* struct st_table_entry: hash, key, record */
	if (walk_read(entry, 24,
		      trace->state->words[2] + trace->state->at * layout->st_entry__sizeof)) {
		trace_fail(trace, RBPROF_E_TRACE_FAULT);
		return 1;
	}
	trace->state->at++;
	if (entry[0] == ~0ULL || entry[1] != trace->state->key)
		return 0;
	trace->state->probe = entry[2];
	return 1;
}

/* The value of a fiber-local; 0: it has none. Negative: state->trace.error says why. */
static __always_inline int trace_local(struct trace *trace, __u64 key, __u64 *ret_value)
{
	const struct ruby_layout *layout = trace->layout;
	__u64 table = trace->state->local_storage;

	*ret_value = 0;
	if (!table)
		return 0;
	trace->state->key = key;
	trace->state->probe = 0;
	if (layout->robject__numiv != RUBY_NO_FIELD &&
	    layout->iv_index_entry__index == RUBY_NO_FIELD) {
		/* entries_start, entries_bound, entries */
		if (walk_read(trace->state->words, 24, table + layout->st_table__entries_start))
			return trace_fail(trace, RBPROF_E_TRACE_FAULT);
		trace->state->at = trace->state->words[0];
		walk_loop(TRACE_LOCALS, trace_st_step, trace);
	} else {
		if (walk_read(trace->state->words, 24, table))
			return trace_fail(trace, RBPROF_E_TRACE_FAULT);
		/* capa and num, used, items */
		trace->state->words[0] = (__u32)trace->state->words[0];
		if (!trace->state->words[0] ||
		    trace->state->words[0] & (trace->state->words[0] - 1))
			return trace->state->words[0] ? trace_fail(trace, RBPROF_E_TRACE_FAULT) : 0;
		trace->state->at = key & (trace->state->words[0] - 1);
		walk_loop(TRACE_PROBES, trace_id_step, trace);
	}
	*ret_value = trace->state->probe;
	return trace->state->trace.error ? -1 : 0;
}

/* Whether names came since user space looked at all fiber-locals. */
static __always_inline int trace_has_new_names(struct trace *trace)
{
	__u32 *count = (__u32 *)&trace->state->value;

	return trace->tracer->ids_address && !walk_read(count, 4, trace->tracer->ids_address) &&
	       *count != trace->tracer->ids;
}

/* Whether state->pair, key and value, is a fiber-local that holds a context of dd-trace-rb. */
static __always_inline int trace_is_context(struct trace *trace, __u64 serial)
{
	__u64 *head = trace->state->digits;

	return serial > trace->state->at && trace_is_heap(trace, trace->state->pair[1]) &&
	       !walk_read(head, 16, trace->state->pair[1]) &&
	       (head[0] & RUBY_T_MASK) == RUBY_T_OBJECT && head[1] == trace->tracer->datadog_class;
}

static __always_inline void trace_note_context(struct trace *trace)
{
	trace->state->found = trace->state->pair[1];
	trace->state->probe++;
}

static long trace_context_id_step(__u32 index, void *context)
{
	struct trace *trace = context;
	__u64 *item = trace->state->pair;

	if (index >= (__u32)trace->state->words[0] ||
	    walk_read(item, 16, trace->state->words[2] + index * trace->layout->id_item__sizeof))
		return 1;
	if (trace_is_context(trace, (__u32)item[0]))
		trace_note_context(trace);
	return 0;
}

static long trace_context_st_step(__u32 index, void *context)
{
	struct trace *trace = context;
	__u64 *item = trace->state->pair;

	/* struct st_table_entry: hash, key, record */
	if (index >= trace->state->words[1] ||
	    walk_read(item, 16,
		      trace->state->words[2] + index * trace->layout->st_entry__sizeof + 8))
		return 1;
	if (trace_is_context(trace, item[0] >> RUBY_ID_SCOPE_SHIFT))
		trace_note_context(trace);
	return 0;
}

/*
 * Looks through all fiber-locals for contexts of dd-trace-rb by names that came after `since`. How
 * many there are; *ret_context is one of them.
 */
static __always_inline __u64 trace_contexts(struct trace *trace, __u32 since, __u64 *ret_context)
{
	const struct ruby_layout *layout = trace->layout;
	const __u64 table = trace->state->local_storage;
	const int is_st = layout->robject__numiv != RUBY_NO_FIELD &&
			  layout->iv_index_entry__index == RUBY_NO_FIELD;

	trace->state->found = 0;
	trace->state->probe = 0;
	trace->state->at = since;
	if (!table || walk_read(trace->state->words, 24,
				table + (is_st ? layout->st_table__entries_start : 0)))
		return 0;
	if (is_st)
		walk_loop(TRACE_LOCALS, trace_context_st_step, trace);
	else
		walk_loop(TRACE_LOCALS, trace_context_id_step, trace);
	*ret_context = trace->state->found;
	return trace->state->probe;
}

/* ---- objects ---- */

static __always_inline int trace_ask(struct trace *trace, __u64 object, __u64 table)
{
	trace->state->unknown = object;
	trace->state->unknown_table = table;
	return trace_fail(trace, RBPROF_E_TRACE_UNKNOWN);
}

/* What tells the object's kind; its head is in state->words. 0: not to be found. */
static __always_inline __u64 trace_table(struct trace *trace, __u64 flags)
{
	const struct ruby_layout *layout = trace->layout;
	struct trace_state *state = trace->state;
	__u64 *table = &state->klass_table, klass;

	if (layout->robject__numiv == RUBY_NO_FIELD)
		return flags >> 32;
	if (!(flags >> layout->robject_embed_bit & 1))
		return trace_word(trace, layout->robject__iv_index_tbl);
	/* An object with few of them has the table in its class's extension. */
	klass = trace_word(trace, layout->rbasic__klass);
	if (klass && klass == state->klass)
		return *table;
	state->klass = 0;
	if (walk_read(table, 8, klass + layout->rclass__classext_ptr) ||
	    walk_read(table, 8, *table + layout->classext__iv_index_tbl))
		return 0;
	state->klass = klass;
	return *table;
}

/* Reads the head of an object of this type to state->words. 0, or 1: it is none. */
static __always_inline int trace_head(struct trace *trace, __u64 value, __u64 type,
				      __u64 *ret_flags)
{
	if (!trace_is_heap(trace, value) ||
	    walk_read(trace->state->words, sizeof(trace->state->words), value))
		return 1;
	*ret_flags = trace_word(trace, trace->layout->rbasic__flags);
	return (*ret_flags & RUBY_T_MASK) != type;
}

/* The slots that lie in the object's head, which is in state->words, from this offset on. */
static __always_inline void trace_slots_here(struct trace *trace, __u32 offset)
{
	struct trace_state *state = trace->state;
	__u32 i;

	for (i = 0; i < TRACE_INLINE_IVARS; i++)
		state->slots[i] = trace_word(trace, offset + i * (__u32)sizeof(__u64));
	state->first_slot = 0;
	state->slot_count = TRACE_INLINE_IVARS;
}

/* Reads those that an object of the kind may have of the variables that are wanted. */
static __always_inline int trace_read_slots(struct trace *trace, const struct trace_object *object)
{
	struct trace_state *state = trace->state;
	__u32 first = object->ivars->first, count = object->ivars->span, size;

	state->slot_count = 0;
	if (trace->layout->robject__numiv != RUBY_NO_FIELD) {
		if (first >= state->object_room)
			return 0;
		if (count > state->object_room - first)
			count = state->object_room - first;
	}
	size = 8 * count;
	if (size > sizeof(state->slots))
		size = sizeof(state->slots);
	if (!size)
		return 0;
	if (walk_read(state->slots, size, state->object_values + 8 * (__u64)first))
		return trace_fail(trace, RBPROF_E_TRACE_FAULT);
	state->first_slot = first;
	state->slot_count = size / 8;
	return 0;
}

/* Of the object whose head is in state->words: its variables, once its kind is known. */
static __always_inline int trace_find_slots(struct trace *trace, const struct trace_object *object,
					    __u64 value, __u64 flags)
{
	const struct ruby_layout *layout = trace->layout;
	struct trace_state *state = trace->state;

	if (object->ivars->is_complex)
		return trace_fail(trace, RBPROF_E_TRACE_COMPLEX);
	if ((flags >> layout->robject_embed_bit & 1) == layout->robject_embed_bit_means) {
		state->object_values = value + layout->robject__embed;
		state->object_room = TRACE_INLINE_IVARS;
		if (layout->robject__numiv != RUBY_NO_FIELD ||
		    object->ivars->first + object->ivars->span <= TRACE_INLINE_IVARS) {
			trace_slots_here(trace, layout->robject__embed);
			return 0;
		}
	} else {
		state->object_values = trace_word(trace, layout->robject__ivptr);
		state->object_room = (__u32)trace_word(trace, layout->robject__numiv);
	}
	return trace_read_slots(trace, object);
}

/* Reads the head of an object that has instance variables, and what tells its kind. */
static __always_inline int trace_open_head(struct trace *trace, __u64 value, __u64 *ret_flags)
{
	struct trace_state *state = trace->state;

	if (trace_head(trace, value, RUBY_T_OBJECT, ret_flags))
		return trace_fail(trace, RBPROF_E_TRACE_FAULT);
	state->kind.serial = state->serial;
	state->kind.table = trace_table(trace, *ret_flags);
	state->object = value;
	state->object_table = state->kind.table;
	return 0;
}

/* Opens an object that has instance variables. Negative: state->trace.error says why. */
static __always_inline int trace_open(struct trace *trace, __u64 value, struct trace_object *object)
{
	__u64 flags;

	if (trace_open_head(trace, value, &flags))
		return -1;
	object->ivars = trace_ivars(&trace->state->kind);
	if (!object->ivars)
		return trace_ask(trace, value, trace->state->kind.table);
	return trace_find_slots(trace, object, value, flags);
}

/* The same for one of several of a kind, of which it looks only once what it has. */
static __always_inline int trace_open_role(struct trace *trace, __u64 value, enum trace_role role,
					   struct trace_object *object)
{
	__u64 flags;

	if (trace_open_head(trace, value, &flags))
		return -1;
	object->ivars = trace->roles[role];
	if (!object->ivars || trace->state->role_tables[role] != trace->state->kind.table)
		object->ivars = trace_ivars(&trace->state->kind);
	if (!object->ivars)
		return trace_ask(trace, value, trace->state->kind.table);
	return trace_find_slots(trace, object, value, flags);
}

static __always_inline void trace_keep_role(struct trace *trace, enum trace_role role,
					    const struct trace_object *object)
{
	trace->roles[role] = object->ivars;
	trace->state->role_tables[role] = trace->state->object_table;
}

/* An instance variable, Qnil where it is not set. */
static __always_inline int trace_ivar(struct trace *trace, const struct trace_object *object,
				      enum rbprof_ivar ivar, __u64 *ret_value)
{
	const struct ruby_layout *layout = trace->layout;
	struct trace_state *state = trace->state;
	__u32 index = object->ivars->index[ivar], at;

	*ret_value = layout->qnil;
	if (index == RBPROF_IVAR_NONE) {
		if (layout->robject__numiv == RUBY_NO_FIELD)
			return 0;
		/* The table of a class grows. */
		if (walk_read(&state->value, 8,
			      state->object_table + layout->st_table__num_entries))
			return trace_fail(trace, RBPROF_E_TRACE_FAULT);
		return state->value == object->ivars->known
			       ? 0
			       : trace_ask(trace, state->object, state->object_table);
	}
	if (layout->robject__numiv != RUBY_NO_FIELD && index >= state->object_room)
		return 0;
	at = index - state->first_slot;
	if (at < state->slot_count)
		state->value = state->slots[at & (TRACE_SLOTS - 1)];
	else if (walk_read(&state->value, 8, state->object_values + 8 * (__u64)index))
		return trace_fail(trace, RBPROF_E_TRACE_FAULT);
	if (state->value != layout->qundef)
		*ret_value = state->value;
	return 0;
}

/* An Integer, as the 64 bits that it stands for. */
static __always_inline int trace_number(struct trace *trace, __u64 value, __u64 *ret_number)
{
	const struct ruby_layout *layout = trace->layout;
	__u64 *words = trace->state->digits;

	if (value & 1) {
		*ret_number = (__u64)((__s64)value >> 1);
		return 0;
	}
	if (!trace_is_heap(trace, value))
		return trace_fail(trace, RBPROF_E_TRACE_ID);
	if (walk_read(words, 24, value))
		return trace_fail(trace, RBPROF_E_TRACE_FAULT);
	/* Larger than a Fixnum: two digits of 32 bits in the object itself. */
	if ((words[0] & RUBY_T_MASK) != RUBY_T_BIGNUM || !(words[0] & TRACE_BIGNUM_SIGN) ||
	    !(words[0] & TRACE_BIGNUM_EMBED) || (words[0] >> TRACE_BIGNUM_LENGTH & 7) != 2 ||
	    layout->rbignum__embed != 16)
		return trace_fail(trace, RBPROF_E_TRACE_ID);
	*ret_number = words[2];
	return 0;
}

/* ---- strings ---- */

/* Opens a String: its head in state->words, where its bytes are and how many. 0, or 1: it is none.
 */
static __always_inline int trace_string(struct trace *trace, __u64 value, __u64 *ret_address,
					__u64 *ret_length)
{
	const struct ruby_layout *layout = trace->layout;
	__u64 flags;

	if (trace_head(trace, value, RUBY_T_STRING, &flags))
		return 1;
	*ret_length = trace_word(trace, layout->rstring__len);
	if (flags & RUBY_STRING_NOEMBED) {
		*ret_address = trace_word(trace, layout->rstring__heap_ptr);
		return 0;
	}
	if (layout->string_embed_len_in_flags)
		*ret_length = flags >> TRACE_STRING_LENGTH & 0x1f;
	*ret_address = value + layout->rstring__embed;
	return 0;
}

static __always_inline __u64 trace_mix(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
	return hash ^ (hash >> 29);
}

/* Keeps a String as the endpoint, with what tells whether it is still the one sent last. */
static __always_inline void trace_keep_resource(struct trace *trace, __u64 value)
{
	__u64 address, length;

	if (trace_string(trace, value, &address, &length) || length > (1U << 30))
		return;
	trace->state->resource = value;
	trace->state->endpoint_root = trace->state->trace.root;
	trace->state->endpoint_kind = 0;
	trace->state->resource_address = address;
	trace->state->resource_length = (__u32)length;
	trace->state->resource_hash =
		trace_mix(trace_mix(trace_mix(value, length), trace->state->words[2]),
			  trace_mix(trace->state->words[3], trace->state->words[4]));
}

/* Whether a String is exactly "web" or "proxy". */
static __always_inline int trace_is_request(struct trace *trace, __u64 value)
{
	__u64 address, length, *bytes = &trace->state->value;

	if (trace_string(trace, value, &address, &length))
		return 0;
	*bytes = 0;
	if (length == 3)
		return !walk_read(bytes, 3, address) && *bytes == 0x626577; /* "web" */
	if (length == 5)
		return !walk_read(bytes, 5, address) && *bytes == 0x79786f7270; /* "proxy" */
	return 0;
}

#endif
