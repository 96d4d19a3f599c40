# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# What the programs share: their own clocks, and the conversation with the benchmark.
require "json"
require "io/wait"

$stdout.sync = true

def cpu_now = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)
def process_cpu_now = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :nanosecond)
def wall_now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)

# Uses that much CPU time of this thread.
def burn(ns)
  limit = cpu_now + ns
  60.times { nil } while cpu_now < limit
end

# So many levels down.
def descend(levels, &block)
  levels.positive? ? descend(levels - 1, &block) : yield
end

# Answers each line until the input ends; the block's value is the answer.
def converse
  puts "ready"
  while (line = $stdin.gets)
    puts JSON.generate(yield(*line.split))
  end
end

# Until the input ends, or has something to say; looked at now and then by who never waits.
def told? = $stdin.wait_readable(0)
