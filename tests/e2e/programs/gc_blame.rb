# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# One method allocates and one does not (C101, P10); runs on every Ruby since 2.7.
require_relative "plain"

def alloc_hot(limit)
  Array.new(50) { "x" * 40 } while mono_now < limit
end

def pure_cpu(limit)
  1 while mono_now < limit
end

def total_now
  return GC.total_time if GC.respond_to?(:total_time)

  GC.respond_to?(:measure_total_time) ? GC.stat(:time) * 1_000_000 : (GC::Profiler.total_time * 1e9).round
end

GC::Profiler.enable unless GC.respond_to?(:measure_total_time)
keep = Array.new(300_000) { Object.new }
ready
gc, cpu = total_now, process_cpu_now
3.times do
  alloc_hot(mono_now + 500_000_000)
  pure_cpu(mono_now + 500_000_000)
end
done(vm_ns: total_now - gc, process_ns: process_cpu_now - cpu, keep: keep.size)
