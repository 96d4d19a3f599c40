# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require_relative "helper"

# More root spans than are remembered: the oldest are forgotten and counted, the others have their
# own endpoint, and memory does not grow with them.
class TestTraceRoots < E2E
  COUNT = 17_500
  KEPT = 16_384

  once(:seen) do
    program = Program.new("trace_roots.rb", COUNT, ruby: ruby_with_gems("3.1"))
    profiler = Profiler.start("-p", program.pid, "-F", 4999, "--no-wall", "--stats=json")
    program.run
    memory = proc_status(profiler.pid)["VmHWM"].to_i
    profiler.stop
    program.finish
    assert_code 0, profiler
    samples = profiler.profile.of(program.pid).select { |s| s.frame?("Object#work_in_root") && s.labels.key?("span id") }
    # Root span => what its samples have as endpoint.
    endpoints = samples.group_by { |s| (s.labels["local root span id"] & ((1 << 64) - 1)).to_s }
                       .transform_values { |same| same.map { |s| s.labels["trace endpoint"] }.uniq }
    { endpoints: endpoints, own: program.truth["roots"].each_with_index.to_h { |id, n| [id, "Root##{n}"] },
      errors: profiler.stats_of(program.pid)["errors"], memory: memory }
  end

  def test_each_has_its_own_endpoint_or_none
    own, endpoints = seen.values_at(:own, :endpoints)
    wrong = endpoints.select { |id, told| own.key?(id) && told != [own[id]] && told != [nil] }
    assert_empty wrong.first(3)
    with, without = endpoints.values.partition { |told| told != [nil] }
    puts "roots: #{with.size} with, #{without.size} without, #{seen[:memory]} KB, #{seen[:errors]}" if ENV["VERBOSE"]
    assert_includes (KEPT * 0.98)..KEPT, with.size
  end

  def test_the_newest_are_kept
    newest = seen[:own].to_a.last(1000).select { |id, _| seen[:endpoints].key?(id) }
    assert_operator newest.size, :>, 500
    assert_empty newest.reject { |id, name| seen[:endpoints][id] == [name] }.first(3)
  end

  def test_those_forgotten_are_counted
    forgotten = seen[:errors].fetch("root_forgotten")
    assert_operator forgotten, :>, 0
    assert_operator seen[:endpoints].count { |_, told| told == [nil] }, :<=, forgotten
  end

  # A row a span has to be kept, as each has other labels; the roots take no more.
  def test_memory
    assert_operator seen[:memory], :<, 100_000
  end
end
