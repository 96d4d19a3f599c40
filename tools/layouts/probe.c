/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints "field value" for each field of include/ruby_layout.h, as the headers of one Ruby
 * release have it. Compiled by tools/layouts/generate, once for each release.
 */
#include "compat.h"

#include <stdio.h>
#include <string.h>

#include "vm_core.h"
#include "iseq.h"
#include "method.h"
#if RELEASE >= 300
#include "internal/class.h"
#include "internal/imemo.h"
#include "ractor_core.h"
#endif
#if RELEASE >= 302
#include "shape.h"
#endif

#include "ruby_layout.h"

/* Members that were renamed. */
#if RELEASE == 207
#define LT_NODE vmlt_node
#else
#define LT_NODE lt_node
#endif
#if RELEASE <= 301
#define GVL_OWNER gvl.owner
#else
#define GVL_OWNER sched.running
#endif
#if RELEASE < 400
#define NEXT_IV_INDEX next_iv_index
#else
#define NEXT_IV_INDEX next_field_index
#endif

#define NONE	 RUBY_NO_FIELD
#define EC(m)	 offsetof(rb_execution_context_t, m)
#define CFP(m)	 offsetof(rb_control_frame_t, m)
#define BODY(m)	 offsetof(struct rb_iseq_constant_body, m)
#define TH(m)	 offsetof(rb_thread_t, m)
#define VM(m)	 offsetof(rb_vm_t, m)
#define CME(m)	 offsetof(rb_callable_method_entry_t, m)
#define DEF(m)	 offsetof(rb_method_definition_t, m)
#define EXT(m)	 offsetof(rb_classext_t, m)
#define BLOCK(m) (offsetof(rb_proc_t, block) + offsetof(struct rb_block, m))

/* Of a bit field: the byte offset of its 32-bit word, and its bit there. */
#define BIT_OF(type, member)                                             \
	({                                                               \
		type *object_ = calloc(1, sizeof(type));                 \
		object_->member = 1;                                     \
		first_bit((const unsigned char *)object_, sizeof(type)); \
	})

static unsigned long first_bit(const unsigned char *bytes, size_t size)
{
	for (size_t i = 0; i < size * 8; i++)
		if (bytes[i / 8] & (1 << (i % 8)))
			return i;
	abort();
}

#define WORD(bit) ((bit) / 32 * 4)

#define P(name, value) printf("%s %lu\n", #name, (unsigned long)(value))

static void print_stack(void)
{
	P(ec__vm_stack, EC(vm_stack));
	P(ec__vm_stack_size, EC(vm_stack_size));
	P(ec__cfp, EC(cfp));
	P(ec__thread_ptr, EC(thread_ptr));
	P(ec__fiber_ptr, EC(fiber_ptr));
	P(ec__local_storage, EC(local_storage));
	P(cfp__pc, CFP(pc));
	P(cfp__iseq, CFP(iseq));
	P(cfp__self, CFP(self));
	P(cfp__ep, CFP(ep));
#if RELEASE >= 301
	P(cfp__jit_return, CFP(jit_return));
#else
	P(cfp__jit_return, NONE);
#endif
	P(cfp__sizeof, sizeof(rb_control_frame_t));
	P(iseq__body, offsetof(rb_iseq_t, body));
	P(iseq__sizeof, sizeof(rb_iseq_t));
	P(body__type, BODY(type));
	P(body__iseq_size, BODY(iseq_size));
	P(body__iseq_encoded, BODY(iseq_encoded));
	P(body__pathobj, BODY(location.pathobj));
	P(body__base_label, BODY(location.base_label));
	P(body__label, BODY(location.label));
	P(body__first_lineno, BODY(location.first_lineno));
	P(body__first_lineno_size, sizeof(((rb_iseq_location_t *)0)->first_lineno));
	P(body__insns_info_body, BODY(insns_info.body));
	P(body__insns_info_positions, BODY(insns_info.positions));
	P(body__insns_info_size, BODY(insns_info.size));
	P(body__succ_index_table, BODY(insns_info.succ_index_table));
	P(body__parent_iseq, BODY(parent_iseq));
	P(body__local_iseq, BODY(local_iseq));
	P(insn_info__line_no, offsetof(struct iseq_insn_info_entry, line_no));
	P(insn_info__sizeof, sizeof(struct iseq_insn_info_entry));
}

