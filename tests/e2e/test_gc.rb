# SPDX-License-Identifier: BSD-2-Clause
# frozen_string_literal: true

require_relative "helper"

module GcHelp
  VERSIONS = %w[2.7 3.1 3.3 3.4].freeze
  SOURCES = ["probe", "vm clock", "sampled"].freeze

  def self.with_versions = VERSIONS.each { |version| yield version, version.tr(".", "_") }

  # tests/bpf/gc_probe_hooks.c, compiled once.
  def hooks
    path = File.join(SCRATCH, "gc_probe_hooks.so")
    return path if File.exist?(path)

    path if system(ENV.fetch("CC", "gcc"), "-O2", "-shared", "-fPIC", "-o", path, File.join(ROOT, "tests/bpf/gc_probe_hooks.c"))
  end

  # 2.7's own clock leaves out steps of incremental marking and of lazy sweeping, so there the
  # VM's own events are the truth.
  def arguments(version, mode, seconds) = ["gc.rb", mode, seconds, *(hooks if version == "2.7")]
  def truth_ns(truth) = truth["hooks_ns"] || truth["vm_ns"]

  # Every version at once, in one recording.
  def record(*options, versions: VERSIONS)
    there = versions.select { |version| Rubies.path(version) }
    skip "no other rubies: tests/rubies" if there.empty?
    programs = there.to_h { |version| [version, Program.new(*yield(version), ruby: Rubies.command(version))] }
    profiler = Profiler.start("-p", programs.values.map(&:pid).join(","), "-F", 199, "--stats=json", *options)
    programs.each_value(&:go)
    programs.each_value { |program| program.expect("done") }
    profiler.stop
    programs.each_value(&:finish)
    assert_code 0, profiler
    { profiler: profiler, programs: programs }
  end

  def program(run, version) = run[:programs][version] || skip("ruby #{version} is not there: tests/rubies #{version}")
  def samples(run, version) = run[:profiler].profile.of(program(run, version).pid)
  def gc(run, version) = samples(run, version).select(&:gc?)
  def row(run, version) = run[:profiler].stats_of(program(run, version).pid)

  # The VM's events are told within its steps: what the probe on their end costs is in their time,
  # and in ours it is overhead: 5 to 8 us where it is quiet.
  PROBE_NS = 15_000
  def probes_ns(truth) = truth.fetch("steps", 0) * PROBE_NS

  # 2 % or 5 ms, whichever is larger; what ticks found is as exact as their number.
  def assert_gc(expected, actual, what, samples = [], probes: 0)
    puts "#{what}: #{ms(actual)} in the profile, #{ms(expected)} by the VM, #{ms(probes)} of it our probes" if ENV["VERBOSE"]
    ticks = samples.select { |s| s.labels["gc source"] == "sampled" }.sum(&:ticks)
    chance = 4.8 * Math.sqrt(ticks) / 199 * 1e9
    off = [expected * 0.02, 5_000_000].max + chance
    assert actual.between?(expected - off - probes, expected + off),
           "#{what}: #{ms(actual)} of GC in the profile, #{ms(expected)} by the VM"
  end

  # Threads, GC and overhead are all that the kernel charged the process with: 0.5 % or 1 ms.
  def assert_sheet(run, version)
    mine = row(run, version)
    kernel, threads, gc, overhead, off = %w[kernel_cpu_ns samples_cpu_ns gc_cpu_ns overhead_cpu_ns cpu_diff_ns]
                                         .map { |name| figure(mine, name, "ruby #{version}") }
    assert_operator off.abs, :<=, [kernel * 0.005, 1_000_000].max, mine.except("threads").inspect
    assert_equal kernel - threads - gc - overhead, off, "the difference is what is left"
    all = samples(run, version)
    assert_equal gc, all.select(&:gc?).sum(&:cpu), "GC in the file and in --stats"
    assert_equal overhead, all.select(&:overhead?).sum(&:cpu), "overhead in the file and in --stats"
    assert_equal threads, all.reject { |s| s.gc? || s.overhead? }.sum(&:cpu), "threads in the file and in --stats"
    assert_cpu program(run, version).truth["process_ns"], all.sum(&:cpu), "process", tail: 20_000_000
  end
end

