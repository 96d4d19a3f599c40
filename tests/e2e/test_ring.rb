# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require_relative "helper"

# The flight recorder: record --ring TIME.
class TestRing < E2E
  RING_NS = 2_000_000_000
  SLICE_NS = 100_000_000
  LATE_NS = 600_000_000 # that a slice may end too late on a machine that has other work

  Flight = Struct.new(:pid, :spans, :snapshot, :profiler)

  # Seven seconds, with a profile of the fourth and fifth written on the way.
  once(:flight) do
    program = Program.new("ring.rb", 18)
    profiler = Profiler.start("-p", program.pid, "--ring", "2s", "-F", "499", "--stats=json")
    program.go
    sleep 4.3
    snapshot = snapshot_of(profiler)
    program.expect("done")
    profiler.stop
    spans = program.truth["spans"]
    program.finish
    assert_code 0, profiler
    Flight.new(program.pid, spans, snapshot, profiler)
  end

  # Has the profiler write, and says what.
  def snapshot_of(profiler)
    before = profiler.err.scan(/the last/).size
    profiler.signal(:USR1)
    Clock.wait_until(20, "a profile on SIGUSR1: #{profiler.err}") { profiler.err.scan(/the last/).size > before }
    Pprof.read(profiler.file)
  end

  def each_profile
    yield flight.snapshot, "on SIGUSR1"
    yield flight.profiler.profile, "at the end"
  end

  def wall(samples) = samples.sum { |s| s.values.fetch("wall-time") }

  # The methods of ring.rb that ran for so long, at least, within the profile's time, which is
  # taken as longer at both ends by `more` nanoseconds.
  def steps_within(profile, at_least: 0, more: 0)
    from = profile.time_nanos - more
    to = profile.time_nanos + profile.duration_nanos + more
    flight.spans.each_index.select { |i| [flight.spans[i][1], to].min - [flight.spans[i][0], from].max > at_least }
  end

  def steps_of(profile)
    profile.of(flight.pid).flat_map(&:names).uniq.filter_map { |n| n[/\AObject#step_(\d+)\z/, 1]&.to_i }.sort
  end

  def test_only_the_last_time_is_in
    each_profile do |profile, what|
      # The CPU of the last moment of a slice goes to the thread's last stack, one tick old.
      allowed = steps_within(profile, more: 100_000_000)
      expected = steps_within(profile, at_least: 400_000_000)
      assert_operator allowed.size, :<, flight.spans.size / 2, "the test shows nothing"
      assert_empty steps_of(profile) - allowed, "too old: #{what}"
      assert_empty expected - steps_of(profile), "missing: #{what}"
    end
  end

  def test_the_file_says_of_which_time_it_is
    each_profile do |profile, what|
      assert_operator profile.duration_nanos, :>=, RING_NS, what
      assert_operator profile.duration_nanos, :<=, RING_NS + SLICE_NS + LATE_NS, what
    end
  end

  def test_the_recording_goes_on
    first, last = flight.snapshot, flight.profiler.profile
    assert_operator last.time_nanos, :>=, first.time_nanos + first.duration_nanos
    assert_operator flight.profiler.stats["elapsed_ns"], :>, 8_000_000_000
    assert_match(/the last \d\.\d s of \d+ samples/, flight.profiler.err.lines.grep(/report/).last)
  end

  # A thread is told of within the time it takes to go through all of them.
  def test_threads_have_the_whole_time_in_wall_time
    each_profile do |profile, what|
      mine = profile.of(flight.pid).reject { |s| s.labels["event"] || s.labels["profiler overhead"] }
      %w[main sleeper].each do |name|
        assert_in_delta profile.duration_nanos, wall(mine.select { |s| s.thread == name }), 60_000_000, "#{name} #{what}"
      end
    end
  end

  def test_a_sleeper_keeps_its_stack
    each_profile do |profile, what|
      mine = profile.of(flight.pid).select { |s| s.thread == "sleeper" && s.labels["state"] != "had cpu" }
      named = mine.select { |s| s.frame?("Object#sleeps_all_the_time") }
      assert_operator wall(named), :>=, RING_NS, what
      assert_equal 0, mine.sum(&:cpu), what
    end
  end

  def test_the_balance_of_the_whole_recording_closes
    assert_closes flight.profiler, flight.pid
  end

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
    times = profile.of(program.pid).filter_map { |s| s.labels["end_timestamp_ns"] }
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
    mine = profiler.profile.of(pid).reject { |s| s.labels["event"] || s.labels["profiler overhead"] }
    assert_equal ["main"], mine.reject(&:gc?).map(&:thread).uniq
    deep = mine.select { |s| s.names.count("Object#one_way") > 500 }
    assert_operator deep.sum(&:cpu), :>, mine.sum(&:cpu) * 0.9
    deep.each { |s| assert_equal "<main>", s.root }
    assert_closes profiler, pid
  end
end
