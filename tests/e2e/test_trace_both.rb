# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require_relative "helper"

# dd-trace-rb driven through OpenTelemetry's API: ids of its spans, the root found along the chain.
class TestTraceBoth < E2E
  HZ = 499
  RUBIES = %w[2.7 3.1 3.3 3.4].freeze

  once(:seen) do |version|
    program = Program.new("trace_both.rb", ruby: ruby_with_gems(version))
    profiler = Profiler.start("-p", program.pid, "-F", HZ, "--stats=json")
    program.run
    profiler.stop
    program.finish
    assert_code 0, profiler
    { samples: profiler.profile.of(program.pid), truth: program.truth["methods"],
      errors: profiler.stats_of(program.pid)["errors"] }
  end

  def id(label) = label && (label & ((1 << 64) - 1)).to_s

  RUBIES.each do |version|
    define_method("test_#{version.tr(".", "_")}_ids_are_of_the_span_and_the_root_of_its_chain") do
      seen(version)[:truth].each do |method, truth|
        samples = seen(version)[:samples].select { |s| s.frame?(method) && !s.overhead? }
        assert_operator samples.size, :>, 0, "#{method} was not sampled"
        labelled, bare = samples.partition { |s| s.labels.key?("span id") }
        ids = labelled.map { |s| [id(s.labels["local root span id"]), id(s.labels["span id"])] }.uniq
        assert_equal [[*truth["roots"], *truth["spans"]]], ids, "#{method}, #{seen(version)[:errors]}"
        assert_equal [["GET /both", "trace"]], labelled.map { |s| s.labels.values_at("trace endpoint", "endpoint source") }.uniq, method
        assert_operator ticks(bare), :<=, Chance.most(0.01 * ticks(samples)), "#{method}: #{seen(version)[:errors]}"
      end
      outside = seen(version)[:samples].select { |s| s.frame?("Object#work_outside") }
      assert_operator outside.size, :>, 0
      assert_empty outside.flat_map { |s| s.labels.keys }.grep(/span|trace/)
    end
  end
end
