/* SPDX-License-Identifier: BSD-2-Clause */
#include "tracer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "class.h"
#include "threads.h"
#include "tracer_impl.h"

#define MAX_LOCALS     1024 /* fiber-locals of one fiber */
#define MAX_CLASSES    64   /* of their values, remembered in one search */
#define AR_BOUND_SHIFT 20   /* RHASH_AR_TABLE_BOUND_SHIFT */

static const char context_class[] = "Datadog::Tracing::Context#";
static const char otel_stack[] = "__opentelemetry_context_storage__";

static bool has_st_locals(const struct ruby_layout *layout)
{
	return !has_shapes(layout) && layout->iv_index_entry__index == RUBY_NO_FIELD;
}

bool tracer__supported(const struct ruby_layout *layout)
{
	/* Tables are read head first, in one go. */
	const bool has_locals =
		has_st_locals(layout) ? layout->st_entry__key == 8 && layout->st_entry__record == 16
				      : !layout->id_table__capa && layout->id_table__num == 4 &&
						layout->id_table__items == 16 &&
						!layout->id_item__key && layout->id_item__val == 8;

	return has_locals && layout->ec__local_storage != RUBY_NO_FIELD &&
	       layout->rbignum__embed == 16 && layout->ar_pair__sizeof == 16 &&
	       (!has_shapes(layout) || layout->shape_id_bits != RUBY_NO_FIELD) &&
	       (layout->vm__shape_list != RUBY_NO_FIELD ||
		layout->shape_tree__shape_list != RUBY_NO_FIELD || !has_shapes(layout));
}

int tracer__id_count(const struct tracer_source *source, uint32_t *ret_count)
{
	if (!source->symbols_address)
		return -ENOTSUP;
	return memory__read_u32(source->memory,
				source->symbols_address + source->layout->symbols__last_id,
				ret_count);
}

/* ---- fiber-locals ---- */

struct local {
	uint64_t key; /* as the table has it: an id, or its serial */
	uint64_t value;
};

struct search {
	const struct tracer_source *source;
	struct reader reader;
	struct rbprof_tracer tracer;
	int64_t number; /* at the end of datadog_key's name, -1: none found yet */
	struct {
		uint64_t address;
		bool is_context;
	} classes[MAX_CLASSES];
	size_t class_count;
};

static uint64_t id_of(const struct ruby_layout *layout, uint64_t key)
{
	if (has_st_locals(layout) || key <= layout->last_op_id)
		return key;
	return key << RUBY_ID_SCOPE_SHIFT;
}

/* The number that the name of a key ends in, 0 if in none. */
static int64_t number_of(const struct text *name)
{
	size_t at = name->length;
	int64_t number = 0, unit = 1;

	for (; at && name->length - at < 18; at--, unit *= 10) {
		const char digit = name->bytes[at - 1];

		if (digit < '0' || digit > '9')
			break;
		number += unit * (digit - '0');
	}
	return number;
}

static bool is_context_class(struct search *search, uint64_t klass)
{
	struct text name = { .length = 0 };
	bool is_context;
	size_t i;

	for (i = 0; i < search->class_count; i++) {
		if (search->classes[i].address == klass)
			return search->classes[i].is_context;
	}
	search->reader.count = 0;
	is_context = !class__owner(&search->reader, search->source->symbols, klass, &name, NULL) &&
		     name.length == sizeof(context_class) - 1 &&
		     !memcmp(name.bytes, context_class, name.length);
	if (search->class_count < MAX_CLASSES) {
		search->classes[search->class_count].address = klass;
		search->classes[search->class_count++].is_context = is_context;
	}
	return is_context;
}

/* Of several contexts that of the name with the highest number is in use. */
static void note_context(struct search *search, uint64_t key, uint64_t klass, int64_t number)
{
	struct rbprof_tracer *tracer = &search->tracer;

	tracer->has_older |= tracer->datadog_key && tracer->datadog_key != key;
	if (number < search->number)
		return;
	search->number = number;
	tracer->datadog_key = key;
	tracer->datadog_class = klass;
}

static void look_at_local(struct search *search, const struct local *local)
{
	const struct tracer_source *source = search->source;
	const struct ruby_layout *layout = source->layout;
	struct text name = { .length = 0 };
	uint64_t head[2];

	if (!is_heap_object(layout, local->value) ||
	    memory__read(source->memory, local->value + layout->rbasic__flags, head, sizeof(head)))
		return;
	if ((head[0] & RUBY_T_MASK) == RUBY_T_OBJECT && is_context_class(search, head[1])) {
		if (!symbols__name(source->symbols, id_of(layout, local->key), &name))
			note_context(search, local->key, head[1], number_of(&name));
	} else if ((head[0] & RUBY_T_MASK) == RUBY_T_ARRAY && !search->tracer.otel_key &&
		   !symbols__name(source->symbols, id_of(layout, local->key), &name) &&
		   name.length == sizeof(otel_stack) - 1 &&
		   !memcmp(name.bytes, otel_stack, name.length)) {
		search->tracer.otel_key = local->key;
	}
}

