/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the outputs of a gate have in common: figures and sentences. They are plain text without
 * line breaks or control characters; names in them come from other programs, so each output
 * escapes them for its format.
 */
#ifndef RBPROF_GATE_REPORT_H
#define RBPROF_GATE_REPORT_H

#include <stdio.h>

#include "findings.h"

#define GATE_REPORT_VALUE 48

/* What an output is made of. */
struct gate_report {
	const struct gate_result *result;
	const struct gate_findings *findings;
	const struct gate_side *base, *head;
	bool color;
};

/* "12.3 ms" or "1234"; "a run" or "a unit of work" is the caller's to say. */
void gate_report__value(const struct gate_row *row, double value, char text[GATE_REPORT_VALUE]);
/* "a run", "a unit of work" */
const char *gate_report__unit(const struct gate_table *table);
/* "+20.5%"; "new" where there was nothing before. */
void gate_report__percent(double share, char text[GATE_REPORT_VALUE]);
/* "+17.0% to +24.1%", "-" where it is not known. */
void gate_report__interval(const struct gate_verdict *verdict, char text[GATE_REPORT_VALUE]);
/* "0.00098", "-" */
void gate_report__p(double p, char text[GATE_REPORT_VALUE]);
/* "cpu of the function itself", "cpu with what it calls", the metric's name. */
const char *gate_report__measure(const struct gate_row *row);

/*
 * "regression: 10 pairs, 2 functions and 1 metric grew". Free it with free(). NULL: out of memory,
 * here and below.
 */
char *gate_report__headline(const struct gate_report *report);
/* "Foo#bar: cpu with what it calls +20.5% (12.0 ms -> 14.5 ms a run, p 0.001, limit 5%)" */
char *gate_report__verdict(const struct gate_report *report, const struct gate_verdict *verdict);
/* "called by Foo#a (1.0 ms -> 2.0 ms), Foo#b (...); in Foo#c (...)"; "" where nothing is known. */
char *gate_report__neighbours(const struct gate_finding *finding);

/* The finding of a verdict; NULL: it is none. */
const struct gate_finding *gate_report__finding(const struct gate_report *report,
						const struct gate_verdict *verdict);

/*
 * The file as a path below the current folder, where it is one ("app/foo.rb"); NULL where the
 * function has no file (a C function).
 */
const char *gate_report__path(const char *file);

/* The outputs; 0 or -errno, errors of the stream are its owner's to find. */
int gate_text__write(const struct gate_report *report, FILE *stream);
int gate_markdown__write(const struct gate_report *report, FILE *stream);
int gate_junit__write(const struct gate_report *report, FILE *stream);
int gate_sarif__write(const struct gate_report *report, FILE *stream);
int gate_github__write(const struct gate_report *report, FILE *stream);
int gate_json__write(const struct gate_report *report, FILE *stream);
int gate_html__write(const struct gate_report *report, FILE *stream);

/* By the name of -f; NULL: no such format. */
typedef int (*gate_write)(const struct gate_report *report, FILE *stream);
gate_write gate_output__find(const char *name);
/* By the suffix of a file's name; NULL without a known one. */
const char *gate_output__by_suffix(const char *path);
#define GATE_OUTPUT_NAMES "text, markdown, junit, sarif, github, json, html"

#endif
