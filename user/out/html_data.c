/* SPDX-License-Identifier: BSD-2-Clause */
/* Columns, not objects: it is read in a fraction of the time, and takes a fraction of the room. */
#include "html_data.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../agg/profile_import.h"
#include "html_kind.h"
#include "html_pack.h"
#include "html_tree.h"
#include "json_text.h"

/* ---- what the page shows, in one profile ---- */

static int common_types(const struct profile *const *profiles, size_t count,
			struct profile_type *types, size_t *ret_count)
{
	size_t used = 0;

	/* In the order of the last one: the head of a difference. */
	for (size_t i = 0; i < profile__type_count(profiles[count - 1]); i++) {
		const struct profile_type *type = profile__type(profiles[count - 1], i);
		bool is_in_all = true;

		for (size_t j = 0; j + 1 < count; j++) {
			int index = profile__type_index(profiles[j], type->type);

			is_in_all &= index >= 0 &&
				     !strcmp(profile__type(profiles[j], (size_t)index)->unit,
					     type->unit);
		}
		/* A name that comes twice is the first one. */
		if (is_in_all && profile__type_index(profiles[count - 1], type->type) == (int)i)
			types[used++] = *type;
	}
	*ret_count = used;
	return used ? 0 : -EINVAL;
}

/* Every sample has its own time: with it, none could be added to another. */
static bool is_shown(const struct profile *profile, const struct profile_label *label)
{
	return strcmp(profile__text(profile, label->key), "end_timestamp_ns") != 0;
}

static uint32_t bring_labels(struct profile_import *import, const struct profile *from,
			     struct profile *to, uint32_t id)
{
	struct profile_label_set set = profile__label_set_at(from, id);
	struct profile_label *labels = calloc((size_t)set.count + 1, sizeof(*labels));
	uint32_t count = 0, result = PROFILE_NONE;

	if (!labels)
		return PROFILE_NONE;
	for (uint32_t i = 0; i < set.count; i++) {
		if (!is_shown(from, &set.labels[i]))
			continue;
		labels[count] = set.labels[i];
		labels[count].key = profile_import__string(import, set.labels[i].key);
		labels[count].text = profile_import__string(import, set.labels[i].text);
		labels[count].unit = profile_import__string(import, set.labels[i].unit);
		count++;
	}
	if (!profile__failed(to))
		result = profile__label_set(to, labels, count);
	free(labels);
	return result;
}

static int bring_row(struct profile_import *import, const struct profile *from, struct profile *to,
		     const struct profile_row *row, uint32_t *label_sets)
{
	int64_t values[PROFILE_MAX_TYPES] = { 0 };
	uint32_t stack = profile_import__stack(import, row->stack);
	bool has_value = false;

	if (label_sets[row->label_set] == PROFILE_NONE)
		label_sets[row->label_set] = bring_labels(import, from, to, row->label_set);
	if (stack == PROFILE_NONE || label_sets[row->label_set] == PROFILE_NONE)
		return -ENOMEM;
	for (size_t i = 0; i < profile__type_count(to); i++) {
		values[i] = row->values[profile__type_index(from, profile__type(to, i)->type)];
		has_value |= values[i] != 0;
	}
	return has_value ? profile__add(to, stack, label_sets[row->label_set], values) : 0;
}

static int bring_side(struct html_side *side, struct profile *to)
{
	const struct profile *from = side->profile;
	size_t sets = profile__label_set_count(from);
	uint32_t *label_sets = malloc((sets + 1) * sizeof(*label_sets));
	struct profile_import *import = NULL;
	int error = label_sets ? profile_import__new(from, to, &import) : -ENOMEM;

	if (label_sets)
		memset(label_sets, 0xff, (sets + 1) * sizeof(*label_sets));
	for (size_t i = 0; !error && i < profile__row_count(from); i++)
		error = bring_row(import, from, to, profile__row(from, i), label_sets);
	if (!error)
		error = profile__take_rows(to, &side->rows, &side->row_count);
	profile_import__free(import);
	free(label_sets);
	return error;
}

