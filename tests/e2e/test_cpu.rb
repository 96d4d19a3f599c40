# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require_relative "helper"

# The CPU of every thread is what the thread's own clock says, at any rate of sampling.
class TestCpu < E2E
  # What a thread may use after its last look at its clock, on a machine that others use, too.
  THREAD_END_NS = 10_000_000

  Run = Struct.new(:profiler, :truth, :pid, :schedstat, :process_ns) do
    def samples = profiler.profile.of(pid)
    def cpu(tid) = samples.select { |s| s.tid == tid }.sum(&:cpu)
    def threads(kind) = truth["threads"].select { |t| t["kind"] == kind }
  end

  once(:run_at) do |hz|
    program = Program.new("cpu.rb")
    profiler = Profiler.start("-p", program.pid, "-F", hz, "--stats=json")
    before = schedstat(program.pid)
    program.run
    process_ns = program.cpu_ns
    after = schedstat(program.pid)
    profiler.stop
    program.finish
    kernel = after.to_h { |tid, ns| [tid, ns - before.fetch(tid, 0)] }
    assert_code 0, profiler
    Run.new(profiler, program.truth, program.pid, kernel, process_ns)
  end

  def schedstat(pid)
    Dir.children("/proc/#{pid}/task").to_h do |tid|
      [tid.to_i, File.read("/proc/#{pid}/task/#{tid}/schedstat").to_i]
    end
  end

  [19, 99, 997].each do |hz|
    define_method("test_each_thread_has_its_exact_cpu_at_#{hz}_hz") do
      seen = run_at(hz)
      %w[early small large native sleeper].each do |kind|
        thread = seen.threads(kind).fetch(0)
        assert_cpu thread["cpu_ns"], seen.cpu(thread["tid"]), "thread #{kind} at #{hz} Hz", tail: THREAD_END_NS
      end
    end

    define_method("test_a_thread_that_no_tick_hits_has_its_cpu_at_#{hz}_hz") do
      seen = run_at(hz)
      tiny = seen.threads("tiny")
      assert_equal 40, tiny.size
      tiny.each { |t| assert_cpu t["cpu_ns"], seen.cpu(t["tid"]), "tiny thread at #{hz} Hz", tail: THREAD_END_NS }
      # It lies where the thread was seen waiting, or nowhere.
      unhit = seen.samples.select { |s| s.running? && s.ticks.zero? && tiny.any? { |t| t["tid"] == s.tid } }
      refute_empty unhit, "3 ms threads that no tick hit at #{hz} Hz" if hz < 500
    end

    define_method("test_the_process_closes_at_#{hz}_hz") do
      seen = run_at(hz)
      assert_cpu seen.process_ns, seen.samples.sum(&:cpu), "process at #{hz} Hz"
      assert_closes seen.profiler, seen.pid
      mine = seen.profiler.stats_of(seen.pid)
      in_sheet = mine.values_at("samples_cpu_ns", "gc_cpu_ns", "overhead_cpu_ns").sum
      assert_equal seen.samples.sum(&:cpu), in_sheet, "stats and file say the same"
    end

    define_method("test_threads_alive_at_the_end_agree_with_the_kernel_at_#{hz}_hz") do
      seen = run_at(hz)
      assert_includes seen.schedstat, seen.pid, "the main thread"
      assert_operator seen.schedstat.size, :>=, 40
      seen.schedstat.each { |tid, ns| assert_cpu ns, seen.cpu(tid), "schedstat of thread #{tid}" }
    end

    define_method("test_ticks_come_at_#{hz}_hz") do
      seen = run_at(hz)
      taken = seen.samples.select(&:running?).sum(&:ticks)
      expected = seen.process_ns / 1e9 * hz
      # Of few ticks beside other programs it is chance how many hit this one. A virtual machine
      # may miss some; it never makes them up.
      by_chance = 5 * Math.sqrt(expected) + 2
      assert_operator taken, :<=, expected + by_chance
      assert_operator taken, :>=, expected * 0.7 - by_chance
      assert_equal hz, seen.profiler.stats["hz"]
      assert_equal 1_000_000_000 / hz, seen.profiler.profile.period
    end
  end

  def test_stats_hold_every_thread
    seen = run_at(99)
    threads = seen.profiler.stats_of(seen.pid)["threads"]
    large = seen.threads("large").fetch(0)
    entry = threads.find { |t| t["tid"] == large["tid"] }
    assert entry, "thread #{large["tid"]} in #{threads}"
    told = entry.values_at("samples_cpu_ns", "gc_cpu_ns", "overhead_cpu_ns").sum
    assert_cpu large["cpu_ns"], told, "thread large in --stats", tail: THREAD_END_NS
    assert_cpu large["cpu_ns"], entry["kernel_cpu_ns"], "thread large in --stats, by the kernel", tail: THREAD_END_NS
    assert_cpu entry["kernel_cpu_ns"], told, "thread large: samples and kernel"
  end

  def test_the_types_and_only_known_labels_are_in_the_file
    profile = run_at(99).profiler.profile
    assert_equal %w[cpu-samples/count cpu-time/nanoseconds wall-time/nanoseconds timeline/nanoseconds], profile.types
    assert_equal "cpu-time", profile.default_type
    assert_equal "cpu-time/nanoseconds", profile.period_type
    allowed = ["thread id", "thread name", "ractor id", "process", "pid", "ruby", "omitted frames", "service",
               "container_id", "pod", "namespace", "container", "state", "gvl holder", "profiler overhead", "event",
               "gc reason", "gc cause", "gc type", "gc thread", "gc source"]
    assert_empty profile.label_keys - allowed
  end

  def test_the_file_says_when_and_how_long
    profile = run_at(99).profiler.profile
    assert_in_delta Time.now.to_f, profile.time_nanos / 1e9, 600
    assert_in_delta run_at(99).profiler.stats["elapsed_ns"], profile.duration_nanos, 2_000_000_000
    assert profile.comments.any? { |c| c.include?("record") }, "the command: #{profile.comments}"
    assert profile.comments.any? { |c| c.include?(File.read("/proc/sys/kernel/osrelease").chomp) }, "the kernel"
    assert profile.comments.any? { |c| c.include?(RUBY_VERSION) }, "the runtime"
  end

  # Each keeps its own clocks.
  def test_two_profilers_at_once_agree
    program = Program.new("split.rb", 1)
    one, two = [97, 499].map { |hz| Profiler.start("-p", program.pid, "-F", hz, "--stats=json") }
    program.run
    [one, two].each(&:stop)
    program.finish
    [one, two].each { |p| assert_closes p, program.pid }
    assert_cpu one.profile.of(program.pid).sum(&:cpu), two.profile.of(program.pid).sum(&:cpu), "the other profiler"
  end

  # From its exec on; what it does after its last look at its clock is its exit.
  def test_a_command_is_accounted_for_from_its_exec
    truth = Program.truth_path
    profiler = Profiler.record("-F", 199, "--stats=json", "--", RUBY, File.join(PROGRAMS, "cpu.rb"),
                               env: { "TRUTH" => truth }, out: File::NULL)
    assert_code 0, profiler
    pid = profiler.stats["processes"].max_by { |p| p["kernel_cpu_ns"] }["pid"]
    assert_closes profiler, pid
    mine = JSON.parse(File.read(truth))["process_ns"]
    cpu = profiler.profile.of(pid).sum(&:cpu)
    assert_operator cpu, :>=, mine
    assert_operator cpu, :<=, mine + 600_000_000, "start and end of a Ruby process"
  end