/* 2.7: an st_table by id. */
static int list_st_locals(const struct tracer_source *source, uint64_t table, struct local *locals,
			  size_t *ret_count)
{
	uint64_t head[3], entries[3 * MAX_LOCALS], i, count = 0;
	int err = memory__read(source->memory, table + source->layout->st_table__entries_start,
			       head, sizeof(head));

	if (err)
		return err;
	if (head[1] > MAX_LOCALS || head[0] > head[1])
		return -E2BIG;
	err = memory__read(source->memory, head[2], entries, head[1] * 24);
	for (i = head[0]; !err && i < head[1]; i++) {
		if (entries[3 * i] == ~0ULL)
			continue;
		locals[count++] = (struct local){ entries[3 * i + 1], entries[3 * i + 2] };
	}
	*ret_count = count;
	return err;
}

/* 3.0 and later: a table by the ids' serials. */
static int list_id_locals(const struct tracer_source *source, uint64_t table, struct local *locals,
			  size_t *ret_count)
{
	uint64_t head[3], items[2 * MAX_LOCALS], capacity, i, count = 0;
	int err = memory__read(source->memory, table, head, sizeof(head));

	capacity = err ? 0 : (uint32_t)head[0];
	if (capacity > MAX_LOCALS)
		return -E2BIG;
	if (!err)
		err = memory__read(source->memory, head[2], items, capacity * 16);
	for (i = 0; !err && i < capacity; i++) {
		if ((uint32_t)items[2 * i])
			locals[count++] =
				(struct local){ (uint32_t)items[2 * i], items[2 * i + 1] };
	}
	*ret_count = count;
	return err;
}

static bool is_object(uint64_t key, void *context)
{
	return key == *(const uint64_t *)context;
}

/* Finds the table of all such variables: the one in which this object is, and what is there. */
static bool find_generic(struct search *search, uint64_t object, uint64_t *ret_variables)
{
	const struct tracer_source *source = search->source;
	uint64_t table, value;
	bool found;
	size_t i;

	for (i = 0; i < TRACER_GENERIC_MAX && source->generic_ivars[i]; i++) {
		search->reader.count = 0;
		if (!memory__read_u64(source->memory, source->generic_ivars[i], &table) && table &&
		    !object__st_find(&search->reader, table, is_object, &object, &found, &value) &&
		    found) {
			search->tracer.generic_ivars = source->generic_ivars[i];
			*ret_variables = value;
			return true;
		}
	}
	return false;
}

/* The number of a variable that such an object has, or RBPROF_IVAR_NONE. */
static uint8_t variable_of(const struct tracer_source *source, uint64_t object,
			   enum rbprof_ivar ivar)
{
	const struct ruby_layout *layout = source->layout;
	struct rbprof_ivars ivars;
	uint64_t flags, table;

	if (layout->gen_ivtbl__ivptr == RUBY_NO_FIELD || !is_heap_object(layout, object) ||
	    memory__read_u64(source->memory, object + layout->rbasic__flags, &flags) ||
	    (flags & RUBY_T_MASK) != RUBY_T_DATA || !(flags & RUBY_FL_EXIVAR) ||
	    tracer__ivars(source, object, &table, &ivars))
		return RBPROF_IVAR_NONE;
	return ivars.index[ivar];
}

/* A Hash's pairs: few lie in it (internal/hash.h), more in an st_table. */
static int list_hash(const struct tracer_source *source, uint64_t hash, struct local *pairs,
		     size_t *ret_count)
{
	const struct ruby_layout *layout = source->layout;
	uint64_t flags, table = hash + layout->rhash__table;
	int err = memory__read_u64(source->memory, hash + layout->rbasic__flags, &flags);

	if (!err && (flags & RUBY_T_MASK) != RUBY_T_HASH)
		err = -EINVAL;
	if (!err && layout->rhash__table == RUBY_NO_FIELD)
		err = memory__read_u64(source->memory, hash + layout->rhash__table_ptr, &table);
	if (err || flags & RUBY_HASH_ST)
		return err ? err : list_st_locals(source, table, pairs, ret_count);
	*ret_count = table ? flags >> AR_BOUND_SHIFT & 0xf : 0;
	return memory__read(source->memory, table + layout->ar_table__pairs, pairs,
			    *ret_count * sizeof(*pairs));
}

