# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require_relative "helper"

# A web application: CPU by endpoint, as the application itself counts it.
class TestTraceWeb < E2E
  HZ = 1999
  REQUESTS = 900

  once(:seen) do |tracer|
    program = Program.new("trace_web.rb", tracer, ruby: ruby_with_gems("3.1"))
    port = program.truth.fetch("port")
    load_pages(port, 60) # all that is loaded at the first request is
    profiler = Profiler.start("-p", program.pid, "-F", HZ, "--stats=json")
    program.go
    program.expect("done")
    load_pages(port, REQUESTS)
    profiler.stop
    program.go
    program.expect("written")
    truth = program.truth["used"]
    program.finish
    assert_code 0, profiler
    { samples: profiler.profile.of(program.pid), truth: truth,
      errors: profiler.stats_of(program.pid)["errors"] }
  end

  def load_pages(port, count)
    pid = Children.spawn(RUBY, File.join(PROGRAMS, "trace_load.rb"), port.to_s, count.to_s)
    assert_predicate Children.wait(pid, PATIENCE), :success?, "the load generator"
  end

  %w[datadog otel].each do |tracer|
    define_method("test_#{tracer}_cpu_by_endpoint_is_what_the_application_says") do
      truth = seen(tracer)[:truth]
      served = seen(tracer)[:samples].select { |s| s.frame?("Object#serve") && !s.overhead? && !s.gc? }
      by_endpoint = served.group_by { |s| s.labels["trace endpoint"] }.transform_values { |list| list.sum(&:cpu) }
      puts "#{tracer}: #{by_endpoint} #{truth} #{seen(tracer)[:errors]}" if ENV["VERBOSE"]
      all = by_endpoint.values.sum
      ticks = served.sum { |s| s.values["cpu-samples"] }
      truth.each do |endpoint, ns|
        share = ns / truth.values.sum.to_f
        points = [2, 500 * Math.sqrt(share * (1 - share) / ticks)].max
        assert_share share, by_endpoint.fetch(endpoint, 0) / all.to_f, points, endpoint
      end
      assert_empty by_endpoint.keys.compact - truth.keys
    end
  end
end