static void print_thread(void)
{
	unsigned long status = BIT_OF(rb_thread_t, status);

	P(th__lt_node, TH(LT_NODE));
	P(th__self, TH(self));
	P(th__vm, TH(vm));
	P(th__ec, TH(ec));
	P(th__status, WORD(status));
	P(th__status_shift, status % 32);
	P(th__blocking_region_buffer, TH(blocking_region_buffer));
	P(th__unblock_func, TH(unblock.func));
	P(th__locking_mutex, TH(locking_mutex));
	P(th__join_list, TH(join_list));
	P(th__invoke_arg_proc, TH(invoke_arg.proc.proc));
	P(th__invoke_type, TH(invoke_type));
	P(th__name, TH(name));
#if RELEASE >= 302
	P(th__nt, TH(nt));
	P(th__thread_id, NONE);
	P(th__tid, NONE);
	P(nt__thread_id, offsetof(struct rb_native_thread, thread_id));
	P(nt__tid, offsetof(struct rb_native_thread, tid));
#else
	P(th__nt, NONE);
	P(th__thread_id, TH(thread_id));
#if RELEASE >= 301
	P(th__tid, TH(tid));
#else
	P(th__tid, NONE);
#endif
	P(nt__thread_id, NONE);
	P(nt__tid, NONE);
#endif
#if RELEASE == 207
	P(waiting_list__next, offsetof(rb_thread_list_t, next));
	P(waiting_list__thread, offsetof(rb_thread_list_t, th));
#else
	P(waiting_list__next, offsetof(struct rb_waiting_list, next));
	P(waiting_list__thread, offsetof(struct rb_waiting_list, thread));
#endif
	P(fiber__saved_ec, offsetof(struct layout_context_head, saved_ec));
	P(fiber__self, offsetof(struct layout_context_head, self));
#if RELEASE == 207 || RELEASE >= 400
	P(mutex__owner_thread, offsetof(struct layout_mutex, th));
#else
	P(mutex__owner_thread, NONE);
#endif
	P(mutex__owner, 0);
}

static void print_vm(void)
{
#if RELEASE == 207
	P(th__ractor, NONE);
	P(vm__main_thread, VM(main_thread));
	P(vm__ractor_set, NONE);
	P(vm__main_ractor, NONE);
	P(vm__living_threads, VM(living_threads));
	P(vm__gvl_owner, VM(gvl.owner));
	P(ractor__id, NONE);
	P(ractor__threads_set, NONE);
	P(ractor__gvl_owner, NONE);
	P(ractor__main_thread, NONE);
	P(ractor__vmlr_node, NONE);
#else
#define RACTOR(m) offsetof(rb_ractor_t, m)
	P(th__ractor, TH(ractor));
	P(vm__main_thread, VM(ractor.main_thread));
	P(vm__ractor_set, VM(ractor.set));
	P(vm__main_ractor, VM(ractor.main_ractor));
	P(vm__living_threads, NONE);
	P(vm__gvl_owner, NONE);
	P(ractor__id, RACTOR(pub.id));
	P(ractor__threads_set, RACTOR(threads.set));
	P(ractor__gvl_owner, RACTOR(threads.GVL_OWNER));
	P(ractor__main_thread, RACTOR(threads.main));
	P(ractor__vmlr_node, RACTOR(vmlr_node));
#endif
#if RELEASE >= 304
	P(vm__objspace, VM(gc.objspace));
#else
	P(vm__objspace, VM(objspace));
#endif
	P(objspace__flags, OBJSPACE_FLAGS);
	P(objspace__profile_count, OBJSPACE_COUNT);
	P(objspace__profile_major_gc_count, OBJSPACE_MAJOR_COUNT);
	P(objspace__latest_gc_info, OBJSPACE_INFO);
	P(objspace__total_time, OBJSPACE_TOTAL_TIME);
	P(objspace__marking_time, OBJSPACE_MARKING_TIME);
	P(objspace__sweeping_time, OBJSPACE_SWEEPING_TIME);
	P(objspace__obj_to_id_tbl, OBJSPACE_OBJ_TO_ID);
	P(objspace__total_allocated_objects, OBJSPACE_ALLOCATED);
	P(objspace__heaps, OBJSPACE_HEAPS);
	P(heap__total_allocated_objects, HEAP_ALLOCATED);
	P(heap__sizeof, HEAP_SIZEOF);
	P(heap_count, HEAP_COUNT);
	P(gc_measure_bit, OBJSPACE_MEASURE_BIT);
}