end

# How the CPU is shared among methods.
# A program whose rhythm is that of the ticks: they come out of step with it.
class TestRhythm < E2E
  def test_ticks_do_not_keep_step_with_a_program
    program = Program.new("rhythm.rb", 8)
    profiler = Profiler.start("-p", program.pid, "-F", 99, "--stats=json")
    program.run
    profiler.stop
    program.finish
    assert_code 0, profiler
    assert_closes profiler, program.pid
    assert_thirds profiler.profile.of(program.pid), program.truth
  end

  def assert_thirds(samples, truth)
    ticks = truth.to_h { |name, _| [name, ticks_in(samples, "Object##{name}")] }
    all = ticks.values.sum
    assert_operator all, :>, 50
    truth.each do |name, ns|
      share = ns.fdiv(truth.values.sum)
      assert_in_delta share, ticks[name].fdiv(all), 6 * Math.sqrt(share * (1 - share) / all), ticks.to_s
    end
  end

  def ticks_in(samples, name)
    samples.select { |s| s.state == "had cpu" && s.frame?(name) }.sum { |s| s.values["cpu-samples"] }
  end
end

class TestShares < E2E
  SECONDS = 2

  # Three programs at once, as several pids; each with another JIT compiler, or none.
  once(:seen) do
    programs = { "none" => [], "yjit" => %w[--yjit], "mjit" => %w[--mjit] }.to_h do |jit, flags|
      [jit, Program.new("split.rb", SECONDS, ruby: [RUBY, *flags])]
    end
    profiler = Profiler.start("-p", programs.values.map(&:pid).join(","), "-F", 997, "--stats=json")
    programs.each_value(&:go)
    programs.each_value { |p| p.expect("done") }
    profiler.stop
    programs.each_value(&:finish)
    assert_code 0, profiler
    { profiler: profiler, programs: programs }
  end

  %w[none yjit mjit].each do |jit|
    define_method("test_a_known_split_is_seen_with_jit_#{jit}") do
      program = seen[:programs][jit]
      samples = seen[:profiler].profile.of(program.pid)
      truth = program.truth
      parts = %w[seven_parts three_parts].to_h do |name|
        [name, samples.select { |s| s.frame?("Object##{name}") }.sum(&:cpu)]
      end
      total = parts.values.sum
      assert_operator total, :>, 0, "no samples: #{samples.flat_map(&:names).tally}"
      expected = truth["seven"].to_f / (truth["seven"] + truth["three"])
      assert_share expected, parts["seven_parts"].to_f / total, 2, "seven_parts (#{jit})"
      assert_cpu_of_loop truth["seven"] + truth["three"], total
    end
  end

  def assert_cpu_of_loop(expected, total)
    assert_in_epsilon expected, total, 0.02, "both methods together"
  end

  def test_several_pids_close
    seen[:programs].each_value { |p| assert_closes seen[:profiler], p.pid }
  end
end
