/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cmd.h"
#include "../core/log.h"
#include "../core/options.h"
#include "../core/yaml_file.h"

#define DEFAULT_ALPHA	  0.01
#define DEFAULT_LIMIT	  0.05
#define DEFAULT_MIN_SHARE 0.01

static const char *const metrics[GATE_METRIC_COUNT] = {
	[GATE_CPU] = "cpu",
	[GATE_WALL] = "wall",
	[GATE_GC] = "gc",
	[GATE_GC_COUNT] = "gc-count",
	[GATE_ALLOCATED] = "allocated",
	[GATE_FUNCTIONS] = "functions",
};

const char *gate_metric__name(enum gate_metric metric)
{
	return metrics[metric];
}

/* Numbers have a range; most 0: any text. */
static const struct {
	const char *name;
	uint64_t least, most;
} run_options[GATE_RUN_OPTIONS] = {
	[GATE_OPTION_RUNS] = { "runs", 1, 1000 },
	[GATE_OPTION_WARMUP] = { "warmup", 0, 100 },
	[GATE_OPTION_INTERLEAVE] = { "interleave", 0, 0 },
	[GATE_OPTION_WORK] = { "work", 1, INT64_MAX },
	[GATE_OPTION_FREQUENCY] = { "frequency", 1, OPTIONS_MAX_HZ },
};

const char *gate_run_option__name(enum gate_run_option option)
{
	return run_options[option].name;
}

void gate_config__init(struct gate_config *config)
{
	*config = (struct gate_config){
		.alpha = DEFAULT_ALPHA,
		.limit = DEFAULT_LIMIT,
		.min_share = DEFAULT_MIN_SHARE,
		.has_metric = {
			[GATE_CPU] = true,
			[GATE_GC_COUNT] = true,
			[GATE_ALLOCATED] = true,
			[GATE_FUNCTIONS] = true,
		},
	};
	for (int i = 0; i < GATE_METRIC_COUNT; i++)
		config->limits[i] = -1;
}

static void free_rule(struct gate_rule *rule)
{
	if (rule->pattern)
		regfree(&rule->regex);
	free(rule->pattern);
	free(rule->reason);
	free(rule->until);
}

void gate_config__free(struct gate_config *config)
{
	for (size_t i = 0; i < config->rule_count; i++)
		free_rule(&config->rules[i]);
	free(config->rules);
	free(config->baseline);
	free(config->head);
	for (size_t i = 0; i < config->command_count; i++)
		free(config->command[i]);
	free(config->command);
	for (int i = 0; i < GATE_RUN_OPTIONS; i++)
		free(config->run_options[i]);
	free(config->format);
	free(config->output);
	*config = (struct gate_config){ 0 };
}

/* ---- values ---- */

/* A plain decimal number; false: it is none. */
static bool parse_number(const char *text, double *ret_number, const char **ret_end)
{
	char *end;

	/* strtod() would take signs, spaces, hexadecimal, infinity. */
	if (!isdigit((unsigned char)*text) || strspn(text, "0123456789.") > 16)
		return false;
	for (const char *at = text; *at && *at != '%' && *at != ' '; at++)
		if (!isdigit((unsigned char)*at) && *at != '.')
			return false;
	*ret_number = strtod(text, &end);
	*ret_end = end;
	return true;
}

static int parse_percent(const char *text, double most, double *ret_share, char *why)
{
	const char *end;
	double number;

	if (!parse_number(text, &number, &end) ||
	    (strcmp(end, "") && strcmp(end, "%") && strcmp(end, " %")) || number > most) {
		snprintf(why, GATE_CONFIG_WHY,
			 "'%.40s' is no percentage: give a number from 0 to %g, like 5%%", text,
			 most);
		return -EINVAL;
	}
	*ret_share = number / 100;
	return 0;
}

static int parse_alpha(const char *text, double *ret_alpha, char *why)
{
	const char *end;
	double number;

	if (!parse_number(text, &number, &end) || *end || !(number >= 0.0001) || number > 0.5) {
		snprintf(why, GATE_CONFIG_WHY,
			 "'%.40s' is no such probability: give a number from 0.0001 to 0.5", text);
		return -EINVAL;
	}
	*ret_alpha = number;
	return 0;
}

