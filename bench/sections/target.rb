# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

module Bench
  class TargetSection < Section
    BUDGETS = { 99 => 0.002, 997 => 0.01 }.freeze
    DEPTH = 100

    def run
      Table.section("target", "CPU time of a fixed slice of work at depth #{DEPTH} with some allocation, profiled " \
                              "against not, switched every slice in one run; mean and 95 % interval of the ratios")
      BUDGETS.each { |hz, budget| ours(hz, budget) }
      BUDGETS.each_key { |hz| bare(hz) }
      BUDGETS.each_key { |hz| above_bare(hz) }
      Gems::VERSIONS.each_key { |tool| theirs(tool) }
    end

    private

    def slice_seconds = size(0.5, 0.1)

    # The timers of the running recording are halted and set going again; its switch program and
    # its own process go on, so that the target's caches see the same neighbour.
    def ours(hz, budget)
      recorded(hz) do |program, recorder, timers|
        pairs = Pairs.new(size(200, 40)) do |on|
          KernelSide.set_timers(timers, on)
          program.ask("slice")["cpu_ns"]
        end
        KernelSide.set_timers(timers, true)
        recorder.stop
        taken = recorder.stats_of(program.pid)["taken"]
        show("rbprof-bpf, #{hz} Hz", pairs, budget, taken / (pairs.with.sum / 1e9))
      end
    end

    # Timers of the kernel at the same rate without any program.
    def bare(hz)
      program = started({})
      with_bare_timers(hz) do |timers|
        pairs = Pairs.new(size(100, 30)) do |on|
          KernelSide.set_timers(timers, on)
          program.ask("slice")["cpu_ns"]
        end
        show("  timer interrupts alone, #{hz} Hz", pairs, nil, nil)
      end
      program.finish
    end

    # Our timers in turns with bare ones: what the programs cost above the interrupts.
    def above_bare(hz)
      recorded(hz) do |program, _, timers|
        with_bare_timers(hz) do |plain|
          pairs = Pairs.new(size(100, 30)) do |on|
            KernelSide.set_timers(on ? plain : timers, false)
            KernelSide.set_timers(on ? timers : plain, true)
            program.ask("slice")["cpu_ns"]
          end
          show("  rbprof-bpf above these, #{hz} Hz", pairs, nil, nil)
        end
      end
    end

    def recorded(hz)
      program = started({})
      recorder = Recorder.new("-p", program.pid, hz: hz)
      recorder.wait_started
      timers = KernelSide.timers(recorder.pid)
      yield program, recorder, timers
      recorder.stop
      program.finish
    ensure
      timers&.each(&:close)
    end

    def with_bare_timers(hz)
      timers = KernelSide.bare_timers(hz)
      yield timers
    ensure
      timers&.each(&:close)
    end

    def theirs(tool)
      path = Gems.load_path(tool)
      BUDGETS.each_key do |hz|
        program = started("RUBYLIB" => path.join(":"))
        samples = cpu_ns = 0
        pairs = Pairs.new(size(60, 20)) do |on|
          program.ask("start #{tool} #{hz}") if on
          cost = program.ask("slice")["cpu_ns"]
          if on
            samples += program.ask("stop #{tool}")["samples"].to_i
            cpu_ns += cost
          end
          cost
        end
        show("#{tool} #{Gems::VERSIONS[tool]}, #{hz} Hz", pairs, nil, samples / (cpu_ns / 1e9))
        program.finish
      end
    rescue Unable => e
      note("#{tool}: skipped: #{e.message}")
    end

    def started(env)
      program = Program.ruby("work.rb", DEPTH, env: env)
      program.ask("calibrate #{slice_seconds}")
      2.times { program.ask("slice") }
      program
    end

    def show(what, pairs, budget, rate)
      mean, interval, text = loss(pairs.ratios)
      how = "#{pairs.size} pairs of #{slice_seconds} s, median #{Table.percent(Statistics.median(pairs.ratios))}"
      how += format(", %.0f samples a CPU second", rate) if rate
      figure(what, text, how, budget: budget && Table.percent(budget, 1), over: budget && over(mean, interval, budget))
    end
  end
end
