/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the fields of CRuby's structures lie in one release: the only place from which a
 * walker or reader takes an offset. The tables (user/ruby/layout_table.c) are generated from
 * Ruby's own headers by tools/; RUBY_NO_FIELD marks a field that a release does not have.
 *
 * The struct crosses the kernel boundary as it is (see rbprof_abi.h).
 *
 * RUBY_LAYOUT_FIELDS(F): F(name), an offset or size in bytes, named STRUCT__FIELD:
 *	ec	rb_execution_context_t (vm_core.h)
 *	cfp	rb_control_frame_t (vm_core.h)
 *	iseq	rb_iseq_t, body: struct rb_iseq_constant_body (vm_core.h)
 *	th	rb_thread_t; nt: struct rb_native_thread, 3.2 and later; vm: rb_vm_t (vm_core.h)
 *	ractor	rb_ractor_t (ractor_core.h)
 *	cme	rb_callable_method_entry_t, def: rb_method_definition_t (method.h)
 *	objspace	rb_objspace_t (gc.c; gc/default/default.c from 3.4)
 *	heap	rb_size_pool_t of 3.3, rb_heap_t from 3.4 on (likewise)
 */
#ifndef RBPROF_RUBY_LAYOUT_H
#define RBPROF_RUBY_LAYOUT_H

#ifndef __bpf__
#include <stdint.h>
#include <linux/types.h>
#endif

#define RUBY_NO_FIELD 0xffff

/* clang-format off */
#define RUBY_LAYOUT_FIELDS(F) \
	/* execution context */ \
	F(ec__vm_stack) F(ec__vm_stack_size) F(ec__cfp) F(ec__thread_ptr) F(ec__fiber_ptr) \
	F(ec__local_storage) \
	/* control frame */ \
	F(cfp__pc) F(cfp__iseq) F(cfp__self) F(cfp__ep) F(cfp__jit_return) F(cfp__sizeof) \
	/* instruction sequence */ \
	F(iseq__body) F(iseq__sizeof) \
	F(body__type) F(body__iseq_size) F(body__iseq_encoded) \
	F(body__pathobj) F(body__base_label) F(body__label) \
	F(body__first_lineno) F(body__first_lineno_size) \
	F(body__insns_info_body) F(body__insns_info_positions) F(body__insns_info_size) \
	F(body__succ_index_table) F(body__parent_iseq) F(body__local_iseq) \
	F(insn_info__line_no) F(insn_info__sizeof) \
	/* thread, ractor, vm */ \
	F(th__lt_node) F(th__self) F(th__ractor) F(th__vm) F(th__ec) F(th__nt) \
	F(th__thread_id) F(th__tid) F(th__status) F(th__status_shift) \
	F(th__blocking_region_buffer) F(th__unblock_func) F(th__locking_mutex) F(th__join_list) \
	F(th__invoke_arg_proc) F(th__invoke_type) F(th__name) \
	F(nt__thread_id) F(nt__tid) \
	F(vm__main_thread) F(vm__ractor_set) F(vm__main_ractor) F(vm__living_threads) \
	F(vm__gvl_owner) F(vm__objspace) \
	F(ractor__id) F(ractor__threads_set) F(ractor__gvl_owner) F(ractor__main_thread) \
	F(ractor__vmlr_node) \
	F(fiber__saved_ec) F(fiber__self) \
	F(mutex__owner) F(mutex__owner_thread) \
	F(waiting_list__next) F(waiting_list__thread) \
	/* methods */ \
	F(cme__defined_class) F(cme__def) F(cme__called_id) F(cme__owner) \
	F(def__body) F(def__original_id) F(def__method_serial) F(def__sizeof) \
	F(svar__cref_or_me) F(proc__block) F(proc__block_type) F(captured__ep) F(captured__code) \
	/* objects */ \
	F(rbasic__flags) F(rbasic__klass) \
	F(rstring__len) F(rstring__heap_ptr) F(rstring__embed) \
	F(rarray__heap_len) F(rarray__heap_ptr) F(rarray__embed) \
	F(rclass__super) F(rclass__classext_ptr) F(rclass__classext) \
	F(classext__iv_tbl) F(classext__iv_ptr) F(classext__refined_class) \
	F(classext__attached_object) F(classext__classpath) \
	F(classext__permanent_classpath) F(classext__permanent_classpath_bit) \
	F(classext__subclasses) F(subclass__klass) F(subclass__next) F(subclass_anchor__head) \
	F(classext__iv_index_tbl) F(classext__const_tbl) \
	F(rsymbol__fstr) F(rsymbol__id) F(rdata__data) F(rtypeddata__typed_flag) \
	F(rtypeddata__fields_obj) F(fields__embed) F(fields__external) \
	F(robject__numiv) F(robject__ivptr) F(robject__iv_index_tbl) F(robject__embed) \
	F(rhash__table_ptr) F(rhash__table) F(rbignum__embed) \
	/* tables */ \
	F(st_table__entry_power) F(st_table__bin_power) F(st_table__size_ind) F(st_table__bins) \
	F(gen_ivtbl__numiv) F(gen_ivtbl__ivptr) \
	F(st_table__num_entries) F(st_table__entries_start) F(st_table__entries_bound) \
	F(st_table__entries) F(st_entry__key) F(st_entry__record) F(st_entry__sizeof) \
	F(ar_table__pairs) F(ar_pair__sizeof) \
	F(id_table__capa) F(id_table__num) F(id_table__items) \
	F(id_item__key) F(id_item__val) F(id_item__sizeof) \
	F(iv_index_entry__index) F(const_entry__value) \
	F(symbols__last_id) F(symbols__ids) \
	F(shape_tree__shape_list) F(vm__shape_list) \
	F(shape_tree__next_shape_id) F(vm__next_shape_id) \
	F(shape__edge_name) F(shape__next_iv_index) F(shape__type) F(shape__parent_id) \
	F(shape__sizeof) \
	/* garbage collector */ \
	F(objspace__flags) F(objspace__profile_count) F(objspace__profile_major_gc_count) \
	F(objspace__latest_gc_info) F(objspace__obj_to_id_tbl) \
	F(objspace__total_time) F(objspace__marking_time) F(objspace__sweeping_time) \
	F(objspace__total_allocated_objects) F(objspace__heaps) \
	F(heap__total_allocated_objects) F(heap__sizeof)