int html_data__init(struct html_data *data, const struct profile *const *profiles, size_t count)
{
	struct profile_type types[PROFILE_MAX_TYPES];
	size_t type_count;
	int error;

	memset(data, 0, sizeof(*data));
	error = common_types(profiles, count, types, &type_count);
	if (!error)
		error = profile__new(types, type_count, &data->shared);
	for (size_t i = 0; !error && i < count; i++) {
		data->sides[i].profile = profiles[i];
		data->side_count++;
		error = bring_side(&data->sides[i], data->shared);
	}
	if (error)
		html_data__free(data);
	return error;
}

void html_data__free(struct html_data *data)
{
	for (size_t i = 0; i < data->side_count; i++)
		free(data->sides[i].rows);
	profile__free(data->shared);
	memset(data, 0, sizeof(*data));
}

/* ---- JSON ---- */

/* The text is valid UTF-8. No `<`: it could end the script element, or begin a comment in it. */
static void write_bytes(const char *text, size_t length, FILE *stream)
{
	putc('"', stream);
	for (size_t i = 0; i < length; i++) {
		unsigned char byte = (unsigned char)text[i];

		if (byte == '"' || byte == '\\')
			putc('\\', stream);
		if (byte < 0x20 || byte == 0x7f || byte == '<')
			fprintf(stream, "\\u%04x", byte);
		else
			putc(byte, stream);
	}
	putc('"', stream);
}

static void write_text(const char *text, FILE *stream)
{
	write_bytes(text ? text : "", text ? strlen(text) : 0, stream);
}

static void write_string(const struct profile *profile, uint32_t string, FILE *stream)
{
	if (string == PROFILE_NONE)
		fputs("\"\"", stream);
	else
		write_bytes(profile__text(profile, string), profile__text_length(profile, string),
			    stream);
}

static void separate(size_t index, FILE *stream)
{
	if (index)
		putc_unlocked(',', stream);
}

/* One of a list's. */
static void put_number(size_t index, int64_t number, FILE *stream)
{
	separate(index, stream);
	json_text__number(stream, number);
}

static void write_strings(const struct profile *profile, FILE *stream)
{
	fputs("\"strings\":[", stream);
	for (uint32_t i = 0; i < profile__string_count(profile); i++) {
		separate(i, stream);
		write_string(profile, i, stream);
	}
	fputs("],\n", stream);
}

static void write_types(const struct profile *profile, FILE *stream)
{
	fputs("\"types\":[", stream);
	for (size_t i = 0; i < profile__type_count(profile); i++) {
		const struct profile_type *type = profile__type(profile, i);

		separate(i, stream);
		fputs("{\"type\":", stream);
		write_text(type->type, stream);
		fputs(",\"unit\":", stream);
		write_text(type->unit, stream);
		putc('}', stream);
	}
	fputs("],\n", stream);
}

static void write_functions(const struct profile *profile, FILE *stream)
{
	size_t count = profile__function_count(profile);

	fputs("\"functions\":{\"name\":[", stream);
	for (uint32_t i = 0; i < count; i++) {
		put_number(i, profile__function_at(profile, i)->name, stream);
	}
	fputs("],\"file\":[", stream);
	for (uint32_t i = 0; i < count; i++) {
		put_number(i, profile__function_at(profile, i)->file, stream);
	}
	fputs("],\"line\":[", stream);
	for (uint32_t i = 0; i < count; i++) {
		put_number(i, profile__function_at(profile, i)->start_line, stream);
	}
	fputs("],\"kind\":[", stream);
	for (uint32_t i = 0; i < count; i++) {
		separate(i, stream);
		write_text(html_kind__of(profile, i), stream);
	}
	fputs("]},\n", stream);
}

