# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Slices of a fixed amount of work that mostly makes garbage. calibrate SECONDS: how much a slice
# is; slice: do one
require_relative "common"

def garbage(count)
  count.times { |i| [i.to_s, { i => "x" * 50 }] }
end

# By the VM's own clock; nil where it has none.
def gc_now
  return GC.total_time if GC.respond_to?(:total_time)

  GC.stat(:time) * 1_000_000 if GC.respond_to?(:measure_total_time)
end

def slice(count)
  cpu, gc, collections = process_cpu_now, gc_now, GC.count
  garbage(count)
  { cpu_ns: process_cpu_now - cpu, gc_ns: gc && (gc_now - gc), collections: GC.count - collections }
end

def calibrate(seconds)
  garbage(200_000)
  best = Array.new(5) { slice(200_000)[:cpu_ns] }.min
  (200_000 * seconds * 1e9 / best).to_i
end

count = 1
converse do |command, *arguments|
  case command
  when "calibrate" then count = calibrate(arguments.fetch(0).to_f)
  when "slice" then slice(count)
  end
end