/* Variables of the thread, not of a fiber: a Hash by Symbols. */
static void look_at_variables(struct search *search, uint64_t thread)
{
	const struct tracer_source *source = search->source;
	const uint8_t index = variable_of(source, thread, RBPROF_IVAR_LOCALS);
	struct local pairs[MAX_LOCALS];
	const uint64_t before = search->tracer.generic_ivars;
	uint64_t variables, hash, head[2];
	size_t count = 0, i;

	if (index == RBPROF_IVAR_NONE || !find_generic(search, thread, &variables) ||
	    memory__read_u64(source->memory,
			     variables + source->layout->gen_ivtbl__ivptr + 8 * (uint64_t)index,
			     &hash) ||
	    !is_heap_object(source->layout, hash) || list_hash(source, hash, pairs, &count))
		count = 0;
	for (i = 0; i < count; i++) {
		if (is_heap_object(source->layout, pairs[i].value) &&
		    !memory__read(source->memory, pairs[i].value, head, sizeof(head)) &&
		    (head[0] & RUBY_T_MASK) == RUBY_T_OBJECT && is_context_class(search, head[1])) {
			search->tracer.datadog_symbol = pairs[i].key;
			search->tracer.datadog_class = head[1];
		}
	}
	if (!search->tracer.datadog_symbol)
		search->tracer.generic_ivars = before;
}

/* A Fiber that has OpenTelemetry's stack as a variable of its own. */
static void look_at_fiber(struct search *search, uint64_t ec)
{
	const struct tracer_source *source = search->source;
	const struct ruby_layout *layout = source->layout;
	uint64_t fiber, self, variables;

	if (search->tracer.generic_ivars ||
	    memory__read_u64(source->memory, ec + layout->ec__fiber_ptr, &fiber) ||
	    memory__read_u64(source->memory, fiber + layout->fiber__self, &self))
		return;
	if (variable_of(source, self, RBPROF_IVAR_OTEL_STACK) != RBPROF_IVAR_NONE)
		find_generic(search, self, &variables);
}

static void look_at_thread(struct search *search, uint64_t ec)
{
	const struct tracer_source *source = search->source;
	struct local locals[MAX_LOCALS];
	size_t count = 0, i;
	uint64_t table;
	int err;

	look_at_fiber(search, ec);
	if (memory__read_u64(source->memory, ec + source->layout->ec__local_storage, &table) ||
	    !table)
		return;
	if (has_st_locals(source->layout))
		err = list_st_locals(source, table, locals, &count);
	else
		err = list_id_locals(source, table, locals, &count);
	for (i = 0; !err && i < count; i++)
		look_at_local(search, &locals[i]);
}

/* OpenTelemetry::Trace::CURRENT_SPAN_KEY, which Datadog's constant of that name is, too. */
static void find_current_span(struct search *search, uint64_t thread)
{
	static const char *const path[] = { "OpenTelemetry", "Trace", "CURRENT_SPAN_KEY", NULL };
	const struct tracer_source *source = search->source;
	uint64_t value;

	if (!*source->current_span_at &&
	    tracer__constant(source, thread, path, source->current_span_at))
		return;
	if (memory__read_u64(source->memory, *source->current_span_at, &value) ||
	    !is_heap_object(source->layout, value))
		*source->current_span_at = 0;
	else
		search->tracer.current_span = value;
}

int tracer__find(const struct tracer_source *source, struct rbprof_tracer *ret_tracer)
{
	struct search search = { .source = source, .number = -1 };
	struct ruby_thread *threads;
	size_t count, i;
	int err;

	/* First: what gets a name meanwhile may not be seen. */
	if (!tracer__id_count(source, &search.tracer.ids))
		search.tracer.ids_address =
			source->symbols_address + source->layout->symbols__last_id;
	err = threads__list(source->memory, source->layout, source->vm_ptr_address, &threads,
			    &count);
	if (err)
		return err;
	reader__init(&search.reader, source->memory, source->layout);
	memory__read(source->memory, source->vm_ptr_address, &search.reader.vm,
		     sizeof(search.reader.vm));
	for (i = 0; i < count; i++) {
		if (threads[i].ec && threads[i].status != RUBY_THREAD_KILLED)
			look_at_thread(&search, threads[i].ec);
	}
	if (count && (search.tracer.otel_key || search.tracer.generic_ivars ||
		      source->ivar_ids[RBPROF_IVAR_OTEL_VALUES]))
		find_current_span(&search, threads[0].self);
	for (i = 0; i < count && !search.tracer.datadog_key; i++) {
		if (threads[i].status != RUBY_THREAD_KILLED)
			look_at_variables(&search, threads[i].self);
	}
	reader__free(&search.reader);
	free(threads);
	*ret_tracer = search.tracer;
	return 0;
}

/* ---- symbols ---- */

#define SYMBOL_FLAG 0x0c /* special_consts.h: RUBY_SYMBOL_FLAG */

bool tracer__is_symbol(const struct tracer_source *source, uint64_t value, const char *name)
{
	struct text text = { .length = 0 };

	/* A literal's: its id lies in it. */
	return (value & 0xff) == SYMBOL_FLAG &&
	       !symbols__name(source->symbols, value >> 8, &text) && text.length == strlen(name) &&
	       !memcmp(text.bytes, name, text.length);
}
