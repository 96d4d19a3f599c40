# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require "pty"
require_relative "helper"

# Targets of `record`.
class TestTargets < E2E
  def busy(**options) = Program.new("busy.rb", 100, **options)

  def test_one_pid
    program = busy
    other = busy
    profiler = Profiler.record("-p", program.pid, "-d", "1")
    [program, other].each(&:finish)
    assert_code 0, profiler
    assert_equal [program.pid], profiler.profile.samples.map(&:pid).uniq
  end

  def test_several_pids_given_twice
    programs = [busy, busy]
    profiler = Profiler.record("-p", programs[0].pid, "-p", "#{programs[1].pid},#{programs[0].pid}", "-d", "1")
    programs.each(&:finish)
    assert_code 0, profiler
    assert_equal programs.map(&:pid).sort, profiler.profile.samples.map(&:pid).uniq.sort
  end

  def test_all_and_no_target_alike
    program = busy
    with, without = [["-a"], []].map { |target| Profiler.record(*target, "-d", "1") }
    program.finish
    [with, without].each do |profiler|
      assert_code 0, profiler
      assert_operator profiler.profile.of(program.pid).sum(&:cpu), :>, 20_000_000
      # This very suite is a Ruby process of the host.
      assert_operator profiler.profile.of(Process.pid).sum(&:cpu), :>, 0
    end
  end

  def test_comm_glob
    link = File.join(folder("bin"), "rbprof-e2e-app")
    File.symlink(RUBY, link)
    program = busy(ruby: [link])
    other = busy
    profiler = Profiler.record("--comm", "rbprof-e2e-*", "-d", "1")
    [program, other].each(&:finish)
    assert_code 0, profiler
    assert_equal [program.pid], profiler.profile.samples.map(&:pid).uniq
    assert_equal ["rbprof-e2e-app (#{program.pid})"], profiler.profile.samples.map { |s| s.labels["process"] }.uniq
  end

  def test_comm_glob_finds_what_starts_later
    link = File.join(folder("bin"), "rbprof-e2e-new")
    File.symlink(RUBY, link)
    profiler = Profiler.start("--comm", "rbprof-e2e-n??", "-d", "300")
    program = busy(ruby: [link])
    Clock.let_run(program.pid, 0.5)
    profiler.stop
    program.finish
    assert_code 0, profiler
    assert_equal [program.pid], profiler.profile.samples.map(&:pid).uniq
    assert profiler.profile.samples.any? { |s| s.frame?("Object#busy_work") }
  end

  # A cgroup of our own with the program in it.
  def in_cgroup(*names)
    mount = File.readlines("/proc/mounts").map(&:split).find { |m| m[2] == "cgroup2" } or skip "no cgroup v2"
    paths = names.each_index.map { |i| File.join(mount[1], *names[0..i]) }
    begin
      paths.each { |path| Dir.mkdir(path) }
    rescue SystemCallError => e
      skip "no cgroup can be made: #{e.message}"
    end
    program = busy
    File.write(File.join(paths.last, "cgroup.procs"), program.pid)
    yield program
  ensure
    program&.finish
    paths&.reverse&.each { |path| Dir.rmdir(path) if Dir.exist?(path) }
  end

  def test_cgroup_and_those_below_it
    other = busy
    name = "rbprof-e2e-#{Process.pid}"
    in_cgroup(name, "below") do |program|
      profiler = Profiler.record("--cgroup", "/#{name}", "-d", "1")
      assert_code 0, profiler
      assert_equal [program.pid], profiler.profile.samples.map(&:pid).uniq
    end
    other.finish
  end

  def test_container
    other = busy
    id = Random.new(Process.pid).bytes(32).unpack1("H*")
    in_cgroup("docker-#{id}.scope") do |program|
      [id, id[0, 12]].each do |given|
        profiler = Profiler.record("--container", given, "-d", "0.7")
        assert_code 0, profiler
        assert_equal [program.pid], profiler.profile.samples.map(&:pid).uniq
        assert_equal [id], profiler.profile.samples.map { |s| s.labels["container_id"] }.uniq
      end
      row = JSON.parse(Profiler.run("ps", "--json").out)["processes"].find { |p| p["pid"] == program.pid }
      assert_equal id, row["container_id"]
    end
    other.finish
  end

  def test_nothing_to_profile_is_an_empty_profile
    profiler = Profiler.record("--comm", "no-such-comm-*", "-d", "0.5")
    assert_code 0, profiler
    assert_empty profiler.profile.samples
    assert_match(/no (ruby )?process|nothing|no samples/i, profiler.err)
  end

  def test_a_command_and_its_status
    profiler = Profiler.record("--", RUBY, "-e", "def its_work = 6_000_000.times {}; its_work; exit 42")
    assert_code 42, profiler
    assert profiler.profile.samples.any? { |s| s.frame?("Object#its_work") }
    assert_includes profiler.profile.comments.join("\n"), "its_work"
  end

  # From the first instruction of Ruby: nothing is under "not yet known".
  def test_a_command_is_seen_from_its_first_instruction
    profiler = Profiler.record("-F", "997", "--", RUBY, "-e", "def its_work = 6_000_000.times {}; its_work")
    assert_code 0, profiler
    unknown = profiler.profile.samples.select { |s| s.frame?("(runtime not yet known)") }.sum(&:cpu)
    assert_operator unknown, :<=, profiler.profile.sum * 0.3
    assert_match(/\Aruby3?/, File.basename(profiler.profile.mappings[1][:file]), "File: of go tool pprof")
  end

  def test_a_command_has_our_terminal_and_arguments
    profiler = Profiler.new("record", "-o", file = Profiler.new_file(".pb.gz"), "--", "sh", "-c",
                            "cat; echo $1 $TRUTH; echo error >&2; exec #{RUBY} -e 0", "sh", "-p",
                            env: { "TRUTH" => "here" }, input: __FILE__)
    profiler.wait
    assert_code 0, profiler
    assert_equal "#{File.read(__FILE__)}-p here\n", profiler.out
    assert_includes profiler.err, "error\n"
    assert_path_exists file
  end

  def test_a_command_killed_by_a_signal
    profiler = Profiler.record("--", RUBY, "-e", "Process.kill(:TERM, Process.pid); sleep 5")
    assert_code 128 + 15, profiler
    assert_operator profiler.profile.sum, :>, 0
  end

  def test_a_command_that_is_not_there
    assert_error Profiler.record("--", "/no/such/command"), 127, %r{/no/such/command}
    assert_error Profiler.record("--", "no-such-command-in-path"), 127
  end

  def test_a_command_that_is_not_executable
    assert_error Profiler.record("--", __FILE__), 126, /#{Regexp.escape(File.basename(__FILE__))}/
  end

  def test_under_sudo_a_command_runs_as_its_caller
    profiler = Profiler.record("--", RUBY, "-e", "print Process.uid, ' ', Process.gid, ' ', Process.euid",
                               env: { "SUDO_UID" => "65534", "SUDO_GID" => "65534" })
    assert_code 0, profiler
    assert_equal "65534 65534 65534", profiler.out
  end

  def test_duration_ends_before_a_command
    profiler = Profiler.record("-d", "0.5", "--stats=json", "--", RUBY, "-e", "t = Time.now; 1 while Time.now - t < 2; exit 7")
    assert_code 7, profiler
    # The command takes 2 s.
    assert_includes 500_000_000..1_500_000_000, profiler.stats["elapsed_ns"]
  end
