# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require_relative "helper"

# A family of processes of which one existed before the recording, and one began after its start.
class TestFamily < E2E
  HZ = 499
  KINDS = %w[child child_of_thread daemon grandchild between].freeze

  once(:seen) do
    other = Rubies.path("3.3") ? Rubies.command("3.3") : [RUBY]
    early = start([RUBY])
    profiler = Profiler.start("-a", "-F", HZ, "--stats=json")
    late = start(other)
    families = { "early" => early, "late" => late }
    families.each_value { |family| family[:program].go }
    families.each_value { |family| family[:program].expect("done") }
    ps = JSON.parse(Profiler.run("ps", "--json").out)["processes"]
    families.each_value { |family| family.merge!(members: members(family), truth: family[:program].truth) }
    pids = families.values.flat_map { |f| [f[:truth], *f[:members].values] }.map { |member| member["pid"] }
    clocks = pids.to_h { |pid| [pid, Clock.cpu_at_rest(pid)] }
    profiler.stop
    statuses = families.values.map { |family| family[:program].finish }
    assert_code 0, profiler
    { profiler: profiler, profile: profiler.profile, families: families, ps: ps, statuses: statuses,
      clocks: clocks }
  ensure
    families&.each_value { |family| end_all(family) }
  end

  def start(next_ruby)
    place = folder("family")
    { place: place, program: Program.new("family.rb", place, *next_ruby) }
  end

  def members(family)
    (KINDS + ["executed"]).to_h { |kind| [kind, JSON.parse(File.read(File.join(family[:place], kind)))] }
  end

  # The daemon has left the group of the others. Each ends with its input; by its pid if it does not.
  def end_all(family)
    (family[:members] || {}).each_value do |member|
      Clock.wait_until(30, "the end of #{member["pid"]}") { !File.exist?("/proc/#{member["pid"]}") }
    rescue RuntimeError
      Process.kill(:KILL, member["pid"])
    end
  end

  def member(family, kind) = seen[:families][family][:members].fetch(kind)
  def samples(pid) = seen[:profile].of(pid)
  def names(pid) = samples(pid).flat_map(&:names).uniq

  %w[early late].each do |family|
    KINDS.each do |kind|
      define_method("test_#{kind}_of_an_#{family}_family_has_its_own_cpu") do
        truth = member(family, kind)
        mine = samples(truth["pid"])
        assert_cpu seen[:clocks][truth["pid"]], mine.sum(&:cpu), kind
        assert_work truth["work_ns"], mine, "Object#own_work", HZ
        refute_includes names(truth["pid"]), "Object#parent_work"
        assert_named mine, 0.01, seen[:profiler].stats_of(truth["pid"])["errors"]
        assert_equal [[truth["pid"], "main"]], mine.reject(&:gc?).map { |s| [s.tid, s.thread] }.uniq
        assert_closes seen[:profiler], truth["pid"]
      end
    end

    define_method("test_the_parent_of_an_#{family}_family_has_its_own_cpu") do
      truth = seen[:families][family][:truth]
      mine = samples(truth["pid"])
      assert_work truth["work_ns"], mine, "Object#parent_work", HZ
      refute_includes names(truth["pid"]), "Object#own_work"
      assert_cpu seen[:clocks][truth["pid"]] - truth["before_ns"], mine.sum(&:cpu), "parent" if family == "early"
      assert_closes seen[:profiler], truth["pid"]
    end

    # The same pid, another program: what the old one used stays with its names.
    define_method("test_one_that_executes_another_in_an_#{family}_family") do
      truth = member(family, "executed")
      before, after = samples(truth["pid"]).partition { |s| s.frame?("Object#own_work") }
      assert_equal [RUBY_VERSION], before.map { |s| s.labels["ruby"] }.uniq
      assert_work truth["before_ns"], samples(truth["pid"]), "Object#own_work", HZ
      work = after.select { |s| s.frame?("Object#next_work") }
      assert_work truth["work_ns"], samples(truth["pid"]), "Object#next_work", HZ
      assert_equal [truth["version"]], work.map { |s| s.labels["ruby"] }.uniq
      assert_empty names(truth["pid"]) & ["Object#parent_work"]
      sums = after.select { |s| s.labels["ruby"] == truth["version"] }.sum(&:cpu)
      assert_operator sums, :>=, truth["script_ns"] - 1_000_000
      assert_operator samples(truth["pid"]).sum(&:cpu), :<=, seen[:clocks][truth["pid"]] + 1_000_000
    end
  end

  def test_an_executed_program_of_the_same_ruby_has_all_the_cpu_of_its_pid
    truth = member("early", "executed")
    assert_cpu seen[:clocks][truth["pid"]], samples(truth["pid"]).sum(&:cpu), "pid of two programs"
  end

  # All of them together, so that little is enough to be seen.
  def test_hardly_a_name_is_missing
    mine = seen[:families].values.flat_map { |family| family[:members].values_at(*KINDS) }
                          .flat_map { |member| samples(member["pid"]) }
    assert_named mine
  end

  def test_ps_lists_them_all_and_no_zombie
    seen[:families].each_value do |family|
      pids = family[:members].values.map { |member| member["pid"] }
      assert_empty pids - seen[:ps].select { |p| p["ok"] && p["proof"] == "proved" }.map { |p| p["pid"] }
      refute_includes seen[:ps].map { |p| p["pid"] }, family[:truth]["zombie"]
    end
  end

  def test_every_one_ended_well
    assert_equal [true], seen[:statuses].map(&:success?).uniq
  end
