# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

module Bench
  class GcSection < Section
    BUDGET_COST = 0.01
    BUDGET_SUM = 0.02
    GRACE_NS = 5_000_000

    def run
      Table.section("gc", "CPU time of a fixed slice of work that mostly makes garbage, recorded with probes on the " \
                          "collector against --no-uprobes, one recording a slice in turns; mean and 95 % interval")
      @program = Program.ruby("garbage.rb")
      @program.ask("calibrate #{size(1.5, 0.4)}")
      @shares = []
      @sums = []
      pairs = Pairs.new(size(30, 6)) { |probes| recorded(probes) }
      cost(pairs)
      sum
      @program.finish
    end

    private

    # The first slice is for the profiler to find out how often the collector steps.
    def recorded(probes)
      first = cost = nil
      recorder = Recorder.run("-p", @program.pid, *("--no-uprobes" unless probes)) do
        first = @program.ask("slice")
        cost = @program.ask("slice")
      end
      note_sum(recorder, [first, cost]) if probes
      @shares << cost["gc_ns"].fdiv(cost["cpu_ns"]) if cost["gc_ns"]
      cost["cpu_ns"]
    end

    def note_sum(recorder, slices)
      process = recorder.stats_of(@program.pid)
      found, truth = process["gc_cpu_ns"], slices.sum { |slice| slice["gc_ns"].to_i }
      @sums << { found: found, truth: truth, source: process["gc_source"] } if found && truth.positive?
    end

    def cost(pairs)
      mean, interval, text = loss(pairs.ratios)
      how = "#{pairs.size} pairs, median #{Table.percent(Statistics.median(pairs.ratios))}"
      how += format(", %.0f %% of it is GC", Statistics.mean(@shares) * 100) if @shares.any?
      figure("probes", text, how, budget: Table.percent(BUDGET_COST, 1), over: over(mean, interval, BUDGET_COST))
    end

    # The recording that is furthest off.
    def sum
      return note("GC against the VM's clock: it has none, or we gave no figure") if @sums.empty?

      worst = @sums.max_by { |s| (s[:found] - s[:truth]).abs - allowed(s[:truth]) }
      off = worst[:found] - worst[:truth]
      figure("worst of #{@sums.size} against the VM's clock", Table.percent(off.fdiv(worst[:truth]), 2),
             format("%.1f ms of %.1f ms, source: %s", off / 1e6, worst[:truth] / 1e6, worst[:source]),
             budget: "2 % or 5 ms", over: off.abs > allowed(worst[:truth]))
    end

    def allowed(truth) = [truth * BUDGET_SUM, GRACE_NS].max
  end
end