end

# How a recording ends.
class TestEnds < E2E
  def busy = Program.new("busy.rb", 100)

  %i[INT TERM].each do |signal|
    define_method("test_sig#{signal.to_s.downcase}_writes_the_profile") do
      program = busy
      profiler = Profiler.start("-p", program.pid)
      used = Clock.let_run(program.pid, 0.2)
      profiler.stop(signal)
      program.finish
      assert_code 0, profiler
      assert_operator profiler.profile.sum, :>=, used
    end
  end

  # A reader that takes nothing holds up the writing, so that there is time for a second one.
  def test_a_second_signal_aborts
    program = Program.new("templates.rb", 1)
    reader, writer = IO.pipe
    writer.fcntl(1031, 4_096) # F_SETPIPE_SZ
    profiler = Profiler.new("record", "-p", program.pid, "-F", "997", "-o", "-", out: writer)
    writer.close
    profiler.wait_attached
    program.run
    profiler.signal(:INT)
    sleep 1
    refute profiler.ended?, "it waits for its reader"
    profiler.signal(:INT)
    profiler.wait
    program.finish
    assert_code 130, profiler
  ensure
    reader&.close
  end

  def test_two_signals_at_once_leave_a_whole_file_or_none
    place = folder
    program = busy
    profiler = Profiler.new("record", "-p", program.pid, "-o", File.join(place, "x.pb.gz"))
    profiler.wait_attached
    profiler.signal(:STOP)
    %i[INT TERM CONT].each { |name| profiler.signal(name) }
    profiler.wait
    program.finish
    if profiler.status.exitstatus == 130
      refute_debris place
    else
      assert_code 0, profiler
      refute_debris place, "x.pb.gz"
      assert_operator profiler.profile.sum, :>, 0
    end
  end

  # As a terminal does it: the whole group gets the signal.
  def test_ctrl_c_ends_the_command_too
    mark = File.join(folder, "ready")
    profiler = Profiler.new("record", "-o", Profiler.new_file(".pb.gz"), "--", RUBY, "-e",
                            "trap(:INT) { exit 9 }; File.write(ARGV[0], ''); t = Time.now; 1 while Time.now - t < 100", mark)
    Clock.wait_until(PATIENCE, "the command to start") { File.exist?(mark) }
    Process.kill(:INT, -profiler.pid)
    profiler.wait
    assert_code 9, profiler
    assert_operator profiler.profile.sum, :>, 0
  end

  def test_a_killed_profiler_leaves_no_programs_behind
    program = busy
    profiler = Profiler.start("-p", program.pid)
    profiler.signal(:KILL)
    profiler.wait
    sleep 0.3
    again = Profiler.record("-p", program.pid, "-d", "0.5")
    program.finish
    assert_code 0, again
    assert_path_exists again.file
    refute_path_exists profiler.file
  end
