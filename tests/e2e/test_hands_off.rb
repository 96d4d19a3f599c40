# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require_relative "helper"

# A profiled process does not notice.
class TestHandsOff < E2E
  STATUS = %w[TracerPid SigPnd ShdPnd SigBlk SigIgn SigCgt Seccomp NoNewPrivs Threads].freeze

  def test_a_busy_target_is_never_stopped_nor_traced
    program = Program.new("busy.rb", 100)
    before = proc_status(program.pid)
    profiler = Profiler.new("record", "-p", program.pid, "-F", "997", "-d", "2", "-o", Profiler.new_file(".pb.gz"))
    states = Hash.new(0)
    until profiler.ended?
      status = proc_status(program.pid)
      states[status["State"][0]] += 1
      assert_equal "0", status["TracerPid"]
    end
    after = proc_status(program.pid)
    program.finish
    assert_code 0, profiler
    assert_equal before.values_at(*STATUS), after.values_at(*STATUS)
    assert_operator states.values.sum, :>, 100
    assert_empty states.keys - %w[R S D], "never in state T or t"
  end

  def test_an_idle_target_keeps_its_memory
    program = Program.new("idle.rb")
    before = memory(program.pid)
    assert_code 0, Profiler.record("-p", program.pid, "-F", "997", "-d", "1", "--no-uprobes")
    assert_code 0, Profiler.run("dump", "-p", program.pid)
    assert_equal before, memory(program.pid)
    program.finish
  end

  # The kernel puts a probe into a copy of a page and takes it out again; the page may stay a copy.
  def test_probes_leave_the_code_as_it_was
    program = Program.new("idle.rb")
    maps, = memory(program.pid)
    before = code(program.pid)
    assert_code 0, Profiler.record("-p", program.pid, "-d", "1")
    after, copied = memory(program.pid)
    assert_equal maps, after
    assert_operator copied, :<=, 64
    assert_equal before, code(program.pid)
    program.finish
  end

  def code(pid)
    ranges = File.readlines("/proc/#{pid}/maps").grep(/ r-xp .*libruby/).map { |l| l[/\A\h+-\h+/].split("-").map(&:hex) }
    refute_empty ranges
    File.open("/proc/#{pid}/mem", "rb") { |file| ranges.map { |from, to| file.pread(to - from, from).hash } }
  end

  # What is mapped, and that no page of code is a private copy.
  def memory(pid)
    smaps = File.read("/proc/#{pid}/smaps").split(/^(?=\h+-\h+ )/)
    code = smaps.select { |m| m =~ /\A\S+ r-xp/ }.sum { |m| m[/^Private_Dirty:\s+(\d+)/, 1].to_i }
    [smaps.map { |m| m.lines[0] }, code]
  end

  # C76: not one system call more is interrupted.
  def test_no_system_call_is_interrupted
    program = Program.new("eintr.rb", 2)
    profiler = Profiler.start("-a", "-F", "997")
    program.run
    profiler.stop
    program.finish
    assert_code 0, profiler
    assert_operator program.truth["calls"], :>, 100
    assert_equal 0, program.truth["interrupted"]
  end

  # C78: ends while we attach, sample or detach.
  def test_fifty_short_runs_end_well
    random = Random.new(78)
    statuses = Array.new(25) do
      pids = Array.new(2) do
        sleep random.rand(0.06)
        Children.spawn(RUBY, "--disable-gems", "-e", "400_000.times { |i| i.to_s }")
      end
      sleep random.rand(0.06)
      profiler = Profiler.record("-p", pids.join(","), "-F", "997", "-d", "0.1", "-q")
      assert_includes [0, 3], profiler.status.exitstatus, "#{profiler.status}: #{profiler.err}"
      pids.map { |pid| Children.wait(pid, PATIENCE) }
    end
    assert_equal [0] * 50, statuses.flatten.map { |s| s&.exitstatus }
  end

  # The programs go away with us.
  def test_nothing_stays_in_the_kernel
    skip "bpftool is not installed" unless (bpftool = ["/usr/sbin/bpftool", "/usr/bin/bpftool"].find { |f| File.executable?(f) })
    ids = -> { JSON.parse(IO.popen([bpftool, "prog", "list", "-j"], &:read)).map { |p| p["id"] } }
    before = ids.call
    assert_code 0, Profiler.record("-a", "-d", "0.5")
    # The kernel frees them a moment later.
    left = nil
    Clock.wait_until(60, "the programs to be freed") { (left = ids.call - before).empty? }
    assert_empty left
  end
end

# C106: what is lost is counted, and the CPU closes all the same.
class TestLost < E2E
  once(:seen) do
    program = Program.new("varied.rb", 5)
    profiler = Profiler.start("-p", program.pid, "-F", "10000", "--stats=json")
    program.go
    sleep 0.5
    profiler.signal(:STOP)
    sleep 3.5
    profiler.signal(:CONT)
    program.expect("done")
    used = program.cpu_ns
    profiler.stop
    program.finish
    assert_code 0, profiler
    { profiler: profiler, used: used, pid: program.pid }
  end

  def test_taken_and_lost_are_all_that_fired
    ticks, lost = seen[:profiler].stats.values_at("ticks", "lost")
    assert_equal ticks["fired"], ticks["taken"] + lost_samples(lost)
    assert_operator ticks["fired"], :>, 1_000
  end

  def test_samples_were_lost_for_a_stopped_reader
    assert_operator lost_samples(seen[:profiler].stats["lost"]), :>, 0, seen[:profiler].stats.inspect
  end

  def test_the_loss_is_in_the_file_and_in_the_last_lines
    count = lost_samples(seen[:profiler].stats["lost"])
    assert seen[:profiler].profile.comments.any? { |c| c.include?("lost") && c.include?(count.to_s) },
           seen[:profiler].profile.comments.inspect
    assert_match(/lost/, seen[:profiler].err)
  end

  def test_the_cpu_closes
    assert_cpu seen[:used], seen[:profiler].profile.of(seen[:pid]).sum(&:cpu), "process"
    assert_closes seen[:profiler], seen[:pid]
  end

  def test_samples_in_the_file_are_those_taken
    samples = seen[:profiler].profile.samples.select(&:running?).sum(&:ticks)
    assert_equal seen[:profiler].stats["ticks"]["taken"], samples
  end
end
