# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require_relative "helper"

# CPUs that go and come while we record: the kernel takes away for good what is open on one that goes.
class TestCpus < E2E
  HZ = 499
  AWAY = 0.5
  FOLLOWED = 2.5 # we look once a second

  once(:seen) do
    skip "no taskset" unless command?("taskset")
    before = Program.new("split.rb", 3)
    profiler = Profiler.start("-a", "-F", HZ, "--stats=json")
    before.go
    without_a_cpu { sleep AWAY }
    sleep FOLLOWED
    after = Program.new("split.rb", 1, ruby: ["taskset", "-c", CPU.to_s, RUBY])
    after.run
    before.expect("done")
    profiler.stop
    assert_code 0, profiler
    { profiler: profiler, before: before.pid, after: after.pid, cpu_ns: after.truth.values.sum }
  ensure
    [before, after].compact.each(&:finish)
  end

  CPU = Etc.nprocessors - 1 # while all are there
  SWITCH = "/sys/devices/system/cpu/cpu#{CPU}/online".freeze

  # It comes back whatever happens to us.
  def without_a_cpu
    skip "CPUs cannot be taken away here" unless CPU.positive? && File.writable?(SWITCH) && File.read(SWITCH).to_i == 1
    reserve = Children.spawn("sh", "-c", "trap '' INT TERM HUP; sleep 10; echo 1 >\"$0\"", SWITCH)
    switch("0")
    yield
  ensure
    if reserve
      File.write(SWITCH, "1")
      Children.kill(reserve)
    end
  end

  def switch(on)
    File.write(SWITCH, on)
  rescue SystemCallError => e
    skip "CPU #{CPU} cannot be taken away: #{e.message}"
  end

  def samples(pid) = seen[:profiler].profile.of(pid).reject { |s| s.gc? || s.overhead? }

  def test_one_that_came_back_is_sampled
    expected = seen[:cpu_ns] * HZ / 1e9
    taken = samples(seen[:after]).sum { |s| s.values["cpu-samples"] }
    assert_operator taken, :>=, expected * 0.9 - 6 * Math.sqrt(expected), "samples of what ran on CPU #{CPU} after it came back"
  end

  def test_what_began_on_it_is_found_at_once
    row = seen[:profiler].stats_of(seen[:after])
    work = samples(seen[:after]).select { |s| (s.names & ["Object#seven_parts", "Object#three_parts"]).any? }.sum(&:cpu)
    assert_operator work, :>=, seen[:cpu_ns] * 0.97, row.except("threads").to_s
  end

  def test_time_adds_up
    [seen[:before], seen[:after]].each { |pid| assert_closes seen[:profiler], pid }
    row = seen[:profiler].stats_of(seen[:before])
    row["threads"].each do |thread|
      assert_wall figure(thread, "life_ns", "a thread"), figure(thread, "wall_ns", "a thread"), "thread #{thread["tid"]}"
    end
    values = seen[:profiler].profile.samples.flat_map { |s| s.values.values }
    assert_operator values.min, :>=, 0
  end

  # Ticks are due only while a CPU is there: what was missed is what came before we looked again.
  def test_missed_ticks_are_those_until_it_was_seen
    ticks = seen[:profiler].stats["ticks"]
    assert_operator ticks["missed"], :<, HZ * 1.5 + ticks["fired"] * 0.05, ticks.to_s
  end
end
