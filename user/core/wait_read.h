#pragma once
#include "../../include/rbprof_abi.h"
#include "../agg/profile.h"
struct wait_reader; struct wait_reading { uint32_t stack, omitted; uint64_t thread, thread_name, switches; struct rbprof_gc_state gc; struct rbprof_wait wait; uint32_t flags; };
static inline int wait_reader__open(struct memory*m, struct names*n, const struct ruby_layout*l, uint64_t vm, pid_t pid, struct profile*p, uint32_t max, struct wait_reader**r){(void)m;(void)n;(void)l;(void)vm;(void)pid;(void)p;(void)max;(void)r;return -38;}
static inline int wait_reader__read(struct wait_reader*r, pid_t tid, struct wait_reading*out){(void)r;(void)tid;(void)out;return -38;}
static inline void wait_reader__close(struct wait_reader*r){(void)r;}
