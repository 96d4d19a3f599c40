/* SPDX-License-Identifier: BSD-2-Clause */
#include "totals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../util/hash.h"
#include "stack_order.h"

#define HASH_NONFATAL_OOM		  1
#define HASH_FUNCTION(key, length, value) ((value) = hash__bytes(key, length))
#include <uthash.h>

static void add(struct totals_values *sums, const int64_t *values, size_t types)
{
	for (size_t i = 0; i < types; i++)
		sums->values[i] += values[i];
}

/* What is on the way from the root to the stack that is looked at, by depth. */
struct way {
	const struct profile *profile;
	struct totals *totals;
	uint32_t *functions;		 /* from 1 on */
	struct totals_values *sums;	 /* of all stacks that go through there */
	uint32_t *on_way;		 /* by function: how often it is on the way */
	struct totals_values *of_stacks; /* by stack id */
	uint32_t depth;
};

/* Back to a depth: a function's total is what went through the outermost of its frames. */
static void leave(struct way *way, uint32_t depth, size_t types)
{
	for (; way->depth > depth; way->depth--) {
		const struct totals_values *sums = &way->sums[way->depth];
		uint32_t function = way->functions[way->depth];

		add(&way->sums[way->depth - 1], sums->values, types);
		if (!--way->on_way[function])
			add(&way->totals->total[function], sums->values, types);
	}
}

static void enter(struct way *way, const struct stack_order *order,
		  const struct stack_order_entry *entry, size_t types)
{
	const int64_t *values = way->of_stacks[entry->id].values;
	const uint32_t *frames = order->frames + entry->first;

	leave(way, entry->common, types);
	while (way->depth < entry->depth) {
		uint32_t function = profile__frame_at(way->profile, *frames++)->function;

		way->depth++;
		way->functions[way->depth] = function;
		way->on_way[function]++;
		memset(&way->sums[way->depth], 0, sizeof(way->sums[way->depth]));
	}
	add(&way->sums[way->depth], values, types);
	if (way->depth)
		add(&way->totals->self[way->functions[way->depth]], values, types);
}

static int add_up(struct totals *totals, const struct profile *profile)
{
	size_t types = profile__type_count(profile);
	struct stack_order order;
	struct way way = { .profile = profile, .totals = totals };
	int error = stack_order__of_rows(&order, profile, NULL);

	if (error)
		return error;
	way.functions = calloc((size_t)order.depth + 1, sizeof(*way.functions));
	way.sums = calloc((size_t)order.depth + 1, sizeof(*way.sums));
	way.on_way = calloc(totals->function_count + 1, sizeof(*way.on_way));
	way.of_stacks = calloc(profile__stack_count(profile) + 1, sizeof(*way.of_stacks));
	if (!way.functions || !way.sums || !way.on_way || !way.of_stacks) {
		error = -ENOMEM;
		goto out;
	}
	for (size_t i = 0; i < profile__row_count(profile); i++) {
		const struct profile_row *row = profile__row(profile, i);

		add(&way.of_stacks[row->stack], row->values, types);
	}
	for (size_t i = 0; i < order.count; i++)
		enter(&way, &order, &order.entries[i], types);
	leave(&way, 0, types);
	totals->all = way.sums[0];
out:
	free(way.functions);
	free(way.sums);
	free(way.on_way);
	free(way.of_stacks);
	stack_order__free(&order);
	return error;
}

int totals__init(struct totals *totals, const struct profile *profile)
{
	size_t functions = profile__function_count(profile);
	int error = -ENOMEM;

	memset(totals, 0, sizeof(*totals));
	totals->function_count = functions;
	totals->self = calloc(functions + 1, sizeof(*totals->self));
	totals->total = calloc(functions + 1, sizeof(*totals->total));
	if (totals->self && totals->total)
		error = add_up(totals, profile);
	if (error)
		totals__free(totals);
	return error;
}

void totals__free(struct totals *totals)
{
	free(totals->self);
	free(totals->total);
	memset(totals, 0, sizeof(*totals));
}

/* ---- order ---- */

struct order {
	const struct totals *totals;
	const struct profile *profile;
	size_t type;
};

static int compare_texts(const struct profile *profile, uint32_t left, uint32_t right)
{
	const char *a = profile__text(profile, left), *b = profile__text(profile, right);

	return strcmp(a ? a : "", b ? b : "");
}

static int compare_larger_first(int64_t left, int64_t right)
{
	return (left < right) - (left > right);
}

