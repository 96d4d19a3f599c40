/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lets the private headers of one Ruby release (RELEASE: 301 is 3.1) compile against the public
 * headers of Debian's Ruby 3.1. Public structures that differ in that release are described here,
 * as are those that Ruby defines only in a .c file; every figure that follows from them is
 * compared with the independent measurement in tests/fixtures/layouts_measured.tsv.
 */
#ifndef RBPROF_LAYOUTS_COMPAT_H
#define RBPROF_LAYOUTS_COMPAT_H

/* ruby.h of 3.1 declares these; a release that has its own declares it once more. */
#if RELEASE == 207
#define RB_WARN_CATEGORY_NONE	      PUBLIC_WARN_CATEGORY_NONE
#define RB_WARN_CATEGORY_DEPRECATED   PUBLIC_WARN_CATEGORY_DEPRECATED
#define RB_WARN_CATEGORY_EXPERIMENTAL PUBLIC_WARN_CATEGORY_EXPERIMENTAL
#define rb_warning_category_t	      public_warning_category_t
#endif
#if RELEASE >= 400
#define RObject PublicRObject
#endif

#include <ruby/ruby.h>
#include <ruby/st.h>

#if RELEASE == 207
#undef RB_WARN_CATEGORY_NONE
#undef RB_WARN_CATEGORY_DEPRECATED
#undef RB_WARN_CATEGORY_EXPERIMENTAL
#undef rb_warning_category_t
#define R_CAST(name)			       (struct name *)
#define GCC_VERSION_SINCE(major, minor, patch) 1
#define RETSIGTYPE			       void
#undef RUBY_FUNC_NONNULL
#define RUBY_FUNC_NONNULL(n, declaration) declaration
#endif

#ifndef RBIMPL_ATTR_PACKED_STRUCT_UNALIGNED_BEGIN
#define RBIMPL_ATTR_PACKED_STRUCT_UNALIGNED_BEGIN()
#define RBIMPL_ATTR_PACKED_STRUCT_UNALIGNED_END()
#endif

#if RELEASE >= 400
#undef RObject
#define ROBJECT_HEAP	      0x10000
#define RBIMPL_ATOMIC_RELAXED __ATOMIC_RELAXED
#define RBIMPL_ATOMIC_SEQ_CST __ATOMIC_SEQ_CST
struct RObject {
	struct RBasic basic;
	union {
		struct {
			VALUE *fields;
		} heap;
		VALUE ary[1];
	} as;
};
#endif

/* include/ruby/internal/core/rstring.h */
struct layout_rstring {
	struct RBasic basic;
#if RELEASE <= 301
	union {
		struct {
			long len;
			char *ptr;
			union {
				long capa;
				VALUE shared;
			} aux;
		} heap;
		char embed[1];
	} as;
#else
	long len; /* 3.2 has it once in each branch of the union */
	union {
		struct {
			char *ptr;
			union {
				long capa;
				VALUE shared;
			} aux;
		} heap;
		char embed[1];
	} as;
#endif
};

/* include/ruby/internal/core/rtypeddata.h */
struct layout_rtypeddata {
	struct RBasic basic;
#if RELEASE >= 400
	VALUE fields_obj;
	VALUE type;
#else
	const void *type;
	VALUE typed_flag;
#endif
	void *data;
};

/* include/ruby/internal/core/robject.h */
struct layout_robject {
	struct RBasic basic;
	union {
		struct {
#if RELEASE <= 301
			uint32_t numiv;
#endif
			VALUE *ivptr;
#if RELEASE <= 301
			void *iv_index_tbl;
#endif
		} heap;
		VALUE ary[1];
	} as;
};

/* internal/hash.h, hash.c: from 3.3 on the table lies behind the object */
struct layout_rhash {
	struct RBasic basic;
#if RELEASE <= 302
	union {
		void *st;
		void *ar;
	} as;
#endif
	VALUE ifnone;
};
struct layout_ar_pair {
	VALUE key;
	VALUE val;
};
struct layout_ar_table {
#if RELEASE >= 303
	union {
		unsigned char ary[8];
		VALUE word;
	} ar_hint;
#endif
	struct layout_ar_pair pairs[8];
};

/* variable.c, internal/variable.h: gone in 4.0 */
struct layout_gen_ivtbl {
	uint32_t numiv;
	VALUE ivptr[1];
};

