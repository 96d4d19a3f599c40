/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile_diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Which profiles have a function, by its id in the profile that is made. */
#define IN_BASE 1
#define IN_HEAD 2

struct maker {
	struct profile *to;
	unsigned char *in; /* by function id of to */
	uint32_t *moved;   /* by function id of to: BASE's that is HEAD's; else itself */
	uint32_t *frames;  /* by function id of to: the frame of what it has become */
	size_t room;	   /* functions that all three have space for */
	uint32_t labels;   /* the empty set */
	uint32_t *scratch;
	size_t scratch_room;
};

/* What an id of one side is in the profile that is made. */
struct side {
	const struct profile *from;
	size_t type;
	uint32_t *functions; /* by function id */
	uint32_t *stacks;    /* by stack id; PROFILE_NONE: not known yet */
};

static uint32_t copy_string(struct maker *maker, const struct profile *from, uint32_t id)
{
	return profile__string(maker->to, profile__text(from, id), profile__text_length(from, id));
}

static int side__init(struct side *side, struct maker *maker, const struct profile *from,
		      size_t type)
{
	size_t functions = profile__function_count(from), stacks = profile__stack_count(from);

	*side = (struct side){ .from = from, .type = type };
	side->functions = calloc(functions + 1, sizeof(*side->functions));
	side->stacks = malloc((stacks + 1) * sizeof(*side->stacks));
	if (!side->functions || !side->stacks)
		return -ENOMEM;
	memset(side->stacks, 0xff, stacks * sizeof(*side->stacks));
	for (uint32_t i = 0; i < functions; i++) {
		struct profile_function function = {
			.name = copy_string(maker, from, profile__function_at(from, i)->name),
			.system_name = profile__cstring(maker->to, ""),
			.file = copy_string(maker, from, profile__function_at(from, i)->file),
		};

		side->functions[i] = profile__function(maker->to, &function);
	}
	return profile__failed(maker->to) ? -ENOMEM : 0;
}

static void side__free(struct side *side)
{
	free(side->functions);
	free(side->stacks);
}

/* Functions that rows have, not those that a filter has left behind. */
static void mark(struct maker *maker, const struct side *side, unsigned char in)
{
	for (size_t i = 0; i < profile__row_count(side->from); i++) {
		const struct profile_row *row = profile__row(side->from, i);
		struct profile_stack stack = profile__stack_at(side->from, row->stack);

		for (uint32_t j = 0; j < stack.count; j++) {
			uint32_t function =
				profile__frame_at(side->from, stack.frames[j])->function;

			maker->in[side->functions[function]] |= in;
		}
	}
}

/* What one name has left over: PROFILE_NONE none, PROFILE_NONE - 1 several. */
#define SEVERAL (PROFILE_NONE - 1)

static int match_moved(struct maker *maker)
{
	size_t strings = profile__string_count(maker->to);
	uint32_t *in_base = malloc((strings + 1) * sizeof(*in_base));
	uint32_t *in_head = malloc((strings + 1) * sizeof(*in_head));
	int error = in_base && in_head ? 0 : -ENOMEM;

	if (error)
		goto out;
	memset(in_base, 0xff, strings * sizeof(*in_base));
	memset(in_head, 0xff, strings * sizeof(*in_head));
	for (uint32_t i = 0; i < maker->room; i++) {
		uint32_t name = profile__function_at(maker->to, i)->name;
		uint32_t *only = maker->in[i] == IN_BASE   ? &in_base[name]
				 : maker->in[i] == IN_HEAD ? &in_head[name]
							   : NULL;

		if (only)
			*only = *only == PROFILE_NONE ? i : SEVERAL;
	}
	for (size_t i = 0; i < strings; i++)
		if (in_base[i] < SEVERAL && in_head[i] < SEVERAL)
			maker->moved[in_base[i]] = in_head[i];
out:
	free(in_base);
	free(in_head);
	return error;
}

