# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Three methods in turn, once every two periods of a 99 Hz timer, and asleep for the rest of them:
# rhythm.rb SECONDS
require_relative "common"

CYCLE = 2.0 / 99

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

def spend(from, seconds)
  nil while now < from + seconds
  cpu_now
end

def first_third(from) = spend(from, 0.003)
def second_third(from) = spend(from, 0.006)
def last_third(from) = spend(from, 0.009)

used = Hash.new(0)
ready
start = now
ends = start + ARGV.fetch(0).to_f
while start < ends
  clock = cpu_now
  %i[first_third second_third last_third].each do |third|
    after = send(third, start)
    used[third] += after - clock
    clock = after
  end
  start += CYCLE
  pause = start - now
  sleep pause if pause.positive?
end
done(used)
