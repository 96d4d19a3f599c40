# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require "set"
require_relative "helper"

# Where spans are hard to read: no label is another's, and what has none is counted.
class TestTraceEdges < E2E
  once(:seen) { |version| traced(version, "trace_edges.rb") }

  def of(version, method) = seen(version)[:samples].select { |s| s.frame?(method) }.tap { |list| refute_empty list, method }

  def id(sample) = (label = sample.labels["span id"]) && (label & ((1 << 64) - 1)).to_s

  def bare(samples) = ticks(samples.reject { |s| id(s) })

  %w[3.3 3.4].each do |version|
    name = version.tr(".", "_")

    define_method("test_#{name}_spans_that_change_inside_one_method") do
      lines = seen(version)[:truth]["lines"].to_h { |line, ids| [line.to_i, ids.to_set] }
      checked = Hash.new(0)
      of(version, "Object#work_changing").each do |sample|
        # What runs in the block is in its span; before and after it the tracer is at work.
        at = sample.names.index("block in Object#work_changing") or next
        next unless sample.names[at - 1] == "Object#spin" && id(sample)

        line = sample.stack[at].line
        assert_includes lines.fetch(line), id(sample), "line #{line}"
        checked[line] += ticks([sample])
      end
      puts "changing #{version}: #{checked}, #{seen(version)[:errors]}" if ENV["VERBOSE"]
      assert_equal lines.keys, checked.keys.sort
      assert_operator checked.values.min, :>, 5
    end

    define_method("test_#{name}_objects_that_move_all_the_time") do
      moving = of(version, "Object#work_moving")
      assert_empty moving.filter_map { |s| id(s) }.uniq - seen(version)[:truth]["Object#work_moving"]
      missing = bare(moving)
      puts "moving #{version}: #{missing} of #{ticks(moving)} without" if ENV["VERBOSE"]
      assert_operator missing, :<=, seen(version)[:errors].slice("trace_unknown", "trace_fault").values.sum
    end

    define_method("test_#{name}_objects_that_are_too_complex") do
      complex, after = %w[complex after_complex].map { |part| of(version, "Object#work_#{part}") }
      assert_empty complex.filter_map { |s| id(s) }
      assert_operator ticks(complex), :<=, seen(version)[:errors].fetch("trace_complex")
      assert_equal seen(version)[:truth]["Object#work_after_complex"], after.filter_map { |s| id(s) }.uniq
    end

    define_method("test_#{name}_tracing_that_is_off") do
      assert_empty of(version, "Object#work_off").flat_map { |s| s.labels.keys }.grep(/span|trace|endpoint/)
    end
  end
end
