# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require_relative "helper"

# When each sample was.
class TestTimeline < E2E
  HZ = 99
  # A tick may come a period late, and a wait is told when it is over or the next tick comes.
  GRACE_NS = 3 * 1_000_000_000 / HZ + 70_000_000

  def record(*options, ruby: [RUBY])
    program = Program.new("phases.rb", 8, 250, ruby: ruby)
    from = (Time.now.to_r * 1_000_000_000).to_i
    profiler = Profiler.start("-p", program.pid, "-F", HZ, "--stats=json", *options)
    program.run
    profiler.stop
    to = (Time.now.to_r * 1_000_000_000).to_i
    program.finish
    assert_code 0, profiler
    { profiler: profiler, profile: profiler.profile, truth: program.truth, pid: program.pid, between: from..to,
      samples: profiler.profile.of(program.pid) }
  end

  once(:seen) { record("--timeline") }
  once(:plain) { record }
  once(:elsewhen) do
    shifted = %w[unshare -T --monotonic 7200 --boottime 7200]
    skip "no time namespace here" unless command?("unshare") && system(*shifted, "true", err: File::NULL)
    record("--timeline", ruby: [*shifted, RUBY])
  end

  def timed(run) = run[:samples].reject(&:overhead?)

  def assert_within(run)
    refute_empty timed(run)
    timed(run).each { |sample| assert sample.end_ns, "no end_timestamp_ns: #{sample.labels}" }
    first, last = timed(run).map(&:end_ns).minmax
    profile = run[:profile]
    assert_operator first, :>=, run[:between].begin
    assert_operator last, :<=, run[:between].end
    assert_operator first, :>=, profile.time_nanos
    assert_operator last, :<=, profile.time_nanos + profile.duration_nanos + 50_000_000
  end

  # A phase's samples end while it goes on, or a moment later.
  def assert_phases(run)
    run[:truth]["phases"].each do |phase|
      # Steps of the collector are added up: the last one may be of a later phase. CPU that no tick
      # hit lies on the thread's last stack.
      mine = timed(run).select { |s| s.frame?("Object##{phase["name"]}") && !s.gc? && !(s.running? && s.ticks.zero?) }
      refute_empty mine, phase["name"]
      first, last = mine.map(&:end_ns).minmax
      assert_operator first, :>=, phase["from_ns"] - 5_000_000, "#{phase["name"]} before it began"
      assert_operator last, :<=, phase["to_ns"] + GRACE_NS, "#{phase["name"]} after it ended"
      assert_operator last, :>=, phase["to_ns"] - GRACE_NS, "#{phase["name"]} long before it ended"
    end
  end

  def test_each_sample_ends_within_the_recording
    assert_within seen
  end

  def test_each_sample_ends_when_its_method_ran
    assert_phases seen
  end

  # C100
  def test_the_samples_of_a_thread_come_in_order
    timed(seen).group_by { |s| s.labels["thread id"] }.each do |thread, samples|
      ends = samples.map(&:end_ns)
      assert_equal ends.compact.sort, ends, "thread #{thread}"
    end
  end

  def test_no_thread_runs_at_two_times_at_once
    running = seen[:samples].select(&:running?).sort_by { |s| s.end_ns || 0 }
    assert_operator running.size, :>=, burnt_ns / 1e9 * HZ / 2
    running.group_by(&:tid).each_value do |samples|
      samples.each_cons(2) do |before, after|
        assert_operator after.end_ns - after.wall, :>=, before.end_ns - 1_000_000, "begins before the other ends"
      end
    end
  end

  def burnt_ns = seen[:truth]["phases"].each_slice(2).sum { |phase, _| phase["cpu_ns"] }

  def test_the_values_are_the_same
    row = seen[:profiler].stats_of(seen[:pid])
    own = seen[:samples].reject { |s| s.gc? || s.overhead? }
    assert_equal figure(row, "samples_cpu_ns", "the process"), own.sum(&:cpu)
    assert_wall figure(row, "wall_ns", "the process"), wall(own), "the process"
    phases = seen[:samples].select { |s| s.names.any? { |name| name.match?(/#phase_\d*[02468]\z/) } }
    assert_in_epsilon burnt_ns, phases.sum(&:cpu), 0.05
  end

  def test_garbage_collection_has_the_type
    assert_equal "timeline/nanoseconds", seen[:profile].types.last
    seen[:samples].each { |s| assert_equal s.gc? ? s.wall : 0, s.timeline, s.labels.inspect }
  end

  def test_overhead_has_no_time
    assert_empty(seen[:samples].select { |s| s.overhead? && s.end_ns })
  end

  def test_without_it_there_is_none_and_equal_samples_are_merged
    refute_includes plain[:profile].label_keys, "end_timestamp_ns"
    sleeper = plain[:samples].select { |s| s.thread == "sleeper" }
    assert_equal 1, sleeper.size, "a sleep of one stack"
  end

  # C99: a process that reads other clocks than we do.
  def test_a_time_namespace_moves_nothing
    assert_operator elsewhen[:truth]["mono_ns"], :>, (Clock.now * 1e9).to_i + 3_600_000_000_000, "its clock is elsewhere"
    assert_within elsewhen
    assert_phases elsewhen
    own = elsewhen[:samples].select { |s| s.tid == elsewhen[:pid] && !s.gc? && !s.overhead? }
    life = figure(elsewhen[:profiler].thread_stats(elsewhen[:pid], elsewhen[:pid]), "life_ns", "main")
    assert_wall life, wall(own), "main"
    assert_in_delta elsewhen[:profiler].stats["elapsed_ns"], life, 10_000_000
  end
end
