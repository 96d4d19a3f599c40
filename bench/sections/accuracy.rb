# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

module Bench
  class AccuracySection < Section
    BUDGET_EACH = 0.02
    BUDGET_MEAN = 0.005

    def run
      seconds = size(10, 3)
      Table.section("accuracy", "two methods share the CPU 70 to 30 for #{seconds} s at 997 Hz; their share in the " \
                                "profile's cpu-time less their share by the thread's own CPU clock, in points")
      deviations = Array.new(size(10, 3)) { |i| deviation(i + 1, seconds) }
      mean = Statistics.mean(deviations)
      interval = Statistics.interval(deviations)
      figure("mean of #{deviations.size} runs", points(mean), "+- #{points(interval)} (95 %)",
             budget: "0.5 points", over: mean.abs > BUDGET_MEAN)
    end

    private

    def points(share) = format("%.3f points", share * 100)

    def deviation(number, seconds)
      program = Program.ruby("split.rb")
      truth = nil
      recorder = Recorder.run("-p", program.pid, hz: 997) { truth = program.ask("split #{seconds}") }
      program.finish
      seven = cpu_of(recorder, "seven_parts")
      three = cpu_of(recorder, "three_parts")
      raise Unable, "the methods are not in the profile" if seven + three == 0

      found = seven.to_f / (seven + three)
      really = truth["seven"].to_f / (truth["seven"] + truth["three"])
      off = found - really
      figure("run #{number}", points(off), format("%.2f %% in the profile, %.2f %% by its clock", found * 100, really * 100),
             budget: "2 points", over: off.abs > BUDGET_EACH)
      off
    end

    def cpu_of(recorder, method) = recorder.profile.sum { |s| s.frame?(/(\A|[#.])#{method}\z/) }
  end
end
