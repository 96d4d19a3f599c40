# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Slices of a fixed amount of work at some depth: methods, blocks, some allocation. work.rb DEPTH
# calibrate SECONDS: how much a slice is; slice: do one; start, stop TOOL HZ: a profiler in here
require_relative "common"

Item = Struct.new(:key, :weight)

def weigh(items)
  items.sum { |item| item.weight * 3 % 7 }
end

def select_some(items, n)
  items.select { |item| (item.key ^ n) & 3 != 0 }
end

def one(n)
  items = Array.new(12) { |i| Item.new(i, n + i) }
  names = { "n#{n & 15}" => n, "m" => weigh(items) }
  select_some(items, n).each { |item| names["m"] += item.weight }
  names["m"]
end

def work(count)
  total = 0
  count.times { |n| total ^= one(n) }
  total
end

def slice(count)
  cpu = cpu_now
  wall = wall_now
  work(count)
  { cpu_ns: cpu_now - cpu, wall_ns: wall_now - wall, count: count }
end

def calibrate(seconds)
  work(20_000)
  best = Array.new(5) { slice(20_000)[:cpu_ns] }.min
  (20_000 * seconds * 1e9 / best).to_i
end

def start(tool, hz)
  require tool
  case tool
  when "stackprof" then StackProf.start(mode: :cpu, interval: 1_000_000 / hz, raw: true)
  when "vernier" then Vernier.start_profile(interval: 1_000_000 / hz)
  when "pf2" then Pf2.start(interval_ms: 1000 / hz, time_mode: :cpu)
  when "rperf" then Rperf.start(frequency: hz, mode: :cpu)
  end
end

# How many samples it took; what else it recorded is of no interest and must not pile up.
def stop(tool)
  samples =
    case tool
    when "stackprof"
      StackProf.stop
      StackProf.results[:samples]
    when "vernier" then Vernier.stop_profile.total_samples
    when "pf2" then Pf2.stop && nil
    when "rperf" then Rperf.stop && nil
    end
  GC.start
  { samples: samples }
end

count = 1
descend(ARGV.fetch(0).to_i) do
  converse do |command, *arguments|
    case command
    when "calibrate" then count = calibrate(arguments.fetch(0).to_f)
    when "slice" then slice(count)
    when "start" then start(arguments.fetch(0), arguments.fetch(1).to_i) && true
    when "stop" then stop(arguments.fetch(0))
    end
  end
end