static void print_method(void)
{
	P(cme__defined_class, CME(defined_class));
	P(cme__def, CME(def));
	P(cme__called_id, CME(called_id));
	P(cme__owner, CME(owner));
	P(def__body, DEF(body));
	P(def__original_id, DEF(original_id));
	P(def__method_serial, DEF(method_serial));
	P(def__sizeof, sizeof(rb_method_definition_t));
	P(svar__cref_or_me, offsetof(struct vm_svar, cref_or_me));
	P(proc__block, offsetof(rb_proc_t, block));
	P(proc__block_type, BLOCK(type));
	P(captured__ep, offsetof(struct rb_captured_block, ep));
	P(captured__code, offsetof(struct rb_captured_block, code));
}

static void print_class(void)
{
#if RELEASE <= 301
	P(rclass__super, offsetof(struct RClass, super));
	P(rclass__classext_ptr, offsetof(struct RClass, ptr));
	P(rclass__classext, NONE);
	P(classext__iv_tbl, EXT(iv_tbl));
#elif RELEASE < 400
	P(rclass__super, offsetof(struct RClass, super));
	P(rclass__classext_ptr, NONE);
	P(rclass__classext, sizeof(struct RClass));
	P(classext__iv_tbl, NONE);
#else
	P(rclass__super, sizeof(struct RClass) + EXT(super));
	P(rclass__classext_ptr, NONE);
	P(rclass__classext, sizeof(struct RClass));
	P(classext__iv_tbl, NONE);
#endif
#if RELEASE >= 302 && RELEASE < 400
	P(classext__iv_ptr, EXT(iv_ptr));
#else
	P(classext__iv_ptr, NONE);
#endif
#if RELEASE <= 301
	P(classext__iv_index_tbl, EXT(iv_index_tbl));
#else
	P(classext__iv_index_tbl, NONE);
#endif
	P(classext__const_tbl, EXT(const_tbl));
	P(classext__refined_class, EXT(refined_class));
	P(classext__subclasses, EXT(subclasses));
	P(subclass__klass, offsetof(struct rb_subclass_entry, klass));
	P(subclass__next, offsetof(struct rb_subclass_entry, next));
	P(subclass_anchor__head,
	  __builtin_types_compatible_p(__typeof__(((rb_classext_t *)0)->subclasses),
				       struct rb_subclass_entry *)
		  ? NONE
		  : offsetof(struct layout_subclass_anchor, head));
#if RELEASE >= 303
	unsigned long permanent = BIT_OF(rb_classext_t, permanent_classpath);

	P(classext__attached_object, EXT(as.singleton_class.attached_object));
	P(classext__classpath, EXT(classpath));
	P(classext__permanent_classpath, WORD(permanent));
	P(classext__permanent_classpath_bit, permanent % 32);
	P(attached_id, 0);
#else
	P(classext__attached_object, NONE);
	P(classext__classpath, NONE);
	P(classext__permanent_classpath, NONE);
	P(classext__permanent_classpath_bit, NONE);
	P(attached_id, id__attached__);
#endif
}