end

# A target and what it starts.
class TestFamilyOfATarget < E2E
  def test_children_of_a_pid_are_followed
    place = folder("family")
    program = Program.new("family.rb", place, RUBY)
    stranger = Program.new("busy.rb", 100)
    profiler = Profiler.start("-p", program.pid, "-F", 199, "--stats=json")
    program.run
    profiler.stop
    pids = Dir.children(place).map { |name| JSON.parse(File.read(File.join(place, name)))["pid"] }
    program.finish
    stranger.finish
    assert_code 0, profiler
    assert_equal 6, pids.size
    assert_empty pids - profiler.profile.samples.map(&:pid)
    refute_includes profiler.profile.samples.map(&:pid), stranger.pid
    assert_empty profiler.profile.samples.map(&:pid).uniq - pids - [program.pid] - ended(profiler)
  end

  # Such as the one that became a zombie.
  def ended(profiler) = profiler.stats["processes"].select { |p| p["ended"] }.map { |p| p["pid"] }
end

# C64: the main thread is gone, others live.
class TestLeaderless < E2E
  HZ = 499

  once(:seen) do
    before = Program.new("leaderless.rb", "at once")
    during = Program.new("leaderless.rb")
    profiler = Profiler.start("-a", "-F", HZ, "--stats=json")
    [during, before].each(&:run)
    ps = JSON.parse(Profiler.run("ps", "--json").out)["processes"]
    dump = Profiler.run("dump", "-p", before.pid, "--json")
    profiler.stop
    alone = Profiler.record("-p", before.pid, "-d", "0.5")
    programs = { "before" => before, "during" => during }
    truth = programs.transform_values(&:truth)
    programs.each_value(&:finish)
    assert_code 0, profiler
    { profiler: profiler, programs: programs, truth: truth, ps: ps, dump: dump, alone: alone }
  end

  %w[before during].each do |kind|
    define_method("test_main_thread_gone_#{kind}_the_recording") do
      mine = seen[:profiler].profile.of(seen[:programs][kind].pid).select { |s| s.tid == seen[:truth][kind]["tid"] }
      assert_work seen[:truth][kind]["work_ns"], mine, "Object#orphan_work", HZ
      assert_equal ["orphan"], mine.reject(&:gc?).map(&:thread).uniq
      assert_closes seen[:profiler], seen[:programs][kind].pid
    end

    define_method("test_main_thread_gone_#{kind}_is_in_ps") do
      row = seen[:ps].find { |p| p["pid"] == seen[:programs][kind].pid }
      assert row, "it is not in ps"
      assert_equal [true, "proved"], row.values_at("ok", "proof"), row.inspect
    end
  end

  def test_dump_shows_the_other_thread
    assert_code 0, seen[:dump]
    threads = JSON.parse(seen[:dump].out)["processes"][0]["threads"]
    assert_includes threads.map { |t| t["name"] }, "orphan"
  end

  def test_as_a_target
    assert_code 0, seen[:alone]
  end
end

