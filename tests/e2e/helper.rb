# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require "etc"
require "fileutils"
require "io/wait"
require "json"
require "rbconfig"
require "tmpdir"

# One folder for everything the suite writes. Before minitest's own at_exit, so that it runs
# after it, however the suite ends.
SCRATCH = Dir.mktmpdir("rbprof-e2e-")
File.chmod(0o755, SCRATCH)
at_exit do
  Children.end_all
  FileUtils.rm_rf(SCRATCH)
end

require "minitest/autorun"
require_relative "pprof"

ROOT = File.expand_path("../..", __dir__)
BINARY = File.expand_path(ENV.fetch("RBPROF", File.join(ROOT, ".output/rbprof-bpf")))
RUBY = RbConfig.ruby
COMM = File.basename(RUBY)[0, 15]
PROGRAMS = File.join(__dir__, "programs")

# Every process that the suite starts leads a group of its own and is ended by that group's id.
module Children
  @running = {}

  class << self
    def spawn(*command, **options)
      pid = Process.spawn(*command, pgroup: true, **options)
      @running[pid] = true
      pid
    end

    # The status, or nil if it still runs after so many seconds.
    def wait(pid, seconds)
      limit = Clock.now + seconds
      loop do
        _, status = Process.wait2(pid, Process::WNOHANG)
        if status
          @running.delete(pid)
          end_group(pid)
          return status
        end
        return nil if Clock.now > limit

        sleep 0.01
      end
    end

    def end_all
      @running.keys.each { |pid| kill(pid) }
    end

    def kill(pid)
      return unless @running.key?(pid)

      end_group(pid)
      Process.wait(pid)
      @running.delete(pid)
    end

    private

    def end_group(pid)
      Process.kill(:CONT, -pid)
      Process.kill(:KILL, -pid)
    rescue Errno::ESRCH, Errno::EPERM
      nil
    end
  end
end

# How long a test waits for what must come. It matters only where it does not, so a busy machine
# has all the time it may need.
PATIENCE = 120

module Clock
  def self.now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  # What the kernel has charged a process so far, ns: its CLOCK_PROCESS_CPUTIME_ID, from outside.
  def self.cpu_of(pid) = Process.clock_gettime((~pid << 3) | 2, :nanosecond)

  # The same once it has come to rest, so that nothing is on its way.
  def self.cpu_at_rest(pid)
    wait_until(PATIENCE, "process #{pid} to rest") do
      Dir.glob("/proc/#{pid}/task/*/stat").all? { |stat| File.read(stat).rpartition(") ").last.start_with?("S", "Z") }
    end
    cpu_of(pid)
  end

  # Until that process has used so much CPU more; how much it was, ns.
  def self.let_run(pid, seconds)
    from = cpu_of(pid)
    wait_until(PATIENCE, "#{seconds} s of CPU of #{pid}") { cpu_of(pid) - from >= seconds * 1e9 }
    cpu_of(pid) - from
  end

  # Until the block is true; what it gave.
  def self.wait_until(seconds, what)
    limit = now + seconds
    loop do
      result = yield
      return result if result
      raise "waited #{seconds} s for #{what}" if now > limit

      sleep 0.01
    end
  end
end

