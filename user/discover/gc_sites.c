/* SPDX-License-Identifier: BSD-2-Clause */
#include "gc_sites.h"

#include <errno.h>
#include <string.h>

#include "gc_sites_code.h"
#include "gc_sites_passage.h"

#define MAX_PASSAGES   32	    /* loads of the two events in the file */
#define CONSTANT_BYTES 5	    /* mov $event,%esi */
#define MAX_EVENT_WAY  64	    /* bytes from the load of an event to the call */
#define CHUNK_BYTES    (32UL << 10) /* looked through for all patterns while it is cached */
#define MAX_CALLS      128	    /* of the hooks, for whatever event */
#define ENDBR64_BYTES  4

struct search {
	const struct elf_file *file;
	const struct gc_sites_request *request;
	struct gc_code *code;
	struct gc_passage passages[MAX_PASSAGES];
	unsigned int passage_count;
	struct runtime_gc_sites sites;
	unsigned int calls; /* of the function that runs the hooks */
	bool is_guarded;
	int64_t hooks_offset;
};

/* The loads of an event that start in a part of the bytes, into any register. */
static const char *take_loads(struct search *search, uint32_t event, const unsigned char *bytes,
			      uint64_t address, size_t offset, size_t size)
{
	const size_t last = CONSTANT_BYTES - 1;
	size_t end = size - offset > CHUNK_BYTES ? offset + CHUNK_BYTES : size;

	if (size < CONSTANT_BYTES)
		return NULL;
	if (end > size - last)
		end = size - last;
	while (offset < end) {
		/* The highest byte of an event is rarer than the first of the instruction. */
		const unsigned char *found =
			memchr(bytes + offset + last, (int)(event >> 24), end - offset);
		uint32_t value;

		if (!found)
			break;
		offset = (size_t)(found - bytes) - last;
		memcpy(&value, bytes + offset + 1, sizeof(value));
		if (value == event && (bytes[offset] & 0xf8) == 0xb8) {
			if (search->passage_count == MAX_PASSAGES)
				return "too many uses of the events";
			if (gc_passage__read(search->code, address + offset, event,
					     &search->passages[search->passage_count]))
				search->passage_count++;
		}
		offset++;
	}
	return NULL;
}

/* All calls with one of the events, those of others that use the same number among them. */
static const char *find_passages(struct search *search)
{
	uint64_t address;
	size_t size;
	const unsigned char *bytes = gc_code__bytes(search->code, &address, &size);
	const char *why = NULL;

	for (size_t offset = 0; offset < size && !why; offset += CHUNK_BYTES) {
		why = take_loads(search, GC_EVENT_ENTER, bytes, address, offset, size);
		if (!why)
			why = take_loads(search, GC_EVENT_EXIT, bytes, address, offset, size);
	}
	return why;
}

static bool is_same_hook(const struct gc_passage *a, const struct gc_passage *b)
{
	return a->target == b->target && gc_code__register(a->reg) == gc_code__register(b->reg);
}

static bool has_other_event(const struct search *search, const struct gc_passage *passage)
{
	for (unsigned int i = 0; i < search->passage_count; i++)
		if (is_same_hook(&search->passages[i], passage) &&
		    search->passages[i].event != passage->event)
			return true;
	return false;
}

/* The function that runs the hooks is the only one that is called with both events. */
static const char *keep_hook_calls(struct search *search)
{
	const struct gc_passage *hook = NULL;
	unsigned int kept = 0;

	for (unsigned int i = 0; i < search->passage_count; i++) {
		const struct gc_passage *passage = &search->passages[i];

		if (!has_other_event(search, passage))
			continue;
		if (hook && !is_same_hook(hook, passage))
			return "more than one function that could run the hooks";
		hook = passage;
	}
	if (!hook)
		return "no function that runs the hooks of both events";
	for (unsigned int i = 0; i < search->passage_count; i++) {
		struct gc_passage passage = search->passages[i];

		/* hook points into the array, at or behind the place that is written. */
		if (is_same_hook(hook, &passage)) {
			search->passages[kept] = passage;
			hook = &search->passages[kept++];
		}
	}
	search->passage_count = kept;
	return NULL;
}

