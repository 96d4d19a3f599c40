# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# What common.rb gives, in the words of Ruby 2.7.
require "json"

def cpu_now
  Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)
end

def process_cpu_now
  Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :nanosecond)
end

def mono_now
  Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
end

def burn(seconds)
  from = cpu_now
  limit = from + (seconds * 1e9).to_i
  nil while cpu_now < limit
  cpu_now - from
end

# The native thread as /proc names it.
def tid_now
  File.readlink("/proc/thread-self")[/\d+\z/].to_i
end

def tell(truth)
  File.write(ENV.fetch("TRUTH"), JSON.generate(truth)) if ENV["TRUTH"]
end

# Nanoseconds that this thread was ready to run and waited for a CPU, by the kernel.
def run_delay_now
  File.read("/proc/thread-self/schedstat").split[1].to_i
end

# Its clocks of this thread and of the process as they stand while it waits.
def ready
  tell(first: [1, "so that the second one takes no time"])
  $stdout.puts("ready")
  $stdout.flush
  clocks = [cpu_now, process_cpu_now]
  $stdin.gets
  clocks
end

def done(truth = {})
  tell(truth)
  $stdout.puts("done")
  $stdout.flush
  $stdin.read
end
