/* SPDX-License-Identifier: BSD-2-Clause */
/* What the code of a few exported functions of a libruby says about its addresses and fields. */
#ifndef RBPROF_DECODE_RUBY_H
#define RBPROF_DECODE_RUBY_H

#include <stdint.h>

#include "decode.h"

#define DECODE_RUBY_NO_OFFSET (-1)
#define DECODE_RUBY_GENERIC   4

/* The functions to read, by address; 0: not there. */
struct decode_ruby_functions {
	uint64_t rb_errinfo, rb_thread_current, rb_thread_main;
	uint64_t rb_during_gc, rb_gc_count, rb_id2str;
	uint64_t rb_shape_get_shape_by_id; /* 3.3 and 3.4 */
	uint64_t rb_mark_generic_ivar;	   /* up to 3.4 */
};

struct decode_ruby {
	/* Current execution context: root UNKNOWN, ADDRESS (a variable), TLS_PAIR or TP. */
	enum decode_root ec_root;
	uint64_t ec;
	uint64_t vm;	  /* of ruby_current_vm_ptr; 0: not found */
	uint64_t symbols; /* of ruby_global_symbols; 0: not found */
	uint64_t shapes;  /* of rb_shape_tree_ptr; 0: not found */
	/* Variables of which one is generic_iv_tbl_, as a process can tell; then 0. */
	uint64_t generic_ivars[DECODE_RUBY_GENERIC];

	/* Offsets in bytes, or DECODE_RUBY_NO_OFFSET. */
	int64_t ec_thread_ptr, th_self;
	int64_t main_thread; /* in the ractor; in the vm for 2.7 */
	int64_t vm_objspace, objspace_flags, objspace_count;
};

/*
 * Reads the functions. ids_offset: of ids in ruby_global_symbols. What cannot be made out stays
 * unknown. 0 or -ENOMEM.
 */
int decode_ruby__read(const struct elf_file *file, const struct decode_ruby_functions *functions,
		      uint16_t ids_offset, struct decode_ruby *ret_code);

#endif