# A Ruby program of tests/e2e/programs. It says "ready" and waits for go, says "done" when its
# truth is written, and ends when its input is closed.
class Program
  attr_reader :pid, :path

  def initialize(name, *args, ruby: [RUBY], env: {}, ready: true)
    @path = File.join(PROGRAMS, name)
    @truth_path = Program.truth_path
    input, @input = IO.pipe
    @output, output = IO.pipe
    @pid = Children.spawn({ "TRUTH" => @truth_path }.merge(env), *ruby, @path, *args.map(&:to_s),
                          in: input, out: output, close_others: true)
    [input, output].each(&:close)
    expect("ready") if ready
  end

  def self.truth_path = File.join(SCRATCH, "truth-#{@count = (@count || 0) + 1}.json")

  def go
    @cpu_before = Clock.cpu_of(@pid)
    @input.puts("go")
  end

  def expect(word, seconds: PATIENCE)
    limit = Clock.now + seconds
    @heard ||= +""
    until @heard.sub!(/\A.*?^#{word}\n/m, "")
      left = limit - Clock.now
      raise "#{@path} did not say #{word} in #{seconds} s" unless left.positive? && @output.wait_readable(left)

      @heard << @output.read_nonblock(65_536)
    end
    self
  rescue EOFError
    raise "#{@path} ended without saying #{word}"
  end

  def run
    go
    expect("done")
  end

  # What the kernel has charged it from go on, where it waits, to done, where it waits again.
  def cpu_ns = @cpu_ns ||= Clock.cpu_at_rest(@pid) - @cpu_before

  def truth = JSON.parse(File.read(@truth_path))

  # Closes its input; its status.
  def finish(seconds: PATIENCE)
    @input.close unless @input.closed?
    status = Children.wait(@pid, seconds) or raise "#{@path} does not end"
    @output.close unless @output.closed?
    status
  end
end

# A run of the profiler.
class Profiler
  attr_reader :pid, :out_path, :file, :elapsed

  # Runs to its end.
  def self.run(*args, seconds: PATIENCE, **options) = new(*args, **options).tap { |p| p.wait(seconds) }

  # Records to a new file, to its end.
  def self.record(*args, suffix: ".pb.gz", **options)
    run("record", *with_output(args, new_file(suffix)), **options)
  end

  # Starts to record to a new file, and comes back when the clocks run.
  def self.start(*args, suffix: ".pb.gz", **options)
    new("record", *with_output(args, new_file(suffix)), **options).tap(&:wait_attached)
  end

  def self.new_file(suffix) = File.join(SCRATCH, "profile-#{@count = (@count || 0) + 1}#{suffix}")

  def self.with_output(args, file)
    command = args.index("--") || args.size
    [*args[0...command], "-o", file, *args[command..]]
  end

  def initialize(*args, env: {}, prefix: [], binary: BINARY, out: nil, err: nil, input: File::NULL, **options)
    serial = Profiler.new_file("")
    @out_path = "#{serial}.out"
    @err_path = "#{serial}.err"
    args = args.map(&:to_s)
    place = args.index("-o")
    @file = args[place + 1] if place
    @started = Clock.now
    @pid = Children.spawn(env, *prefix, binary, *args, in: input, out: out || @out_path,
                          err: err || @err_path, close_others: true, **options)
  end

  # On every CPU there is a perf event for what processes map, and when the clocks run one more, the timer.
  def wait_attached
    Clock.wait_until(PATIENCE, "the profiler to attach: #{err}") do
      raise "the profiler ended: #{status}: #{err}" if ended?

      links = Dir.children("/proc/#{process}/fd").map { |fd| File.readlink("/proc/#{process}/fd/#{fd}") rescue "" }
      links.count { |l| l.include?("[perf_event]") } >= 2 * Etc.nprocessors
    end
    sleep 0.5
  end

  def ended?
    return true if @status

    @status = Children.wait(@pid, 0)
    !@status.nil?
  end

  def wait(seconds = PATIENCE)
    @status ||= Children.wait(@pid, seconds)
    raise "the profiler does not end after #{seconds} s: #{err}" unless @status

    @elapsed ||= Clock.now - @started
    @status
  end

  # The profiler itself, where a prefix does not become it.
  def process = @pid

  def signal(name) = Process.kill(name, process)

  def stop(name = :INT)
    signal(name)
    wait
    self
  end

  def status = @status
  def code = @status.exitstatus
  def err = File.exist?(@err_path) ? File.read(@err_path).scrub : ""
  def out = File.binread(@out_path)
  def profile = @profile ||= Pprof.read(@file)

  # The one JSON object of --stats=json.
  def stats
    @stats ||= begin
      text = err
      start = text.index(/^\{/) or raise "no JSON on stderr: #{text}"
      ends = text.enum_for(:scan, /\}\s*$/).map { Regexp.last_match.end(0) }.select { |e| e > start }
      ends.lazy.map { |e| JSON.parse(text[start...e]) rescue nil }.find(&:itself) or
        raise "no JSON on stderr: #{text}"
    end
  end

  def stats_of(pid) = stats["processes"].find { |p| p["pid"] == pid }
  def thread_stats(pid, tid) = stats_of(pid)&.fetch("threads")&.find { |t| t["tid"] == tid }
end

# Bounds for what is counted by chance. Some five hundred checks run daily: with bounds of three
# standard deviations one of them would fail every day.
module Chance
  RARE = 1e-6 # some 4.8 standard deviations

  # The largest number that is not rare where so many are expected (Poisson).
  def self.most(mean)
    return mean + 5 * Math.sqrt(mean) if mean > 200

    count = 0
    probability = below = Math.exp(-mean)
    below += probability *= mean / (count += 1).to_f while 1 - below > RARE
    count
  end

  # Ticks by which the sum over so many turns is rarely off. Each has two ends that are off by a
  # tick evenly spread, of variance 1/12; one of them may come late by some ticks.
  def self.ends_of_turns(turns) = [6, 2 + 5 * Math.sqrt(turns / 6.0)].max
end

class E2E < Minitest::Test
  i_suck_and_my_tests_are_order_dependent! # within a class; all share what was recorded once

  # A value made once for all tests of a class; if making it fails, each of them fails so.
  def self.once(name, &block)
    define_method(name) do |*args|
      made = self.class.made
      key = [name, *args]
      made[key] ||= begin
        [instance_exec(*args, &block), nil]
      rescue StandardError, Minitest::Assertion => e
        [nil, e]
      end
      value, error = made[key]
      raise error if error

      value
    end
  end

  def self.made = @made ||= {}

  def setup
    skip "needs root: sudo make check" unless Process.uid.zero?
    raise "#{BINARY} is not built: make" unless File.executable?(BINARY)
  end

  def teardown = Children.end_all

  # The beginning of a command that runs that Ruby with its gems.
  def ruby_with_gems(version)
    Rubies.gems(version) || skip("no gems for ruby #{version}: tests/gems #{version}")
    Rubies.with_gems(version)
  end

  # A program with a tracer, recorded from its begin to its end: its samples, what it says and what
  # was counted.
  def traced(version, *program)
    program = Program.new(*program, ruby: ruby_with_gems(version))
    profiler = Profiler.start("-p", program.pid, "-F", 499, "--stats=json")
    program.run
    profiler.stop
    program.finish
    assert_code 0, profiler
    { samples: profiler.profile.of(program.pid).reject(&:overhead?), truth: program.truth,
      errors: profiler.stats_of(program.pid)["errors"] }
  end

  def ms(ns) = format("%.3f ms", ns / 1e6)

  # CPU of a thread or process: 0.5 % or 1 ms, whichever is larger. With a tail: its clock was
  # read by itself, before its end.
  def assert_cpu(expected, actual, what, tail: 0)
    tolerance = [expected * 0.005, 1_000_000].max
    assert (-tolerance..tolerance + tail).cover?(actual - expected),
           "#{what}: #{ms(actual)} in the profile, #{ms(expected)} by its clock"
  end

  # The sum of a type that has to be in the file.
  def total(samples, type)
    samples.sum { |s| s.values[type] || flunk("no #{type} in the file, only #{s.values.keys}") }
  end

  def wall(samples) = total(samples, "wall-time")

  # Wall-time for each state that threads were in.
  def by_state(samples) = samples.reject { |s| s.gc? || s.overhead? }.group_by(&:state).transform_values { |l| wall(l) }

  # Wall-time of a thread: 0.1 % or 2 ms, whichever is larger. What is expected may be a range.
  def assert_wall(expected, actual, what)
    expected = expected..expected unless expected.is_a?(Range)
    tolerance = [expected.end * 0.001, 2_000_000].max
    assert_kind_of Numeric, actual, "#{what}: no figure"
    assert actual.between?(expected.begin - tolerance, expected.end + tolerance),
           "#{what}: #{ms(actual)}, but #{ms(expected.begin)} to #{ms(expected.end)} by its clock"
  end

  # A figure of the balance sheet that has to be there.
  def figure(row, name, what)
    assert row, "#{what} is not in --stats"
    assert row.key?(name), "#{what} has no #{name} in --stats: #{row.except("threads")}"
    row[name]
  end

  # Frames that stand for one whose name could not be read.
  NAMELESS = ["(unreadable)", "(gone)"].freeze

  def ticks(samples) = samples.sum { |s| s.values["cpu-samples"] }
  def nameless(samples) = samples.select { |s| s.names.intersect?(NAMELESS) }
  def named(samples) = samples.reject { |s| s.names.intersect?(NAMELESS) }

  # Of samples where each tick may lose a name with this probability no more than chance allows.
  # A share alone would do only for many ticks: 1 % of 200 ms at 499 Hz is one.
  def assert_named(samples, share = 0.005, what = "samples without a name")
    lost = nameless(samples)
    limit = Chance.most(share * ticks(samples))
    assert_operator ticks(lost), :<=, limit,
                    "#{what}, of #{ticks(samples)} ticks: #{lost.map { |s| [ticks([s]), s.names.first(8)] }.first(10)}"
    named(samples)
  end

  # Work of which the program's own clock says how long it took. All that the thread's clock
  # advances between two ticks goes to the stack of the second one: what is at each end of the
  # work comes to a tick more or less. Ticks without a name may have been of it.
  def assert_work(expected, samples, name, hz, turns: 1, unknown: [])
    cpu = samples.select { |s| s.frame?(name) }.sum(&:cpu)
    unknown += nameless(samples) + samples.select { |s| s.leaf == "(not sampled)" }
    unknown = unknown.uniq(&:object_id).reject { |s| s.frame?(name) }.sum(&:cpu)
    tolerance = Chance.ends_of_turns(turns) * 1e9 / hz
    assert cpu <= expected + tolerance && cpu + unknown >= expected - tolerance,
           "#{name}: #{ms(cpu)} in the profile and #{ms(unknown)} without a name, #{ms(expected)} by its clock, " \
           "tolerance #{ms(tolerance)}"
  end

  def assert_share(expected, actual, points, what)
    assert (actual - expected).abs <= points / 100.0,
           format("%s: %.2f %% in the profile, %.2f %% by its clock", what, actual * 100, expected * 100)
  end

  def assert_code(code, profiler)
    assert_equal code, profiler.status.exitstatus,
                 "exit status of the profiler (#{profiler.status}), which said: #{profiler.err}"
  end

  # What went wrong, as people are told: one line, lower case, no full stop.
  def assert_error(profiler, code, *patterns)
    assert_code code, profiler
    text = profiler.err
    patterns.each { |pattern| assert_match pattern, text }
    line = text.lines.grep(/error/i).last || text.lines.last.to_s
    refute_match(/\.\s*\z/, line, "an error text has no full stop")
    assert text.lines.size <= 12, "an error is short: #{text}"
  end

  # Ticks and clocks close.
  def assert_closes(profiler, pid = nil)
    ticks, lost = profiler.stats.values_at("ticks", "lost")
    assert_equal ticks["fired"], ticks["taken"] + lost_samples(lost), "taken + lost = fired: #{profiler.stats}"
    profiler.stats["processes"].each do |process|
      next if pid && process["pid"] != pid

      tolerance = [process["kernel_cpu_ns"] * 0.005, 1_000_000].max
      assert process["cpu_diff_ns"].abs <= tolerance, "cpu of a process does not close: #{process.except("threads")}"
    end
  end

  def lost_samples(lost) = lost.select { |kind, _| kind.include?("sample") }.values.sum

  # No file that the profiler was still writing.
  def refute_debris(folder, *allowed)
    assert_equal allowed.sort, Dir.children(folder).sort, "files left behind"
  end

  def folder(name = "work") = Dir.mktmpdir("#{name}-", SCRATCH).tap { |path| File.chmod(0o755, path) }

  def proc_status(pid)
    File.readlines("/proc/#{pid}/status").to_h { |line| line.chomp.split(":\t", 2) }
  end

  def command?(name) = ENV["PATH"].split(":").any? { |d| File.executable?(File.join(d, name)) }

  # A prefix of a command that runs without these capabilities.
  def without_capabilities(*names)
    skip "capsh is not installed" unless command?("capsh")
    ["capsh", "--drop=#{names.map { |n| "cap_#{n}" }.join(",")}", "--", "-c", 'exec "$0" "$@"']
  end

  def mount_tmpfs(options)
    path = folder("tmpfs")
    skip "no tmpfs can be mounted here" unless system("mount", "-t", "tmpfs", "-o", options, "tmpfs", path, err: File::NULL)
    begin
      yield path
    ensure
      system("umount", path)
    end
  end
end

# Other Rubies than the one that runs this, in root folders that tests/rubies has made.
module Rubies
  SCRIPT = File.join(ROOT, "tests/rubies")

  class << self
    def path(version)
      @paths ||= {}
      @paths[version] ||= [IO.popen([SCRIPT, "--path", version], err: File::NULL, &:read).chomp]
      path, = @paths[version]
      path unless path.empty?
    end

    # The beginning of a command that runs that Ruby. In a chroot it keeps its pid; in a container
    # it is the only child.
    def command(version, *options) = [SCRIPT, "--run", version, "--bind", SCRATCH, *options, "--", "ruby"]

    # GEM_HOME of the gems that tests/gems has installed for that Ruby, or of its frameworks, or nil.
    def gems(version)
      @gems ||= {}
      @gems[version] ||= [IO.popen([File.join(ROOT, "tests/gems"), "--path", version], err: File::NULL, &:read).chomp]
      path, = @gems[version]
      path unless path.empty?
    end

    # Like command(), with those gems; of 3.1 it is the machine's own.
    def with_gems(version)
      home = "GEM_HOME=#{gems(version)}"
      return ["env", home, RUBY] if version == "3.1"

      [SCRIPT, "--run", version, "--bind", SCRATCH, "--bind", gems(version), "--", "env", home, "ruby"]
    end

    # The child of a process that has one.
    def child(pid)
      Clock.wait_until(PATIENCE, "the child of #{pid}") do
        File.read("/proc/#{pid}/task/#{pid}/children").split.map(&:to_i).first
      end
    end
  end
end
