# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require_relative "helper"

# `gate run`: what it keeps of runs, and what it says when they fail.
class TestGateRun < E2E
  COUNTERS = File.join(PROGRAMS, "counters.rb")
  KEYS = %w[command ruby kernel cpu hz work cpu_ns wall_ns gc_ns gc_count allocated samples lost status].freeze
  # Objects that telling the truth itself takes, and opening a fork: of one process.
  TOLD = 60

  def kernel?(version) = Gem::Version.new(Etc.uname[:release][/\A\d+\.\d+/]) >= Gem::Version.new(version)

  def gate(*args, **options) = Profiler.run("gate", "run", *args, **options)

  # A new folder, and the runs in it by name.
  def place = File.join(folder("gate"), "runs")
  def runs(dir) = Dir.glob("**/run.json", base: dir).sort.to_h { |f| [File.dirname(f), JSON.parse(File.read(File.join(dir, f)))] }

  def truths(path) = File.readlines(path).map { |line| line.split.map(&:to_i) }

  # Objects and collections of all processes, exact but for what the program did to tell them.
  def assert_counted(run, truths, what)
    objects, collections = truths.transpose.map(&:sum)
    refute_nil run["allocated"], "#{what}: no figure"
    puts "#{what}: #{run["allocated"]} allocated, #{objects} by the vm; #{run["gc_count"]} collections, #{collections}" if ENV["VERBOSE"]
    assert_includes objects..objects + TOLD * truths.size, run["allocated"], "#{what}: objects"
    # A collection may fall between the look and the end, or into the fork.
    assert_includes collections..collections + 1, run["gc_count"], "#{what}: collections"
  end

  def count(version, *children)
    dir = place
    truth = Program.truth_path
    command = version ? Rubies.command(version) : [RUBY]
    profiler = gate("-n", 1, "--warmup", 0, "--work", 1, "-o", dir, "--", *command, COUNTERS, 30_000, *children,
                    env: { "TRUTH" => truth })
    assert_code 0, profiler
    [runs(dir).fetch("001"), truths(truth), profiler]
  end

  # However a process ends. Older kernels do not show its memory then, but for the end of the VM.
  def kinds = ["ends", ("exec" if kernel?("6.10")), *(%w[exit! killed] if kernel?("6.16"))].compact

  [nil, "2.7", "3.3", "3.4"].each do |version|
    define_method("test_counters_of_#{version&.tr(".", "_") || "own"}") do
      skip "ruby #{version} is not there: tests/rubies #{version}" if version && !Rubies.path(version)
      run, truths, profiler = count(version, *kinds)
      assert_equal kinds.size + 1, truths.size
      assert_counted run, truths, "ruby #{run["ruby"]}"
      assert_match(/\A#{version}\./, run["ruby"]) if version
      refute_match(/no allocated/, profiler.err)
    end
  end

  # Children of some milliseconds may end before they are found: then there is no sum, not a smaller one.
  def test_children_that_end_at_once
    dir = place
    truth = Program.truth_path
    tell = "at_exit { File.open(ENV['TRUTH'], 'a') { |f| f.puts [GC.stat(:total_allocated_objects), GC.count].join(' ') } }"
    code = "#{tell}; 3.times { system(#{RUBY.inspect}, '--disable-gems', '-e', #{tell.inspect}) }"
    profiler = gate("-n", 3, "--warmup", 0, "-o", dir, "--", RUBY, "-e", code, env: { "TRUTH" => truth })
    assert_code 0, profiler
    truths(truth).each_slice(4).zip(runs(dir)) do |processes, (name, run)|
      if run["allocated"]
        assert_counted run, processes, name
      else
        assert_match(/warning: run #{name}: no allocated and gc_count: \S/, profiler.err)
      end
    end
  end

  # Two commands that differ by some objects.
  once(:pairs) do
    dir = place
    truth = Program.truth_path
    base, head = [1000, 1100].map { |objects| [RUBY, COUNTERS, objects] }
    profiler = gate("-n", 3, "--warmup", 1, "--interleave", base.join(" "), "-F", 997, "-o", dir, "--", *head,
                    env: { "TRUTH" => truth })
    assert_code 0, profiler
    { dir: dir, runs: runs(dir), profiler: profiler, truths: truths(truth) }
  end

  def test_layout
    numbers = %w[001 002 003]
    assert_equal %w[base head].product(numbers).map { |n| n.join("/") }.sort, pairs[:runs].keys
    pairs[:runs].each_key do |name|
      refute_debris File.join(pairs[:dir], name), "run.json", "profile.pb.gz"
    end
    assert_equal 8, pairs[:truths].size, "three runs and a warm-up of each"
  end

  def test_order_changes
    order = pairs[:profiler].err.scan(%r{: (base|head)/\d+: }).flatten
    assert_equal %w[base head head base base head], order
  end

  def test_run_json
    pairs[:runs].each do |name, run|
      assert_empty KEYS - run.keys, name
      assert_equal 1, run["format"]
      assert_equal RUBY_VERSION, run["ruby"]
      assert_equal Etc.uname[:release], run["kernel"]
      assert_match(/, #{Etc.nprocessors} CPUs\z/, run["cpu"])
      assert_equal 997, run["hz"]
      assert_equal 0, run["status"]
      assert_equal File.basename(name).to_i, run["pair"]
      assert_equal [RUBY, COUNTERS, name.start_with?("base") ? "1000" : "1100"], run["command"]
      assert_equal name.start_with?("base") ? 1000 : 1100, run["work"], "as the command wrote it"
      assert_operator run["calibration_ns"], :>, 1_000_000
      assert_operator run["gc_ns"], :<=, run["cpu_ns"]
      assert_operator run["wall_ns"], :>, 0
      assert_match(/\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\z/, run["started"])
    end
  end

  # The sum of the profile is the kernel's figure, as of every recording.
  def test_profiles
    pairs[:runs].each do |name, run|
      profile = Pprof.read(File.join(pairs[:dir], name, "profile.pb.gz"))
      assert_cpu run["cpu_ns"], profile.sum, name
    end
  end

  # Three threads of 100 objects more, and nothing else: 300, but for what hash seeds and addresses
  # change.
  def test_one_object_more_is_found
    base, head = %w[base head].map { |side| pairs[:runs].select { |n, _| n.start_with?(side) }.map { |_, r| r["allocated"] } }
    [base, head].each { |counts| assert_operator counts.max - counts.min, :<=, 20, counts.inspect }
    assert_in_delta 300, head.sort[1] - base.sort[1], 20
    collections = pairs[:runs].values.map { |r| r["gc_count"] }
    assert_operator collections.max - collections.min, :<=, 1
  end

  def test_output_is_kept_from_view
    quiet = gate("-n", 1, "--warmup", 0, "-o", place, "--", RUBY, "-e", 'puts "to stdout"; warn "to stderr"')
    assert_code 0, quiet
    assert_empty quiet.out
    refute_match(/to std/, quiet.err)
    loud = gate("-v", "-n", 1, "--warmup", 0, "-o", place, "--", RUBY, "-e", 'puts "to stdout"; warn "to stderr"')
    assert_code 0, loud
    assert_equal "to stdout\n", loud.out
    assert_match(/^to stderr$/, loud.err)
  end

  # Fails the second time.
  def test_a_run_that_fails
    dir = place
    flag = "#{Program.truth_path}.flag"
    code = "if File.exist?(#{flag.inspect}) then puts('out of luck'); abort('bad luck') else File.write(#{flag.inspect}, '') end"
    profiler = gate("-n", 3, "--warmup", 0, "-o", dir, "--", RUBY, "-e", code)
    assert_error profiler, 3, /^out of luck$/, /^bad luck$/, /run 002 failed: .*ruby.* ended with status 1/
    refute_debris dir, "001"
    refute_debris File.join(dir, "001"), "run.json", "profile.pb.gz"
  end

  def test_a_warm_up_that_is_killed
    dir = place
    profiler = gate("-n", 1, "-o", dir, "--", RUBY, "-e", "Process.kill(:KILL, $$); sleep")
    assert_error profiler, 3, /run warm-up 1 failed: .* status 137 \(killed by signal 9/
    refute_debris dir
  end

  def test_much_output_of_a_failing_run_is_cut
    profiler = gate("-n", 1, "--warmup", 0, "-o", place, "--", RUBY, "-e", '200_000.times { puts "x" * 9 }; puts "the end"; exit 7')
    assert_code 3, profiler
    assert_match(/^the end$/, profiler.err)
    assert_operator profiler.err.size, :<, 70_000
  end

  def test_work_that_is_no_number
    ["-5", "many", "", "1.5", "\e[2J"].each do |text|
      dir = place
      profiler = gate("-n", 1, "--warmup", 0, "-o", dir, "--", RUBY, "-e", "File.write(ENV['RBPROF_WORK'], #{text.inspect})")
      shown = Regexp.escape(text.tr("\e", "?"))
      assert_error profiler, 5, /run 001: '#{shown}' in the file that RBPROF_WORK names/
      refute_debris dir
    end
  end

  def test_work_that_is_stated
    dir = place
    assert_code 0, gate("-n", 1, "--warmup", 0, "--work", 12, "-o", dir, "--", RUBY, "-e", "exit ENV.key?('RBPROF_WORK') ? 1 : 0")
    assert_equal 12, runs(dir)["001"]["work"]
    dir = place
    assert_code 0, gate("-n", 1, "--warmup", 0, "-o", dir, "--", RUBY, "-e", "")
    assert_nil runs(dir)["001"]["work"]
  end

  def test_what_cannot_be_read_is_null
    dir = place
    profiler = gate("-n", 1, "--warmup", 0, "--no-uprobes", "-o", dir, "--", RUBY, "-e", "")
    assert_code 0, profiler
    assert_match(/warning: run 001: no allocated and gc_count: .*without probes/, profiler.err)
    run = runs(dir)["001"]
    assert_nil run.fetch("allocated")
    assert_nil run.fetch("gc_count")
    assert_operator run["cpu_ns"], :>, 0
  end

  def test_no_ruby
    dir = place
    profiler = gate("-n", 1, "--warmup", 0, "-o", dir, "--", "true")
    assert_code 0, profiler
    assert_match(/warning: run 001: no ruby process ran/, profiler.err)
    assert_empty runs(dir)["001"].values_at("ruby", "cpu_ns", "gc_ns", "allocated", "gc_count").compact
  end

  # A child that outlives the command is not known to the end.
  def test_a_child_that_stays
    dir = place
    profiler = gate("-n", 1, "--warmup", 0, "-o", dir, "--", RUBY, "-e", "exit!(0) if fork; STDOUT.reopen('/dev/null'); sleep 5")
    assert_code 0, profiler
    assert_nil runs(dir)["001"].fetch("allocated")
    assert_match(/it still runs/, profiler.err)
  end

  def test_folders
    used = folder
    File.write(File.join(used, "x"), "")
    assert_error gate("-n", 1, "-o", used, "--", "true"), 2, /is not empty/
    refute_debris used, "x"
    assert_error gate("-n", 1, "-o", File.join(used, "x"), "--", "true"), 5, /not a directory/i
    assert_error gate("-n", 1, "-o", File.join(used, "no/such"), "--", "true"), 5, /no such file/i
    assert_error gate("-n", 1, "--", "true"), 2, /-o DIR/
    assert_error gate("-n", 1, "-o", place), 2, /no COMMAND/
    assert_error gate("-o", place, "--interleave", "ruby 'x", "--", "true"), 2, /bad --interleave/
    assert_error gate("-o", place, "--", "no-such-program"), 127, /not found/
  end

  def test_disks
    mount_tmpfs("ro") { |dir| assert_error gate("-n", 1, "-o", File.join(dir, "runs"), "--", "true"), 5, /read-only/i }
    mount_tmpfs("size=64k") do |dir|
      File.open(File.join(dir, "filler"), "wb") { |f| 17.times { f.write("x" * 4096) } } rescue nil
      profiler = gate("-n", 1, "--warmup", 0, "-o", File.join(dir, "runs"), "--", RUBY, "-e", "")
      assert_error profiler, 5, /no space left/i
      assert_empty Dir.glob(File.join(dir, "runs/**/*"))
    end
  end

  # The first signal ends it when the command ends; what had ended stays.
  def interrupt(whom)
    dir = place
    profiler = Profiler.new("gate", "run", "-n", 5, "--warmup", 0, "-o", dir, "--", RUBY, "-e", "sleep 1")
    Clock.wait_until(PATIENCE, "the second run") { File.exist?(File.join(dir, "002")) || profiler.ended? }
    sleep 0.3
    yield profiler.pid
    profiler.wait
    assert_error profiler, 130, /#{whom}|aborted/
    refute_debris dir, "001"
    assert_equal 0, runs(dir)["001"]["status"]
  end

  def test_ctrl_c = interrupt("the group") { |pid| Process.kill(:INT, -pid) }
  def test_sigterm = interrupt("us alone") { |pid| Process.kill(:TERM, pid) }

  # As `record` does it; the file for the work is the user's to write.
  def test_under_sudo
    dir = place
    profiler = gate("-n", 1, "--warmup", 0, "-o", dir, "--", RUBY, "-e", "exit 9 if Process.uid.zero?; File.write(ENV['RBPROF_WORK'], '3')",
                    env: { "SUDO_UID" => "65534", "SUDO_GID" => "65534" })
    assert_code 0, profiler
    assert_equal 3, runs(dir)["001"]["work"]
  end

  # Nothing of a run is left in $TMPDIR, and each command starts with the priority that we had.
  def test_leaves_nothing_behind
    temporary = folder("tmp")
    dir = place
    profiler = gate("-n", 2, "--warmup", 0, "-o", dir, "--", RUBY, "-e",
                    "File.write(ENV['RBPROF_WORK'], '1'); exit 9 unless Process.getpriority(Process::PRIO_PROCESS, 0).zero?",
                    env: { "TMPDIR" => temporary })
    assert_code 0, profiler
    refute_debris temporary
  end

  def test_usage
    assert_error Profiler.run("gate"), 2, /no gate command/
    assert_error Profiler.run("gate", "ruin"), 2, /gate --help/
  end
end
