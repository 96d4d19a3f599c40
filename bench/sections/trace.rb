# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

module Bench
  # What labels of traces cost: our own time a sample, as the kernel side measures it, with them and
  # with --no-trace, in turn, on one program that is busy in a span.
  class TraceSection < Section
    HZ = 4999
    MOST_NS = 1000

    def run
      Table.section("trace", "our time a sample at #{HZ} Hz, of a program in a span, with labels of traces less that without")
      %w[datadog otel].each { |tracer| measure(tracer) }
    end

    private

    def measure(tracer)
      home = `#{File.join(ROOT, "tests/gems")} --path 3.1`.chomp
      raise Unable, "no gems for ruby 3.1: tests/gems 3.1" if home.empty?

      program = Program.ruby("traced.rb", tracer, env: { "GEM_HOME" => home })
      costs = Array.new(size(8, 4)) { [cost(program), cost(program, "--no-trace")] }
      program.finish
      more = costs.map { |with, without| with - without }
      mean = Statistics.mean(more)
      interval = Statistics.interval(more)
      figure(tracer, format("%+.0f ns +- %.0f", mean, interval), "on #{Statistics.mean(costs.map(&:last)).round} ns a sample",
             budget: "#{MOST_NS} ns", over: over(mean, interval, MOST_NS))
    end

    def cost(program, *options)
      recorder = Recorder.run("-p", program.pid, *options, hz: HZ, seconds: 2)
      mine = recorder.stats_of(program.pid)
      mine["overhead_cpu_ns"].fdiv(mine["taken"])
    end
  end
end