static int find_metric(const char *name, size_t length, char *why)
{
	for (int i = 0; i < GATE_METRIC_COUNT; i++)
		if (strlen(metrics[i]) == length && !strncmp(metrics[i], name, length))
			return i;
	snprintf(why, GATE_CONFIG_WHY,
		 "unknown metric '%.*s': choose of cpu, wall, gc, gc-count, allocated, functions",
		 (int)(length < 40 ? length : 40), name);
	return -EINVAL;
}

static void begin_metrics(struct gate_config *config)
{
	memset(config->has_metric, 0, sizeof(config->has_metric));
	config->are_metrics_given = true;
}

/* "cpu,allocated" */
static int parse_metrics(struct gate_config *config, const char *text, char *why)
{
	begin_metrics(config);
	for (;;) {
		size_t length = strcspn(text, ", ");
		int metric = find_metric(text, length, why);

		if (metric < 0)
			return metric;
		config->has_metric[metric] = true;
		text += length;
		if (!*text)
			return 0;
		text += strspn(text, ", ");
	}
}

static int set_text(char **text, const char *value, char *why)
{
	char *copy;

	if (!*value) {
		snprintf(why, GATE_CONFIG_WHY, "is empty: leave it away, or give a name");
		return -EINVAL;
	}
	copy = strdup(value);
	if (!copy)
		return -ENOMEM;
	free(*text);
	*text = copy;
	return 0;
}

int gate_config__set(struct gate_config *config, const char *key, const char *text,
		     char ret_why[static GATE_CONFIG_WHY])
{
	*ret_why = '\0';
	if (!strcmp(key, "alpha"))
		return parse_alpha(text, &config->alpha, ret_why);
	if (!strcmp(key, "limit"))
		return parse_percent(text, 10000, &config->limit, ret_why);
	if (!strcmp(key, "min-share"))
		return parse_percent(text, 100, &config->min_share, ret_why);
	if (!strcmp(key, "metrics"))
		return parse_metrics(config, text, ret_why);
	if (!strcmp(key, "baseline"))
		return set_text(&config->baseline, text, ret_why);
	if (!strcmp(key, "head"))
		return set_text(&config->head, text, ret_why);
	if (!strcmp(key, "format"))
		return set_text(&config->format, text, ret_why);
	if (!strcmp(key, "output"))
		return set_text(&config->output, text, ret_why);
	return -ENOENT;
}

int gate_config__environment(struct gate_config *config)
{
	static const char *const keys[] = { "alpha",   "limit",	   "min-share",
					    "metrics", "baseline", "head" };
	char name[64], why[GATE_CONFIG_WHY];

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		const char *value;
		int error;

		snprintf(name, sizeof(name), "RBPROF_%s", keys[i]);
		for (char *at = name; *at; at++)
			*at = *at == '-' ? '_' : (char)toupper((unsigned char)*at);
		value = getenv(name);
		if (!value)
			continue;
		error = gate_config__set(config, keys[i], value, why);
		if (error) {
			log__error("environment: %s: %s", name,
				   error == -ENOMEM ? "out of memory" : why);
			return error == -ENOMEM ? CMD_FILE : CMD_USAGE;
		}
	}
	return CMD_DONE;
}

/* ---- rules ---- */

const struct gate_rule *gate_config__rule(const struct gate_config *config, const char *name)
{
	for (size_t i = 0; i < config->rule_count; i++)
		if (!regexec(&config->rules[i].regex, name, 0, NULL, 0))
			return &config->rules[i];
	return NULL;
}

struct rule_reader {
	struct gate_rule rule;
	const char *today;
	bool has_limit;
};

static const char *text_or_refuse(const struct yaml_value *value, int *ret_status)
{
	const char *text = yaml_value__text(value);

	*ret_status = CMD_DONE;
	if (text && *text)
		return text;
	*ret_status = yaml_value__refuse(value, "must be text or a number");
	return NULL;
}

static int copy_text(const struct yaml_value *value, char **ret_copy)
{
	int status;
	const char *text = text_or_refuse(value, &status);

	if (!text)
		return status;
	*ret_copy = strdup(text);
	if (*ret_copy)
		return CMD_DONE;
	log__error("out of memory");
	return CMD_FILE;
}

