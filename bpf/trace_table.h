/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Arrays, hashes, and the table in which the VM has the variables of objects that have no place for
 * them, such as threads and fibers. Included by trace.h, which see.
 */
#ifndef RBPROF_BPF_TRACE_TABLE_H
#define RBPROF_BPF_TRACE_TABLE_H

#define TRACE_BINS	   64 /* tries in the table of all objects with such variables */
#define TRACE_ENTRIES	   64 /* of a Hash */
#define TRACE_AR_BOUND	   20 /* internal/hash.h: bits of the flags */
#define TRACE_ARRAY_LENGTH 15

/* ---- collections ---- */

/* An Array's length and the address of its elements. 0, or 1: it is none. */
static __always_inline int trace_array(struct trace *trace, __u64 value, __u64 *ret_length,
				       __u64 *ret_elements)
{
	const struct ruby_layout *layout = trace->layout;
	__u64 flags;

	if (trace_head(trace, value, RUBY_T_ARRAY, &flags))
		return 1;
	if (flags & RUBY_ARRAY_EMBED) {
		*ret_length = flags >> TRACE_ARRAY_LENGTH & layout->array_embed_len_mask;
		*ret_elements = value + layout->rarray__embed;
	} else {
		*ret_length = trace_word(trace, layout->rarray__heap_len);
		*ret_elements = trace_word(trace, layout->rarray__heap_ptr);
	}
	return 0;
}

static long trace_ar_step(__u32 index, void *context)
{
	struct trace *trace = context;
	const __u64 *pairs = trace->state->pairs;

	if (index >= trace->state->words[1])
		return 1;
	if (pairs[2 * index & (2 * TRACE_PAIRS - 1)] != trace->state->key)
		return 0;
	trace->state->probe = pairs[(2 * index + 1) & (2 * TRACE_PAIRS - 1)];
	return 1;
}

/* A small Hash: its pairs, of two words each, lie behind each other. */
static __always_inline int trace_ar_table(struct trace *trace, __u64 pairs, __u64 count)
{
	__u32 size = 16 * (__u32)count;

	if (size > sizeof(trace->state->pairs))
		size = sizeof(trace->state->pairs);
	if (!size)
		return 0;
	if (walk_read(trace->state->pairs, size, pairs))
		return trace_fail(trace, RBPROF_E_TRACE_FAULT);
	trace->state->words[1] = size / 16;
	walk_loop(TRACE_PAIRS, trace_ar_step, trace);
	return 0;
}

/* The value that a Hash has for this very object; 0: none. Negative: state->trace.error. */
static __always_inline int trace_hash(struct trace *trace, __u64 value, __u64 key, __u64 *ret_value)
{
	const struct ruby_layout *layout = trace->layout;
	__u64 flags, table;

	*ret_value = 0;
	if (trace_head(trace, value, RUBY_T_HASH, &flags))
		return trace_fail(trace, RBPROF_E_TRACE_FAULT);
	table = layout->rhash__table == RUBY_NO_FIELD ? trace_word(trace, layout->rhash__table_ptr)
						      : value + layout->rhash__table;
	trace->state->key = key;
	trace->state->probe = 0;
	if (flags & RUBY_HASH_ST) {
		if (walk_read(trace->state->words, 24, table + layout->st_table__entries_start))
			return trace_fail(trace, RBPROF_E_TRACE_FAULT);
		trace->state->at = trace->state->words[0];
		walk_loop(TRACE_ENTRIES, trace_st_step, trace);
	} else if (table) {
		trace_ar_table(trace, table + layout->ar_table__pairs,
			       flags >> TRACE_AR_BOUND & 0xf);
	}
	*ret_value = trace->state->probe;
	return trace->state->trace.error ? -1 : 0;
}

/* ---- variables of objects that have no place for them ---- */

static __always_inline __u64 trace_key_hash(__u64 key)
{
	/* st.c: st_numhash, do_hash */
	__u64 hash = (key >> 11 | key << 3) ^ key >> 3;

	return hash == ~0ULL ? 1ULL << 63 : hash;
}

/* A bin's number, of 1, 2, 4 or 8 bytes. */
static __always_inline int trace_bin(__u64 address, __u32 shift, __u64 *ret_bin)
{
	*ret_bin = 0;
	switch (shift) {
	case 0:
		return walk_read(ret_bin, 1, address);
	case 1:
		return walk_read(ret_bin, 2, address);
	case 2:
		return walk_read(ret_bin, 4, address);
	default:
		return walk_read(ret_bin, 8, address);
	}
}

/* words: bins, start, bound, entries; at: the bin; probe: what disturbs its number. */
static long trace_bin_step(__u32 index, void *context)
{
	struct trace *trace = context;
	const struct ruby_layout *layout = trace->layout;
	__u64 *entry = trace->state->pair, *bin = &trace->state->value;
	__u64 mask = trace->state->words[4];
	__u32 shift = trace->state->bin_shift & 3;

	(void)index;
	if (trace_bin(trace->state->words[0] + (trace->state->at << shift), shift, bin))
		goto fault;
	if (!*bin)
		return 1;
	if (*bin > 1) { /* 1: deleted; an entry's number has 2 added */
		if (walk_read(entry, 24,
			      trace->state->words[3] + (*bin - 2) * layout->st_entry__sizeof))
			goto fault;
		if (entry[1] == trace->state->key && entry[0] != ~0ULL) {
			trace->state->found = entry[2];
			return 1;
		}
	}
	/* st.c: secondary_hash() */
	trace->state->probe >>= 11;
	trace->state->at =
		((trace->state->at << 2) + trace->state->at + trace->state->probe + 1) & mask;
	return 0;
fault:
	trace_fail(trace, RBPROF_E_TRACE_FAULT);
	return 1;
}

