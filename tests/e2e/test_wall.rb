# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require_relative "helper"

module WallHelp
  # programs/native_sleeper.c, compiled once.
  def sleeper_library
    path = File.join(SCRATCH, "native_sleeper.so")
    return path if File.exist?(path)

    skip "no C compiler" unless system(ENV.fetch("CC", "gcc"), "-shared", "-fPIC", "-O1", "-pthread", "-o", path,
                                       File.join(PROGRAMS, "native_sleeper.c"))
    path
  end

  # Times of the thread itself, without what GC and overhead took of its CPU.
  def own(samples, tid) = samples.select { |s| s.tid == tid && !s.overhead? }
  def life_of(profiler, pid, tid) = figure(profiler.thread_stats(pid, tid), "life_ns", "thread #{tid}")

  # In the balance sheet and in the file each thread has its life in wall-time, no more and no less.
  def assert_lives(profiler, pid)
    row = profiler.stats_of(pid)
    threads = row["threads"]
    refute_empty threads
    threads.each do |thread|
      assert_wall figure(thread, "life_ns", "a thread"), figure(thread, "wall_ns", "a thread"), "thread #{thread["tid"]}"
    end
    assert_wall threads.sum { |t| t["wall_ns"] }, figure(row, "wall_ns", "process #{pid}"), "process #{pid}"
    mine = profiler.profile.of(pid)
    by_tid = mine.reject { |s| s.gc? || s.overhead? }.group_by(&:tid)
    threads.group_by { |t| t["tid"] }.each do |tid, same|
      assert_wall same.sum { |t| t["life_ns"] }, wall(by_tid.fetch(tid, [])), "thread #{tid} in the file"
    end
  end

  # Nothing negative but a difference.
  def refute_negative(value, path = "stats")
    case value
    when Hash then value.each { |key, v| refute_negative(v, "#{path}.#{key}") unless key == "cpu_diff_ns" }
    when Array then value.each_with_index { |v, i| refute_negative(v, "#{path}[#{i}]") }
    when Numeric then assert_operator value, :>=, 0, path
    end
  end
end