/* internal/bignum.h */
struct layout_rbignum {
	struct RBasic basic;
	union {
		struct {
			size_t len;
			uint64_t *digits;
		} heap;
		uint64_t ary[3];
	} as;
};

/* id_table.c */
struct layout_id_item {
	uint32_t key;
	int collision;
	VALUE val;
};
struct layout_id_table {
	int capa;
	int num;
	int used;
	struct layout_id_item *items;
};

/* constant.h */
struct layout_const_entry {
	unsigned int flag;
	int line;
	VALUE value;
	VALUE file;
};

/* st.c */
struct layout_st_entry {
	st_index_t hash;
	st_data_t key;
	st_data_t record;
};

/* symbol.h (private, not in the gem) */
struct layout_symbols {
	uint32_t last_id;
	void *str_or_sym_set;
	VALUE ids;
};
struct layout_rsymbol {
	struct RBasic basic;
	st_index_t hashval;
	VALUE fstr;
	ID id;
};

/* thread_sync.c */
struct layout_mutex {
#if RELEASE == 207
	void *th;
#elif RELEASE < 400
	void *fiber;
#else
	uint64_t ec_serial;
	void *th;
#endif
};

/* internal/class.h of 4.0.0: struct rb_subclass_anchor, which 4.0.6 no longer has */
struct layout_subclass_anchor {
	void *box_subclasses;
	void *head;
};

/* cont.c: rb_context_t, the first member of rb_fiber_t, up to saved_ec */
struct layout_context_head {
	int type;
	int argc;
	int kw_splat;
	VALUE self;
	VALUE value;
	struct {
		VALUE *ptr;
		size_t slen;
		size_t clen;
	} saved_vm_stack;
	struct {
		VALUE *stack;
		VALUE *stack_src;
		size_t stack_size;
	} machine;
	char saved_ec[];
};

/*
 * gc.c, gc/default/default.c from 3.4: rb_objspace_t is long and full of build options, so the
 * offsets are given as measured; what rb_during_gc and rb_gc_count do in a given file corrects
 * those of the flags and the count when it is opened (user/discover/runtime.c).
 *
 * Objects allocated are counted in the objspace up to 3.2, by heap in 3.3 and 3.4. What 4.0 has
 * there was not measured.
 */
