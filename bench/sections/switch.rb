# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

module Bench
  class SwitchSection < Section
    def run
      Table.section("switch", "CPU time of a switch between two processes on one CPU that hand a byte to and fro, " \
                              "our program attached to sched_switch against not, in one run; mean and 95 % interval")
      not_ours
      ours
    end

    private

    def cpu = Etc.nprocessors - 1
    def pinned = ["taskset", "-c", cpu.to_s]

    def not_ours
      sleeper = Program.ruby("sleepers.rb", 1)
      game = Program.new(Bench.compiled("pingpong"), prefix: pinned)
      floor(game, size(20_000, 5_000))
      measure("tasks not ours (C)", game, [sleeper.pid], 250, size(20_000, 5_000))
      [game, sleeper].each(&:finish)
    end

    def ours
      game = Program.ruby("pingpong.rb", prefix: pinned)
      pids = [game.pid, game.ask("other")["other"]]
      measure("tasks of ours (Ruby)", game, pids, 600, size(10_000, 3_000))
      game.finish
    end

    # No program at a switch can cost less than one that does nothing.
    def floor(game, rounds)
      pairs = pairs_of(game, rounds) { KernelSide.attach_empty("sched_switch") }
      kept = Statistics.trim(pairs.differences)
      figure("an empty program (C)", format("%.0f ns +- %.0f", Statistics.mean(kept), Statistics.interval(kept)), "the kernel's call alone")
    end

    # The program is kept when its recording is killed, with its maps as they were: attached and
    # detached here, without the cost of starting a recording for each slice.
    def measure(what, game, pids, budget, rounds)
      recorder = Recorder.new("-p", pids.join(","))
      recorder.wait_started
      program = KernelSide.copy_program(recorder.pid, "on_switch")
      recorder.kill
      game.ask("rounds #{rounds}")
      pairs = pairs_of(game, rounds) { KernelSide.attach(program) }
      program.close
      kept = Statistics.trim(pairs.differences)
      mean = Statistics.mean(kept)
      interval = Statistics.interval(kept)
      figure(what, format("%.0f ns +- %.0f", mean, interval),
             "#{pairs.size} pairs of #{2 * rounds} switches, median #{Statistics.median(pairs.differences).round} ns, " \
             "a switch without us #{Table.us(Statistics.median(pairs.without))}",
             budget: "#{budget} ns", over: over(mean, interval, budget))
    end

    # The block attaches a program.
    def pairs_of(game, rounds)
      Pairs.new(size(200, 20)) { |on| slice(game, rounds) { yield if on } }
    end

    def slice(game, rounds)
      link = yield
      done = game.ask("rounds #{rounds}")
      done["cpu_ns"].to_f / done["switches"]
    ensure
      link&.close
    end
  end
end