# The CPU of garbage collection, on every Ruby and for every way to make it work (C56).
class TestGc < E2E
  include GcHelp

  MODES = %w[alloc mark incremental start].freeze
  REASONS = %w[nofree oldgen shady force oldmalloc].freeze
  CAUSES = %w[newobj malloc method capi stress].freeze

  once(:seen) { |mode| record { |version| arguments(version, mode, 2) } }

  GcHelp.with_versions do |version, suffix|
    MODES.each do |mode|
      define_method("test_its_cpu_is_the_vms_own_figure_#{mode}_on_#{suffix}") do
        truth = program(seen(mode), version).truth
        mine = gc(seen(mode), version)
        refute_empty mine, "no GC in the profile"
        assert_gc truth_ns(truth), mine.sum(&:cpu), "#{mode} on #{version} (#{row(seen(mode), version)["gc_source"]})", mine, probes: probes_ns(truth)
      end

      define_method("test_the_sheet_closes_#{mode}_on_#{suffix}") do
        program(seen(mode), version)
        assert_sheet seen(mode), version
      end

      # GC takes nothing of a thread's wall-time.
      define_method("test_wall_time_is_not_touched_#{mode}_on_#{suffix}") do
        tid = program(seen(mode), version).truth["tid"]
        mine = samples(seen(mode), version).select { |s| s.tid == tid && !s.gc? && !s.overhead? }
        life = figure(seen(mode)[:profiler].thread_stats(program(seen(mode), version).pid, tid), "life_ns", "main")
        assert_wall life, wall(mine), "main"
      end
    end

    define_method("test_labels_on_#{suffix}") do
      main = program(seen("alloc"), version).pid
      mine = gc(seen("alloc"), version) + gc(seen("mark"), version)
      refute_empty mine
      mine.each { |sample| assert_labels sample }
      assert(mine.any? { |s| s.labels["gc type"] == "minor" } && mine.any? { |s| s.labels["gc type"] == "major" })
      blamed = gc(seen("alloc"), version).select { |s| s.labels["gc source"] == "probe" }
      assert_equal [main], blamed.map { |s| s.labels["gc thread"].to_i }.uniq unless blamed.empty?
    end

    define_method("test_who_asked_for_it_on_#{suffix}") do
      mine = gc(seen("start"), version).select { |s| s.labels["gc source"] == "probe" }
      skip "not seen by probes" if mine.empty? && row(seen("start"), version)["gc_source"] == "vm clock"
      # GC.compact collects through the C API on some releases.
      asked = mine.select { |s| %w[method capi].include?(s.labels["gc cause"]) }
      assert_operator asked.sum(&:cpu), :>=, mine.sum(&:cpu) * 0.9
      assert_includes asked.map { |s| s.labels["gc cause"] }, "method"
      assert_includes mine.map { |s| s.labels["gc reason"] }, "force"
      assert mine.any? { |s| s.frame?("Object#asks") }, mine.map(&:names).uniq.inspect
    end

    define_method("test_the_balance_sheet_has_the_vms_clock_on_#{suffix}") do
      mine = row(seen("mark"), version) || program(seen("mark"), version)
      sources = figure(mine, "gc_source", "ruby #{version}")
      assert_match(/\A(probe|vm clock|sampled|probe and vm clock|probe and sampled)\z/, sources)
      used = gc(seen("mark"), version).map { |s| s.labels["gc source"] }.uniq
      assert_equal [sources], used unless sources.include?(" and ") || used.empty?
      skip "2.7 has no clock of its own" if version == "2.7"
      assert_gc program(seen("mark"), version).truth["vm_ns"], figure(mine, "vm_gc_ns", "ruby #{version}"), "the VM's clock"
    end
  end

  def assert_labels(sample)
    labels = sample.labels
    assert_equal ["GC", "Garbage Collection", "had cpu", "gc"],
                 labels.values_at("thread id", "thread name", "state", "event"), labels.inspect
    assert_includes CAUSES, labels["gc cause"]
    assert_includes %w[minor major], labels["gc type"]
    assert_includes SOURCES, labels["gc source"]
    labels["gc type"] == "major" ? assert_includes(REASONS, labels["gc reason"]) : assert_nil(labels["gc reason"])
    assert_match(/\A\d+ \((-1|\d+)\)\z/, labels["gc thread"]) if labels["gc source"] == "probe"
    assert_equal ["Garbage Collection", "<rbprof>", 0], [sample.leaf, sample.stack[0].file, sample.stack[0].line]
    assert_operator sample.ticks, :>=, 1
    assert_operator sample.wall, :>=, sample.cpu
    assert_equal sample.wall, sample.timeline || sample.wall
  end

  def test_the_steps_are_counted
    errors = seen("alloc")[:profiler].stats["errors"]
    without = errors.values_at("gc_steps_without_entry", "gc_steps_without_exit", "gc steps without entry",
                               "gc steps without exit").compact.sum
    assert_operator without, :<=, 20, errors.inspect
  end
end

