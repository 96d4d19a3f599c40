# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

# One phase after the other, each in a method of its own, and when each was, by the clock that
# people read: phases.rb COUNT MILLISECONDS [burn]. An even phase burns CPU, an odd one sleeps;
# with the third word all burn.
require_relative "plain"

COUNT, LENGTH = ARGV.first(2).map(&:to_i)
BURN = ARGV[2] == "burn"

def spin_until(limit)
  100.times { |i| i.to_s } while mono_now < limit
end

COUNT.times do |i|
  eval(<<-RUBY, binding, __FILE__, __LINE__ + 1)
    def phase_#{i}(limit)
      #{i.even? || BURN ? "spin_until(limit)" : "sleep((limit - mono_now) / 1e9)"}
    end
  RUBY
end

def real_now
  Process.clock_gettime(Process::CLOCK_REALTIME, :nanosecond)
end

Thread.new { Thread.current.name = "sleeper"; sleep }
sleep 0.05
ready
truth = Array.new(COUNT) do |i|
  from, cpu = real_now, cpu_now
  send("phase_#{i}", mono_now + LENGTH * 1_000_000)
  { name: "phase_#{i}", from_ns: from, to_ns: real_now, cpu_ns: cpu_now - cpu }
end
done(phases: truth, mono_ns: mono_now)
exit!(0)
