/* SPDX-License-Identifier: BSD-2-Clause */
#include "yaml_file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <yaml.h>

#include "../cmd.h"
#include "log.h"

struct yaml_file {
	char *path;
	yaml_document_t document; /* aliases point to nodes: nothing in it grows */
};

static int out_of_memory(void)
{
	log__error("out of memory");
	return CMD_FILE;
}

/* ---- files ---- */

static int read_text(const char *path, unsigned char **ret_text, size_t *ret_length)
{
	FILE *stream = fopen(path, "re");
	unsigned char *text;
	size_t length;
	struct stat about;

	if (!stream) {
		log__error("cannot open '%s': %m", path);
		return CMD_FILE;
	}
	text = malloc(YAML_FILE_MAX + 1);
	errno = !fstat(fileno(stream), &about) && S_ISDIR(about.st_mode) ? EISDIR : 0;
	length = text && !errno ? fread(text, 1, YAML_FILE_MAX + 1, stream) : 0;
	if (!text || errno || ferror(stream) || length > YAML_FILE_MAX) {
		log__error("cannot read '%s': %s", path,
			   length > YAML_FILE_MAX ? "more than 1 MB: no configuration"
						  : strerror(text ? errno : ENOMEM));
		free(text);
		fclose(stream);
		return CMD_FILE;
	}
	fclose(stream);
	*ret_text = text;
	*ret_length = length;
	return CMD_DONE;
}

static int say_syntax(const char *path, const yaml_parser_t *parser)
{
	size_t line = parser->problem_mark.line + 1;

	if (parser->error == YAML_MEMORY_ERROR)
		return out_of_memory();
	log__error("%s:%zu: no YAML: %s", path, line,
		   parser->problem ? parser->problem : "cannot be parsed");
	return CMD_USAGE;
}

static int parse(struct yaml_file *file, const unsigned char *text, size_t length)
{
	yaml_document_t second;
	yaml_parser_t parser;
	int status = CMD_DONE;

	if (!yaml_parser_initialize(&parser))
		return out_of_memory();
	yaml_parser_set_input_string(&parser, text, length);
	if (!yaml_parser_load(&parser, &file->document)) {
		status = say_syntax(file->path, &parser);
		memset(&file->document, 0, sizeof(file->document));
	} else if (yaml_document_get_root_node(&file->document)) {
		if (!yaml_parser_load(&parser, &second)) {
			status = say_syntax(file->path, &parser);
		} else {
			yaml_node_t *root = yaml_document_get_root_node(&second);

			if (root) {
				log__error("%s:%zu: a second document: a configuration is one",
					   file->path, root->start_mark.line + 1);
				status = CMD_USAGE;
			}
			yaml_document_delete(&second);
		}
	}
	yaml_parser_delete(&parser);
	return status;
}

int yaml_file__open(const char *path, struct yaml_file **ret_file)
{
	struct yaml_file *file;
	unsigned char *text;
	size_t length;
	int status = read_text(path, &text, &length);

	if (status)
		return status;
	file = calloc(1, sizeof(*file));
	if (file)
		file->path = strdup(path);
	status = file && file->path ? parse(file, text, length) : out_of_memory();
	free(text);
	if (status)
		yaml_file__close(file);
	else
		*ret_file = file;
	return status;
}

void yaml_file__close(struct yaml_file *file)
{
	if (!file)
		return;
	yaml_document_delete(&file->document);
	free(file->path);
	free(file);
}

/* libyaml's readers take no const. */
static yaml_document_t *document_of(const struct yaml_file *file)
{
	return &((struct yaml_file *)file)->document;
}

struct yaml_value yaml_file__root(const struct yaml_file *file)
{
	return (struct yaml_value){ file, yaml_document_get_root_node(document_of(file)), "" };
}

/* ---- values ---- */

static const yaml_node_t *node_of(const struct yaml_value *value)
{
	return value->node;
}

static const char *text_of(const yaml_node_t *node)
{
	/* A NUL in it would hide the rest. */
	if (node->type != YAML_SCALAR_NODE ||
	    strlen((const char *)node->data.scalar.value) != node->data.scalar.length)
		return NULL;
	return (const char *)node->data.scalar.value;
}

