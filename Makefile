# SPDX-License-Identifier: BSD-2-Clause
# make help lists the targets. Everything built lies under .output/.

V ?= 0
ifeq ($(V),1)
Q :=
say = @:
else
Q := @
say = @printf '  %-8s %s\n'
MAKEFLAGS += --no-print-directory
endif

O       := .output
CLANG   ?= clang-19
CC      ?= gcc
BPFTOOL ?= $(or $(shell command -v bpftool),/usr/sbin/bpftool)
ARCH    := $(shell uname -m | sed 's/x86_64/x86/;s/aarch64/arm64/')
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Werror \
	-Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla
CPPFLAGS := -D_GNU_SOURCE -Iinclude -I$(O)
CFLAGS   ?= -O2 -g
CFLAGS   += -std=gnu11 $(WARNINGS) -fno-strict-aliasing -fstack-protector-strong
BPF_CFLAGS := -O2 -g -target bpf -mcpu=v3 -D__TARGET_ARCH_$(ARCH) -I. -Iinclude \
	-I/usr/include/$(shell uname -m)-linux-gnu -Wall -Wextra -Werror -Wno-unused-parameter \
	-Wno-address-of-packed-member -Wno-missing-declarations
# One binary: everything static but libc (libm, too), libz and the loader (checked by tests).
LDLIBS := -Wl,-Bstatic -lbpf -lelf -lzstd -lcapstone -lprotobuf-c -ljansson \
	-lncursesw -ltinfo -lyaml -Wl,-Bdynamic -lz -lm