# Every thread has its whole life in wall-time.
class TestWall < E2E
  include WallHelp

  Run = Struct.new(:profiler, :truth, :pid, :stopped_ns) do
    def samples = profiler.profile.of(pid)
    def tid(kind) = truth.fetch(kind)["tid"]
  end

  once(:seen) do
    program = Program.new("wall.rb", sleeper_library)
    profiler = Profiler.start("-p", program.pid, "-F", 99, "--stats=json")
    program.run
    at_stop = (Clock.now * 1e9).to_i
    profiler.stop
    truth = program.truth
    program.finish
    assert_code 0, profiler
    Run.new(profiler, truth, program.pid, at_stop)
  end

  def of(kind) = own(seen.samples, seen.tid(kind))

  def test_the_file_has_the_types
    types = seen.profiler.profile.types
    assert_equal %w[cpu-samples/count cpu-time/nanoseconds wall-time/nanoseconds], types.first(3)
    assert_equal "cpu-time", seen.profiler.profile.default_type
  end

  def test_each_thread_has_its_life
    assert_lives seen.profiler, seen.pid
  end

  def test_a_thread_of_the_whole_recording_lived_as_long_as_it
    recorded = seen.profiler.stats["elapsed_ns"]
    %w[sleeper pulse].each do |kind|
      life = life_of(seen.profiler, seen.pid, seen.tid(kind))
      # Threads are found one after the other, on a machine that has other work.
      assert_in_delta recorded, life, [recorded * 0.001, 10_000_000].max, kind
      assert_wall life, wall(of(kind)), kind
    end
  end

  def test_a_thread_that_sleeps_throughout_has_its_real_stack
    mine = of("sleeper")
    assert_equal [%w[Kernel#sleep Object#sleeps_all_the_time]], mine.map { |s| s.names.first(2) }.uniq
    assert_equal ["sleeper"], mine.reject(&:gc?).map(&:thread).uniq
    assert_equal ["sleeping"], mine.map(&:state).uniq
    assert_equal 0, total(mine, "cpu-time")
  end

  def test_a_thread_that_begins_within_the_recording
    late = seen.truth["late"]
    life = life_of(seen.profiler, seen.pid, late["tid"])
    # It goes on until the profiler has seen the signal.
    surely = seen.stopped_ns - late["inner_from_ns"]
    assert_wall surely..surely + 500_000_000, life, "life of thread late"
    assert_wall life, wall(of("late")), "thread late"
    assert_in_delta wall(of("late")), wall(of("late").select { |s| s.frame?("Object#late_sleep") }), 50_000_000
  end

  def test_a_thread_that_begins_and_ends_within_the_recording
    native = seen.truth["native"]
    lived = native["inner_ns"]..native["outer_ns"]
    assert_wall lived, wall(of("native")), "the native thread in the file"
    assert_wall lived, life_of(seen.profiler, seen.pid, native["tid"]), "the native thread in --stats"
  end

  # Time on CPU is one sample, time off CPU another.
  def test_running_and_waiting_are_not_mixed
    own = seen.samples.reject { |s| s.gc? || s.overhead? }
    own.each do |sample|
      assert sample.state, "no state: #{sample.labels}"
      assert_equal 0, sample.cpu, "cpu-time of a wait: #{sample.labels}" if sample.wait?
    end
    waits, runs = of("pulse").partition(&:wait?)
    refute_empty waits
    refute_empty runs
    assert waits.any? { |s| s.frame?("Object#pulse_rest") }
    assert_operator runs.sum(&:cpu), :>, 50_000_000
    assert_operator wall(runs), :>=, runs.sum(&:cpu) - [runs.sum(&:cpu) * 0.001, 2_000_000].max
  end

  # Neither on the other's stack: `sleep` is on a running one only while it begins or ends.
  def test_waiting_time_is_on_the_stack_that_waits
    waits, runs = of("pulse").partition(&:wait?)
    resting = wall(waits.select { |s| s.frame?("Object#pulse_rest") })
    assert_operator resting, :>=, wall(waits.select { |s| s.state == "sleeping" }) * 0.95
    working = runs.select { |s| s.frame?("Object#pulse_work") }
    # Some 24 ticks; 4.5 sigma.
    assert_operator working.sum(&:cpu), :>=, runs.sum(&:cpu) * 0.8
  end
end

# How the time of waiting is shared among stacks.
class TestSharesOfWaits < E2E
  include WallHelp

  # Name => program. Ticks of the shortest wait: 199 a second of 4 threads and 6 s, a quarter of
  # them in it; sigma of the proportion is at most 3.4 %, and a fifth of that for long waits.
  PROGRAMS_OF = { "30:10" => ["two_waits.rb", 30, 10, 6, 8], "3:1" => ["two_waits.rb", 3, 1, 6, 4],
                  "3:2" => ["two_waits.rb", 3, 2, 6, 4], "equal" => ["equal_sleeps.rb"], "six" => ["six.rb"] }.freeze

  once(:seen) do
    programs = PROGRAMS_OF.transform_values { |args| Program.new(*args) }
    profiler = Profiler.start("-p", programs.values.map(&:pid).join(","), "-F", 199, "--stats=json")
    programs.each_value(&:go)
    programs.each_value { |p| p.expect("done") }
    profiler.stop
    programs.each_value(&:finish)
    assert_code 0, profiler
    { profiler: profiler, programs: programs }
  end

  def samples(name) = seen[:profiler].profile.of(seen[:programs][name].pid)
  def in_method(name, method) = wall(samples(name).select { |s| s.frame?("Object##{method}") })

  # Of the times in two methods.
  def assert_proportion(name, one, two, tolerance)
    truth = seen[:programs][name].truth
    expected = truth.fetch(one).to_f / truth.fetch(two)
    found = [one, two].map { |method| in_method(name, method) }
    assert found.all?(&:positive?), "both in the profile: #{found}"
    found = found[0].to_f / found[1]
    puts format("%s: %.3f in the profile, %.3f by its clock", name, found, expected) if ENV["VERBOSE"]
    assert_in_epsilon expected, found, tolerance, name
  end

  def test_waits_of_30_and_10_ms
    assert_proportion "30:10", "long_wait", "short_wait", 0.10
  end

  def test_waits_of_3_and_1_ms
    assert_proportion "3:1", "long_wait", "short_wait", 0.20
  end

  # C92
  def test_equal_sleeps_are_equal
    assert_proportion "equal", "left_sleep", "right_sleep", 0.02
    assert_in_epsilon seen[:programs]["equal"].truth["left_sleep"], in_method("equal", "left_sleep"), 0.02
  end

  ["30:10", "3:2"].each do |name|
    define_method("test_hardly_a_wait_of_#{name.tr(":", "_")}_is_not_read") do
      lost = wall(samples(name).select { |s| s.frame?("(wait not read)") })
      puts format("%s: %.2f %% not read", name, 100.0 * lost / wall(samples(name))) if ENV["VERBOSE"]
      assert_operator lost, :<=, wall(samples(name)) * 0.02
    end
  end

  PROGRAMS_OF.each_key do |name|
    define_method("test_each_thread_has_its_life_in_#{name.tr(":", "_")}") do
      assert_lives seen[:profiler], seen[:programs][name].pid
      assert_closes seen[:profiler], seen[:programs][name].pid
    end
  end

  # C94
  def test_six_threads_have_their_second_each
    seen[:programs]["six"].truth.each do |name, thread|
      # The VM keeps its native thread, still with that name, for the next Thread.new.
      mine = own(samples("six"), thread["tid"]).reject { |s| s.names == ["(no ruby frames)"] }
      # A tick may hit its first line, before which it is called by its block.
      unnamed, named = mine.reject(&:gc?).partition { |s| s.thread.end_with?("/six.rb:22") }
      assert_equal [name], named.map(&:thread).uniq
      assert_operator wall(unnamed), :<=, thread["life_ns"] * 0.02, "thread #{name} without its name"
      assert_in_epsilon thread["life_ns"], wall(mine), 0.02, "thread #{name}"
    end
  end
end

# C96: a C method that sleeps and keeps the GVL, and C loops, have the times that they know.
class TestSleepWithTheGvl < E2E
  include WallHelp

  once(:seen) do
    program = Program.new("gvl_sleep.rb", 4)
    profiler = Profiler.start("-p", program.pid, "-F", 997, "--stats=json")
    program.run
    profiler.stop
    program.finish
    assert_code 0, profiler
    { profiler: profiler, truth: program.truth, samples: profiler.profile.of(program.pid) }
  end

  def of(thread, method = nil)
    mine = own(seen[:samples], seen[:truth][thread]["tid"])
    method ? mine.select { |s| s.frame?("Object##{method}") } : mine
  end

  def truth(thread, method) = seen[:truth][thread]["methods"].fetch(method)

  { "holder" => %w[holder_ruby], "worker" => %w[worker_ruby c_zlib c_sort] }.each do |thread, methods|
    methods.each do |method|
      define_method("test_cpu_of_#{method}") do
        gc = seen[:samples].select { |s| s.gc? && s.frame?("Object##{method}") }
        assert_in_epsilon truth(thread, method)["cpu_ns"], (of(thread, method) + gc).sum(&:cpu), 0.05
      end
    end
  end

  def test_the_sleep_is_time_off_cpu
    mine = of("holder", "held_sleep")
    assert_in_epsilon truth("holder", "held_sleep")["off_ns"], wall(mine.select(&:wait?)), 0.05
    assert_operator mine.sum(&:cpu), :<=, truth("holder", "held_sleep")["cpu_ns"] + 20_000_000
    assert mine.all? { |s| s.frame?("Object#held_sleep") && s.thread == "holder" }
  end

  def test_who_computes_waits_meanwhile
    methods = %w[worker_ruby c_zlib c_sort]
    off = methods.sum { |method| truth("worker", method)["off_ns"] }
    assert_in_epsilon off, wall(methods.flat_map { |method| of("worker", method) }.uniq.select(&:wait?)), 0.05
  end
end

# What happens to a process from outside.
class TestWallOfProcesses < E2E
  include WallHelp

  once(:forks) do
    truth = Program.truth_path
    profiler = Profiler.record("-F", 199, "--stats=json", "--", RUBY, File.join(PROGRAMS, "fork_wall.rb"),
                               env: { "TRUTH" => truth }, out: File::NULL)
    assert_code 0, profiler
    { profiler: profiler, truth: JSON.parse(File.read(truth)), profile: profiler.profile }
  end

  %w[forked executed].each do |kind|
    define_method("test_a_child_that_is_#{kind}_starts_at_zero") do
      child = forks[:truth][kind]
      mine = forks[:profile].of(child["pid"])
      lived = child["inner_ns"]..child["outer_ns"]
      assert_wall lived, wall(own(mine, child["pid"])), "child #{kind}"
      rows = forks[:profiler].stats["processes"].select { |p| p["pid"] == child["pid"] }
      assert_wall lived, rows.sum { |row| figure(row, "life_ns", "child #{kind}") }, "child #{kind} in --stats"
      refute mine.any? { |s| s.frame?("Object#before_fork") }, "its parent's stack"
    end
  end

  # A stack is at most a tick of wall-time off at each end.
  { "forked" => { "child_sleep" => 500 }, "executed" => { "before_exec" => 300, "after_exec" => 500 } }.each do |kind, methods|
    methods.each do |method, milliseconds|
      define_method("test_the_sleep_in_#{method}") do
        mine = forks[:profile].of(forks[:truth][kind]["pid"]).select { |s| s.frame?("Object##{method}") }
        assert_in_delta milliseconds * 1_000_000, wall(mine), 25_000_000
      end
    end
  end

  def test_a_stopped_process_waits
    program = Program.new("stopped.rb")
    profiler = Profiler.start("-p", program.pid, "-F", 199, "--stats=json")
    program.go
    sleep 0.3
    from = Clock.now
    Process.kill(:STOP, program.pid)
    sleep 1
    stopped = ((Clock.now - from) * 1e9).to_i
    Process.kill(:CONT, program.pid)
    program.expect("done")
    profiler.stop
    truth = program.truth
    program.finish
    mine = own(profiler.profile.of(program.pid), truth["tid"]).select { |s| s.frame?("Object#burns_here") }
    assert_in_delta stopped, by_state(mine)["waiting"] || 0, 25_000_000, "of #{by_state(mine)}"
    assert_cpu truth["cpu_ns"], mine.sum(&:cpu), "it burnt"
    assert_lives profiler, program.pid
    assert_closes profiler, program.pid
  end

  # C97: whatever happens to the target, no figure is negative and sums close.
  def test_a_process_that_is_stopped_and_moved_about
    skip "taskset is not installed" unless command?("taskset")
    program = Program.new("jumpy.rb", sleeper_library, 4)
    profiler = Profiler.start("-p", program.pid, "-F", 997, "--stats=json")
    program.go
    from = Clock.now
    cpus = (0...Etc.nprocessors).cycle
    while Clock.now - from < 3.8
      Process.kill(:STOP, program.pid)
      sleep 0.01
      system("taskset", "-acp", cpus.next.to_s, program.pid.to_s, %i[out err] => File::NULL)
      Process.kill(:CONT, program.pid)
      sleep 0.04
    end
    program.expect("done")
    profiler.stop
    truth = program.truth
    program.finish
    assert_code 0, profiler
    assert_operator truth["ended"], :>, 5
    refute_negative profiler.stats
    refute_negative JSON.parse(Profiler.run("report", profiler.file, "-f", "json").out), "report"
    assert_lives profiler, program.pid
    assert_closes profiler, program.pid
    recorded = profiler.stats["elapsed_ns"]
    profiler.stats_of(program.pid)["threads"].each { |t| assert_operator t["life_ns"], :<=, recorded * 1.001 + 2_000_000 }
    # Native threads without a Ruby one end after the VM has looked at its clock.
    assert_in_epsilon truth["process_ns"], profiler.profile.of(program.pid).sum(&:cpu), 0.02
  end

  # C106: a reader of samples that stands still loses them, says so, and time still adds up.
  def test_a_reader_that_stands_still
    program = Program.new("gvl_sleep.rb", 4)
    profiler = Profiler.start("-p", program.pid, "-F", 10_000, "--stats=json")
    program.go
    sleep 0.5
    profiler.signal(:STOP)
    sleep 2.5
    profiler.signal(:CONT)
    program.expect("done")
    profiler.stop
    program.finish
    assert_code 0, profiler
    assert_closes profiler, program.pid
    assert_lives profiler, program.pid
    return if profiler.stats["lost"].values.sum.zero?

    assert_match(/lost/, profiler.err)
    assert profiler.profile.comments.any? { |c| c.include?("lost") }, profiler.profile.comments.inspect
  end
end
