/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `run.json`: what one run of a gate's command cost, beside its profile. Written by `gate run`,
 * read by what compares runs; keys as in docs/man/rbprof-bpf-gate.8.scd.
 *
 *	DIR/001/run.json, DIR/001/profile.pb.gz, DIR/002/...
 *	DIR/base/001/..., DIR/head/001/...	interleaved: runs with the same number are a pair
 *
 * A directory without a run.json is a run that did not end: the file is written last.
 */
#ifndef RBPROF_GATE_RUN_JSON_H
#define RBPROF_GATE_RUN_JSON_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#define GATE_RUN_FORMAT	 1
#define GATE_RUN_FILE	 "run.json"
#define GATE_RUN_PROFILE "profile.pb.gz"
#define GATE_RUN_BASE	 "base"
#define GATE_RUN_HEAD	 "head"

/* A figure that could not be had: null in the file. No figure is negative. */
#define GATE_RUN_UNKNOWN (-1)

/* Strings are UTF-8, owned by the struct and NULL where unknown (`command` too). */
struct gate_run {
	char **command; /* NULL-terminated */
	size_t command_count;
	char *ruby;	 /* "3.1.2"; of several versions: "3.1.2, 3.3.0" */
	char *kernel;	 /* uname -r */
	char *cpu;	 /* model and number of CPUs */
	char *gc_source; /* how gc_ns was found: "probe and vm clock", "samples", "none" ... */
	char *started;	 /* RFC 3339, UTC */
	char *version;	 /* of rbprof-bpf */
	int64_t hz;
	int64_t pair;	 /* from 1; GATE_RUN_UNKNOWN: not interleaved */
	int64_t work;	 /* units of work; at least 1 where it is known */
	int64_t cpu_ns;	 /* of all Ruby processes of the run, as the kernel counts */
	int64_t wall_ns; /* from COMMAND's exec to its end */
	int64_t gc_ns;	 /* CPU of the collector, in cpu_ns */
	int64_t gc_count;
	int64_t allocated; /* objects */
	int64_t samples, lost;
	int64_t status;		/* exit status of COMMAND */
	int64_t calibration_ns; /* CPU of a fixed loop right before and after: their mean */
};

/* All unknown; to be freed with gate_run__free(), which leaves it so again. */
void gate_run__init(struct gate_run *run);
void gate_run__free(struct gate_run *run);

/* New reference, or NULL: out of memory. */
json_t *gate_run__to_json(const struct gate_run *run);

/*
 * Every key of spec/cli.md must be there and of its type; keys that are not known are ignored. 0
 * and *ret_run, to be freed; -EBADMSG: not such an object; -EPROTONOSUPPORT: of a format that is
 * not known; -ENOMEM. why: what is wrong, for people ("key 'cpu_ns' is a string, not a number").
 */
int gate_run__from_json(const json_t *json, struct gate_run *ret_run, char *why, size_t why_size);

/* Whole or not at all. 0 or -errno. */
int gate_run__write(const struct gate_run *run, const char *path);
/* As gate_run__from_json(); -EFBIG: too big to be a run.json; -errno of reading. */
int gate_run__read(const char *path, struct gate_run *ret_run, char *why, size_t why_size);

#endif
