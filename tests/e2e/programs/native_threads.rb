# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Threads made by a C library, one after the other: native_threads.rb LIBRARY [SECONDS]
# SECONDS is of CPU, of the first one; the others are short.
require_relative "common"
require "fiddle"

library = Fiddle.dlopen(ARGV.fetch(0))
run = Fiddle::Function.new(library["run_native_thread"], [Fiddle::TYPE_LONG_LONG, Fiddle::TYPE_VOIDP], Fiddle::TYPE_INT)
slot = Fiddle::Pointer.malloc(16, Fiddle::RUBY_FREE)
ready
truth = ([((ARGV[1] || 0.2).to_f * 1e9).to_i] + [2_000_000] * 50).map do |ns|
  run.call(ns, slot)
  cpu_ns, tid = slot[0, 16].unpack("q2")
  { tid: tid, cpu_ns: cpu_ns }
end
done(truth)
