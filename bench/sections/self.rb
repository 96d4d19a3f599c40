# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

module Bench
  class SelfSection < Section
    BUDGET_CPU = 0.005
    BUDGET_ONE_KB = 32 * 1024
    BUDGET_MANY_KB = 64 * 1024
    MANY = 50

    def run
      Table.section("self", "our own process: CPU by its schedstat from second 3 of a recording at 99 Hz, " \
                            "memory by VmHWM at its end")
      cpu("2 busy Rubies, depth 10", 10, "steady")
      cpu("2 busy Rubies, depth 100, GC all the time", 100, "garbage")
      cpu("2 busy Rubies, depth 100, every stack new", 100, "varied")
      memory("memory, one process", [Program.ruby("spin.rb", 100, "steady")], BUDGET_ONE_KB)
      many = Array.new(MANY) { Program.ruby("sleepers.rb", MANY) }
      memory("memory, #{MANY} processes of #{MANY} threads", many, BUDGET_MANY_KB)
    end

    private

    def cpu(what, depth, kind)
      programs = Array.new(2) { Program.ruby("spin.rb", depth, kind) }
      share = taken = peak = nil
      recorder = Recorder.run("-p", programs.map(&:pid).join(",")) do |running|
        sleep 3
        from = Machine.cpu_ns(running.pid)
        start = Bench.now_ns
        sleep size(10, 4)
        share = (Machine.cpu_ns(running.pid) - from).to_f / (Bench.now_ns - start)
        peak = Machine.memory_kb(running.pid, "VmHWM")
      end
      taken = recorder.stats["ticks"]["taken"]
      figure(what, Table.percent(share), "of one CPU, #{size(10, 4)} s; #{taken} samples in all, #{Table.mb(peak)}",
             budget: Table.percent(BUDGET_CPU, 1), over: share > BUDGET_CPU)
      programs.each(&:finish)
    end

    def memory(what, programs, budget)
      peak = now = nil
      Recorder.run("-p", programs.map(&:pid).join(",")) do |running|
        sleep size(20, 4)
        peak = Machine.memory_kb(running.pid, "VmHWM")
        now = Machine.memory_kb(running.pid, "RssAnon")
      end
      figure(what, Table.mb(peak), "after #{size(20, 4)} s, of that #{Table.mb(now)} its own (RssAnon)",
             budget: Table.mb(budget), over: peak > budget)
      programs.each(&:finish)
    end
  end
end