static int compare_functions(const void *left, const void *right, void *context)
{
	const struct order *order = context;
	const struct totals *totals = order->totals;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	const struct profile_function *function_a = profile__function_at(order->profile, a);
	const struct profile_function *function_b = profile__function_at(order->profile, b);
	int result;

	result = compare_larger_first(totals->self[a].values[order->type],
				      totals->self[b].values[order->type]);
	if (!result)
		result = compare_larger_first(totals->total[a].values[order->type],
					      totals->total[b].values[order->type]);
	if (!result)
		result = compare_texts(order->profile, function_a->name, function_b->name);
	if (!result)
		result = compare_texts(order->profile, function_a->file, function_b->file);
	if (!result)
		result = compare_larger_first(function_b->start_line, function_a->start_line);
	if (!result)
		result = compare_texts(order->profile, function_a->system_name,
				       function_b->system_name);
	return result;
}

static bool has_value(const struct totals_values *sums)
{
	for (size_t i = 0; i < PROFILE_MAX_TYPES; i++)
		if (sums->values[i])
			return true;
	return false;
}

int totals__order(const struct totals *totals, const struct profile *profile, size_t type,
		  uint32_t **ret_functions, size_t *ret_count)
{
	struct order order = { totals, profile, type };
	uint32_t *functions = calloc(totals->function_count + 1, sizeof(*functions));
	size_t count = 0;

	if (!functions)
		return -ENOMEM;
	for (uint32_t i = 0; i < totals->function_count; i++)
		if (has_value(&totals->self[i]) || has_value(&totals->total[i]))
			functions[count++] = i;
	qsort_r(functions, count, sizeof(*functions), compare_functions, &order);
	*ret_functions = functions;
	*ret_count = count;
	return 0;
}

/* ---- labels ---- */

struct label_item {
	UT_hash_handle hh;
	struct totals_label sums;
};

struct label_order {
	const struct profile *profile;
	size_t type;
};

static int compare_sums(const void *left, const void *right, void *context)
{
	const struct label_order *order = context;
	const struct totals_label *a = left, *b = right;
	int result = compare_texts(order->profile, a->label.key, b->label.key);

	if (!result)
		result = compare_larger_first(a->sums.values[order->type],
					      b->sums.values[order->type]);
	if (!result)
		result = compare_texts(order->profile, a->label.text, b->label.text);
	if (!result)
		result = compare_larger_first(b->label.number, a->label.number);
	if (!result)
		result = compare_texts(order->profile, a->label.unit, b->label.unit);
	return result;
}

/* Labels in the profile are in one form, padding included: see profile__label_set(). */
static struct label_item *find_item(struct label_item **items, const struct profile_label *label)
{
	struct label_item *item;

	HASH_FIND(hh, *items, label, sizeof(*label), item);
	if (item)
		return item;
	item = calloc(1, sizeof(*item));
	if (!item)
		return NULL;
	memcpy(&item->sums.label, label, sizeof(*label));
	HASH_ADD_KEYPTR(hh, *items, &item->sums.label, sizeof(*label), item);
	if (item->hh.tbl)
		return item;
	free(item);
	return NULL;
}

int totals__labels(const struct profile *profile, size_t type, struct totals_label **ret_labels,
		   size_t *ret_count)
{
	struct label_order order = { profile, type };
	struct label_item *items = NULL, *item, *next;
	struct totals_label *labels = NULL;
	size_t count = 0;
	int error = -ENOMEM;

	for (size_t i = 0; i < profile__row_count(profile); i++) {
		const struct profile_row *row = profile__row(profile, i);
		struct profile_label_set set = profile__label_set_at(profile, row->label_set);

		for (uint32_t j = 0; j < set.count; j++) {
			item = find_item(&items, &set.labels[j]);
			if (!item)
				goto out;
			add(&item->sums.sums, row->values, profile__type_count(profile));
		}
	}
	labels = calloc(HASH_COUNT(items) + 1, sizeof(*labels));
	if (!labels)
		goto out;
	for (item = items; item; item = item->hh.next)
		labels[count++] = item->sums;
	qsort_r(labels, count, sizeof(*labels), compare_sums, &order);
	*ret_labels = labels;
	*ret_count = count;
	error = 0;
out:
	HASH_ITER (hh, items, item, next) {
		HASH_DEL(items, item);
		free(item);
	}
	return error;
}