# C66: processes that hardly live, in a cgroup that says what they used.
class TestShortLived < E2E
  PROCESSES = 20 # of each loop

  once(:seen) do
    in_cgroup do |place|
      link = File.join(folder("bin"), "rbprof-short")
      File.symlink(RUBY, link)
      profiler = Profiler.start("-a", "-F", 499, "--stats=json")
      used = usage(place)
      loops = Array.new(Etc.nprocessors) { start_loop(place, link) }
      loops.each { |pid| assert Children.wait(pid, PATIENCE)&.success? }
      used = usage(place) - used
      sleep 0.3
      profiler.stop
      assert_code 0, profiler
      { profiler: profiler, used: used,
        samples: profiler.profile.samples.select { |s| s.labels["process"].start_with?("rbprof-short ") } }
    end
  end

  def start_loop(place, ruby)
    script = 'echo $$ >"$0/cgroup.procs"; i=0; while [ $i -lt "$1" ]; do i=$((i + 1)); ' \
             '"$2" -e "def short_work = 300_000.times {}; short_work"; done'
    Children.spawn("sh", "-c", script, place, PROCESSES.to_s, ruby)
  end

  # A cgroup whose CPU is counted: version 2 counts always, of version 1 it is cpuacct.
  def in_cgroup
    mount = File.readlines("/proc/mounts").map(&:split)
                .select { |m| m[2] == "cgroup2" || (m[2] == "cgroup" && m[3].split(",").include?("cpuacct")) }
                .min_by { |m| m[2] == "cgroup2" ? 0 : 1 } or skip "no cgroup that counts CPU"
    place = File.join(mount[1], "rbprof-e2e-#{Process.pid}")
    begin
      Dir.mkdir(place)
    rescue SystemCallError => e
      skip "no cgroup can be made: #{e.message}"
    end
    yield place
  ensure
    Children.end_all
    Dir.rmdir(place) if place && Dir.exist?(place)
  end

  def usage(place)
    file = File.join(place, "cpuacct.usage")
    return File.read(file).to_i if File.exist?(file)

    File.read(File.join(place, "cpu.stat"))[/^usage_usec (\d+)/, 1].to_i * 1_000
  end

  def share(part, whole) = (100.0 * part / whole).round(2)

  def report
    cpu = seen[:samples].sum(&:cpu)
    unknown = seen[:samples].select { |s| s.frame?("(runtime not yet known)") }.sum(&:cpu)
    { processes: seen[:samples].map(&:pid).uniq.size, cpu_of_the_cgroup: share(cpu, seen[:used]),
      not_yet_known: share(unknown, cpu), without_name: share(frames[1], frames[0]) }
  end

  # How many frames were sampled, and how many of them have no name.
  def frames
    weights = seen[:samples].flat_map { |s| s.stack.map { |f| [f.name, s.values["cpu-samples"]] } }
    lost = weights.select { |name, _| ["(unreadable)", "(gone)"].include?(name) }
    [weights.sum(&:last), lost.sum(&:last)]
  end

  def test_their_cpu_is_in_the_profile
    puts "\nshort-lived: #{report} (percent)" if ENV["VERBOSE"]
    assert_operator seen[:samples].map(&:pid).uniq.size, :>, 10
    assert_operator report[:cpu_of_the_cgroup], :>=, 95, report
    assert_operator report[:cpu_of_the_cgroup], :<=, 100.5, report
  end

  def test_their_runtime_is_known
    assert_operator report[:not_yet_known], :<=, 5, report
    assert seen[:samples].any? { |s| s.frame?("Object#short_work") }
  end

  def test_their_frames_are_named
    # The aim is 0.5 % of all frames, and 0.1 to 0.4 % it is where we come to read at once. What
    # a program loads is freed within milliseconds as it starts, so a machine that is slow to run
    # us makes it more: 1.9 % were seen. Of ticks it is some 2 to 5 %: while the VM starts and ends
    # there is nothing to read, and one frame stands for the stack.
    assert_named seen[:samples], 0.10, report
    assert_operator report[:without_name], :<=, 4.0, report
  end

  def test_they_close
    assert_closes seen[:profiler]
  end
end

