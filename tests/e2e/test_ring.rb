# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require_relative "helper"

# A flight recorder: the last seconds only.
class TestRing < E2E
  SECONDS = 3
  # What is kept may be cut at parts of it.
  SLACK = 1

  def seconds(ns) = ns / 1e9

  # How long each phase, of a second, is in the profile.
  def phases(profile, pid)
    samples = profile.of(pid).reject(&:overhead?)
    samples.each_with_object(Hash.new(0)) do |sample, times|
      name = sample.names.find { |n| n.match?(/\AObject#phase_\d+\z/) } or next
      times[name[/\d+/].to_i] += sample.cpu
    end
  end

  # From one moment to another, by the clock that people read.
  def assert_only_the_last(profile, pid, truth, moment_ns)
    seen = phases(profile, pid)
    refute_empty seen
    truth.each_with_index do |phase, i|
      whole = phase["from_ns"] > moment_ns - SECONDS * 1_000_000_000 + 20_000_000
      if phase["to_ns"] < moment_ns - (SECONDS + SLACK) * 1_000_000_000
        assert_equal 0, seen[i], "phase #{i} is long past: #{seen}"
      elsif phase["to_ns"] < moment_ns - 200_000_000 && whole
        assert_in_epsilon phase["cpu_ns"], seen[i], 0.2, "phase #{i} is recent: #{seen}"
      end
    end
    assert_operator seen.keys.max, :>=, truth.rindex { |phase| phase["from_ns"] < moment_ns - 300_000_000 }
  end

  def now_ns = Process.clock_gettime(Process::CLOCK_REALTIME, :nanosecond)

  once(:at_the_end) do
    program = Program.new("phases.rb", 7, 1000, "burn")
    profiler = Profiler.start("-p", program.pid, "--ring", "#{SECONDS}s", "-d", "8", "-F", 199, "--stats=json")
    program.run
    profiler.wait
    moment = now_ns
    truth = program.truth
    program.finish
    assert_code 0, profiler
    { profiler: profiler, profile: profiler.profile, pid: program.pid, truth: truth["phases"], moment: moment }
  end

  def test_only_the_last_seconds_are_in_the_file
    run = at_the_end
    # It recorded for eight seconds from its own start on; it wrote what it had then.
    ended = run[:profile].time_nanos + run[:profile].duration_nanos
    assert_in_delta run[:moment], ended, 1_500_000_000
    assert_only_the_last run[:profile], run[:pid], run[:truth], ended
  end

  def test_the_file_says_how_long_it_is
    assert_in_delta SECONDS, seconds(at_the_end[:profile].duration_nanos), SLACK
  end

  def test_each_thread_has_those_seconds_of_wall_time
    run = at_the_end
    by_tid = run[:profile].of(run[:pid]).reject { |s| s.gc? || s.overhead? }.group_by(&:tid)
    assert_equal 2, by_tid.size
    by_tid.each_value do |samples|
      assert_in_delta run[:profile].duration_nanos, wall(samples), 300_000_000
    end
  end

  once(:by_signal) do
    place = folder("ring")
    program = Program.new("phases.rb", 7, 1000, "burn")
    profiler = Profiler.start("-p", program.pid, "--ring", "#{SECONDS}s", "-F", 199, "--stats=json", chdir: place)
    program.go
    sleep 4.6
    before = profiles(place)
    moment = now_ns
    profiler.signal(:USR1)
    written = Clock.wait_until(5, "a profile after SIGUSR1: #{profiler.err}") { newer(profiles(place), before) }
    early = Pprof.read(written)
    program.expect("done")
    alive = !profiler.ended?
    last = now_ns
    profiler.stop
    truth = program.truth
    program.finish
    { profiler: profiler, early: early, early_path: written, pid: program.pid, truth: truth["phases"], moment: moment,
      alive: alive, last: last, place: place }
  end

  # Whatever it is called: beside the file that was asked for, or in the current folder.
  def profiles(place)
    Dir[File.join(place, "*"), File.join(SCRATCH, "profile-*")].grep(/\.pb(\.gz)?/).grep_v(/\.(out|err)\z/)
      .to_h { |path| [path, File.stat(path).then { |s| [s.mtime, s.ino] }] }
  end

  # Files are whole or not there.
  def newer(after, before) = after.find { |path, stat| before[path] != stat }&.first

  def test_a_signal_writes_what_there_is
    run = by_signal
    assert_only_the_last run[:early], run[:pid], run[:truth], run[:moment]
  end

  def test_recording_goes_on_after_the_signal
    run = by_signal
    assert run[:alive], "the profiler ended"
    assert_code 0, run[:profiler]
    assert_only_the_last run[:profiler].profile, run[:pid], run[:truth], run[:last]
    assert_operator phases(run[:profiler].profile, run[:pid]).keys.max, :>, phases(run[:early], run[:pid]).keys.max
  end

  def test_what_is_not_a_time_is_refused
    %w[0 x -1].each do |time|
      profiler = Profiler.run("record", "--ring", time, "-d", "1")
      assert_error profiler, 2, /ring/
    end
  end
end
