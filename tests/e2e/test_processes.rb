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
      assert_includes (child["cpu_ns"] - 1_000_000..child["cpu_ns"] + 30_000_000), mine.sum(&:cpu)
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
    assert_work seen[:truth]["parent_work_ns"], mine, "Object#parent_work", 499
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
    short = Program.new("busy.rb", 60)
    long = Program.new("busy.rb", 60)
    profiler = Profiler.start("-p", "#{short.pid},#{long.pid}", "-d", "3", "--stats=json")
    short.finish
    used = Clock.let_run(long.pid, 0.2)
    profiler.wait
    long.finish
    assert_code 0, profiler
    # Not before its time; how long after it is the machine's affair.
    assert_operator profiler.stats["elapsed_ns"], :>=, 3_000_000_000
    assert_operator profiler.profile.of(long.pid).sum(&:cpu), :>=, used
  end

  def test_a_target_killed_while_recording
    victim = Program.new("busy.rb", 60)
    other = Program.new("busy.rb", 60)
    profiler = Profiler.start("-p", "#{victim.pid},#{other.pid}", "--stats=json")
    used = Clock.let_run(victim.pid, 0.2)
    Process.kill(:KILL, victim.pid)
    Children.wait(victim.pid, PATIENCE)
    Clock.let_run(other.pid, 0.2)
    profiler.stop
    other.finish
    assert_code 0, profiler
    assert_closes profiler
    assert_operator profiler.profile.of(victim.pid).sum(&:cpu), :>=, used
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
    used = program.cpu_ns
    profiler.stop
    program.finish
    assert_closes profiler, program.pid
    assert_cpu used, profiler.profile.of(program.pid).sum(&:cpu), "stopped and continued"
  end

  # C109: with little memory for us, and a target that moves under our eyes.
  def test_a_shifty_target_and_little_memory
    limit = Clock.now + 3
    program = Program.new("shifty.rb", limit)
    profiler = Profiler.start("-p", program.pid, "-F", 997, "--stats=json",
                              prefix: %w[prlimit --as=1000000000])
    program.run
    used = program.cpu_ns
    profiler.stop
    program.finish
    assert_code 0, profiler
    # It is one process through all that it executes. What it does before each exec is its own.
    assert_in_epsilon used, profiler.profile.of(program.pid).sum(&:cpu), 0.05
    assert_closes profiler
    profiler.profile.names.each { |name| refute_match(/0x\h/, name) }
  end
end
