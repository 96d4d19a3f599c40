# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require_relative "helper"

# Forks, execs, ends: each process has its own time, by its own pid.
class TestForks < E2E
  once(:seen) do
    truth = Program.truth_path
    profiler = Profiler.record("-F", 499, "--stats=json", "--", RUBY, File.join(PROGRAMS, "forks.rb"),
                               env: { "TRUTH" => truth }, out: File::NULL)
    assert_code 0, profiler
    { profiler: profiler, truth: JSON.parse(File.read(truth)), profile: profiler.profile }
  end

  def test_each_child_has_its_own_cpu
    seen[:truth]["children"].each do |child|
      mine = seen[:profile].of(child["pid"])
      # Its exit comes after its last look at its clock.
      assert_includes (child["cpu_ns"] - 1_000_000..child["cpu_ns"] + 15_000_000), mine.sum(&:cpu)
      assert mine.any? { |s| s.frame?("Object#child_work") }
      refute mine.any? { |s| s.frame?("Object#parent_work") }
      assert_closes seen[:profiler], child["pid"]
    end
  end

  def test_the_forking_thread_is_the_main_thread_of_the_child
    seen[:truth]["children"].each do |child|
      mine = seen[:profile].of(child["pid"])
      assert_equal [child["pid"]], mine.map(&:tid).uniq
      assert_equal ["main"], mine.map(&:thread).uniq
    end
  end

  def test_the_parent_has_none_of_its_childrens
    mine = seen[:profile].of(seen[:truth]["parent"])
    refute mine.any? { |s| s.frame?("Object#child_work") }
    cpu = mine.select { |s| s.frame?("Object#parent_work") }.sum(&:cpu)
    assert_in_delta 400_000_000, cpu, 12_000_000
  end

  def test_an_executed_ruby_is_a_process_of_its_own
    child = seen[:truth]["new_ruby"]
    mine = seen[:profile].of(child["pid"])
    assert mine.any? { |s| s.frame?("Object#exec_work") }, mine.flat_map(&:names).tally.inspect
    assert_equal [RUBY_VERSION], mine.map { |s| s.labels["ruby"] }.uniq
    # Its exit comes after its last look at its clock.
    assert_operator mine.sum(&:cpu), :>=, child["cpu_ns"] * 0.98
    assert_operator mine.sum(&:cpu), :<=, child["cpu_ns"] + 60_000_000
    refute mine.any? { |s| s.frame?("Object#parent_work") }
  end
end

class TestProcessLife < E2E
  # C62: the end of one target is not the end of the recording.
  def test_recording_goes_on_when_one_target_ends
    short = Program.new("busy.rb", 0.5)
    long = Program.new("busy.rb", 20)
    profiler = Profiler.new("record", "-p", "#{short.pid},#{long.pid}", "-d", "3", "--stats=json",
                            "-o", Profiler.new_file(".pb.gz"))
    profiler.wait
    long.finish
    assert_code 0, profiler
    assert_in_delta 3e9, profiler.stats["elapsed_ns"], 300_000_000
    assert_operator profiler.profile.of(long.pid).sum(&:cpu), :>, 400_000_000
  end

  def test_a_target_killed_while_recording
    victim = Program.new("busy.rb", 20)
    other = Program.new("busy.rb", 20)
    profiler = Profiler.start("-p", "#{victim.pid},#{other.pid}", "-d", "3", "--stats=json")
    sleep 0.5
    Process.kill(:KILL, victim.pid)
    Children.wait(victim.pid, 10)
    profiler.wait
    other.finish
    assert_code 0, profiler
    assert_closes profiler
    assert_operator profiler.profile.of(victim.pid).sum(&:cpu), :>, 200_000_000
    assert profiler.profile.of(victim.pid).any? { |s| s.frame?("Object#busy_work") }
  end

  def test_processes_that_start_later_are_profiled
    profiler = Profiler.start("-a", "-F", 199, "--stats=json")
    program = Program.new("split.rb", 0.6)
    program.run
    sleep 0.1
    profiler.stop
    program.finish
    mine = profiler.profile.of(program.pid)
    assert mine.any? { |s| s.frame?("Object#seven_parts") }
    assert_closes profiler, program.pid
  end

  # C97: no time is negative whatever happens to the target (the reader of profiles checks).
  def test_a_target_stopped_and_continued
    program = Program.new("split.rb", 1.5)
    profiler = Profiler.start("-p", program.pid, "-F", 997, "--stats=json")
    program.go
    20.times do
      Process.kill(:STOP, program.pid)
      sleep 0.02
      Process.kill(:CONT, program.pid)
      sleep 0.03
    end
    program.expect("done")
    profiler.stop
    program.finish
    assert_closes profiler, program.pid
    total = program.truth.values.sum
    assert_in_epsilon total, profiler.profile.of(program.pid).sum(&:cpu), 0.05
  end

  # C109: with little memory for us, and a target that moves under our eyes.
  def test_a_shifty_target_and_little_memory
    limit = Clock.now + 3
    program = Program.new("shifty.rb", limit)
    profiler = Profiler.start("-p", program.pid, "-F", 997, "--stats=json",
                              prefix: %w[prlimit --as=1000000000])
    program.run
    profiler.stop
    program.finish
    assert_code 0, profiler
    assert_operator profiler.profile.of(program.pid).sum(&:cpu), :>, 1_000_000_000
    assert_closes profiler
    profiler.profile.names.each { |name| refute_match(/0x\h/, name) }
  end
end