static int match_functions(struct maker *maker, const struct side *base, const struct side *head)
{
	maker->room = profile__function_count(maker->to);
	maker->in = calloc(maker->room + 1, sizeof(*maker->in));
	maker->moved = calloc(maker->room + 1, sizeof(*maker->moved));
	maker->frames = calloc(maker->room + 1, sizeof(*maker->frames));
	if (!maker->in || !maker->moved || !maker->frames)
		return -ENOMEM;
	for (uint32_t i = 0; i < maker->room; i++)
		maker->moved[i] = i;
	mark(maker, base, IN_BASE);
	mark(maker, head, IN_HEAD);
	if (match_moved(maker))
		return -ENOMEM;
	for (uint32_t i = 0; i < maker->room; i++)
		maker->frames[i] = profile__frame(maker->to, maker->moved[i], 0);
	return 0;
}

static uint32_t stack_of(struct maker *maker, struct side *side, uint32_t id)
{
	struct profile_stack stack = profile__stack_at(side->from, id);

	if (side->stacks[id] != PROFILE_NONE)
		return side->stacks[id];
	if (stack.count > maker->scratch_room) {
		uint32_t *frames = reallocarray(maker->scratch, stack.count, sizeof(*frames));

		if (!frames)
			return PROFILE_NONE;
		maker->scratch = frames;
		maker->scratch_room = stack.count;
	}
	for (uint32_t i = 0; i < stack.count; i++) {
		uint32_t function = profile__frame_at(side->from, stack.frames[i])->function;

		maker->scratch[i] = maker->frames[side->functions[function]];
	}
	return side->stacks[id] = profile__stack(maker->to, maker->scratch, stack.count);
}

static int64_t sum_of(const struct side *side)
{
	int64_t sum = 0;

	for (size_t i = 0; i < profile__row_count(side->from); i++)
		sum += profile__row(side->from, i)->values[side->type];
	return sum;
}

static int add_rows(struct maker *maker, struct side *side, size_t index, double scale)
{
	int error = 0;

	for (size_t i = 0; !error && i < profile__row_count(side->from); i++) {
		const struct profile_row *row = profile__row(side->from, i);
		int64_t values[2] = { 0 };
		uint32_t stack;

		values[index] = row->values[side->type];
		if (scale != 1) {
			double scaled = (double)values[index] * scale;

			if (scaled > 9e18 || scaled < -9e18)
				return -EOVERFLOW;
			values[index] = (int64_t)(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
		}
		if (!values[index])
			continue;
		stack = stack_of(maker, side, row->stack);
		error = stack == PROFILE_NONE
				? -ENOMEM
				: profile__add(maker->to, stack, maker->labels, values);
	}
	return error;
}

static int make(struct maker *maker, const struct profile_diff *diff, struct side *base,
		struct side *head)
{
	double scale = 1;
	int error = side__init(base, maker, diff->base, diff->base_type);

	if (!error)
		error = side__init(head, maker, diff->head, diff->head_type);
	if (!error)
		error = match_functions(maker, base, head);
	if (error)
		return error;
	if (diff->is_normalized && sum_of(base) && sum_of(head))
		scale = (double)sum_of(base) / (double)sum_of(head);
	error = add_rows(maker, base, PROFILE_DIFF_BASE, 1);
	if (!error)
		error = add_rows(maker, head, PROFILE_DIFF_HEAD, scale);
	return !error && profile__failed(maker->to) ? -ENOMEM : error;
}

int profile_diff__new(const struct profile_diff *diff, struct profile **ret_profile)
{
	const char *unit = profile__type(diff->base, diff->base_type)->unit;
	const struct profile_type types[] = { { "base", unit }, { "head", unit } };
	struct side base = { 0 }, head = { 0 };
	struct maker maker = { 0 };
	int error = profile__new(types, 2, &maker.to);

	if (error)
		return error;
	maker.labels = profile__label_set(maker.to, NULL, 0);
	error = make(&maker, diff, &base, &head);
	side__free(&base);
	side__free(&head);
	free(maker.in);
	free(maker.moved);
	free(maker.frames);
	free(maker.scratch);
	if (error)
		profile__free(maker.to);
	else
		*ret_profile = maker.to;
	return error;
}
