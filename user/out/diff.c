/* SPDX-License-Identifier: BSD-2-Clause */
#include "diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	diff_write write;
} formats[] = {
	{ "text", diff__text },
	{ "json", diff__json },
	{ "folded", diff__folded },
	{ "html", diff__html },
};

diff_write diff__format(const struct out_format *format)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (!strcmp(formats[i].name, format->name))
			return formats[i].write;
	return NULL;
}

struct order {
	const struct profile *profile;
	const struct totals *totals;
};

static int compare_sizes(int64_t left, int64_t right)
{
	int64_t a = left < 0 ? -left : left, b = right < 0 ? -right : right;

	return (a < b) - (a > b);
}

static int compare_functions(const void *left, const void *right, void *context)
{
	const struct order *order = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	const struct profile_function *function_a = profile__function_at(order->profile, a);
	const struct profile_function *function_b = profile__function_at(order->profile, b);
	int result = compare_sizes(diff__change(&order->totals->self[a]),
				   diff__change(&order->totals->self[b]));

	if (!result)
		result = compare_sizes(diff__change(&order->totals->total[a]),
				       diff__change(&order->totals->total[b]));
	if (!result)
		result = strcmp(profile__text(order->profile, function_a->name),
				profile__text(order->profile, function_b->name));
	if (!result)
		result = strcmp(profile__text(order->profile, function_a->file),
				profile__text(order->profile, function_b->file));
	return result;
}

int diff__order(const struct diff *diff, const struct totals *totals, uint32_t **ret_functions,
		size_t *ret_count)
{
	struct order order = { diff->both, totals };
	uint32_t *functions = calloc(totals->function_count + 1, sizeof(*functions));
	size_t count = 0;

	if (!functions)
		return -ENOMEM;
	/* Self is in total. */
	for (uint32_t i = 0; i < totals->function_count; i++)
		if (totals->total[i].values[PROFILE_DIFF_BASE] ||
		    totals->total[i].values[PROFILE_DIFF_HEAD])
			functions[count++] = i;
	qsort_r(functions, count, sizeof(*functions), compare_functions, &order);
	*ret_functions = functions;
	*ret_count = count;
	return 0;
}
