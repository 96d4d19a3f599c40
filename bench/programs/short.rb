# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# A short life: loads something, works for a few hundredths of a second, ends.
require "json"
require "set"

def parse(text) = JSON.parse(text)
def build(n) = JSON.generate(Array.new(40) { |i| { "key#{i}" => [n, i, "text"] } })

def work(n)
  set = Set.new
  parse(build(n)).each { |row| set.merge(row.keys) }
  set.size
end

n = 0
3.times { work(n += 1) }
work(n += 1) while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < 0.075
