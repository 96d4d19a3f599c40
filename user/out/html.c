/* SPDX-License-Identifier: BSD-2-Clause */
#include "html.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../util/utf8.h"
#include "html_data.h"
#include "html_page.h"
#include "out.h"

static int write_page(const struct html_data *data, FILE *stream)
{
	int error;

	fwrite(html_page_head, 1, sizeof(html_page_head), stream);
	error = html_data__write(data, stream);
	fwrite(html_page_tail, 1, sizeof(html_page_tail), stream);
	return error;
}

/* Index among the types of the page of the one that has this name. */
static int choose_type(struct html_data *data, const char *name)
{
	int index = profile__type_index(data->shared, name);

	if (index < 0)
		return -EINVAL;
	data->type = (size_t)index;
	return 0;
}

int html__write(struct profile *profile, const struct out_options *options, FILE *stream)
{
	const struct profile *const profiles[] = { profile };
	struct html_data data;
	int error = html_data__init(&data, profiles, 1);

	if (error)
		return error;
	error = choose_type(&data, profile__type(profile, options->type)->type);
	if (!error)
		error = write_page(&data, stream);
	html_data__free(&data);
	return error;
}

static int clean_title(const char *title, char **ret_title)
{
	char *text;

	if (!title)
		return 0;
	text = malloc(UTF8_LIMIT_PATH + 1);
	if (!text)
		return -ENOMEM;
	utf8__clean(title, strlen(title), text, UTF8_LIMIT_PATH);
	*ret_title = text;
	return 0;
}

static int choose_diff_type(struct html_data *data, const char *value)
{
	if (value)
		return choose_type(data, value);
	data->type = out__default_type(data->shared);
	return 0;
}

int html__write_diff(const struct profile *base, const struct profile *head,
		     const struct html_diff_options *options, FILE *stream)
{
	const struct profile *const profiles[] = { base, head };
	char *base_title = NULL, *head_title = NULL;
	struct html_data data;
	int error;

	if (profile__failed(base) || profile__failed(head))
		return -ENOMEM;
	error = html_data__init(&data, profiles, 2);
	if (error)
		return error;
	error = clean_title(options->base_title, &base_title);
	if (!error)
		error = clean_title(options->head_title, &head_title);
	if (!error)
		error = choose_diff_type(&data, options->value);
	data.sides[0].title = base_title;
	data.sides[1].title = head_title;
	data.normalize = options->normalize;
	if (!error)
		error = write_page(&data, stream);
	html_data__free(&data);
	free(base_title);
	free(head_title);
	return error;
}
