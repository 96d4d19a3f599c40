# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require_relative "helper"

# Datadog.configure, again: the new tracer keeps its contexts under another name, from one instant
# to the next. Until that name is known its samples have no label and are counted; those of a thread
# that still works for the tracer before have its labels.
class TestTraceAgain < E2E
  TIMES = 6

  once(:seen) { |version| traced(version, "trace_again.rb", TIMES) }

  def id(label) = label && (label & ((1 << 64) - 1)).to_s

  %w[2.7 3.1 3.3 3.4].each do |version|
    define_method("test_#{version.tr(".", "_")}_no_other_tracers_ids_and_what_has_none_is_counted") do
      truth = seen(version)[:truth]
      assert_equal TIMES + 2, truth.size
      bare = truth.sum do |method, expected|
        samples = seen(version)[:samples].select { |s| s.frame?(method) }
        refute_empty samples, method
        labelled, missing = samples.partition { |s| s.labels.key?("span id") }
        assert_equal [expected], labelled.map { |s| id(s.labels["span id"]) }.uniq, method
        ticks(missing)
      end
      puts "again #{version}: #{bare} without labels, #{seen(version)[:errors]}" if ENV["VERBOSE"]
      assert_operator bare, :<=, seen(version)[:errors].fetch("trace_unknown", 0)
    end
  end
end
