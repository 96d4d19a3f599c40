# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Threads that hardly live, one after the other: churn.rb SECONDS
require_relative "common"

ready
limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + ARGV.fetch(0).to_f
from = process_cpu_now
count = 0
while Process.clock_gettime(Process::CLOCK_MONOTONIC) < limit
  Thread.new { count += 1 }.join
end
done(process_ns: process_cpu_now - from, threads: count)
