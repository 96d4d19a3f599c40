# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require "set"
require_relative "helper"

# Labels of OpenTelemetry's own SDK: ids of its spans, as its real gems say, against every sample.
class TestTraceOtel < E2E
  HZ = 499
  SECONDS = 2
  # name => Ruby and version of the API: up to 1.4 the stack of contexts is a fiber-local, then a
  # variable of the Fiber.
  RUNS = { "2.7" => %w[2.7 1.1.0], "3.1 local" => %w[3.1 1.4.0], "3.1" => ["3.1", "> 1.4.0"], "3.3" => ["3.3", "> 1.4.0"],
           "3.4" => ["3.4", "> 1.4.0"] }.freeze

  once(:seen) do |run|
    version, api = RUNS.fetch(run)
    program = Program.new("trace_otel.rb", SECONDS, ruby: ruby_with_gems(version), env: { "API_VERSION" => api })
    profiler = Profiler.start("-p", program.pid, "-F", HZ, "--stats=json")
    program.run
    profiler.stop
    program.finish
    assert_code 0, profiler
    { samples: profiler.profile.of(program.pid), truth: program.truth["methods"],
      errors: profiler.stats_of(program.pid)["errors"] }
  end

  def of(run, method) = seen(run)[:samples].select { |s| s.frame?(method) && !s.overhead? }

  RUNS.each_key do |run|
    name = run.tr(" .", "_")

    define_method("test_#{name}_every_sample_has_the_ids_of_its_own_span") do
      bare = {}
      all = 0
      seen(run)[:truth].each do |method, truth|
        traces, spans = truth.values_at("traces", "spans").map(&:to_set)
        samples = of(run, method)
        assert_operator samples.size, :>, 0, "#{method} was not sampled"
        labelled, missing = samples.partition { |s| s.labels.key?("span_id") }
        wrong = labelled.reject { |s| traces.include?(s.labels["trace_id"]) && spans.include?(s.labels["span_id"]) }
        assert_empty wrong.map { |s| s.labels.values_at("trace_id", "span_id") }.first(3), "#{method} has another's ids"
        bare[method] = ticks(missing)
        all += ticks(samples)
      end
      puts "otel #{run}: #{bare.values.sum} of #{all} #{seen(run)[:errors]}" if ENV["VERBOSE"]
      assert_operator bare.values.sum, :<=, [all * 0.001, 3].max,
                      "ticks without ids, of #{all}: #{bare.reject { |_, n| n.zero? }}, #{seen(run)[:errors]}"
      assert_empty of(run, "Object#work_outside").flat_map { |s| s.labels.keys }.grep(/span|trace/)
    end

    define_method("test_#{name}_spans_of_servers_are_endpoints") do
      seen(run)[:truth].each do |method, truth|
        endpoints = of(run, method).select { |s| s.labels.key?("span_id") }
                                   .map { |s| s.labels.values_at("trace endpoint", "endpoint source") }.uniq
        assert_equal [[truth["endpoint"], truth["endpoint"] && "trace"]], endpoints, method
      end
    end
  end
end