/* T_OBJECT: where its instance variables are. */
static void print_object(void)
{
#if RELEASE <= 301
	P(robject__numiv, offsetof(struct layout_robject, as.heap.numiv));
	P(robject__iv_index_tbl, offsetof(struct layout_robject, as.heap.iv_index_tbl));
#else
	P(robject__numiv, NONE);
	P(robject__iv_index_tbl, NONE);
#endif
	P(robject__ivptr, offsetof(struct layout_robject, as.heap.ivptr));
	P(robject__embed, offsetof(struct layout_robject, as.ary));
	P(robject_embed_bit, RELEASE < 400 ? 13 : 16);
	P(robject_embed_bit_means, RELEASE < 400);
#if RELEASE == 207
	P(iv_index_entry__index, NONE);
#elif RELEASE <= 301
	P(iv_index_entry__index, offsetof(struct rb_iv_index_tbl_entry, index));
#else
	P(iv_index_entry__index, NONE);
#endif
#if RELEASE >= 400
	P(shape_id_bits, __builtin_popcount(SHAPE_ID_OFFSET_MASK));
	P(shape_too_complex_bit, __builtin_ctz(SHAPE_ID_FL_TOO_COMPLEX));
	P(shape_too_complex_type, NONE);
#elif RELEASE >= 302
	P(shape_id_bits, 32);
	P(shape_too_complex_bit, NONE);
	P(shape_too_complex_type, SHAPE_OBJ_TOO_COMPLEX);
#else
	P(shape_id_bits, NONE);
	P(shape_too_complex_bit, NONE);
	P(shape_too_complex_type, NONE);
#endif
}

static void print_hash(void)
{
#if RELEASE <= 302
	P(rhash__table_ptr, offsetof(struct layout_rhash, as));
	P(rhash__table, NONE);
#else
	P(rhash__table_ptr, NONE);
	P(rhash__table, sizeof(struct layout_rhash));
#endif
	P(ar_table__pairs, offsetof(struct layout_ar_table, pairs));
	P(ar_pair__sizeof, sizeof(struct layout_ar_pair));
	P(rbignum__embed, offsetof(struct layout_rbignum, as.ary));
	P(id_table__capa, offsetof(struct layout_id_table, capa));
	P(id_table__num, offsetof(struct layout_id_table, num));
	P(id_table__items, offsetof(struct layout_id_table, items));
	P(id_item__key, offsetof(struct layout_id_item, key));
	P(id_item__val, offsetof(struct layout_id_item, val));
	P(id_item__sizeof, sizeof(struct layout_id_item));
	P(const_entry__value, offsetof(struct layout_const_entry, value));
}

