# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

module Bench
  class KernelSection < Section
    DEPTHS = [10, 100, 400, 900].freeze
    BUDGETS = { 99 => 0.002, 997 => 0.01 }.freeze

    def run
      Table.section("kernel", "run time of the programs by the kernel's own account (BPF_ENABLE_STATS), " \
                              "while `record -p` watches one busy Ruby; without the interrupt around them")
      BUDGETS.each_key do |hz|
        measure_others(hz)
        DEPTHS.each { |depth| one(hz, depth, "steady") }
        one(hz, 100, "varied")
      end
    end

    private

    # What an entry costs that finds nobody of ours: nothing but that happens here.
    def measure_others(hz)
      sleeper = Program.ruby("sleepers.rb", 1)
      runs, = record(sleeper.pid, hz)
      @other_ns = per_entry(runs["on_tick"])
      figure("timer, #{hz} Hz, a task not ours", Table.us(@other_ns), "#{runs["on_tick"][:count]} entries")
      switch_ns = per_entry(runs["on_switch"])
      figure("switch program", Table.us(switch_ns), "#{runs["on_switch"][:count]} entries, all tasks of the host",
             budget: "250 ns", over: switch_ns > 250)
      sleeper.finish
    end

    def one(hz, depth, kind)
      program = Program.ruby("spin.rb", depth, kind)
      runs, recorder, cpu_ns, switches = record(program.pid, hz)
      fired = recorder.stats_of(program.pid)["fired"]
      # Entries before and after the measured time are not in the kernel's account.
      ours = [cpu_ns * hz / 1e9, fired].min
      tick = runs["on_tick"]
      each = (tick[:ns] - (tick[:count] - ours) * @other_ns) / ours
      switch_ns = per_entry(runs["on_switch"])
      name = "depth #{depth}#{", every stack new" if kind == "varied"}"
      figure("timer, #{hz} Hz, #{name}", Table.us(each), "#{ours.round} of #{tick[:count]} entries ours")
      share = (each * ours + switch_ns * switches) / cpu_ns
      budget = depth <= 100 ? BUDGETS[hz] : nil
      figure("  CPU taken from the process", Table.percent(share, 3),
             "timer, and #{switches} switches of #{switch_ns.round} ns, of #{(cpu_ns / 1e9).round(2)} s CPU",
             budget: budget && Table.percent(budget, 1), over: budget && share > budget)
      program.finish
    end

    # Programs' run times, the recording, the process's CPU and switches meanwhile.
    def record(pid, hz)
      runs = cpu_ns = switches = nil
      recorder = Recorder.run("-p", pid, hz: hz) do |running|
        runs = KernelSide.measure(running.pid) do
          cpu_ns = -Machine.cpu_ns(pid)
          switches = -Machine.switches(pid)
          sleep size(5, 1.5)
          cpu_ns += Machine.cpu_ns(pid)
          switches += Machine.switches(pid)
        end
      end
      [runs, recorder, cpu_ns, switches]
    end

    def per_entry(run)
      raise Unable, "the program never ran" unless run && run[:count].positive?

      run[:ns].to_f / run[:count]
    end
  end
end