/* The event that is loaded last before a call by an instruction of this opcode: one bit, or 0. */
static uint32_t event_before(const unsigned char *bytes, size_t call, unsigned char opcode)
{
	size_t first = call > MAX_EVENT_WAY ? call - MAX_EVENT_WAY : 0;

	for (size_t i = call; i-- > first;) {
		uint32_t event;

		if (call - i < CONSTANT_BYTES || bytes[i] != opcode)
			continue;
		memcpy(&event, bytes + i + 1, sizeof(event));
		if (event && !(event & (event - 1)))
			return event;
	}
	return 0;
}

static bool is_passage(const struct search *search, uint64_t call)
{
	for (unsigned int i = 0; i < search->passage_count; i++)
		if (search->passages[i].call == call)
			return true;
	return false;
}

/*
 * Each call of the hooks must have an event that is known, and those with one of the two must be
 * among the passages: else some places would be missing.
 */
static bool is_known_call(struct search *search, const struct gc_code_transfer *call)
{
	uint64_t address;
	size_t size;
	const unsigned char *bytes = gc_code__bytes(search->code, &address, &size);
	uint32_t event = 0;

	if (call->kind != GC_CODE_BRANCH)
		event = event_before(bytes, call->offset,
				     bytes[search->passages[0].constant - address]);
	if (++search->calls > MAX_CALLS || !event)
		return false;
	return (event != GC_EVENT_ENTER && event != GC_EVENT_EXIT) ||
	       is_passage(search, address + call->offset);
}

/* Loads the functions of the passages and what jumps into them, and checks all calls. */
static const char *load_functions(struct search *search)
{
	struct gc_code_transfer transfer;
	int count;

	for (unsigned int i = 0; i < search->passage_count; i++)
		if (gc_code__load(search->code, search->passages[i].constant))
			return "a function that cannot be decoded";
	count = gc_code__function_count(search->code);
	for (size_t offset = 0; gc_code__next_transfer(search->code, offset, &transfer);
	     offset = transfer.offset + 1) {
		if (transfer.target == search->passages[0].target &&
		    !is_known_call(search, &transfer))
			return "an event that is passed to the hooks in an unknown way";
		if (gc_code__load_jumper(search->code, &transfer, count))
			return "jumps from too much other code";
	}
	return NULL;
}

/* Instructions that the kernel emulates instead of running a copy of them (arch/x86, uprobes.c). */
static bool is_cheap(const unsigned char *bytes, size_t size)
{
	if (size && bytes[0] == 0x41) /* push %r8 to %r15 */
		return size > 1 && (bytes[1] & 0xf8) == 0x50;
	if (size > 1 && bytes[0] == 0x0f) /* jcc rel32 */
		return (bytes[1] & 0xf0) == 0x80;
	return size &&
	       ((bytes[0] & 0xf0) == 0x70 || (bytes[0] & 0xf8) == 0x50 || bytes[0] == 0x90 ||
		bytes[0] == 0xe8 || bytes[0] == 0xe9 || bytes[0] == 0xeb);
}

static const char *add_site(struct search *search, uint32_t event, uint64_t address)
{
	struct runtime_gc_sites *sites = &search->sites;
	bool is_entry = event == GC_EVENT_ENTER;
	uint8_t *count = is_entry ? &sites->entry_count : &sites->exit_count;
	struct runtime_gc_site *list = is_entry ? sites->entries : sites->exits;
	const Elf64_Phdr *segment = elf_file__segment_at(search->file, address);
	uint64_t base;
	size_t size;
	const unsigned char *bytes = gc_code__bytes(search->code, &base, &size);

	if (*count == RUNTIME_GC_SITES_MAX)
		return "too many places";
	if (!segment || address < base || address - base >= size)
		return "a place outside the code";
	for (int i = 0; i < sites->entry_count; i++)
		if (sites->entries[i].address == address)
			return "a place that several passages share";
	for (int i = 0; i < sites->exit_count; i++)
		if (sites->exits[i].address == address)
			return "a place that several passages share";
	list[*count].address = address;
	list[*count].file_offset = address - segment->p_vaddr + segment->p_offset;
	list[*count].is_cheap = is_cheap(bytes + (address - base), size - (address - base));
	(*count)++;
	return NULL;
}

