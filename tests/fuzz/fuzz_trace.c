/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The walker of traces and what it is told, on memory that the fuzzer makes up: of each release,
 * with objects that are garbage, point to themselves or change between two reads. Nothing may crash
 * or go on without end; what says that it failed has no labels, and what has labels says no
 * failure.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "user/ruby/layout.h"
#include "user/ruby/trace_read.h"

#define VM	0x10000
#define SYMBOLS 0x10100
#define SHAPES	0x10200
#define GENERIC 0x10300
#define EC	0x10400

struct made_up {
	struct memory memory;
	const uint8_t *data;
	size_t size;
	size_t reads;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * Words are picked from the input by address, so structures hold together; a word may also be an
 * address near by, so that there are pointers to follow.
 */
static uint64_t word_at(const struct made_up *made_up, uint64_t address)
{
	const uint64_t at = (address >> 3) * 0x9e3779b97f4a7c15ULL >> 32;
	const size_t words = made_up->size / 8;
	uint64_t word = 0;

	if (!words)
		return 0;
	memcpy(&word, made_up->data + at % words * 8, sizeof(word));
	if (word >> 56 == 0xaa) /* a pointer */
		return 0x20000 + (word & 0x3ff8);
	if (word >> 56 == 0xab) /* flags: the type, and what bits there are */
		return word & 0xffffffffULL;
	return word;
}

static int read_made_up(struct memory *memory, const struct memory_range *ranges, size_t count)
{
	struct made_up *made_up = (struct made_up *)memory;
	size_t i, k;

	for (i = 0; i < count; i++) {
		unsigned char *into = ranges[i].into;

		/* An input in which nothing ends is of no use. */
		if (++made_up->reads > 20000 || ranges[i].address < 4096 || ranges[i].address >> 47)
			return -EFAULT;
		for (k = 0; k < ranges[i].size; k++) {
			const uint64_t address = ranges[i].address + k;

			into[k] = (unsigned char)(word_at(made_up, address) >> address % 8 * 8);
		}
	}
	return 0;
}

static const struct memory_ops ops = { .read = read_made_up };

static void keep_nothing(uint64_t table, const struct rbprof_ivars *ivars, void *context)
{
	(void)table;
	(void)ivars;
	(void)context;
}

static void look(const struct tracer_source *source, const struct rbprof_tracer *tracer)
{
	struct trace_kinds kinds = { .count = 0 };
	struct trace_reading reading;
	int tries;

	for (tries = 0; tries < 2; tries++) {
		if (trace_read__fiber(source, tracer, EC, true, &kinds, &reading))
			break;
		if (reading.trace.kind && reading.trace.error)
			abort();
		if (reading.length > sizeof(reading.text))
			abort();
		if (reading.length && !reading.trace.kind)
			abort();
	}
	trace_kinds__free(&kinds);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t ivar_ids[RBPROF_IVAR_COUNT] = { 0 }, current_span_at = 0;
	struct made_up made_up = { .memory = { &ops } };
	struct rbprof_tracer tracer = { 0 };
	struct tracer_source source = { 0 };
	struct symbols *symbols;
	uint32_t known = 0;
	size_t i;

	if (size < 64)
		return 0;
	made_up.data = data + 32;
	made_up.size = size - 32;
	source.memory = &made_up.memory;
	source.layout = &layout_table[data[0] % layout_table_count].layout;
	source.vm_ptr_address = VM;
	source.symbols_address = SYMBOLS;
	source.shapes_address = SHAPES;
	source.generic_ivars[0] = GENERIC;
	source.ivar_ids = ivar_ids;
	source.current_span_at = &current_span_at;
	if (!tracer__supported(source.layout) ||
	    symbols__new(source.memory, source.layout, SYMBOLS, &symbols))
		return 0;
	source.symbols = symbols;
	/* Ids that the input names, so that variables are found. */
	for (i = 0; i < RBPROF_IVAR_COUNT; i++)
		ivar_ids[i] = data[1 + i % 8];
	tracer__find(&source, &tracer);
	tracer__shapes(&source, &known, keep_nothing, NULL);
	memcpy(&tracer, data + 8, 24);
	/* Contexts of other tracers, and names that came since. */
	tracer.ids = data[3];
	tracer.has_older = data[4] & 1;
	tracer.generic_ivars = data[1] & 1 ? GENERIC : 0;
	tracer.current_span = 0x20000 + (data[2] * 8U);
	made_up.reads = 0;
	look(&source, &tracer);
	symbols__free(symbols);
	return 0;
}