SRC  := $(filter-out user/main.c,$(sort $(wildcard user/*.c user/*/*.c)))
OBJ  := $(SRC:%.c=$(O)/%.o) $(O)/pprof.pb-c.o
SAN  := $(SRC:%.c=$(O)/san/%.o) $(O)/san/pprof.pb-c.o
SKEL := $(O)/rbprof.skel.h
GEN  := $(SKEL) $(O)/pprof.pb-c.h $(O)/version.h $(O)/html_page.h $(O)/terminfo_table.h
BPF_HEADERS := $(wildcard bpf/*.h) vmlinux.h $(wildcard include/*)
MAN  := $(patsubst docs/man/%.scd,$(O)/man/%,$(wildcard docs/man/*.scd))

UNIT := $(patsubst tests/unit/%.c,$(O)/tests/%,$(wildcard tests/unit/test_*.c))
FUZZ := $(patsubst tests/fuzz/%.c,$(O)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))

.PHONY: all
all: $(O)/rbprof-bpf man completions ## build the profiler, man pages, completions (default)

.DELETE_ON_ERROR:

# ---- BPF ----
$(O)/rbprof.bpf.o: bpf/rbprof.bpf.c $(BPF_HEADERS) | $(O)
	$(say) BPF $@
	$(Q)$(CLANG) $(BPF_CFLAGS) -c $< -o $@.tmp && $(BPFTOOL) gen object $@ $@.tmp

$(SKEL): $(O)/rbprof.bpf.o
	$(say) SKEL $@
	$(Q)$(BPFTOOL) gen skeleton $< name rbprof_bpf >$@

# ---- pprof messages ----
$(O)/pprof.pb-c.c $(O)/pprof.pb-c.h &: user/out/pprof.proto | $(O)
	$(say) PROTO $(O)/pprof.pb-c.c
	$(Q)protoc-c --proto_path=user/out --c_out=$(O) $<

$(O)/pprof.pb-c.o: $(O)/pprof.pb-c.c
	$(Q)$(CC) -O2 -g -w -c $< -o $@

$(O)/san/pprof.pb-c.o: $(O)/pprof.pb-c.c
	$(Q)mkdir -p $(@D) && $(CLANG) -O1 -g -w -fsanitize=address,undefined -c $< -o $@

# ---- the page of -f html ----
$(O)/html_page.h: tools/html-page.sh $(wildcard user/out/html/*) | $(O)
	$(say) HTML $@
	$(Q)tools/html-page.sh user/out/html >$@

# ---- the version, as git tells it; touched only when it changes ----
$(O)/version.h: FORCE | $(O)
	$(Q)echo '#define RBPROF_VERSION "$(VERSION)"' | cmp -s - $@ || \
		echo '#define RBPROF_VERSION "$(VERSION)"' >$@
.PHONY: FORCE
FORCE:

# ---- terminals that are known where there is no terminfo database ----
$(O)/terminfo_table.h: tools/terminfo.sh | $(O)
	$(say) TERM $@
	$(Q)tools/terminfo.sh >$@

# ---- user space ----
$(O)/%.o: %.c | $(GEN)
	$(say) CC $@
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

$(O)/librbprof.a: $(OBJ)
	$(say) AR $@
	$(Q)rm -f $@ && ar rcs $@ $^

$(O)/rbprof-bpf: $(O)/user/main.o $(O)/librbprof.a
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $^ $(LDLIBS) $(LDFLAGS) -o $@

# ---- tools for developers ----
$(O)/%: tools/%.c $(O)/librbprof.a
	$(say) LINK $@
	$(Q)$(CC) $(CPPFLAGS) -I. $(CFLAGS) -MMD -MP $< $(O)/librbprof.a $(LDLIBS) -o $@

# ---- the same code under the address and undefined behaviour sanitizers ----
SAN_FLAGS := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined \
	-fno-sanitize-recover=undefined
$(O)/san/%.o: %.c | $(GEN)
	$(say) CC-SAN $@
	$(Q)mkdir -p $(@D) && $(CLANG) $(CPPFLAGS) -std=gnu11 -w $(SAN_FLAGS) \
		-fsanitize=fuzzer-no-link -MMD -MP -c $< -o $@

$(O)/san/librbprof.a: $(SAN)
	$(Q)rm -f $@ && ar rcs $@ $^

$(O)/tests/%: tests/unit/%.c $(O)/san/librbprof.a
	$(say) TEST $@
	$(Q)mkdir -p $(@D) && $(CLANG) $(CPPFLAGS) -I. -std=gnu11 -Wall -Wextra -Werror $(SAN_FLAGS) -MMD -MP \
		$< $(O)/san/librbprof.a -lcmocka $(LDLIBS) -o $@

$(O)/fuzz/%: tests/fuzz/%.c $(O)/san/librbprof.a
	$(say) FUZZ $@
	$(Q)mkdir -p $(@D) && $(CLANG) $(CPPFLAGS) -I. -std=gnu11 -Wall -Wextra -Werror $(SAN_FLAGS) \
		-fsanitize=fuzzer -MMD -MP $< $(O)/san/librbprof.a $(LDLIBS) -o $@

# ---- the collector's entries and exits, counted by uprobes against the VM's own events ----
$(O)/gc_probe.skel.h: tests/bpf/gc_probe.bpf.c $(wildcard tests/bpf/*.h) $(BPF_HEADERS) | $(O)
	$(Q)$(CLANG) $(BPF_CFLAGS) -c $< -o $(O)/gc_probe.tmp.o && \
		$(BPFTOOL) gen object $(O)/gc_probe.bpf.o $(O)/gc_probe.tmp.o && \
		$(BPFTOOL) gen skeleton $(O)/gc_probe.bpf.o name gc_probe_bpf >$@

$(O)/gc_probe: tests/bpf/gc_probe.c $(O)/gc_probe.skel.h $(O)/librbprof.a
	$(say) LINK $@
	$(Q)$(CC) $(CPPFLAGS) -I. -Itests/bpf $(CFLAGS) $< $(O)/librbprof.a $(LDLIBS) -o $@

$(O)/gc_probe_hooks.so: tests/bpf/gc_probe_hooks.c | $(O)
	$(Q)$(CC) -O2 -shared -fPIC $< -o $@

# ---- what threads wait for, read in the kernel and from outside ----
$(O)/wait_probe.skel.h: tests/bpf/wait_probe.bpf.c $(wildcard tests/bpf/*.h) $(BPF_HEADERS) | $(O)
	$(Q)$(CLANG) $(BPF_CFLAGS) -c $< -o $(O)/wait_probe.tmp.o && \
		$(BPFTOOL) gen object $(O)/wait_probe.bpf.o $(O)/wait_probe.tmp.o && \
		$(BPFTOOL) gen skeleton $(O)/wait_probe.bpf.o name wait_probe_bpf >$@

$(O)/wait_probe: tests/bpf/wait_probe.c $(O)/wait_probe.skel.h $(O)/librbprof.a
	$(say) LINK $@
	$(Q)$(CC) $(CPPFLAGS) -I. -Itests/bpf $(CFLAGS) $< $(O)/librbprof.a $(LDLIBS) -o $@

# ---- documents ----
$(O)/man/%: docs/man/%.scd | $(O)
	$(say) MAN $@
	$(Q)mkdir -p $(@D) && scdoc <$< >$@

.PHONY: man
man: $(MAN)

# ---- completions, under the names by which shells look for them ----
COMPLETIONS := $(O)/completions/bash/rbprof-bpf $(O)/completions/zsh/_rbprof-bpf \
	$(O)/completions/fish/rbprof-bpf.fish

.PHONY: completions
completions: $(COMPLETIONS)

$(COMPLETIONS): $(O)/completions.tool
	$(say) COMPL $@
	$(Q)mkdir -p $(@D) && $< $(notdir $(@D)) >$@

$(O)/completions.tool: tools/completions.c $(O)/librbprof.a
	$(say) LINK $@
	$(Q)$(CC) $(CPPFLAGS) -I. $(CFLAGS) -MMD -MP $< $(O)/librbprof.a $(LDLIBS) -o $@

$(O):
	$(Q)mkdir -p $@

# ---- targets for people ----
.PHONY: deps
deps: ## install what building and testing needs (Debian packages, as root)
	$(Q)tools/deps.sh

.PHONY: demo
demo: ## build, record a sample Ruby program for some seconds and show the profile
	$(Q)tools/demo.sh

.PHONY: unit
unit: $(UNIT) ## unit tests, under ASan and UBSan
	$(Q)tests/run unit

.PHONY: fuzz
fuzz: $(FUZZ) ## run each fuzz target for a moment (FUZZ_SECONDS, default 10)
	$(Q)tests/run fuzz

.PHONY: check
check: ## install what is missing, build, run all tests (needs root)
	$(Q)tools/deps.sh
	$(Q)$(MAKE) check-all

.PHONY: check-all
check-all: all $(UNIT) $(FUZZ)
	$(Q)tests/run all

.PHONY: check-static
check-static: all ## tests of a static Ruby, built from Debian's source (some ten minutes)
	$(Q)tests/static-ruby >/dev/null
	$(Q)TESTS=TestBuilds tests/run e2e

.PHONY: check-gc
check-gc: $(O)/gc_probe $(O)/gc_probe_hooks.so ## GC sites against the VM's own events (a minute a Ruby)
	$(Q)GC_PROBE_HOOKS=$(abspath $(O))/gc_probe_hooks.so $(O)/gc_probe ruby tests/bpf/gc_probe.rb

.PHONY: check-waits
check-waits: $(O)/wait_probe ## waits of threads, read in the kernel, against what the threads do
	$(Q)$(O)/wait_probe ruby tests/bpf/wait_probe.rb

.PHONY: lint
lint: ## formatting, static analysis
	$(Q)tests/lint

.PHONY: bench
bench: all ## what profiling costs, and how exact it is
	$(Q)bench/run

.PHONY: install
PREFIX ?= /usr/local
install: all ## install to $(DESTDIR)$(PREFIX)
	$(Q)install -D -m 0755 $(O)/rbprof-bpf $(DESTDIR)$(PREFIX)/bin/rbprof-bpf
	$(Q)for page in $(MAN); do \
		install -D -m 0644 $$page $(DESTDIR)$(PREFIX)/share/man/man$${page##*.}/$${page##*/}; done
	$(Q)install -D -m 0644 -t $(DESTDIR)$(PREFIX)/share/bash-completion/completions \
		$(O)/completions/bash/rbprof-bpf
	$(Q)install -D -m 0644 -t $(DESTDIR)$(PREFIX)/share/zsh/site-functions \
		$(O)/completions/zsh/_rbprof-bpf
	$(Q)install -D -m 0644 -t $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d \
		$(O)/completions/fish/rbprof-bpf.fish

.PHONY: clean
clean: ## remove everything built
	$(Q)rm -rf $(O)

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

-include $(shell test -d $(O) && find $(O) -name '*.d')
