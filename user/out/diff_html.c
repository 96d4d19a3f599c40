/* SPDX-License-Identifier: BSD-2-Clause */
/* A comparison as a page for a browser, which groups and filters by itself. */
#include "diff.h"
#include "html.h"

int diff__html(const struct diff *diff, const struct out_options *options, FILE *stream)
{
	const struct html_diff_options page = {
		.value = diff->type->type,
		.base_title = diff->base_path,
		.head_title = diff->head_path,
		.normalize = diff->is_normalized,
	};

	(void)options;
	return html__write_diff(diff->base, diff->head, &page, stream);
}
