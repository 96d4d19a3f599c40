# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Busy from the start until its input ends: busy.rb [SECONDS], at most that long.
require_relative "common"

def busy_work(limit)
  while Process.clock_gettime(Process::CLOCK_MONOTONIC) < limit
    100.times { [3, 1, 2].sort.sum }
    break if $stdin.wait_readable(0)
  end
end

require "io/wait"
$stdout.puts("ready")
$stdout.flush
busy_work(Process.clock_gettime(Process::CLOCK_MONOTONIC) + (ARGV[0] || 30).to_f)
