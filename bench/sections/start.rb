# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

module Bench
  class StartSection < Section
    MANY = 50

    def run
      Table.section("start", "from just before `record -p` is spawned to its first sample " \
                             "(first_sample_monotonic_ns of --stats=json), 99 Hz; median of the runs")
      busy = Program.ruby("spin.rb", 100, "steady")
      measure("one busy process", [busy], 300)
      others = Array.new(MANY - 1) { Program.ruby("spin.rb", 100, "steady", 1) }
      measure("#{MANY} processes, one of them busy", [busy, *others], 1000)
      [busy, *others].each(&:finish)
    end

    private

    def measure(what, programs, budget_ms)
      started = []
      sampled = []
      size(15, 4).times do
        recorder = Recorder.run("-p", programs.map(&:pid).join(","), seconds: 1.5)
        first, start = recorder.stats.values_at("first_sample_monotonic_ns", "started_monotonic_ns")
        raise Unable, "--stats=json does not tell the first sample's time" unless first && start
        next if first.zero?

        sampled << first - recorder.spawned_ns
        started << start - recorder.spawned_ns
      end
      raise Unable, "no run took a sample" if sampled.empty?

      middle = Statistics.median(sampled)
      figure(what, Table.ms(middle), "#{sampled.size} runs, #{Table.ms(sampled.min)} to #{Table.ms(sampled.max)}; " \
                                     "recording from #{Table.ms(Statistics.median(started))} on",
             budget: "#{budget_ms} ms", over: middle > budget_ms * 1e6)
    end
  end
end
