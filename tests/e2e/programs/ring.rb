# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Another method each half second, beside a thread that sleeps: ring.rb METHODS
require_relative "common"

count = ARGV.fetch(0).to_i
count.times { |i| Object.class_eval("def step_#{i}(limit) = (nil while now < limit)") }

def now = Process.clock_gettime(Process::CLOCK_REALTIME, :nanosecond)
def sleeps_all_the_time = sleep

Thread.new { sleeps_all_the_time }.name = "sleeper"
ready
from = now
spans = Array.new(count) do |i|
  before = now
  send("step_#{i}", from + (i + 1) * 500_000_000)
  [before, now]
end
done(spans: spans)