static int take_match(const struct yaml_value *value, void *context)
{
	struct rule_reader *reader = context;
	char *pattern = NULL, why[128];
	int error, status = copy_text(value, &pattern);

	if (status)
		return status;
	error = regcomp(&reader->rule.regex, pattern, REG_EXTENDED | REG_NOSUB);
	if (!error) {
		reader->rule.pattern = pattern;
		return CMD_DONE;
	}
	regerror(error, &reader->rule.regex, why, sizeof(why));
	*why = (char)tolower((unsigned char)*why);
	status = yaml_value__refuse(value, "bad regular expression '%.100s': %s", pattern, why);
	free(pattern);
	return status;
}

static int take_rule_limit(const struct yaml_value *value, void *context)
{
	struct rule_reader *reader = context;
	char why[GATE_CONFIG_WHY];
	int status;
	const char *text = text_or_refuse(value, &status);

	if (!text)
		return status;
	if (parse_percent(text, 10000, &reader->rule.limit, why))
		return yaml_value__refuse(value, "%s", why);
	reader->has_limit = true;
	return CMD_DONE;
}

static int take_ignore(const struct yaml_value *value, void *context)
{
	struct rule_reader *reader = context;
	const char *text = yaml_value__text(value);

	if (!text || !*text || !strcmp(text, "true") || !strcmp(text, "~") ||
	    !strcmp(text, "null") || !strcmp(text, "yes"))
		return yaml_value__refuse(value, "say why, as text");
	return copy_text(value, &reader->rule.reason);
}

static bool is_date(const char *text)
{
	static const int days[] = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	static const char form[] = "dddd-dd-dd";
	int month, day;

	if (strlen(text) != sizeof(form) - 1)
		return false;
	for (size_t i = 0; form[i]; i++)
		if (form[i] == 'd' ? !isdigit((unsigned char)text[i]) : text[i] != form[i])
			return false;
	month = (text[5] - '0') * 10 + text[6] - '0';
	day = (text[8] - '0') * 10 + text[9] - '0';
	return month >= 1 && month <= 12 && day >= 1 && day <= days[month - 1];
}

static int take_until(const struct yaml_value *value, void *context)
{
	struct rule_reader *reader = context;
	int status;
	const char *text = text_or_refuse(value, &status);

	if (!text)
		return status;
	if (!is_date(text))
		return yaml_value__refuse(value, "'%.40s' is no date: give one like 2026-12-31",
					  text);
	/* Dates of this form are in the order of their letters. */
	if (strcmp(reader->today, text) > 0)
		return yaml_value__refuse(
			value, "expired on %s: mend what is ignored, or give a new date", text);
	return copy_text(value, &reader->rule.until);
}

struct file_reader {
	struct gate_config *config;
	const char *today;
};

static int take_rule(const struct yaml_value *value, void *context)
{
	static const struct yaml_key keys[] = {
		{ "match", take_match },
		{ "limit", take_rule_limit },
		{ "ignore", take_ignore },
		{ "until", take_until },
	};
	struct file_reader *file = context;
	struct rule_reader reader = { .today = file->today };
	struct gate_rule *rules;
	int status = yaml_value__keys(value, keys, sizeof(keys) / sizeof(*keys), &reader);

	reader.rule.line = yaml_value__line(value);
	if (!status && !reader.rule.pattern)
		status = yaml_value__refuse(value, "a rule needs `match`, a regular expression");
	if (!status && !reader.rule.reason == !reader.has_limit)
		status = yaml_value__refuse(value, "a rule needs either `limit` or `ignore`");
	if (!status && reader.rule.until && !reader.rule.reason)
		status = yaml_value__refuse(value, "`until` goes with `ignore` only");
	if (!status && reader.rule.reason && !reader.rule.until)
		status = yaml_value__refuse(
			value, "`ignore` needs `until`, the last day on which it holds");
	rules = status ? NULL
		       : reallocarray(file->config->rules, file->config->rule_count + 1,
				      sizeof(*rules));
	if (!rules) {
		free_rule(&reader.rule);
		if (!status)
			log__error("out of memory");
		return status ? status : CMD_FILE;
	}
	rules[file->config->rule_count++] = reader.rule;
	file->config->rules = rules;
	return CMD_DONE;
}

/* ---- files ---- */