# What the kernel had no room to tell is looked up in /proc.
class TestLostRecords < E2E
  PROGRAMS = 600 # a CPU, each of which maps some files: more records than a ring holds

  once(:seen) do
    skip "no taskset" unless command?("taskset")
    profiler = Profiler.start("-a", "-F", 199, "--stats=json")
    profiler.signal(:STOP)
    fill
    program = Program.new("split.rb", 0.6)
    profiler.signal(:CONT)
    # With no other reason to look: the kernel tells of a loss with the next record only.
    sleep 0.5
    program.run
    fill(1)
    sleep 0.1
    profiler.stop
    assert_code 0, profiler
    { profiler: profiler, pid: program.pid, truth: program.truth }
  ensure
    program&.finish
  end

  def fill(count = PROGRAMS)
    loops = Array.new(Etc.nprocessors) do |cpu|
      Children.spawn("taskset", "--cpu-list", cpu.to_s, "sh", "-c",
                     'i=0; while [ $i -lt "$0" ]; do i=$((i + 1)); /bin/true; done', count.to_s)
    end
    loops.each { |pid| assert Children.wait(pid, 60)&.success? }
  end

  def test_the_loss_is_counted
    assert_operator seen[:profiler].stats["errors"].fetch("lost_sideband", 0), :>, 100
  end

  def test_a_ruby_that_nothing_told_of_is_found
    mine = seen[:profiler].profile.of(seen[:pid])
    work = mine.select { |s| (s.names & ["Object#seven_parts", "Object#three_parts"]).any? }.sum(&:cpu)
    assert_in_delta seen[:truth].values.sum, work, 30_000_000
    assert_closes seen[:profiler], seen[:pid]
  end
end

# What others do on the host costs us little: a bound far above what is measured elsewhere.
class TestLoad < E2E
  SECONDS = 4

  # CPU of the profiler itself, percent of one CPU: the median of several seconds. What something
  # costs is in most of them, what else happens on this host is not.
  def own_cpu(profiler, seconds)
    Array.new(seconds) do
      from, started = used(profiler), Clock.now
      sleep 1
      100 * (used(profiler) - from) / (Clock.now - started)
    end.sort[(seconds - 1) / 2]
  end

  def used(profiler)
    File.read("/proc/#{profiler.pid}/stat").rpartition(")").last.split.values_at(11, 12).sum(&:to_i) /
      Etc.sysconf(Etc::SC_CLK_TCK).to_f
  end

  def test_very_many_mappings
    limit = File.read("/proc/sys/vm/max_map_count").to_i
    skip "vm.max_map_count is #{limit}" if limit < 25_000
    program = Program.new("many_mappings.rb", 20_000)
    profiler = Profiler.start("-a", "--stats=json")
    program.go
    percent = own_cpu(profiler, SECONDS)
    program.instance_variable_get(:@input).puts("enough")
    program.expect("done")
    used = program.cpu_ns
    profiler.stop
    program.finish
    puts format("\nour CPU beside 20,000 mappings: %.2f %%", percent) if ENV["VERBOSE"]
    assert_operator program.truth["mappings"], :>, 20_000
    assert_operator percent, :<, 10
    assert_cpu used, profiler.profile.of(program.pid).sum(&:cpu), "process"
    assert profiler.profile.of(program.pid).any? { |s| s.frame?("Object#busy_work") }
  end

  def test_short_processes_of_others
    path = File.join(folder("compiled"), "start_many")
    skip "no C compiler" unless system("gcc", "-O1", "-o", path, File.join(PROGRAMS, "start_many.c"))
    program = Program.new("busy.rb", 100)
    profiler = Profiler.start("-a", "--stats=json")
    took, output = IO.pipe
    before = own_cpu(profiler, 2) # whatever else runs on this host
    pid = Children.spawn(path, "500", SECONDS.to_s, "/bin/true", out: output)
    output.close
    percent = own_cpu(profiler, SECONDS - 1)
    assert Children.wait(pid, PATIENCE)&.success?
    profiler.stop
    program.finish
    rate = took.read.to_i / SECONDS
    puts format("\nour CPU beside %d processes/s: %.2f %%, before: %.2f %%", rate, percent, before) if ENV["VERBOSE"]
    assert_operator percent - before, :<, 10
    assert profiler.profile.of(program.pid).any? { |s| s.frame?("Object#busy_work") }
    assert_closes profiler, program.pid
  end
end
