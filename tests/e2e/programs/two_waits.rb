# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Threads that wait in two methods in turn and know how long in each:
# two_waits.rb LONG_MS SHORT_MS SECONDS THREADS
require_relative "plain"

LONG, SHORT = ARGV.first(2).map { |ms| ms.to_f / 1000 }

def long_wait
  sleep(LONG)
end

def short_wait
  sleep(SHORT)
end

def turns(limit)
  spent = [0, 0]
  while (first = mono_now) < limit
    long_wait
    second = mono_now
    short_wait
    spent[0] += second - first
    spent[1] += mono_now - second
  end
  spent
end

gate = Queue.new
threads = Array.new(ARGV[3].to_i) { Thread.new { turns(gate.pop) } }
ready
limit = mono_now + (ARGV[2].to_f * 1e9).to_i
threads.each { gate << limit }
long, short = threads.map(&:value).transpose.map(&:sum)
done(long_wait: long, short_wait: short)