/* All passages speak of the same word of hooks, or all leave the test to the function called. */
static const char *add_passage(struct search *search, const struct gc_passage *passage,
			       bool may_be_unguarded)
{
	struct gc_places places;
	bool is_first = !search->sites.entry_count && !search->sites.exit_count;
	const char *why = gc_passage__places(search->code, passage, search->request->flags_offset,
					     may_be_unguarded, &places);

	if (why)
		return why;
	if (is_first) {
		search->is_guarded = places.is_guarded;
		search->hooks_offset = places.hooks_offset;
	}
	if (places.is_guarded != search->is_guarded ||
	    (places.is_guarded && places.hooks_offset != search->hooks_offset))
		return "tests of different words before calls of the hooks";
	for (unsigned int i = 0; i < places.count && !why; i++)
		why = add_site(search, passage->event, places.addresses[i]);
	return why;
}

/*
 * Exported since 3.4, for collectors that are loaded: it tests the event itself, so that nobody
 * who calls it has to.
 */
static bool is_event_hook(const struct search *search, const struct gc_passage *passage)
{
	static const char name[] = "rb_gc_event_hook";
	Elf64_Sym symbol;

	return gc_code__target_is(search->code, passage->target, name) &&
	       elf_file__dynamic_symbol(search->file, name, &symbol) == 0 &&
	       gc_passage__tests_event(search->code, symbol.st_value, passage->reg);
}

static const char *decode(struct search *search)
{
	bool may_be_unguarded = is_event_hook(search, &search->passages[0]);
	const char *why = NULL;

	for (unsigned int i = 0; i < search->passage_count && !why; i++)
		why = add_passage(search, &search->passages[i], may_be_unguarded);
	return why;
}

static bool is_inside(const Elf64_Sym *function, uint64_t address)
{
	return function && ELF64_ST_TYPE(function->st_info) == STT_FUNC &&
	       address >= function->st_value && address - function->st_value < function->st_size;
}

/* Whether every call of the hooks is in a function that is not inlined anywhere. */
static bool has_functions(const struct search *search)
{
	for (unsigned int i = 0; i < search->passage_count; i++) {
		const struct gc_passage *passage = &search->passages[i];

		if (!is_inside(passage->event == GC_EVENT_ENTER ? search->request->gc_enter
								: search->request->gc_exit,
			       passage->constant))
			return false;
	}
	return search->passage_count;
}

/* The first instruction of a function; what marks it as a target of calls is not worth a trap. */
static uint64_t first_instruction(const struct search *search, const Elf64_Sym *function)
{
	static const unsigned char endbr64[ENDBR64_BYTES] = { 0xf3, 0x0f, 0x1e, 0xfa };
	unsigned char bytes[ENDBR64_BYTES];
	bool is_marked =
		elf_file__read(search->file, function->st_value, bytes, sizeof(bytes)) == 0 &&
		memcmp(bytes, endbr64, sizeof(bytes)) == 0;

	return function->st_value + (is_marked ? sizeof(bytes) : 0);
}

static const char *find(struct search *search)
{
	const char *why = find_passages(search);
	bool has_symbols;

	if (!why)
		why = keep_hook_calls(search);
	if (!why)
		why = load_functions(search);
	if (why)
		return why;
	has_symbols = has_functions(search);
	why = decode(search);
	if (!why) {
		search->sites.tier = has_symbols ? RUNTIME_TIER_SYMBOL : RUNTIME_TIER_CODE;
		return NULL;
	}
	if (!has_symbols)
		return why;
	memset(&search->sites, 0, sizeof(search->sites));
	why = add_site(search, GC_EVENT_ENTER,
		       first_instruction(search, search->request->gc_enter));
	if (!why)
		why = add_site(search, GC_EVENT_EXIT,
			       first_instruction(search, search->request->gc_exit));
	if (!why)
		search->sites.tier = RUNTIME_TIER_SYMBOL;
	return why;
}

int gc_sites__find(const struct elf_file *file, const struct gc_sites_request *request,
		   struct runtime_gc_sites *ret_sites)
{
	struct search search = { .file = file, .request = request };
	const char *why = NULL;
	int error;

	if (request->flags_offset < 0) {
		why = "during_gc is not known";
	} else {
		error = gc_code__open(file, request->code_address, &search.code);
		if (error == -ENOMEM)
			return error;
		why = error ? "no table of the functions" : find(&search);
		gc_code__close(search.code);
	}
	if (why) {
		memset(&search.sites, 0, sizeof(search.sites));
		search.sites.tier = RUNTIME_TIER_NONE;
		search.sites.why = why;
	}
	*ret_sites = search.sites;
	return 0;
}
