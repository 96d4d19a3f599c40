/* SPDX-License-Identifier: BSD-2-Clause */
#include "symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../util/hash.h"
#include "../util/utf8.h"

#define HASH_NONFATAL_OOM		  1
#define HASH_FUNCTION(key, length, value) ((value) = hash__bytes(key, length))
#include <uthash.h>

/* More bytes than a name can show, so that cutting it is seen. */
#define NAME_BYTES  (UTF8_LIMIT_METHOD + 4)
#define MAX_CACHED  65536
#define MAX_SERIALS (1u << 28)

struct symbol {
	UT_hash_handle hh;
	uint64_t id;
	size_t length;
	char bytes[];
};

struct symbols {
	struct memory *memory;
	struct ruby_layout layout;
	uint64_t address;
	struct symbol *cache;
	uint64_t known[SYMBOLS_KNOWN_COUNT]; /* 0: not met yet */
};

static const char *const known_names[SYMBOLS_KNOWN_COUNT] = {
	[SYMBOLS_CLASSPATH] = "__classpath__",
	[SYMBOLS_REFINED_CLASS] = "__refined_class__",
	[SYMBOLS_DEFINED_AT] = "__defined_at__",
};

int symbols__new(struct memory *memory, const struct ruby_layout *layout, uint64_t address,
		 struct symbols **ret_symbols)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));

	if (!symbols)
		return -ENOMEM;
	symbols->memory = memory;
	symbols->layout = *layout;
	symbols->address = address;
	*ret_symbols = symbols;
	return 0;
}

static void symbols_forget(struct symbols *symbols)
{
	struct symbol *symbol, *next;

	HASH_ITER (hh, symbols->cache, symbol, next) {
		HASH_DEL(symbols->cache, symbol);
		free(symbol);
	}
}

void symbols__free(struct symbols *symbols)
{
	if (!symbols)
		return;
	symbols_forget(symbols);
	free(symbols);
}

/*
 * The String of a serial: ids[serial / 512][2 * (serial % 512)]. The arrays grow under us; the
 * caller reads all of it twice.
 */
static int symbols_string(struct symbols *symbols, struct reader *reader, uint64_t serial,
			  uint64_t *ret_string)
{
	const struct ruby_layout *layout = &symbols->layout;
	uint64_t ids, length, elements, unit, index;
	uint32_t last;
	int err;

	err = reader__peek(reader, symbols->address + layout->symbols__last_id, &last,
			   sizeof(last));
	if (err)
		return err;
	if (!serial || serial > last || last > MAX_SERIALS)
		return -EINVAL;
	err = reader__word(reader, symbols->address + layout->symbols__ids, &ids);
	if (!err)
		err = object__array(reader, ids, &length, &elements);
	if (!err && serial / RUBY_ID_ENTRY_UNIT >= length)
		err = -EINVAL;
	if (!err)
		err = reader__word(reader, elements + serial / RUBY_ID_ENTRY_UNIT * 8, &unit);
	if (!err)
		err = object__array(reader, unit, &length, &elements);
	index = serial % RUBY_ID_ENTRY_UNIT * 2; /* String and Symbol by turns */
	if (!err && index >= length)
		err = -EINVAL;
	return err ? err : reader__word(reader, elements + index * 8, ret_string);
}

/* What was read is right if reading it again gives the same. */
static int symbols_read(struct symbols *symbols, uint64_t serial, struct text *text)
{
	struct reader reader;
	const size_t begin = text->length;
	uint64_t fingerprint = 0, string;
	int tries, err;

	for (tries = 0; tries < 4; tries++) {
		text->length = begin;
		reader__init(&reader, symbols->memory, &symbols->layout);
		err = symbols_string(symbols, &reader, serial, &string);
		if (!err)
			err = object__string(&reader, string, NAME_BYTES, text);
		reader__free(&reader);
		if (!err && tries && reader.fingerprint == fingerprint)
			return 0;
		if (err && err != -EFAULT && err != -EINVAL)
			break;
		fingerprint = err ? 0 : reader.fingerprint;
	}
	text->length = begin;
	return err ? err : -EAGAIN;
}

int symbols__name(struct symbols *symbols, uint64_t id, struct text *text)
{
	const size_t begin = text->length;
	struct symbol *symbol = NULL;
	uint64_t serial;
	int err;

	HASH_FIND(hh, symbols->cache, &id, sizeof(id), symbol);
	if (symbol) {
		text__add(text, symbol->bytes, symbol->length);
		return 0;
	}
	if (!symbols->address || id >> 32)
		return -EINVAL;
	serial = id <= symbols->layout.last_op_id ? id : id >> RUBY_ID_SCOPE_SHIFT;
	err = symbols_read(symbols, serial, text);
	if (err)
		return err;
	if (HASH_COUNT(symbols->cache) >= MAX_CACHED)
		symbols_forget(symbols);
	symbol = malloc(sizeof(*symbol) + text->length - begin);
	if (!symbol)
		return 0;
	symbol->id = id;
	symbol->length = text->length - begin;
	memcpy(symbol->bytes, text->bytes + begin, symbol->length);
	symbol->hh.tbl = NULL;
	HASH_ADD(hh, symbols->cache, id, sizeof(symbol->id), symbol);
	if (!symbol->hh.tbl)
		free(symbol);
	return 0;
}

bool symbols__is(struct symbols *symbols, uint64_t id, enum symbols_known known)
{
	const char *name = known_names[known];
	struct text text;

	if (symbols->known[known])
		return symbols->known[known] == id;
	text.length = 0;
	if (symbols__name(symbols, id, &text) || text.length != strlen(name) ||
	    memcmp(text.bytes, name, text.length))
		return false;
	symbols->known[known] = id;
	return true;
}
