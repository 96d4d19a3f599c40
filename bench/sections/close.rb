# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

module Bench
  class CloseSection < Section
    BUDGET = 0.005
    # The program reads its clocks a moment after it was woken, and before its threads go to sleep.
    GRACE_NS = 1_000_000

    def run
      Table.section("close", "cpu-time in the profile against the program's own CLOCK_PROCESS_CPUTIME_ID and " \
                             "CLOCK_THREAD_CPUTIME_ID, #{size(60, 10)} s; of its threads the one furthest off")
      [19, 99, 997].each { |hz| measure(hz) }
    end

    private

    def measure(hz)
      program = Program.ruby("threads.rb")
      truth = nil
      recorder = Recorder.run("-p", program.pid, hz: hz) { truth = program.ask("run #{size(60, 10)}") }
      own = recorder.profile.of(program.pid)
      program.finish
      report("#{hz} Hz, process", own.sum(&:cpu), truth["process_ns"])
      by_thread = own.group_by(&:tid).transform_values { |samples| samples.sum(&:cpu) }
      threads = truth["threads"].map { |t| [t["kind"], by_thread.fetch(t["tid"], 0), t["cpu_ns"]] }
      worst = threads.max_by { |_, found, really| (found - really).abs - allowed(really) }
      report("#{hz} Hz, worst of #{threads.size} threads (#{worst[0]})", worst[1], worst[2])
      kernel = recorder.stats_of(program.pid)
      report("#{hz} Hz, process, kernel's figure in --stats", kernel["samples_cpu_ns"], kernel["kernel_cpu_ns"])
    end

    def allowed(really) = [really * BUDGET, GRACE_NS].max

    def report(what, found, really)
      off = found - really
      figure(what, Table.percent(off.to_f / really, 4),
             "#{Table.ms(found)} in the profile, #{Table.ms(really)} by the clock, off by #{(off / 1e3).round} us",
             budget: "0.5 % or 1 ms", over: off.abs > allowed(really))
    end
  end
end
