# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

module Bench
  class OverheadSection < Section
    HZ = 4999

    def run
      Table.section("overhead", "what the profile says that we cost a busy thread (Profiler Overhead) against what its work " \
                                "costs more while recorded, at #{HZ} Hz; in turn, by its own clock")
      program = Program.ruby("work.rb", 50)
      program.ask("calibrate 1")
      said = []
      pairs = Pairs.new(size(12, 5)) { |on| on ? recorded(program, said) : work(program) }
      program.finish
      lost = Statistics.mean(pairs.ratios)
      figure("lost, from outside", format("%.2f %% +- %.2f", lost * 100, Statistics.interval(pairs.ratios) * 100),
             "#{pairs.size} pairs; interrupts themselves included")
      figure("Profiler Overhead", Table.percent(Statistics.mean(said)), "of the kernel's CPU of the thread")
    end

    private

    def work(program) = program.ask("slice")["cpu_ns"]

    def recorded(program, said)
      cost = nil
      recorder = Recorder.run("-p", program.pid, hz: HZ) { cost = work(program) }
      mine = recorder.stats_of(program.pid)
      said << mine["overhead_cpu_ns"].fdiv(mine["kernel_cpu_ns"])
      cost
    end
  end
end
