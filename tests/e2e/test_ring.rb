# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require_relative "helper"

# A flight recorder: the last seconds only.
class TestRing < E2E
  SECONDS = 3
  # What is kept may be cut at parts of it.
  SLACK = 1
  # What the collector uses is the phase's too, by whatever means it can be told.
  OPTIONS = ["--no-gc", "-F", 199, "--stats=json"].freeze

  def seconds(ns) = ns / 1e9

  # How long each phase, of a second, is in the profile.
  def phases(profile, pid)
    samples = profile.of(pid).reject(&:overhead?)
    samples.each_with_object(Hash.new(0)) do |sample, times|
      name = sample.names.find { |n| n.match?(/\AObject#phase_\d+\z/) } or next
      times[name[/\d+/].to_i] += sample.cpu
    end
  end

  # By the clock that people read. The profile ends when it was written, not when that was asked for.
  def assert_only_the_last(profile, pid, truth)
    moment_ns = profile.time_nanos + profile.duration_nanos
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
    profiler = Profiler.start("-p", program.pid, "--ring", "#{SECONDS}s", "-d", "8", *OPTIONS)
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
    assert_only_the_last run[:profile], run[:pid], run[:truth]
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
    profiler = Profiler.start("-p", program.pid, "--ring", "#{SECONDS}s", *OPTIONS, chdir: place)
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
    assert_only_the_last run[:early], run[:pid], run[:truth]
    assert_operator run[:early].time_nanos + run[:early].duration_nanos, :>=, run[:moment]
  end

  def test_recording_goes_on_after_the_signal
    run = by_signal
    assert run[:alive], "the profiler ended"
    assert_code 0, run[:profiler]
    profile = run[:profiler].profile
    assert_only_the_last profile, run[:pid], run[:truth]
    assert_operator profile.time_nanos + profile.duration_nanos, :>=, run[:last]
    assert_operator phases(run[:profiler].profile, run[:pid]).keys.max, :>, phases(run[:early], run[:pid]).keys.max
  end

  # From one slice on, and of the last slice what there was.
  def test_the_time_is_whole
    [at_the_end[:profile], by_signal[:early], by_signal[:profiler].profile].each do |profile|
      assert_operator profile.duration_nanos, :>=, SECONDS * 1_000_000_000
    end
    first, last = by_signal[:early], by_signal[:profiler].profile
    assert_operator last.time_nanos, :>, first.time_nanos
  end

  # A thread is told of within the time it takes to go through all of them.
  def test_a_thread_that_sleeps_throughout_keeps_its_stack
    [[at_the_end[:profile], at_the_end], [by_signal[:early], by_signal]].each do |profile, run|
      mine = profile.of(run[:pid]).select { |s| s.thread == "sleeper" }
      assert_in_delta profile.duration_nanos, wall(mine), 60_000_000
      assert_in_delta profile.duration_nanos, wall(mine.select { |s| s.leaf == "Kernel#sleep" }), 60_000_000
      assert_equal 0, mine.sum(&:cpu)
    end
  end

  def test_the_balance_of_the_whole_recording_closes
    [at_the_end, by_signal].each { |run| assert_closes run[:profiler], run[:pid] }
  end
end

# The file of a flight recorder: when and where it is written.
class TestRingFile < E2E
  def test_what_is_shorter_is_there_whole
    program = Program.new("busy.rb", 20)
    profiler = Profiler.record("-p", program.pid, "-d", "1", "--ring", "1m", "--stats=json")
    program.finish
    assert_code 0, profiler
    assert_in_delta profiler.stats["elapsed_ns"], profiler.profile.duration_nanos, 1_000_000
    rows = profiler.stats_of(program.pid)
    told = rows.values_at("samples_cpu_ns", "gc_cpu_ns", "overhead_cpu_ns").sum
    assert_in_delta told, profiler.profile.of(program.pid).sum(&:cpu), 1_000
    assert_closes profiler, program.pid
  end

  def test_a_timeline
    program = Program.new("busy.rb", 20)
    profiler = Profiler.record("-p", program.pid, "-d", "2", "--ring", "500ms", "--timeline")
    program.finish
    assert_code 0, profiler
    profile = profiler.profile
    times = profile.of(program.pid).filter_map(&:end_ns)
    refute_empty times
    assert_operator times.min, :>=, profile.time_nanos - 50_000_000
    assert_operator times.max, :<=, profile.time_nanos + profile.duration_nanos + 1_000_000
  end

  def test_without_a_name_each_file_has_its_own
    place = folder
    program = Program.new("busy.rb", 20)
    profiler = Profiler.new("record", "-p", program.pid, "--ring", "1s", chdir: place)
    profiler.wait_attached
    2.times do |i|
      profiler.signal(:USR1)
      Clock.wait_until(20, "a file") { Dir.children(place).grep(/\.pb\.gz\z/).size == i + 1 }
      sleep 1.1 # the names have whole seconds
    end
    profiler.stop
    program.finish
    assert_code 0, profiler
    files = Dir.children(place)
    assert_equal 3, files.size, files.inspect
    files.each do |file|
      assert_match(/\Arbprof-.*-\d{8}T\d{6}\.pb\.gz\z/, file)
      assert_operator Pprof.read(File.join(place, file)).of(program.pid).sum(&:cpu), :>, 0
      assert_includes profiler.err, file
    end
  end

  def test_a_file_that_cannot_be_written_does_not_end_it
    place = File.join(folder, "place")
    Dir.mkdir(place)
    program = Program.new("busy.rb", 20)
    profiler = Profiler.new("record", "-p", program.pid, "--ring", "1s", "-o", File.join(place, "x.pb.gz"))
    profiler.wait_attached
    Dir.rmdir(place)
    profiler.signal(:USR1)
    Clock.wait_until(20, "an error") { profiler.err =~ /cannot write/ }
    Dir.mkdir(place)
    profiler.stop
    program.finish
    assert_code 0, profiler
    refute_debris place, "x.pb.gz"
    assert_operator profiler.profile.of(program.pid).sum(&:cpu), :>, 0
  end

  def test_stdout_takes_one_profile
    program = Program.new("busy.rb", 20)
    profiler = Profiler.new("record", "-p", program.pid, "--ring", "1s", "-o", "-")
    profiler.wait_attached
    profiler.signal(:USR1)
    Clock.wait_until(20, "a warning") { profiler.err =~ /SIGUSR1 is ignored/ }
    assert_empty profiler.out
    profiler.stop
    program.finish
    assert_code 0, profiler
    assert_operator Pprof.new(profiler.out).of(program.pid).sum(&:cpu), :>, 0
  end

  def test_sigusr1_without_ring_is_ignored
    program = Program.new("busy.rb", 20)
    profiler = Profiler.start("-p", program.pid)
    profiler.signal(:USR1)
    Clock.wait_until(20, "a warning") { profiler.err =~ /SIGUSR1 is ignored.*--ring/ }
    refute_path_exists profiler.file
    profiler.stop
    program.finish
    assert_code 0, profiler
  end

  # The command gets the signals as they were, and the status is its own.
  def test_a_command
    profiler = Profiler.record("--ring", "1s", "--", RUBY, "-e",
                               "trap(:USR1) { exit 7 }; Process.kill(:USR1, $$); t = Time.now; 1 while Time.now - t < 5")
    assert_code 7, profiler
    assert_operator profiler.profile.sum, :>, 0
  end

  ["0", "-1", "x", "", "1x", "99999999d"].each do |time|
    define_method("test_ring_of_#{time}_is_refused") do
      profiler = Profiler.run("record", "--ring=#{time}", "-d", "1", seconds: 10)
      assert_error profiler, 2, /--ring/
      assert_empty profiler.out
    end
  end
end

# It may run for ever: hardly two stacks of the program are alike.
class TestRingMemory < E2E
  def state_of(profiler)
    state = JSON.parse(Profiler.run("state", profiler.pid, "--json").out)
    state["recordings"].first.fetch("ring")
  end

  def resident(pid) = proc_status(pid)["VmRSS"].to_i * 1024

  def test_memory_does_not_grow
    program = Program.new("varied.rb", 200)
    profiler = Profiler.start("-p", program.pid, "--ring", "1s", "-F", "4999", "--stats=json")
    program.go
    peaks = Hash.new(0) # by how often the profile had been renewed
    bytes = 0
    Clock.wait_until(120, "the profile to be renewed: #{peaks}") do
      ring = state_of(profiler)
      bytes = [bytes, ring["bytes"]].max
      peaks[ring["renewals"]] = [peaks[ring["renewals"]], resident(profiler.pid)].max
      sleep 0.1
      ring["renewals"] >= 4
    end
    profiler.signal(:USR1)
    Clock.wait_until(20, "a profile") { profiler.err.include?("the last") }
    profiler.stop
    Children.kill(program.pid)
    assert_code 0, profiler
    puts "peaks #{peaks.transform_values { |v| v >> 20 }} MB, kept #{bytes >> 20} MB" if ENV["VERBOSE"]
    assert_operator bytes, :<, 48 << 20
    # The second profile grows beside the slices of the first; from then on all is used again.
    later = peaks.select { |renewals, _| renewals >= 2 }.values.max
    assert_operator later, :<, peaks.fetch(1) + (8 << 20), peaks.inspect
    check_profile(profiler, program.pid)
  end

  # What came over from profile to profile is still right.
  def check_profile(profiler, pid)
    mine = profiler.profile.of(pid).reject { |s| s.gc? || s.overhead? }
    assert_equal ["main"], mine.map(&:thread).uniq
    known = mine.select { |s| s.frame?("Object#one_way") && s.root == "<main>" }
    assert_operator known.sum(&:cpu), :>, mine.sum(&:cpu) * 0.9
    assert(known.any? { |s| s.names.count("Object#one_way") > 500 })
    assert_closes profiler, pid
  end
end
