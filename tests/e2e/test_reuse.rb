# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require_relative "helper"
require_relative "namespace"

# The kernel gives ids again: what comes later is another process, another thread.
class TestReuse < E2E
  NAMES = %w[one two three].freeze
  WORK_NS = 200_000_000

  once(:seen) do
    skip "no unshare and nsenter" unless command?("unshare") && command?("nsenter")
    space = Namespace.new
    program = Program.new("reuse.rb", ruby: [*space.enter, RUBY])
    profiler = ProfilerInside.start_in(space, "-a", "-F", 499, "--stats=json")
    program.run
    profiler.stop
    assert_code 0, profiler
    { profiler: profiler, truth: program.truth }
  ensure
    program&.finish
    space&.finish
  end

  def images = seen[:truth]["processes"]
  def pid = images[0]["pid"]
  def rubies = images.reject { |image| image["kind"] == "other" }
  def samples = seen[:profiler].profile.of(pid)
  def work(list, frame) = list.select { |s| s.frame?("Object##{frame}") }.sum(&:cpu)
  def rows = seen[:profiler].stats["processes"].select { |row| row["pid"] == pid }

  def test_they_had_one_pid
    assert_equal [pid], images.map { |image| image["pid"] }.uniq
  end

  def test_each_process_has_its_own_work
    images.each_with_index do |image, index|
      expected = image["kind"] == "other" ? 0 : WORK_NS
      assert_in_delta expected, work(samples, "image_#{index}"), WORK_NS * 0.06, "#{image["kind"]} #{index}"
    end
  end

  # One a row of the balance sheet; the moments between fork and exec are rows as well.
  def test_each_process_has_its_own_cpu
    left = rows.map { |row| row["kernel_cpu_ns"] }
    rubies.each do |image|
      nearest = left.min_by { |cpu| (cpu - image["cpu_ns"]).abs }
      before_exec = image["kind"] == "spawn" ? 25_000_000 : 0
      assert_in_delta image["cpu_ns"], nearest, image["cpu_ns"] * 0.02 + before_exec, "#{image} of #{left}"
      left.delete_at(left.index(nearest))
    end
    assert_operator left.sum, :<, 75_000_000, "nobody else: #{left}"
    assert_closes seen[:profiler], pid
  end

  # What another program used under the same pid is not Ruby's.
  def test_the_cpu_of_a_program_that_is_not_ruby_is_left_out
    other = images.find { |image| image["kind"] == "other" }["cpu_ns"]
    assert_operator other, :>, 50_000_000
    expected = rubies.sum { |image| image["cpu_ns"] }
    assert_in_delta expected, samples.sum(&:cpu), expected * 0.02 + 25_000_000
  end

  # Of processes that end within 200 ms; on a busy machine one may end before its last names are read.
  def test_hardly_a_name_is_lost
    lost = samples.select { |s| (s.names & ["(unreadable)", "(gone)"]).any? }.sum(&:cpu)
    assert_operator lost, :<=, samples.sum(&:cpu) * 0.02
  end

  # The second may be another Ruby thread on the same native one, the third is another native one.
  def test_each_thread_has_its_own_name_and_work
    truth = seen[:truth]["threads"]
    assert_equal 1, truth.map { |thread| thread["tid"] }.uniq.size, truth.inspect
    mine = seen[:profiler].profile.of(seen[:truth]["pid"]).select { |s| s.tid == truth[0]["tid"] }
    NAMES.each do |name|
      own, others = mine.partition { |s| s.thread == name }
      assert_in_delta WORK_NS, work(own, "thread_#{name}"), WORK_NS * 0.06, name
      assert_equal 0, work(others, "thread_#{name}"), name
    end
  end

  def test_each_native_thread_has_its_own_cpu
    tid = seen[:truth]["threads"][0]["tid"]
    process = seen[:profiler].stats_of(seen[:truth]["pid"])
    cpu = process["threads"].select { |thread| thread["tid"] == tid }.map { |thread| thread["kernel_cpu_ns"] }
    first, second, third = seen[:truth]["threads"].map { |thread| thread["cpu_ns"] }
    expected = seen[:truth]["threads"][1]["is_kept"] ? [third, first + second] : [first, second, third].sort
    assert_equal expected.size, cpu.size, process["threads"].inspect
    expected.zip(cpu.sort) { |a, b| assert_in_delta a, b, 20_000_000 }
    assert_closes seen[:profiler], seen[:truth]["pid"]
  end
end
