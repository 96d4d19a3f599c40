# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# One thread computes, five want to: gvl.rb SECONDS
require_relative "plain"

def hog_work
  1 until $stop
end

# It has the GVL for a moment only, and asks for it again.
def victim_work
  Thread.pass until $stop
end

def thread(name, gate)
  Thread.new do
    Thread.current.name = name
    gate.pop
    # Reading the run delay gives the GVL away: outside of what is timed.
    spent = -cpu_now - run_delay_now
    from = mono_now
    yield
    wall = mono_now - from
    { tid: tid_now, wall_ns: wall, spent_ns: spent + cpu_now + run_delay_now }
  end
end

gate = Queue.new
hog = thread("hog", gate) { hog_work }
victims = Array.new(5) { |i| thread("victim #{i}", gate) { victim_work } }
ready
6.times { gate << 1 }
sleep ARGV.fetch(0).to_f
$stop = true
done(hog: hog.value, victims: victims.map(&:value))