static bool is_null(const struct yaml_value *value)
{
	const char *text = value->node ? text_of(node_of(value)) : "";

	return text && (!*text || !strcmp(text, "~") || !strcmp(text, "null")) &&
	       (!value->node || node_of(value)->data.scalar.style == YAML_PLAIN_SCALAR_STYLE);
}

int yaml_value__line(const struct yaml_value *value)
{
	return value->node ? (int)node_of(value)->start_mark.line + 1 : 1;
}

int yaml_value__refuse(const struct yaml_value *value, const char *format, ...)
{
	va_list arguments;
	char *text;
	int length;

	va_start(arguments, format);
	length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length < 0)
		return out_of_memory();
	log__error("%s:%d: %s%s%s", value->file->path, yaml_value__line(value), value->key,
		   *value->key ? ": " : "", text);
	free(text);
	return CMD_USAGE;
}

const char *yaml_value__text(const struct yaml_value *value)
{
	return value->node ? text_of(node_of(value)) : NULL;
}

bool yaml_value__is_list(const struct yaml_value *value)
{
	return value->node && node_of(value)->type == YAML_SEQUENCE_NODE;
}

/* ---- mappings and lists ---- */

/* Whether a pair before this one has the same key. */
static bool is_repeated(const struct yaml_value *value, const yaml_node_pair_t *pair,
			const char *key)
{
	const yaml_node_pair_t *other = node_of(value)->data.mapping.pairs.start;

	for (; other < pair; other++) {
		const char *text =
			text_of(yaml_document_get_node(document_of(value->file), other->key));

		if (text && !strcmp(text, key))
			return true;
	}
	return false;
}

int yaml_value__entries(const struct yaml_value *value,
			int (*take)(const struct yaml_value *value, void *context), void *context)
{
	const yaml_node_t *node = node_of(value);
	int status = CMD_DONE;

	if (is_null(value))
		return CMD_DONE;
	if (node->type != YAML_MAPPING_NODE)
		return yaml_value__refuse(value, "must be keys with values, like `key: value`");
	for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
	     !status && pair < node->data.mapping.pairs.top; pair++) {
		yaml_document_t *document = document_of(value->file);
		struct yaml_value entry = {
			value->file,
			yaml_document_get_node(document, pair->key),
			"",
		};
		const char *key = text_of(entry.node);

		if (!key)
			return yaml_value__refuse(&entry, "a key must be text");
		if (is_repeated(value, pair, key)) {
			entry.key = key;
			return yaml_value__refuse(&entry, "is there twice");
		}
		entry.key = key;
		entry.node = yaml_document_get_node(document, pair->value);
		status = take(&entry, context);
	}
	return status;
}

struct table {
	const struct yaml_key *keys;
	size_t count;
	void *context;
};

static int take_known(const struct yaml_value *value, void *context)
{
	const struct table *table = context;
	char names[512] = "";
	size_t used = 0;

	for (size_t i = 0; i < table->count; i++)
		if (!strcmp(table->keys[i].name, value->key))
			return table->keys[i].take(value, table->context);
	for (size_t i = 0; i < table->count && used < sizeof(names); i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
					 table->keys[i].name);
	return yaml_value__refuse(value, "unknown key: choose one of %s", names);
}

int yaml_value__keys(const struct yaml_value *value, const struct yaml_key *keys, size_t count,
		     void *context)
{
	struct table table = { keys, count, context };

	return yaml_value__entries(value, take_known, &table);
}

int yaml_value__items(const struct yaml_value *value,
		      int (*take)(const struct yaml_value *value, void *context), void *context)
{
	const yaml_node_t *node = node_of(value);
	int status = CMD_DONE;

	if (is_null(value))
		return CMD_DONE;
	if (node->type != YAML_SEQUENCE_NODE)
		return yaml_value__refuse(value, "must be a list, like [a, b] or lines with `- a`");
	for (const yaml_node_item_t *item = node->data.sequence.items.start;
	     !status && item < node->data.sequence.items.top; item++) {
		struct yaml_value entry = {
			value->file,
			yaml_document_get_node(document_of(value->file), *item),
			value->key,
		};

		status = take(&entry, context);
	}
	return status;
}