#if RELEASE == 207
#define OBJSPACE_FLAGS	       16
#define OBJSPACE_COUNT	       424
#define OBJSPACE_MAJOR_COUNT   384
#define OBJSPACE_INFO	       332
#define OBJSPACE_OBJ_TO_ID     1064
#define OBJSPACE_TOTAL_TIME    RUBY_NO_FIELD
#define OBJSPACE_MARKING_TIME  RUBY_NO_FIELD
#define OBJSPACE_SWEEPING_TIME RUBY_NO_FIELD
#define OBJSPACE_MEASURE_BIT   RUBY_NO_FIELD
#define OBJSPACE_ALLOCATED     24
#define OBJSPACE_HEAPS	       RUBY_NO_FIELD
#define HEAP_ALLOCATED	       RUBY_NO_FIELD
#define HEAP_SIZEOF	       RUBY_NO_FIELD
#define HEAP_COUNT	       RUBY_NO_FIELD
#elif RELEASE == 300
#define OBJSPACE_FLAGS	       16
#define OBJSPACE_COUNT	       424
#define OBJSPACE_MAJOR_COUNT   376
#define OBJSPACE_INFO	       324
#define OBJSPACE_OBJ_TO_ID     1072
#define OBJSPACE_TOTAL_TIME    RUBY_NO_FIELD
#define OBJSPACE_MARKING_TIME  RUBY_NO_FIELD
#define OBJSPACE_SWEEPING_TIME RUBY_NO_FIELD
#define OBJSPACE_MEASURE_BIT   RUBY_NO_FIELD
#define OBJSPACE_ALLOCATED     24
#define OBJSPACE_HEAPS	       RUBY_NO_FIELD
#define HEAP_ALLOCATED	       RUBY_NO_FIELD
#define HEAP_SIZEOF	       RUBY_NO_FIELD
#define HEAP_COUNT	       RUBY_NO_FIELD
#elif RELEASE == 301
#define OBJSPACE_FLAGS	       16
#define OBJSPACE_COUNT	       440
#define OBJSPACE_MAJOR_COUNT   392
#define OBJSPACE_INFO	       340
#define OBJSPACE_OBJ_TO_ID     1112
#define OBJSPACE_TOTAL_TIME    472
#define OBJSPACE_MARKING_TIME  RUBY_NO_FIELD
#define OBJSPACE_SWEEPING_TIME RUBY_NO_FIELD
#define OBJSPACE_MEASURE_BIT   11
#define OBJSPACE_ALLOCATED     24
#define OBJSPACE_HEAPS	       RUBY_NO_FIELD
#define HEAP_ALLOCATED	       RUBY_NO_FIELD
#define HEAP_SIZEOF	       RUBY_NO_FIELD
#define HEAP_COUNT	       RUBY_NO_FIELD
#elif RELEASE == 302
#define OBJSPACE_FLAGS	       16
#define OBJSPACE_COUNT	       1280
#define OBJSPACE_MAJOR_COUNT   1232
#define OBJSPACE_INFO	       1180
#define OBJSPACE_OBJ_TO_ID     2432
#define OBJSPACE_TOTAL_TIME    1296
#define OBJSPACE_MARKING_TIME  RUBY_NO_FIELD
#define OBJSPACE_SWEEPING_TIME RUBY_NO_FIELD
#define OBJSPACE_MEASURE_BIT   11
#define OBJSPACE_ALLOCATED     24
#define OBJSPACE_HEAPS	       RUBY_NO_FIELD
#define HEAP_ALLOCATED	       RUBY_NO_FIELD
#define HEAP_SIZEOF	       RUBY_NO_FIELD
#define HEAP_COUNT	       RUBY_NO_FIELD
#elif RELEASE == 303
#define OBJSPACE_FLAGS	       16
#define OBJSPACE_COUNT	       1392
#define OBJSPACE_MAJOR_COUNT   1344
#define OBJSPACE_INFO	       1292
#define OBJSPACE_OBJ_TO_ID     2584
#define OBJSPACE_TOTAL_TIME    RUBY_NO_FIELD
#define OBJSPACE_MARKING_TIME  1400
#define OBJSPACE_SWEEPING_TIME 1424
#define OBJSPACE_MEASURE_BIT   12
#define OBJSPACE_ALLOCATED     RUBY_NO_FIELD
#define OBJSPACE_HEAPS	       32
#define HEAP_ALLOCATED	       48
#define HEAP_SIZEOF	       224
#define HEAP_COUNT	       5
#elif RELEASE == 304
#define OBJSPACE_FLAGS	       20
#define OBJSPACE_COUNT	       1008
#define OBJSPACE_MAJOR_COUNT   960
#define OBJSPACE_INFO	       908
#define OBJSPACE_OBJ_TO_ID     2192
#define OBJSPACE_TOTAL_TIME    RUBY_NO_FIELD
#define OBJSPACE_MARKING_TIME  1016
#define OBJSPACE_SWEEPING_TIME 1040
#define OBJSPACE_MEASURE_BIT   12
#define OBJSPACE_ALLOCATED     RUBY_NO_FIELD
#define OBJSPACE_HEAPS	       40
#define HEAP_ALLOCATED	       32
#define HEAP_SIZEOF	       144
#define HEAP_COUNT	       5
#elif RELEASE == 400
#define OBJSPACE_FLAGS	       28
#define OBJSPACE_COUNT	       1048
#define OBJSPACE_MAJOR_COUNT   1000
#define OBJSPACE_INFO	       948
#define OBJSPACE_OBJ_TO_ID     RUBY_NO_FIELD
#define OBJSPACE_TOTAL_TIME    RUBY_NO_FIELD
#define OBJSPACE_MARKING_TIME  1056
#define OBJSPACE_SWEEPING_TIME 1080
#define OBJSPACE_MEASURE_BIT   12
#define OBJSPACE_ALLOCATED     RUBY_NO_FIELD
#define OBJSPACE_HEAPS	       RUBY_NO_FIELD
#define HEAP_ALLOCATED	       RUBY_NO_FIELD
#define HEAP_SIZEOF	       RUBY_NO_FIELD
#define HEAP_COUNT	       RUBY_NO_FIELD
#endif

#endif
