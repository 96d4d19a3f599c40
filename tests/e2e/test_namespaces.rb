# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require_relative "helper"
require_relative "namespace"

# C80: one profiler in a pid namespace of its own and one outside look at the same processes, each
# by the ids that it sees.
class TestNamespaces < E2E
  MEMBERS = %w[child child_of_thread daemon grandchild between executed].freeze
  SHORT = 6

  once(:seen) do
    skip "no unshare and nsenter" unless command?("unshare") && command?("nsenter")
    space = Namespace.new
    early = start(space, "threads_and_child.rb")
    outsider = Program.new("busy.rb", 60)
    inside = ProfilerInside.start_in(space, "-a", "-F", 499, "--stats=json")
    outside = Profiler.start("-a", "-F", 499, "--stats=json")
    place = folder("family")
    family = start(space, "family.rb", place, RUBY)
    nested = start(space, "in_container.rb", ruby: %w[unshare --pid --fork --mount-proc] + [RUBY])
    programs = { early: early, family: family, nested: nested }
    short = start_short(space)
    programs.each_value(&:go)
    programs.each_value { |program| program.expect("done") }
    assert Children.wait(short, 30)&.success?
    truth = programs.transform_values(&:truth)
    members = MEMBERS.to_h { |kind| [kind, JSON.parse(File.read(File.join(place, kind)))["pid"]] }
    pids = space.pids
    nested_pid = Rubies.child(Rubies.child(nested.pid))
    seen = { truth: truth, members: members, pids: pids, nested: Namespace.ids(nested_pid), outsider: outsider.pid,
             tids: host_tids(pids[truth[:early]["pid"]]), asked: ask(space, truth[:early]["pid"]),
             clocks: pids.transform_values { |pid| cpu_clock(pid) }, recording: Namespace.inner(inside.process) }
    [inside, outside].each(&:stop)
    [inside, outside].each { |profiler| assert_code 0, profiler }
    seen.merge(inside: inside, outside: outside)
  ensure
    [outsider, *programs&.values].compact.each(&:finish)
    space&.finish
  end

  def start(space, name, *args, ruby: [RUBY]) = Program.new(name, *args, ruby: [*space.enter, *ruby])

  def start_short(space)
    script = 'i=0; while [ $i -lt "$1" ]; do i=$((i + 1)); "$0" -e "def short_work = 6_000_000.times {}; short_work"; done'
    Children.spawn(*space.enter, "sh", "-c", script, RUBY, SHORT.to_s)
  end

  # CLOCK_PROCESS_CPUTIME_ID of another process.
  def cpu_clock(pid) = Process.clock_gettime((~pid << 3) | 2, :nanosecond)

  # Of a process: its threads' ids on the host by those inside.
  def host_tids(pid)
    Dir.children("/proc/#{pid}/task").to_h { |tid| [Namespace.inner(pid, tid), tid.to_i] }
  end

  def ask(space, pid)
    { ps: %w[ps --json], dump: %W[dump -p #{pid} --json], state: %w[state --json] }
      .transform_values { |command| ProfilerInside.in(space, *command) }
  end

  # Not the collector's, which has no thread of its own.
  def of_threads(samples) = samples.reject { |s| s.thread == "Garbage Collection" }

  def answer(command) = JSON.parse(seen[:asked][command].out)

  # Both views of the process with this inner pid: what it is called, its samples, the profiler.
  def each_view(inner)
    { seen[:inside] => inner, seen[:outside] => seen[:pids].fetch(inner) }.each do |profiler, pid|
      yield pid, profiler.profile.of(pid), profiler
    end
  end

  def test_both_see_the_same_process_by_their_own_ids
    inner = seen[:truth][:early]["pid"]
    refute_equal inner, seen[:pids][inner]
    each_view(inner) do |pid, mine, profiler|
      assert_cpu seen[:clocks][inner] - seen[:truth][:early]["before_ns"], mine.sum(&:cpu), "process #{pid}"
      assert_equal [["#{COMM} (#{pid})", pid]], mine.map { |s| s.labels.values_at("process", "pid") }.uniq
      assert_equal [pid], mine.select { |s| s.thread == "main" }.map(&:tid).uniq
      assert_closes profiler, pid
    end
  end

  def test_threads_have_the_ids_of_their_view
    truth = seen[:truth][:early]
    truth["tids"].each do |name, inner|
      { inside: inner, outside: seen[:tids].fetch(inner) }.each do |view, tid|
        pid = view == :inside ? truth["pid"] : seen[:pids][truth["pid"]]
        mine = seen[view].profile.of(pid).select { |s| s.thread == name }
        assert_equal [tid], mine.map(&:tid).uniq, "#{name}, #{view}"
        work = mine.select { |s| s.frame?("Object#thread_work") }.sum(&:cpu)
        assert_in_delta name == "first" ? 200_000_000 : 100_000_000, work, 12_000_000
      end
    end
  end

  def test_a_child_of_a_thread
    child = seen[:truth][:early]["child"]
    each_view(child) do |pid, mine, profiler|
      assert_cpu seen[:clocks][child], mine.sum(&:cpu), "child #{pid}"
      assert_in_delta 150_000_000, mine.select { |s| s.frame?("Object#child_work") }.sum(&:cpu), 9_000_000
      assert_equal [pid], of_threads(mine).map(&:tid).uniq
      assert_closes profiler, pid
    end
  end

  MEMBERS.each do |kind|
    define_method("test_#{kind}_of_a_family") do
      inner = seen[:members].fetch(kind)
      each_view(inner) do |pid, mine, profiler|
        assert_cpu seen[:clocks][inner], mine.sum(&:cpu), "#{kind} #{pid}"
        assert mine.any? { |s| s.frame?(kind == "executed" ? "Object#next_work" : "Object#own_work") }
        refute mine.any? { |s| s.frame?("Object#parent_work") }
        assert_equal [[pid, "main"]], of_threads(mine).map { |s| [s.tid, s.thread] }.uniq
        assert_closes profiler, pid
      end
    end
  end

  # In a namespace within ours it has an id for each.
  def test_a_namespace_within
    sums = { outside: seen[:nested][0], inside: seen[:nested][1] }.map do |view, pid|
      mine = seen[view].profile.of(pid)
      assert_in_delta 200_000_000, mine.select { |s| s.frame?("Object#contained_work") }.sum(&:cpu), 12_000_000
      assert mine.any? { |s| s.frame?("Object#contained_work") && s.tid == pid }
      assert mine.any? { |s| s.thread == "inside" && s.tid != pid }
      assert_closes seen[view], pid
      mine.sum(&:cpu)
    end
    assert_cpu(*sums, "nested, seen twice")
    assert_equal [1, 1], [seen[:nested][2], seen[:truth][:nested]["pid"]]
  end

  def test_the_short_lived
    seen.values_at(:inside, :outside).each do |profiler|
      mine = profiler.profile.samples.select { |s| s.frame?("Object#short_work") }
      assert_operator mine.map(&:pid).uniq.size, :>=, SHORT, "processes with work of their own"
      mine.map(&:pid).uniq.each { |pid| assert_closes profiler, pid }
    end
  end

  def test_inside_nothing_of_the_outside_is_seen
    known = [*seen[:pids].keys, seen[:nested][1]]
    listed = seen[:inside].stats["processes"].reject { |p| p["ended"] }.map { |p| p["pid"] }
    assert_empty listed - known
    assert_operator seen[:outside].profile.of(seen[:outsider]).sum(&:cpu), :>, 200_000_000
    refute seen[:inside].profile.samples.any? { |s| s.frame?("Object#busy_work") }
    assert_closes seen[:inside]
  end

  def test_nothing_was_lost_inside
    assert_empty seen[:inside].stats["lost"].reject { |_, n| n.zero? }
    refute_includes seen[:inside].stats["errors"].keys, "thread_without_start"
  end

  def test_ps_inside
    rows = answer(:ps)["processes"]
    expected = [seen[:truth][:early]["pid"], seen[:truth][:family]["pid"], *seen[:members].values, seen[:nested][1]]
    assert_empty expected - rows.select { |row| row["proof"] == "proved" }.map { |row| row["pid"] }
    assert_empty rows.map { |row| row["pid"] } - seen[:pids].keys - [seen[:nested][1]]
  end

  def test_dump_inside
    assert_code 0, seen[:asked][:dump]
    threads = answer(:dump)["processes"][0]["threads"].to_h { |t| [t["name"], t["tid"]] }
    truth = seen[:truth][:early]
    assert_equal truth["tids"].merge("main" => truth["pid"]), threads.slice("main", *truth["tids"].keys)
  end

  # /run is one for both: each finds its own.
  def test_state_inside
    assert_code 0, seen[:asked][:state]
    assert_equal [seen[:recording]], answer(:state)["recordings"].map { |r| r["recording_pid"] }
  end
end

# With targets.
class TestNamespaceTargets < E2E
  once(:space) do
    skip "no unshare and nsenter" unless command?("unshare") && command?("nsenter")
    Namespace.new
  end

  # Other tests of this class need it after this one.
  def teardown = nil

  def test_a_command_inside
    truth = Program.truth_path
    profiler = ProfilerInside.record("-F", 499, "--stats=json", "--", RUBY, File.join(PROGRAMS, "forks.rb"),
                                     prefix: space.enter, env: { "TRUTH" => truth }, out: File::NULL)
    assert_code 0, profiler
    truth = JSON.parse(File.read(truth))
    [*truth["children"], truth["new_ruby"]].each do |child|
      mine = profiler.profile.of(child["pid"])
      # Its exit comes after its last look at its clock.
      assert_includes (child["cpu_ns"] * 0.98 - 1_000_000..child["cpu_ns"] + 60_000_000), mine.sum(&:cpu)
      refute mine.any? { |s| s.frame?("Object#parent_work") }
    end
    parent = profiler.profile.of(truth["parent"]).select { |s| s.frame?("Object#parent_work") }
    assert_in_delta 400_000_000, parent.sum(&:cpu), 12_000_000
    assert_closes profiler
  end

  def test_a_pid_inside
    program = Program.new("split.rb", 0.6, ruby: [*space.enter, RUBY])
    inner = Namespace.inner(Rubies.child(program.pid))
    other = Program.new("busy.rb", 30, ruby: [*space.enter, RUBY])
    profiler = ProfilerInside.start_in(space, "-p", inner, "-F", 499, "--stats=json")
    program.run
    profiler.stop
    [program, other].each(&:finish)
    assert_code 0, profiler
    assert_equal [inner], profiler.profile.samples.map(&:pid).uniq
    assert_in_epsilon program.truth.values.sum, profiler.profile.of(inner).sum(&:cpu), 0.05
    assert_closes profiler, inner
  end

  # The recording ends with its target, and that of one target is not that of the others.
  def test_the_end_of_targets_inside
    programs = Array.new(2) { Program.new("busy.rb", 60, ruby: [*space.enter, RUBY]) }
    pids = programs.map { |program| Namespace.inner(Rubies.child(program.pid)) }
    profiler = ProfilerInside.start_in(space, "-p", pids.join(","), "-F", 199, "--stats=json")
    programs[0].finish
    sleep 0.3
    refute profiler.ended?
    programs[1].finish
    profiler.wait(20)
    assert_code 0, profiler
    assert_equal pids.sort, profiler.profile.samples.map(&:pid).uniq.sort
    assert_closes profiler
  end

  # A pid of the host is not one of ours.
  def test_a_pid_that_only_the_host_has
    program = Program.new("busy.rb", 10)
    skip "the namespace has this pid too" if space.pids.key?(program.pid)
    assert_error ProfilerInside.in(space, "record", "-p", program.pid, "-o", Profiler.new_file(".pb.gz")), 3,
                 /no such process/
    program.finish
  end

  # Ids of the one, /proc of the other: nothing fits together.
  def test_another_proc_than_that_of_our_namespace
    file = Profiler.new_file(".pb.gz")
    { "record -a -d 1 -o #{file}" => 3, "ps" => 3, "dump -a" => 3 }.each do |command, code|
      assert_error Profiler.run(*command.split, prefix: %w[unshare --pid --fork]), code, %r{/proc.*pid namespace}
    end
    refute_path_exists file
    doctor = Profiler.run("doctor", prefix: %w[unshare --pid --fork])
    refute_equal 0, doctor.code
    assert_match(%r{FAIL +pid namespace +not that of /proc}, doctor.out)
  end

  def test_doctor_inside
    assert_match(/ok +pid namespace +one of its own/, ProfilerInside.in(space, "doctor").out)
  end
end
