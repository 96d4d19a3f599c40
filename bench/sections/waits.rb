# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

module Bench
  class WaitsSection < Section
    def run
      Table.section("waits", "two that hand something to and fro as fast as they can, recorded against not, in turn; CPU a " \
                             "switch by their own clocks, and our own process meanwhile")
      pin = ["taskset", "-c", (Etc.nprocessors - 1).to_s]
      beside = Program.ruby("sleepers.rb", 1)
      measure("a byte over pipes (C), others recorded", Program.new(Bench.compiled("pingpong"), prefix: pin), beside.pid,
              size(200_000, 50_000), 0.02)
      beside.finish
      # On one CPU: where the kernel puts the two would change the cost more than we do.
      token = Program.ruby("token.rb", prefix: pin)
      measure("a token through queues (Ruby threads)", token, token.pid, size(100_000, 30_000), 0.05)
    end

    private

    def measure(what, program, target, rounds, budget)
      own = []
      program.ask("rounds #{rounds}")
      pairs = Pairs.new(size(12, 8)) do |on|
        next slice(program, rounds) unless on

        cost = nil
        Recorder.run("-p", target) do |running|
          from = [Machine.cpu_ns(running.pid), Bench.now_ns]
          cost = slice(program, rounds)
          own << (Machine.cpu_ns(running.pid) - from[0]).fdiv(Bench.now_ns - from[1])
        end
        cost
      end
      program.finish
      figures(what, pairs, budget, own)
    end

    def slice(program, rounds)
      done = program.ask("rounds #{rounds}")
      done["cpu_ns"].fdiv(done["switches"])
    end

    def figures(what, pairs, budget, own)
      mean = Statistics.mean(pairs.ratios)
      interval = Statistics.interval(pairs.ratios)
      figure(what, format("%.1f %% +- %.1f", mean * 100, interval * 100),
             "#{pairs.size} pairs, #{Statistics.median(pairs.differences).round} ns more than " \
             "#{Table.us(Statistics.median(pairs.without))} a switch",
             budget: Table.percent(budget, 0), over: over(mean, interval, budget))
      figure("our own process", Table.percent(Statistics.mean(own)), "of one CPU", budget: "1 %",
             over: Statistics.mean(own) > 0.01)
    end
  end
end