static void write_frames(const struct profile *profile, FILE *stream)
{
	size_t count = profile__frame_count(profile);

	fputs("\"frames\":{\"function\":[", stream);
	for (uint32_t i = 0; i < count; i++) {
		put_number(i, profile__frame_at(profile, i)->function, stream);
	}
	fputs("],\"line\":[", stream);
	for (uint32_t i = 0; i < count; i++) {
		put_number(i, profile__frame_at(profile, i)->line, stream);
	}
	fputs("]},\n", stream);
}

/* A label set is [key, value, key, value, ...]; numbers are texts, which keeps all 64 bits. */
static void write_label_sets(const struct profile *profile, FILE *stream)
{
	fputs("\"label_sets\":[", stream);
	for (uint32_t i = 0; i < profile__label_set_count(profile); i++) {
		struct profile_label_set set = profile__label_set_at(profile, i);

		fputs(i ? ",[" : "[", stream);
		for (uint32_t j = 0; j < set.count; j++) {
			const struct profile_label *label = &set.labels[j];

			put_number(j, label->key, stream);
			putc_unlocked(',', stream);
			if (label->text != PROFILE_NONE)
				json_text__number(stream, label->text);
			else
				fprintf(stream, "\"%" PRId64 "\"", label->number);
		}
		putc(']', stream);
	}
	fputs("],\n", stream);
}

static void write_rows(const struct html_data *data, const struct html_side *side,
		       const struct html_tree *tree, FILE *stream)
{
	fputs("\"rows\":{\"node\":[", stream);
	for (size_t i = 0; i < side->row_count; i++) {
		put_number(i, tree->node_of_stack[side->rows[i].stack], stream);
	}
	fputs("],\"label_set\":[", stream);
	for (size_t i = 0; i < side->row_count; i++) {
		put_number(i, side->rows[i].label_set, stream);
	}
	fputs("],\"values\":[", stream);
	for (size_t type = 0; type < profile__type_count(data->shared); type++) {
		fputs(type ? ",[" : "[", stream);
		for (size_t i = 0; i < side->row_count; i++) {
			put_number(i, side->rows[i].values[type], stream);
		}
		putc(']', stream);
	}
	fputs("]}", stream);
}

static void write_side(const struct html_data *data, const struct html_side *side,
		       const struct html_tree *tree, FILE *stream)
{
	/* What it says about itself can be changed through it, which nobody does here. */
	struct profile *profile = (struct profile *)side->profile;
	const struct profile_info *info = profile__info(profile);

	fputs("{\"title\":", stream);
	write_text(side->title, stream);
	fprintf(stream, ",\"time_ns\":%" PRId64 ",\"duration_ns\":%" PRId64 ",\"period\":%" PRId64,
		info->time_ns, info->duration_ns, info->period);
	fputs(",\"period_type\":", stream);
	write_text(info->period_type.type, stream);
	fputs(",\"period_unit\":", stream);
	write_text(info->period_type.unit, stream);
	fputs(",\"executable\":", stream);
	write_string(profile, profile__mapping(profile)->file, stream);
	fputs(",\"comments\":[", stream);
	for (size_t i = 0; i < profile__comment_count(profile); i++) {
		separate(i, stream);
		write_text(profile__comment_at(profile, i), stream);
	}
	fputs("],\n", stream);
	write_rows(data, side, tree, stream);
	putc('}', stream);
}

int html_data__write(const struct html_data *data, FILE *stream)
{
	struct html_tree tree;
	int error = html_tree__init(&tree, data->shared);

	if (error)
		return error;
	fprintf(stream, "{\"schema\":1,\"shown\":%zu,\"normalize\":%s,\n", data->type,
		data->normalize ? "true" : "false");
	write_types(data->shared, stream);
	write_strings(data->shared, stream);
	write_functions(data->shared, stream);
	write_frames(data->shared, stream);
	error = html_pack__tree(&tree, stream);
	write_label_sets(data->shared, stream);
	fputs("\"profiles\":[", stream);
	for (size_t i = 0; i < data->side_count; i++) {
		separate(i, stream);
		write_side(data, &data->sides[i], &tree, stream);
	}
	fputs("]}", stream);
	html_tree__free(&tree);
	return error;
}