/* The variables of an object in the table of all such objects; 0: it has none. */
static __always_inline int trace_generic(struct trace *trace, __u64 object, __u64 *ret_variables)
{
	const struct ruby_layout *layout = trace->layout;
	const __u64 *head = trace->state->slots;
	const __u32 at = layout->st_table__bins / 8;
	__u32 i, size = layout->st_table__bins + 32;
	__u64 table, powers;

	*ret_variables = 0;
	trace->state->value = 0;
	if (walk_read(&trace->state->value, 8, trace->tracer->generic_ivars) ||
	    !trace->state->value)
		return trace_fail(trace, RBPROF_E_TRACE_FAULT);
	table = trace->state->value;
	/* The head, of which the first bytes are powers of two, and from the bins on the rest. */
	if (size > sizeof(trace->state->slots) || walk_read(trace->state->slots, size, table))
		return trace_fail(trace, RBPROF_E_TRACE_FAULT);
	powers = (__u32)head[0];
	for (i = 0; i < 4; i++)
		trace->state->words[i] = head[(at + i) & (TRACE_SLOTS - 1)];
	trace->state->key = object;
	trace->state->probe = 0;
	if (!trace->state->words[0]) { /* few: without bins */
		trace->state->at = trace->state->words[1];
		trace->state->words[1] = trace->state->words[2];
		trace->state->words[2] = trace->state->words[3];
		walk_loop(TRACE_ENTRIES, trace_st_step, trace);
		*ret_variables = trace->state->probe;
		return trace->state->trace.error ? -1 : 0;
	}
	trace->state->found = 0;
	trace->state->bin_shift = powers >> (8 * (layout->st_table__size_ind & 3)) & 3;
	trace->state->words[4] =
		(1ULL << (powers >> (8 * (layout->st_table__bin_power & 3)) & 63)) - 1;
	trace->state->probe = trace_key_hash(object);
	trace->state->at = trace->state->probe & trace->state->words[4];
	walk_loop(TRACE_BINS, trace_bin_step, trace);
	*ret_variables = trace->state->found;
	return trace->state->trace.error ? -1 : 0;
}

/* The values of such variables, which lie behind their number (struct gen_ivtbl). */
static __always_inline int trace_generic_slots(struct trace *trace, __u64 variables)
{
	const struct ruby_layout *layout = trace->layout;
	struct trace_state *state = trace->state;
	const __u32 at = layout->gen_ivtbl__numiv;

	state->object_values = variables + layout->gen_ivtbl__ivptr;
	state->slot_count = 0;
	if (walk_read(state->words, 16, variables))
		return trace_fail(trace, RBPROF_E_TRACE_FAULT);
	state->object_room = (__u32)(trace_word(trace, at) >> (at & 4) * 8);
	/* The first of them, and mostly the only one, came with their number. */
	if (layout->gen_ivtbl__ivptr == 8) {
		state->slots[0] = state->words[1];
		state->first_slot = 0;
		state->slot_count = 1;
	}
	return 0;
}

/* A variable of a T_DATA object; 0: it has none. */
static __always_inline int trace_variable(struct trace *trace, __u64 self, enum rbprof_ivar ivar,
					  __u64 *ret_value)
{
	const struct ruby_layout *layout = trace->layout;
	struct trace_state *state = trace->state;
	struct rbprof_ivars_key *key = &state->kind;
	struct trace_object object;
	__u64 variables, flags;

	*ret_value = 0;
	if (!trace_is_heap(trace, self))
		return 0; /* nobody asked for it as an object */
	if (walk_read(state->words, sizeof(state->words), self))
		return trace_fail(trace, RBPROF_E_TRACE_FAULT);
	flags = trace_word(trace, layout->rbasic__flags);
	if ((flags & RUBY_T_MASK) != RUBY_T_DATA)
		return trace_fail(trace, RBPROF_E_TRACE_FAULT);
	if (!(flags & RUBY_FL_EXIVAR))
		return 0;
	/* Up to 3.1 the class has the numbers, as for few variables of an ordinary object. */
	key->serial = state->serial;
	key->table = trace_table(trace, flags | 1ULL << (layout->robject_embed_bit & 31));
	object.ivars = trace_ivars(key);
	if (!object.ivars)
		return trace_ask(trace, self, key->table);
	if (object.ivars->is_complex)
		return trace_fail(trace, RBPROF_E_TRACE_COMPLEX);
	state->object = self;
	state->object_table = key->table;
	if (trace_generic(trace, self, &variables))
		return -1;
	if (!variables)
		return 0;
	if (trace_generic_slots(trace, variables) || trace_ivar(trace, &object, ivar, ret_value))
		return -1;
	if (*ret_value == layout->qnil)
		*ret_value = 0;
	return 0;
}

#endif
