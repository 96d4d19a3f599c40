# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# What the programs share: their own clocks, and the conversation with the test.
require "json"

def cpu_now = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)
def process_cpu_now = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :nanosecond)

# Uses that much CPU time of this thread; returns how much it was.
def burn(seconds)
  from = cpu_now
  limit = from + (seconds * 1e9).to_i
  nil while cpu_now < limit
  cpu_now - from
end

def ready
  $stdout.puts("ready")
  $stdout.flush
  $stdin.gets
end

def done(truth = {})
  File.write(ENV.fetch("TRUTH"), JSON.generate(truth)) if ENV["TRUTH"]
  $stdout.puts("done")
  $stdout.flush
  $stdin.read
end
