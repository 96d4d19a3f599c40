# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Collects garbage in one of four ways and knows what it cost; runs on every Ruby since 2.7:
# gc.rb MODE SECONDS [LIBRARY], the latter counts the VM's own events (tests/bpf/gc_probe_hooks.c).
require_relative "plain"

mode, seconds, library = ARGV
measured = GC.respond_to?(:measure_total_time)
measured ? GC.measure_total_time = true : GC::Profiler.enable
hooks = nil
if library
  require "fiddle"
  handle = Fiddle.dlopen(library)
  Fiddle::Function.new(handle["gc_probe_hooks_start"], [], Fiddle::TYPE_VOID).call
  hooks = Fiddle::Pointer.new(handle["gc_probe_hooks"])
end

# By the VM's own clock; 2.7 does not count the steps of incremental marking.
def vm_now(measured)
  return (GC::Profiler.total_time * 1e9).round unless measured

  GC.respond_to?(:total_time) ? GC.total_time : GC.stat(:time) * 1_000_000
end

def allocates
  10_000.times { |i| [i.to_s, { i => "x" * 50 }] }
end

def marks
  GC.start(immediate_sweep: false)
  20_000.times { |i| [i.to_s] }
end

def replaces(live)
  20_000.times { |i| live[(i * 7919) % live.size] = [i, "y" * 30, i.to_s] }
end

def asks(compact)
  GC.start
  GC.start(full_mark: false)
  GC.compact if compact
end

compact = GC.respond_to?(:compact)
live = Array.new({ "mark" => 800_000, "incremental" => 400_000 }.fetch(mode, 20_000)) { |i| [i, i.to_s] }
works = { "alloc" => -> { allocates }, "mark" => -> { marks }, "incremental" => -> { replaces(live) },
          "start" => -> { asks(compact) } }
work = works.fetch(mode)
GC.start
GC.disable # finishes what has begun: no step falls before or after
_, process = ready
GC::Profiler.clear unless measured
vm = vm_now(measured)
count = GC.count
entered, _, hooked = hooks ? hooks[0, 24].unpack("Q3") : [0, 0, 0]
limit = mono_now + (seconds.to_f * 1e9).to_i
GC.enable
work.call while mono_now < limit
GC.disable
truth = { vm_ns: vm_now(measured) - vm, count: GC.count - count, process_ns: process_cpu_now - process, tid: tid_now }
truth.update(hooks_ns: hooks[16, 8].unpack1("Q") - hooked, steps: hooks[0, 8].unpack1("Q") - entered) if hooks
done(truth)
