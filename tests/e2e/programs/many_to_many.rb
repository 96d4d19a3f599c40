# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# Four threads that share what they run on, in turns of sleep and work. No clock of a thread is
# theirs alone: what counts is how many times each did the same work.
require_relative "plain"

def unit
  i = 0
  i += 1 while i < 30_000
end

def worker(name, units)
  Thread.new do
    Thread.current.name = name
    units.times do |i|
      unit
      sleep 0.0005 if (i % 8).zero?
    end
  end
end

UNITS = { "one" => 200, "two" => 300, "three" => 400, "four" => 100 }.freeze
from = ready[1]
UNITS.map { |name, units| worker(name, units) }.each(&:join)
done(units: UNITS, process_ns: process_cpu_now - from)
