# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Threads that live for the whole recording or for a part of it: wall.rb LIBRARY
require_relative "plain"
require_relative "native_sleeper"

NativeSleeper.open(ARGV.fetch(0))

def sleeps_all_the_time
  sleep
end

def pulse_work
  burn(0.004)
end

# Not in step with the ticks: two periods of 99 Hz are 20.2 ms.
def pulse_rest
  sleep(0.008 + (rand * 0.016))
end

def late_sleep
  sleep
end

truth = {}
Thread.new do
  Thread.current.name = "sleeper"
  truth[:sleeper] = { tid: tid_now }
  sleeps_all_the_time
end
Thread.new do
  Thread.current.name = "pulse"
  truth[:pulse] = { tid: tid_now }
  loop { pulse_work; pulse_rest }
end
sleep 0.01 until truth.size == 2

ready
sleep 0.2
from = mono_now
Thread.new do
  Thread.current.name = "late"
  truth[:late] = { tid: tid_now, from_ns: from, inner_from_ns: mono_now }
  late_sleep
end
truth[:native] = Thread.new { NativeSleeper.run(0.6) }.value
sleep 0.4
done(truth.merge(end_ns: mono_now))
exit!(0)