static void print_objects(void)
{
	P(rbasic__flags, offsetof(struct RBasic, flags));
	P(rbasic__klass, offsetof(struct RBasic, klass));
#if RELEASE <= 301
	P(rstring__len, offsetof(struct layout_rstring, as.heap.len));
	P(rstring__embed, offsetof(struct layout_rstring, as.embed));
#else
	P(rstring__len, offsetof(struct layout_rstring, len));
	P(rstring__embed, offsetof(struct layout_rstring, as.embed));
#endif
	P(rstring__heap_ptr, offsetof(struct layout_rstring, as.heap.ptr));
	P(string_embed_len_in_flags, RELEASE <= 301);
	P(rarray__heap_len, offsetof(struct RArray, as.heap.len));
	P(rarray__heap_ptr, offsetof(struct RArray, as.heap.ptr));
	P(rarray__embed, offsetof(struct RArray, as.ary));
	P(array_embed_len_mask, RELEASE <= 301 ? 0x3 : 0x7f);
	P(rsymbol__fstr, offsetof(struct layout_rsymbol, fstr));
	P(rsymbol__id, offsetof(struct layout_rsymbol, id));
	P(rdata__data, offsetof(struct layout_rtypeddata, data));
#if RELEASE >= 400
	P(rtypeddata__typed_flag, offsetof(struct layout_rtypeddata, type));
#else
	P(rtypeddata__typed_flag, offsetof(struct layout_rtypeddata, typed_flag));
#endif
#if RELEASE >= 400
	P(rtypeddata__fields_obj, offsetof(struct layout_rtypeddata, fields_obj));
	P(fields__embed, offsetof(struct rb_fields, as.embed.fields));
	P(fields__external, offsetof(struct rb_fields, as.external.ptr));
	P(imemo_fields, imemo_fields);
#else
	P(rtypeddata__fields_obj, NONE);
	P(fields__embed, NONE);
	P(fields__external, NONE);
	P(imemo_fields, NONE);
#endif
	P(typed_embedded_mask, RELEASE <= 302 ? 0 : RELEASE < 400 ? 2 : 1);
	print_object();
	print_hash();
	P(qnil, RELEASE <= 301 ? 0x08 : 0x04);
	P(qundef, RELEASE <= 301 ? 0x34 : 0x24);
	P(fl_singleton, RELEASE <= 303 ? 0x1000 : 0x2000);
	P(last_op_id, tLAST_OP_ID);
}

static void print_tables(void)
{
	P(st_table__entry_power, offsetof(st_table, entry_power));
	P(st_table__bin_power, offsetof(st_table, bin_power));
	P(st_table__size_ind, offsetof(st_table, size_ind));
	P(st_table__bins, offsetof(st_table, bins));
#if RELEASE < 400
	P(gen_ivtbl__numiv, offsetof(struct layout_gen_ivtbl, numiv));
	P(gen_ivtbl__ivptr, offsetof(struct layout_gen_ivtbl, ivptr));
#else
	P(gen_ivtbl__numiv, NONE);
	P(gen_ivtbl__ivptr, NONE);
#endif
	P(st_table__num_entries, offsetof(st_table, num_entries));
	P(st_table__entries_start, offsetof(st_table, entries_start));
	P(st_table__entries_bound, offsetof(st_table, entries_bound));
	P(st_table__entries, offsetof(st_table, entries));
	P(st_entry__key, offsetof(struct layout_st_entry, key));
	P(st_entry__record, offsetof(struct layout_st_entry, record));
	P(st_entry__sizeof, sizeof(struct layout_st_entry));
	P(symbols__last_id, offsetof(struct layout_symbols, last_id));
	P(symbols__ids, offsetof(struct layout_symbols, ids));
#if RELEASE >= 303
	P(shape_tree__shape_list, offsetof(rb_shape_tree_t, shape_list));
	P(shape_tree__next_shape_id, offsetof(rb_shape_tree_t, next_shape_id));
	P(vm__next_shape_id, NONE);
	P(vm__shape_list, NONE);
#elif RELEASE == 302
	P(shape_tree__shape_list, NONE);
	P(shape_tree__next_shape_id, NONE);
	P(vm__next_shape_id, VM(next_shape_id));
	P(vm__shape_list, VM(shape_list));
#else
	P(shape_tree__shape_list, NONE);
	P(shape_tree__next_shape_id, NONE);
	P(vm__next_shape_id, NONE);
	P(vm__shape_list, NONE);
#endif
#if RELEASE >= 302
	P(shape__edge_name, offsetof(struct rb_shape, edge_name));
	P(shape__next_iv_index, offsetof(struct rb_shape, NEXT_IV_INDEX));
	P(shape__type, offsetof(struct rb_shape, type));
	P(shape__parent_id, offsetof(struct rb_shape, parent_id));
	P(shape__sizeof, sizeof(struct rb_shape));
#else
	P(shape__edge_name, NONE);
	P(shape__next_iv_index, NONE);
	P(shape__type, NONE);
	P(shape__parent_id, NONE);
	P(shape__sizeof, NONE);
#endif
#if RELEASE >= 400
	P(shape_offset_bits, SHAPE_ID_OFFSET_NUM_BITS);
	P(shape_object_id_bit, __builtin_ctz(SHAPE_ID_FL_HAS_OBJECT_ID));
	P(shape_complex_bit, __builtin_ctz(SHAPE_ID_FL_TOO_COMPLEX));
	P(shape_type_object_id, SHAPE_OBJ_ID);
#else
	P(shape_offset_bits, NONE);
	P(shape_object_id_bit, NONE);
	P(shape_complex_bit, NONE);
	P(shape_type_object_id, NONE);
#endif
}