end

# Where the profile goes.
class TestOutput < E2E
  def busy = Program.new("busy.rb", 100)

  def with_busy
    program = busy
    yield program
  ensure
    program.finish
  end

  def test_the_default_name
    place = folder
    with_busy { |p| assert_code 0, Profiler.run("record", "-p", p.pid, "-d", "0.5", chdir: place) }
    name, *others = Dir.children(place)
    assert_empty others
    host = Regexp.escape(File.read("/proc/sys/kernel/hostname").chomp)
    assert_match(/\Arbprof-#{host}-\d{8}T\d{6}\.pb\.gz\z/, name)
    assert_operator Pprof.read(File.join(place, name)).sum, :>, 0
  end

  def test_stdout_holds_the_profile_alone
    with_busy do |p|
      profiler = Profiler.run("record", "-p", p.pid, "-d", "0.5", "-o", "-", "--stats")
      assert_code 0, profiler
      assert_operator Pprof.new(profiler.out).sum, :>, 0
    end
  end

  def test_the_last_line_says_where_and_how_to_look
    with_busy do |p|
      profiler = Profiler.record("-p", p.pid, "-d", "0.5")
      last = profiler.err.lines.last
      assert_includes profiler.err, profiler.file
      assert_match(/sample/, profiler.err)
      assert_match(/report|pprof/, last)
    end
  end

  def test_progress_on_a_terminal
    terminal, slave = PTY.open
    with_busy do |p|
      profiler = Profiler.new("record", "-p", p.pid, "-d", "3.5", "-o", Profiler.new_file(".pb.gz"), err: slave)
      slave.close
      text = +""
      begin
        text << terminal.readpartial(4_096) while text.size < 100_000
      rescue EOFError, Errno::EIO
        nil
      end
      profiler.wait
      assert_code 0, profiler
      lines = text.split(/[\r\n]+/).grep(/sample/)
      assert_operator lines.size, :>=, 3, "one a second, though one may come late, and the last one: #{text.inspect}"
      assert_match(/lost/, text)
    end
  ensure
    terminal&.close
  end

  def test_no_progress_where_there_is_no_terminal
    with_busy do |p|
      profiler = Profiler.record("-p", p.pid, "-d", "1.5")
      assert_equal 1, profiler.err.lines.size, profiler.err
      refute_includes profiler.err, "\e"
    end
  end

  def test_stats_for_people
    with_busy do |p|
      profiler = Profiler.record("-p", p.pid, "-d", "1", "--stats")
      assert_code 0, profiler
      assert_match(/fired/, profiler.err)
      assert_match(/taken/, profiler.err)
      assert_match(/\b#{p.pid}\b/, profiler.err)
      assert_match(/main/, profiler.err)
    end
  end

  def test_quiet_says_nothing
    with_busy do |p|
      profiler = Profiler.record("-p", p.pid, "-d", "0.5", "-q")
      assert_code 0, profiler
      assert_empty profiler.err
    end
  end

  def test_a_file_that_exists_is_replaced_whole
    place = folder
    file = File.join(place, "x.pb.gz")
    File.write(file, "old")
    with_busy { |p| assert_code 0, Profiler.run("record", "-p", p.pid, "-d", "0.5", "-o", file) }
    refute_debris place, "x.pb.gz"
    assert_operator Pprof.read(file).sum, :>, 0
  end

  def test_a_full_disk
    mount_tmpfs("size=64k") do |place|
      begin
        File.open(File.join(place, "filler"), "wb") { |f| f.write("x" * 65_536) }
      rescue Errno::ENOSPC
        nil
      end
      with_busy do |p|
        profiler = Profiler.run("record", "-p", p.pid, "-d", "0.5", "-o", File.join(place, "x.pb.gz"))
        assert_error profiler, 5, /no space left/i, /x\.pb\.gz/
      end
      refute_debris place, "filler"
    end
  end

  def test_a_disk_that_fills_up_while_writing
    program = Program.new("templates.rb", 3)
    mount_tmpfs("size=64k") do |place|
      profiler = Profiler.new("record", "-p", program.pid, "-F", "997", "-o", File.join(place, "x.pb"))
      profiler.wait_attached
      program.run
      profiler.stop
      program.finish
      assert_error profiler, 5, /no space left/i
      refute_debris place
    end
  end

  def test_a_read_only_disk
    mount_tmpfs("ro") do |place|
      with_busy do |p|
        profiler = Profiler.run("record", "-p", p.pid, "-d", "60", "-o", File.join(place, "x.pb.gz"))
        assert_error profiler, 5, /read-only/i, /x\.pb\.gz|#{Regexp.escape(place)}/
        assert_operator profiler.elapsed, :<, 30, "before the recording, which is of a minute"
      end
    end
  end

  def test_a_folder_that_is_not_there
    with_busy do |p|
      profiler = Profiler.run("record", "-p", p.pid, "-d", "60", "-o", "/no/such/folder/x.pb.gz")
      assert_error profiler, 5, %r{/no/such/folder}, /no such file/i
      assert_operator profiler.elapsed, :<, 30, "before the recording, which is of a minute"
    end
  end

  def test_a_closed_pipe
    with_busy do |p|
      reader, writer = IO.pipe
      reader.close
      profiler = Profiler.run("record", "-p", p.pid, "-d", "0.5", "-o", "-", out: writer)
      writer.close
      assert_error profiler, 5, /broken pipe/i
    end
  end

  def test_a_failed_output_beats_the_status_of_the_command
    reader, writer = IO.pipe
    reader.close
    profiler = Profiler.run("record", "-o", "-", "--", RUBY, "-e", "exit 3", out: writer)
    writer.close
    assert_code 5, profiler
  end
end

# Wrong usage is said and is exit status 2.
class TestUsage < E2E
  [%w[-F 0], %w[-F abc], %w[-F 10001], %w[-F -5], %w[-F 99.5], %w[-d -1], %w[-d 0], %w[-d abc], %w[-d 5x],
   %w[--max-frames -1], %w[--max-frames 4001], %w[--max-frames many], %w[-f nosuch], %w[-p abc], %w[-p 0],
   %w[-p -1], %w[-p 1,,2], %w[-p 99999999999999999999], %w[--no-such-option], %w[-a -- ruby], ["--"],
   %w[-a -p 1], %w[--stats=xml], %w[--value nosuch]].each do |args|
    define_method("test_record_#{args.join("_")}") do
      profiler = Profiler.run("record", *args)
      assert_code 2, profiler
      assert_operator profiler.err.lines.size, :<=, 6, profiler.err
      refute_empty profiler.err
      assert_empty profiler.out
    end
  end

  %w[--alloc --no-alloc --heap --no-heap --native --kernel].each do |flag|
    define_method("test_#{flag.delete("-/=")}_is_refused_for_now") do
      profiler = Profiler.run("record", flag, "-d", "1")
      assert_code 2, profiler
      assert_match(/not in this version/, profiler.err)
      help = Profiler.run("record", "--help").out
      refute_includes help, flag[/\A--[a-z-]+/] if flag.start_with?("--")
    end
  end

  %w[agent].each do |command|
    define_method("test_#{command}_is_refused_for_now") do
      profiler = Profiler.run(command)
      assert_code 2, profiler
      assert_match(/not in this version/, profiler.err)
      refute_match(/^\s+#{command}\b/, Profiler.run("--help").out)
    end
  end

  def test_help_and_version
    %w[record top dump ps report diff gate state doctor].each do |command|
      profiler = Profiler.run(command, "--help")
      assert_code 0, profiler
      assert_includes profiler.out, command
      assert_includes Profiler.run("--help").out, command
    end
    assert_code 0, Profiler.run("--version")
  end

  def test_no_command_and_an_unknown_one
    assert_code 2, Profiler.run
    assert_error Profiler.run("nosuch"), 2, /nosuch/
  end
end

# Targets that cannot be profiled.
class TestRefusals < E2E
  def test_a_pid_that_does_not_exist
    pid = Process.spawn("true").tap { |child| Process.wait(child) }
    assert_error Profiler.record("-p", pid, "-d", "100", seconds: 60), 3, /#{pid}/, /no such process/
  end

  def test_a_pid_that_is_not_ruby
    pid = Children.spawn("sleep", "300")
    assert_error Profiler.record("-p", pid, "-d", "100", seconds: 60), 3, /#{pid}/, /not a ruby process/
    Children.kill(pid)
  end

  def test_some_pids_readable_is_a_warning
    program = Program.new("busy.rb", 100)
    other = Children.spawn("sleep", "300")
    profiler = Profiler.record("-p", "#{program.pid},#{other}", "-d", "0.5")
    Children.kill(other)
    program.finish
    assert_code 0, profiler
    assert_match(/#{other}/, profiler.err)
    assert_operator profiler.profile.of(program.pid).sum(&:cpu), :>, 0
  end

  def test_a_pid_that_ends_while_we_start
    8.times do |i|
      pid = Process.spawn(RUBY, "-e", "sleep #{i * 0.05}")
      profiler = Profiler.record("-p", pid, "-d", "0.3")
      Process.wait(pid)
      assert_includes [0, 3], profiler.status.exitstatus, "#{profiler.status}: #{profiler.err}"
      assert_operator profiler.err.lines.size, :<=, 8
    end
  end

  # C48: a Ruby we do not know is refused aloud, not profiled by guess.
  def test_an_unknown_version_is_refused
    pid = run_other_version("3.9.9")
    assert_error Profiler.record("-p", pid, "-d", "100", seconds: 60), 3, /3\.9\.9/, /not supported/
    row = JSON.parse(Profiler.run("ps", "--json").out)["processes"].find { |p| p["pid"] == pid }
    assert_equal false, row["ok"]
    assert_match(/not supported/, row["reason"])
    assert_equal "3.9.9", row["ruby"]
  ensure
    Children.kill(pid)
  end

  # Its CPU is still in the totals of a recording of the whole host.
  def test_the_cpu_of_an_unknown_version_is_accounted_for
    pid = run_other_version("3.9.9", "loop { 1 + 1 }")
    profiler = Profiler.record("-a", "-d", "1", "--stats=json")
    assert_code 0, profiler
    assert_operator profiler.profile.of(pid).sum(&:cpu), :>, 20_000_000
    assert_closes profiler, pid
  ensure
    Children.kill(pid)
  end

  # A later patch release of a known series proves itself.
  def test_a_later_patch_release_works
    pid = run_other_version("3.1.9", "def its_work = loop { 1 + 1 }; its_work")
    profiler = Profiler.record("-p", pid, "-d", "1")
    assert_code 0, profiler
    assert profiler.profile.samples.any? { |s| s.frame?("Object#its_work") }
    assert_equal ["3.1.9"], profiler.profile.samples.map { |s| s.labels["ruby"] }.uniq
  ensure
    Children.kill(pid)
  end

  # A copy of this Ruby that calls itself by another version.
  def run_other_version(version, code = "sleep")
    place = folder("ruby")
    library = File.read("/proc/self/maps")[%r{/\S*libruby\S*\.so\S*}]
    skip "this Ruby has no libruby of its own" unless library
    [File.realpath(RUBY), library].each do |file|
      bytes = File.binread(file)
      bytes.gsub!(/#{Regexp.escape(RUBY_VERSION)}(?=[\0p ])/n, version) if file == library
      copy = File.join(place, File.basename(file))
      File.binwrite(copy, bytes)
      File.chmod(0o755, copy)
    end
    soname = File.join(place, File.basename(library)[/\A.*\.so\.\d+\.\d+/])
    File.symlink(File.basename(library), soname) unless File.exist?(soname)
    pid = Children.spawn({ "LD_LIBRARY_PATH" => place }, File.join(place, File.basename(File.realpath(RUBY))),
                         "--disable-gems", "-e", code)
    Clock.wait_until(PATIENCE, "a Ruby #{version}") { File.read("/proc/#{pid}/maps").include?(place) && sleep(0.3) }
    pid
  end
end