/* Values that differ between releases, and are not offsets. */
#define RUBY_LAYOUT_VALUES(F) \
	F(qnil) F(qundef) F(last_op_id) F(fl_singleton) F(string_embed_len_in_flags) \
	F(array_embed_len_mask) F(typed_embedded_mask) F(attached_id) F(gc_measure_bit) \
	F(shape_offset_bits) F(shape_object_id_bit) F(shape_complex_bit) F(shape_type_object_id) \
	F(imemo_fields) \
	F(robject_embed_bit) F(robject_embed_bit_means) F(shape_id_bits) \
	F(shape_too_complex_bit) F(shape_too_complex_type) F(heap_count)
/* clang-format on */

struct ruby_layout {
#define F(name) __u16 name;
	RUBY_LAYOUT_FIELDS(F)
	RUBY_LAYOUT_VALUES(F)
#undef F
};

/*
 * Constants that every release from 2.7 to 4.0 shares, checked by the generator on each.
 * vm_core.h: enum vm_frame_env_flags, VM_ENV_DATA_INDEX_*; internal/imemo.h: enum imemo_type;
 * ruby/internal/value_type.h: enum ruby_value_type; ruby/internal/fl_type.h.
 */
#define RUBY_FRAME_MAGIC_MASK	0x7fff0001
#define RUBY_FRAME_MAGIC_METHOD 0x11110001
#define RUBY_FRAME_MAGIC_CFUNC	0x55550001
#define RUBY_FRAME_MAGIC_IFUNC	0x66660001
#define RUBY_FRAME_FLAG_BMETHOD 0x0040
#define RUBY_FRAME_FLAG_CFRAME	0x0080
#define RUBY_ENV_FLAG_LOCAL	0x0002
#define RUBY_ENV_INDEX_ME_CREF	(-2)
#define RUBY_ENV_INDEX_SPECVAL	(-1)
#define RUBY_ENV_INDEX_FLAGS	0
#define RUBY_ENV_POINTER_MASK	(~(__u64)3)

#define RUBY_T_MASK   0x1f
#define RUBY_T_OBJECT 0x01
#define RUBY_T_CLASS  0x02
#define RUBY_T_MODULE 0x03
#define RUBY_T_STRING 0x05
#define RUBY_T_ARRAY  0x07
#define RUBY_T_HASH   0x08
#define RUBY_T_BIGNUM 0x0a
#define RUBY_T_DATA   0x0c
#define RUBY_T_SYMBOL 0x14
#define RUBY_T_IMEMO  0x1a
#define RUBY_T_ICLASS 0x1c
#define RUBY_T_MOVED  0x1e

#define RUBY_FL_SEEN_OBJ_ID  0x200 /* up to 3.4: in the collector's table of object ids */
#define RUBY_FL_USHIFT	     12
#define RUBY_IMEMO_MASK	     0x0f
#define RUBY_IMEMO_SVAR	     2
#define RUBY_IMEMO_MENT	     6
#define RUBY_IMEMO_ISEQ	     7
#define RUBY_FL_EXIVAR	     0x0400 /* up to 3.4: its variables are in the table of all such objects */
#define RUBY_HASH_ST	     0x8000 /* RHASH_ST_TABLE_FLAG */
#define RUBY_STRING_NOEMBED  0x2000
#define RUBY_ARRAY_EMBED     0x2000
#define RUBY_FIELDS_HEAP     0x10000 /* 4.0: OBJ_FIELD_HEAP of an imemo_fields */
#define RUBY_REFINEMENT_FLAG 0x8000  /* RMODULE_IS_REFINEMENT, FL_USER3 of a T_MODULE */
#define RUBY_ID_SCOPE_SHIFT  4
#define RUBY_ID_ENTRY_UNIT   512 /* symbol.c */

#define RUBY_ISEQ_TYPE_METHOD 1
#define RUBY_ISEQ_TYPE_BLOCK  2
#define RUBY_ISEQ_TYPE_MAX    8

#define RUBY_METHOD_TYPE_ISEQ	 0
#define RUBY_METHOD_TYPE_CFUNC	 1
#define RUBY_METHOD_TYPE_BMETHOD 4
#define RUBY_METHOD_TYPE_MASK	 0x0f

#define RUBY_THREAD_KILLED	3
#define RUBY_INVOKE_TYPE_PROC	1
#define RUBY_INVOKE_TYPE_RACTOR 2
#define RUBY_BLOCK_TYPE_ISEQ	0

/* gc.c: flags word of the objspace: mode in bits 0-1, during_gc 5, during_compacting 6. */
#define RUBY_GC_MODE_MASK	  0x03
#define RUBY_GC_MODE_MARKING	  1
#define RUBY_GC_DURING_GC	  0x20
#define RUBY_GC_DURING_COMPACTING 0x40
/* The bits whose change means another state. */
#define RUBY_GC_STATE_MASK (RUBY_GC_MODE_MASK | RUBY_GC_DURING_GC | RUBY_GC_DURING_COMPACTING)

#endif