static int take_setting(const struct yaml_value *value, void *context)
{
	struct file_reader *file = context;
	char why[GATE_CONFIG_WHY];
	int error, status;
	const char *text = text_or_refuse(value, &status);

	if (!text)
		return status;
	error = gate_config__set(file->config, value->key, text, why);
	if (!error)
		return CMD_DONE;
	return yaml_value__refuse(value, "%s", error == -EINVAL ? why : strerror(-error));
}

static int take_metric(const struct yaml_value *value, void *context)
{
	struct file_reader *file = context;
	char why[GATE_CONFIG_WHY];
	int metric, status;
	const char *text = text_or_refuse(value, &status);

	if (!text)
		return status;
	metric = find_metric(text, strlen(text), why);
	if (metric < 0)
		return yaml_value__refuse(value, "%s", why);
	file->config->has_metric[metric] = true;
	return CMD_DONE;
}

static int take_metrics(const struct yaml_value *value, void *context)
{
	struct file_reader *file = context;

	if (!yaml_value__is_list(value))
		return take_setting(value, context);
	begin_metrics(file->config);
	return yaml_value__items(value, take_metric, context);
}

static int take_limit(const struct yaml_value *value, void *context)
{
	struct file_reader *file = context;
	char why[GATE_CONFIG_WHY];
	int status, metric = find_metric(value->key, strlen(value->key), why);
	const char *text;

	if (metric < 0)
		return yaml_value__refuse(value, "%s", why);
	text = text_or_refuse(value, &status);
	if (!text)
		return status;
	if (parse_percent(text, 10000, &file->config->limits[metric], why))
		return yaml_value__refuse(value, "%s", why);
	return CMD_DONE;
}

static int take_limits(const struct yaml_value *value, void *context)
{
	return yaml_value__entries(value, take_limit, context);
}

static int take_functions(const struct yaml_value *value, void *context)
{
	return yaml_value__items(value, take_rule, context);
}

static int take_run_option(const struct yaml_value *value, void *context)
{
	struct file_reader *file = context;
	int option = 0, status;
	const char *text = text_or_refuse(value, &status);
	uint64_t number;

	if (!text)
		return status;
	while (strcmp(run_options[option].name, value->key) != 0)
		option++;
	if (run_options[option].most &&
	    options__number(text, run_options[option].least, run_options[option].most, &number))
		return yaml_value__refuse(
			value, "'%.40s': give a whole number from %" PRIu64 " to %" PRIu64, text,
			run_options[option].least, run_options[option].most);
	return copy_text(value, &file->config->run_options[option]);
}

static int take_word(const struct yaml_value *value, void *context)
{
	struct file_reader *file = context;
	struct gate_config *config = file->config;
	char **words = reallocarray(config->command, config->command_count + 2, sizeof(*words));
	char *word = NULL;
	int status;

	if (!words) {
		log__error("out of memory");
		return CMD_FILE;
	}
	config->command = words;
	status = copy_text(value, &word);
	if (!status)
		words[config->command_count++] = word;
	words[config->command_count] = NULL;
	return status;
}

static int take_command(const struct yaml_value *value, void *context)
{
	const struct file_reader *file = context;
	int status = yaml_value__items(value, take_word, context);

	if (!status && !file->config->command_count)
		return yaml_value__refuse(value, "give a command, like [ruby, bench.rb]");
	return status;
}

int gate_config__read(struct gate_config *config, const char *path, const char *today)
{
	static const struct yaml_key keys[] = {
		{ "alpha", take_setting },     { "limit", take_setting },
		{ "min-share", take_setting }, { "metrics", take_metrics },
		{ "limits", take_limits },     { "functions", take_functions },
		{ "baseline", take_setting },  { "head", take_setting },
		{ "format", take_setting },    { "output", take_setting },
		{ "command", take_command },   { "runs", take_run_option },
		{ "warmup", take_run_option }, { "interleave", take_run_option },
		{ "work", take_run_option },   { "frequency", take_run_option },
	};
	struct file_reader reader = { config, today };
	struct yaml_file *file;
	struct yaml_value root;
	int status = yaml_file__open(path, &file);

	if (status)
		return status;
	root = yaml_file__root(file);
	status = yaml_value__keys(&root, keys, sizeof(keys) / sizeof(*keys), &reader);
	yaml_file__close(file);
	return status;
}
