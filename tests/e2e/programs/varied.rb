# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Deep stacks of which hardly two are alike: varied.rb SECONDS
require_relative "common"

# Which way a level goes is a bit of a random number, so the lines on the stack differ each time.
def one_way(n, bits)
  return burn(0.0002) if n.zero?
  return one_way(n - 1, bits) if bits[n % 31] == 1

  one_way(n - 1, bits)
end

random = Random.new(3)
ready
from = process_cpu_now
limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + ARGV.fetch(0).to_f
one_way(600, random.rand(1 << 31)) while Process.clock_gettime(Process::CLOCK_MONOTONIC) < limit
done(process_ns: process_cpu_now - from)
