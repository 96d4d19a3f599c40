/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One Ruby build: a libruby (or a static ruby executable) on disk. Analysed once, shared by all
 * processes that map it, whatever path, mount or container they see it through.
 */
#ifndef RBPROF_RUNTIME_H
#define RBPROF_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../include/rbprof_abi.h"

/* How an address was found, best first. */
enum runtime_tier {
	RUNTIME_TIER_NONE = 0,
	RUNTIME_TIER_SYMBOL, /* .dynsym or .symtab of the file */
	RUNTIME_TIER_DEBUG,  /* a separate debug file, by build-id */
	RUNTIME_TIER_CODE,   /* decoded from an exported function */
};

/* "symbol", "debug file", "code", "none" */
const char *runtime_tier__name(enum runtime_tier tier);

/* Virtual addresses are as in the file: the load base is to be added. 0: not there. */
struct runtime_address {
	uint64_t address;
	enum runtime_tier tier;
};

#define RUNTIME_GC_SITES_MAX 16
#define RUNTIME_GENERIC_MAX  4

/* An instruction that a probe may be put on. */
struct runtime_gc_site {
	uint64_t file_offset;
	uint64_t address;
	bool is_cheap; /* the kernel emulates it: a quarter of the cost of stepping over it */
};

/* Each step of the collector passes one of the entries, then one of the exits, each once. */
struct runtime_gc_sites {
	enum runtime_tier tier;
	const char *why; /* if the tier is NONE: static text */
	uint8_t entry_count, exit_count;
	struct runtime_gc_site entries[RUNTIME_GC_SITES_MAX], exits[RUNTIME_GC_SITES_MAX];
};

struct runtime {
	char build_id[41];     /* hex; of the content where the file has none */
	char version[16];      /* "3.1.2", as ruby_version in the file says */
	char description[128]; /* ruby_description, cleaned */
	bool is_static;	       /* the VM is in the executable itself */
	bool is_stripped;      /* no .symtab */
	bool has_yjit;
	uint64_t size; /* of the file, bytes */

	enum rbprof_ec_source ec_source;
	struct runtime_address ec;	    /* the GOT pair, or the variable */
	int64_t ec_tp_offset;		    /* RBPROF_EC_TLS_STATIC */
	struct runtime_address vm;	    /* ruby_current_vm_ptr */
	struct runtime_address symbols;	    /* ruby_global_symbols */
	struct runtime_address shape_tree;  /* rb_shape_tree, 4.0 */
	struct runtime_address shapes;	    /* rb_shape_tree_ptr, 3.3 and 3.4 */
	struct runtime_address vm_destruct; /* ruby_vm_destruct, which a VM ends in */

	/* Variables of which one is generic_iv_tbl_, up to 3.4: see decode_ruby.h. */
	uint64_t generic_ivars[RUNTIME_GENERIC_MAX];

	struct runtime_gc_sites gc; /* none is no error */

	struct ruby_layout layout;  /* table of the version, corrected by what the code says */
	const char *layout_version; /* the table's own, e.g. "3.1.2" */
};

/*
 * Analyses the file behind fd (not closed). 0 and *ret_runtime, which the caller frees with
 * runtime__free(); else a positive enum rbprof_error: NOT_RUBY (quickly, for any file that is
 * not ELF or has no ruby in it), ELF_INVALID, ELF_MACHINE, VERSION_*, EC_NOT_FOUND, ... or
 * -errno. The file may be hostile: nothing in it is trusted.
 */
int runtime__open(int fd, struct runtime **ret_runtime);
void runtime__free(struct runtime *runtime);

/*
 * The Ruby version that a file says it is, also of one that runtime__open() refuses. 0, -ENOENT
 * (it says none) or -errno. The text is cleaned.
 */
int runtime__version(int fd, char *ret_version, size_t size);

/*
 * File offset to virtual address, and the other way, through the file's load segments; needed
 * to turn a mapping (start, file offset) into a load base. The segment table is read from fd.
 * 0 and the load bias (to be added to the file's virtual addresses), or -EINVAL.
 */
int runtime__load_bias(int fd, uint64_t mapping_start, uint64_t mapping_offset, uint64_t *ret_bias);

#endif