# GC falls on the code that caused it (C101).
class TestGcBlame < E2E
  include GcHelp

  once(:seen) { record { ["gc_blame.rb"] } }

  GcHelp.with_versions do |version, suffix|
    define_method("test_it_is_on_the_method_that_allocates_on_#{suffix}") do
      program(seen, version)
      all = gc(seen, version).sum(&:cpu)
      assert_operator all, :>, 20_000_000, "no GC in the profile"
      shares = %w[alloc_hot pure_cpu].to_h do |name|
        [name, gc(seen, version).select { |s| s.frame?("Object##{name}") }.sum(&:cpu).fdiv(all)]
      end
      puts "#{version}: #{shares}" if ENV["VERBOSE"]
      assert_operator shares["pure_cpu"], :<, 0.01, shares.inspect
      skip "by the VM's clock there is no blame" if row(seen, version)["gc_source"] == "vm clock"
      assert_operator shares["alloc_hot"], :>=, 0.95, shares.inspect
    end

    define_method("test_its_amount_on_#{suffix}") do
      skip "2.7's own clock leaves steps out" if version == "2.7"
      assert_gc program(seen, version).truth["vm_ns"], gc(seen, version).sum(&:cpu), "P10 on #{version}"
    end

    # Between the samples of both methods: what is not GC is theirs.
    define_method("test_the_rest_is_the_methods_own_on_#{suffix}") do
      process = program(seen, version).truth["process_ns"]
      own = samples(seen, version).reject(&:gc?).sum(&:cpu)
      all = samples(seen, version).select(&:gc?).sum(&:cpu)
      assert_operator all, :>, 0
      assert_in_epsilon process, own + all, 0.02
    end
  end
end

# What can be switched off.
class TestGcOptions < E2E
  include GcHelp

  MADE = { "no_gc" => %w[--no-gc], "no_gc_stack" => %w[--no-gc-stack], "no_uprobes" => %w[--no-uprobes] }.freeze

  once(:seen) { |name| record(*MADE.fetch(name)) { |version| arguments(version, "alloc", 1) } }

  GcHelp.with_versions do |version, suffix|
    define_method("test_without_gc_its_cpu_is_the_threads_on_#{suffix}") do
      truth = program(seen("no_gc"), version).truth
      all = samples(seen("no_gc"), version)
      assert_empty all.select { |s| s.event || s.names.include?("Garbage Collection") }
      assert_cpu truth["process_ns"], all.sum(&:cpu), "process"
    end

    define_method("test_without_its_stack_it_stands_alone_on_#{suffix}") do
      truth = program(seen("no_gc_stack"), version).truth
      mine = gc(seen("no_gc_stack"), version)
      assert_equal [["Garbage Collection"]], mine.map(&:names).uniq
      assert_gc truth_ns(truth), mine.sum(&:cpu), "alloc on #{version}", mine, probes: probes_ns(truth)
    end

    define_method("test_without_uprobes_it_is_the_vms_clock_on_#{suffix}") do
      run = seen("no_uprobes")
      truth = program(run, version).truth
      assert_equal version == "2.7" ? "sampled" : "vm clock", figure(row(run, version), "gc_source", version)
      mine = gc(run, version)
      assert_equal [row(run, version)["gc_source"]], mine.map { |s| s.labels["gc source"] }.uniq
      if version == "2.7"
        # Ticks: a second of 199 Hz, a third of it in GC; 5 sigma.
        assert_in_delta truth_ns(truth), mine.sum(&:cpu), truth["process_ns"] * 0.17
      else
        assert_gc truth["vm_ns"], mine.sum(&:cpu), "alloc on #{version}"
        assert_equal [["Garbage Collection"]], mine.map(&:names).uniq
      end
      assert_sheet run, version
    end
  end

  # Nothing is put into any process: its code is the file's, page by page.
  def test_without_uprobes_no_page_is_changed
    program = Program.new("gc.rb", "alloc", 1)
    before = private_code(program.pid)
    profiler = Profiler.start("-p", program.pid, "--no-uprobes", "--stats=json")
    program.run
    after = private_code(program.pid)
    profiler.stop
    program.finish
    assert_equal before, after, "private pages of code"
  end

  # Kilobytes of executable mappings that are the process's own, and whether it has a slot page.
  def private_code(pid)
    executable = false
    File.readlines("/proc/#{pid}/smaps").sum do |line|
      executable = line.split[1].include?("x") && !line.include?("[v") if line.match?(/\A\h+-\h+ /)
      next 1 << 20 if line.end_with?("[uprobes]\n")

      executable && line.start_with?("Private_Dirty:") ? line.split[1].to_i : 0
    end
  end
end
