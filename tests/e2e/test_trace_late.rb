# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require_relative "helper"

# The endpoint last seen of a root span is that of all its samples, also of those that the flight
# recorder had put aside before.
class TestTraceLate < E2E
  [%w[datadog ring], %w[otel all], %w[otel ring]].each do |tracer, kept|
    define_method("test_#{tracer}_#{kept}") do
      program = Program.new("trace_late.rb", tracer, 1.2, ruby: ruby_with_gems("3.1"))
      # Slices of a second.
      profiler = Profiler.start("-p", program.pid, "-F", 299, "--stats=json", *(["--ring", "20s"] if kept == "ring"))
      program.run
      profiler.stop
      program.finish
      assert_code 0, profiler
      profile = profiler.profile
      %w[early late].each do |part|
        samples = profile.of(program.pid).select { |s| s.frame?("Object#work_#{part}") && !s.overhead? }
        labelled = samples.select { |s| s.labels.key?(tracer == "otel" ? "span_id" : "span id") }
        assert_operator ticks(labelled), :>, 30, "#{part}, of #{ticks(samples)}: #{profiler.stats["errors"]}"
        assert_equal [%w[LateController#index trace]],
                     labelled.map { |s| s.labels.values_at("trace endpoint", "endpoint source") }.uniq, part
      end
      refute(profile.of(program.pid).any? { |s| s.labels.keys.any? { |key| key.match?(/[[:cntrl:]]/) } })
    end
  end
end
