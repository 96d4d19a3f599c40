# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Something of every kind that the page of -f html shows: threads, garbage, waits, C methods, and
# a name that would be the page's end if it were not escaped.

EVIL = "</script><img src=x onerror=\"document.title='owned'\">"
SECONDS = ARGV.fetch(0, "1").to_f

def inner_a = 200_000.times { |i| i * 2 }
def inner_b = Array.new(3_000) { |i| i.to_s * 3 }.sort
def outer_a = inner_a
def outer_b = 5.times { inner_b }
Object.define_method(EVIL) { inner_a }

ends = Process.clock_gettime(Process::CLOCK_MONOTONIC) + SECONDS
other = Thread.new { outer_b while Process.clock_gettime(Process::CLOCK_MONOTONIC) < ends }
other.name = "other"
while Process.clock_gettime(Process::CLOCK_MONOTONIC) < ends
  outer_a
  send(EVIL)
  sleep 0.01
end
other.join