/* What include/ruby_layout.h says of every release. */
_Static_assert(RUBY_FRAME_MAGIC_MASK == VM_FRAME_MAGIC_MASK, "");
_Static_assert(RUBY_FRAME_MAGIC_CFUNC == VM_FRAME_MAGIC_CFUNC, "");
_Static_assert(RUBY_FRAME_MAGIC_IFUNC == VM_FRAME_MAGIC_IFUNC, "");
_Static_assert(RUBY_FRAME_FLAG_BMETHOD == VM_FRAME_FLAG_BMETHOD, "");
_Static_assert(RUBY_FRAME_FLAG_CFRAME == VM_FRAME_FLAG_CFRAME, "");
_Static_assert(RUBY_ENV_FLAG_LOCAL == VM_ENV_FLAG_LOCAL, "");
_Static_assert(RUBY_ENV_INDEX_ME_CREF == VM_ENV_DATA_INDEX_ME_CREF, "");
_Static_assert(RUBY_ENV_INDEX_SPECVAL == VM_ENV_DATA_INDEX_SPECVAL, "");
_Static_assert(RUBY_ENV_INDEX_FLAGS == VM_ENV_DATA_INDEX_FLAGS, "");
_Static_assert(RUBY_FL_USHIFT == FL_USHIFT && RUBY_IMEMO_MASK == IMEMO_MASK, "");
_Static_assert(RUBY_IMEMO_SVAR == imemo_svar && RUBY_IMEMO_MENT == imemo_ment, "");
_Static_assert(RUBY_IMEMO_ISEQ == imemo_iseq, "");
_Static_assert(RUBY_ID_SCOPE_SHIFT == ID_SCOPE_SHIFT, "");
_Static_assert(RUBY_ISEQ_TYPE_METHOD == ISEQ_TYPE_METHOD, "");
_Static_assert(RUBY_ISEQ_TYPE_BLOCK == ISEQ_TYPE_BLOCK, "");
_Static_assert(RUBY_ISEQ_TYPE_MAX == ISEQ_TYPE_PLAIN, "");
_Static_assert(RUBY_METHOD_TYPE_ISEQ == VM_METHOD_TYPE_ISEQ, "");
_Static_assert(RUBY_METHOD_TYPE_CFUNC == VM_METHOD_TYPE_CFUNC, "");
_Static_assert(RUBY_METHOD_TYPE_BMETHOD == VM_METHOD_TYPE_BMETHOD, "");
_Static_assert(RUBY_THREAD_KILLED == THREAD_KILLED, "");
_Static_assert(RUBY_INVOKE_TYPE_PROC == thread_invoke_type_proc, "");
#if RELEASE >= 300
_Static_assert(RUBY_INVOKE_TYPE_RACTOR == thread_invoke_type_ractor_proc, "");
#endif
_Static_assert(RUBY_BLOCK_TYPE_ISEQ == block_type_iseq, "");
#if RELEASE < 400
_Static_assert(RUBY_FL_SEEN_OBJ_ID == FL_SEEN_OBJ_ID, "");
#else
_Static_assert(RUBY_FIELDS_HEAP == OBJ_FIELD_HEAP, "");
#endif

int main(void)
{
	print_stack();
	print_thread();
	print_vm();
	print_method();
	print_class();
	print_objects();
	print_tables();
	return 0;
}
